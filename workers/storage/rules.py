"""Names of buckets and objects, sizes: what is taken and what is refused. Pure.

Source: reference page "storage", sections 4 and 6.1.
"""

import math
import re
import unicodedata

from msgspec import Struct

from schemas.numbers import parse_decimal_number
from workers.storage.errors import (
    StorageError,
    feature_not_enabled,
    invalid_bucket_name,
    invalid_key,
    invalid_request,
    too_large,
)

MOST_KEY_BYTES = 1024
PLACEHOLDER = ".emptyFolderPlaceholder"
"""End of the name of an object without bytes that stands for a folder."""
LONGEST_BUCKET = 100

_CLASSIC_KEY = re.compile(r"[A-Za-z0-9_/!.*'() &$=@;:+,?-]+")
_CLASSIC_BUCKET = re.compile(r"[A-Za-z0-9_!.*'() &$=@;:+,?-]+")
_SEGMENT_ENDS = re.compile(r"[/\\]")
_UNFIT = ("Cc", "Cs", "Zl", "Zp")
"""Control characters, halves of characters, separators of lines and paragraphs."""
_SIZE = re.compile(r"([0-9]{1,18}(?:\.[0-9]{1,18})?)(gb|mb|kb|b)", re.IGNORECASE)
_SIZE_UNITS = {"b": 1, "kb": 1_000, "mb": 1_000_000, "gb": 1_000_000_000}
_MOST_SIZE = 2**63 - 1
_SENDABLE = re.compile(r"[\t\x20-\x7e\x80-\xff]*")


class RuleKey(Struct, frozen=True):
    """The rules of a bucket that an upload is held against."""

    file_size_limit: int | None
    allowed_mime_types: list[str] | None


def parse_key(text: str, *, is_unicode: bool) -> str:
    """Give the name of an object that shall be made, in NFC where letters of every script are allowed.

    Raises: StorageError (InvalidKey).
    """
    key = existing_key(text)
    if not is_unicode and not _CLASSIC_KEY.fullmatch(key):
        raise invalid_key(text)
    return key


def existing_key(text: str) -> str:
    """Give the name of an object that may be there, in NFC. Raises: StorageError (InvalidKey) for what never is."""
    if text.isascii():
        key, unfit = text, not text.isprintable()
    else:
        key = unicodedata.normalize("NFC", text)
        unfit = any(unicodedata.category(sign) in _UNFIT for sign in key)
    if not key or unfit or len(key.encode()) > MOST_KEY_BYTES:
        raise invalid_key(text)
    if any(segment in (".", "..") for segment in _SEGMENT_ENDS.split(key)):
        raise invalid_key(text)
    return key


def possible_key(text: str) -> str | None:
    """Give the name of an object that may be there, in NFC; None for what never is: of a list, the rest counts."""
    try:
        return existing_key(text)
    except StorageError:
        return None


def parse_prefix(text: str) -> str:
    """Give the beginning of names, in NFC; it may be empty. Raises: StorageError (InvalidKey)."""
    return existing_key(text) if text else ""


def refuse_bad_bucket(name: str) -> None:
    """Raises: StorageError (InvalidBucketName) if a bucket cannot be named so."""
    if not 1 <= len(name) <= LONGEST_BUCKET or not _CLASSIC_BUCKET.fullmatch(name):
        raise invalid_bucket_name()
    if name != name.strip() or name in (".", "..") or name.endswith("--table-s3"):
        raise invalid_bucket_name()


def refuse_other_bucket_types(kind: str) -> None:
    """Raises: StorageError (FeatureNotEnabled) for buckets that are none of files."""
    if kind != "STANDARD":
        raise feature_not_enabled(f"{kind} bucket")


def refuse_versioning(status: str) -> None:
    """Raises: StorageError (FeatureNotEnabled): who asks that old versions be kept must not believe that they are."""
    if status != "DISABLED":
        raise feature_not_enabled("versioning")


def parse_size_limit(given: object, largest: int, *, name: str = "file_size_limit") -> int | None:
    """Give a limit of a bucket in bytes: a whole number, or a text such as `20mb` of which three digits count.

    Raises: StorageError: InvalidRequest, or EntityTooLarge for more than `largest`.
    """
    if given is None:
        return None
    found = _SIZE.fullmatch(given) if isinstance(given, str) else None
    if found:
        number = parse_decimal_number(found[1], least=0, most=_MOST_SIZE)
        if number is None:
            raise too_large()
        size = round(_rounded(number) * _SIZE_UNITS[found[2].lower()])
    elif isinstance(given, bool) or not isinstance(given, int) or given < 0:
        raise invalid_request(f"body/{name} must be >= 0, or a text such as 20mb")
    else:
        size = given
    if size > min(largest, _MOST_SIZE):
        raise too_large()
    return size


def _rounded(number: float) -> float:
    """Round to three digits that count, as the official server does."""
    return round(number, 2 - math.floor(math.log10(number))) if number else 0.0


def limit_of(bucket_limit: int | None, *, standard: int, largest: int) -> int:
    """Give the longest object that a bucket takes from a standard upload."""
    return standard if bucket_limit is None else min(bucket_limit, largest)


def cache_control_of(given: str | None) -> str:
    """Give what is kept of a `cache-control`: seconds alone become `max-age`; nothing is `no-cache`."""
    text = (given or "").strip()
    if not text:
        return "no-cache"
    return f"max-age={text}" if text.isascii() and text.isdecimal() else text


def refuse_unsendable(*texts: str) -> None:
    """Raises: StorageError for what cannot stand in a header of an answer."""
    if not all(_SENDABLE.fullmatch(text) for text in texts):
        raise invalid_request("A header holds a character that is not allowed", "invalid_header_char")
