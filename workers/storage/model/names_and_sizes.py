"""Names of buckets and objects, size limits, cache control: parse and check them. Pure.

Source: docs/reference/storage.md, sections 4 and 6.1.
"""

import math
import re
import unicodedata

from msgspec import Struct

from schemas.numbers import parse_decimal_number
from workers.storage.model.errors import (
    StorageError,
    feature_not_enabled,
    invalid_bucket_name,
    invalid_key,
    invalid_request,
    too_large,
)

MOST_KEY_BYTES = 1024
PLACEHOLDER = ".emptyFolderPlaceholder"
"""End of the name of an empty object that represents a folder."""
LONGEST_BUCKET = 100

_CLASSIC_KEY = re.compile(r"[A-Za-z0-9_/!.*'() &$=@;:+,?-]+")
_CLASSIC_BUCKET = re.compile(r"[A-Za-z0-9_!.*'() &$=@;:+,?-]+")
_SEGMENT_ENDS = re.compile(r"[/\\]")
_UNFIT = ("Cc", "Cs", "Zl", "Zp")
"""Control characters, lone surrogates, line and paragraph separators."""
_SIZE = re.compile(r"([0-9]{1,18}(?:\.[0-9]{1,18})?)(gb|mb|kb|b)", re.IGNORECASE)
_SIZE_UNITS = {"b": 1, "kb": 1_000, "mb": 1_000_000, "gb": 1_000_000_000}
_MOST_SIZE = 2**63 - 1
_SENDABLE = re.compile(r"[\t\x20-\x7e\x80-\xff]*")


class UploadRules(Struct, frozen=True):
    """The rules of a bucket that apply to an upload."""

    file_size_limit: int | None
    allowed_mime_types: list[str] | None


def parse_key(text: str, *, is_unicode: bool) -> str:
    """Return the name of a new object, in NFC if names may use every script.

    Raises: StorageError (InvalidKey).
    """
    key = existing_key(text)
    if not is_unicode and not _CLASSIC_KEY.fullmatch(key):
        raise invalid_key(text)
    return key


def existing_key(text: str) -> str:
    """Return the name of an object that may exist, in NFC. Raises: StorageError (InvalidKey) if it never can."""
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
    """Return the name of an object that may exist, in NFC; None if it never can, so that the rest of a list counts."""
    try:
        return existing_key(text)
    except StorageError:
        return None


def parse_prefix(text: str) -> str:
    """Return a name prefix, in NFC; it may be empty. Raises: StorageError (InvalidKey)."""
    return existing_key(text) if text else ""


def check_bucket_name(name: str) -> None:
    """Raises: StorageError (InvalidBucketName) if a bucket name is not allowed."""
    if not 1 <= len(name) <= LONGEST_BUCKET or not _CLASSIC_BUCKET.fullmatch(name):
        raise invalid_bucket_name()
    if name != name.strip() or name in (".", "..") or name.endswith("--table-s3"):
        raise invalid_bucket_name()


def check_bucket_type(kind: str) -> None:
    """Raises: StorageError (FeatureNotEnabled) unless the bucket type is STANDARD."""
    if kind != "STANDARD":
        raise feature_not_enabled(f"{kind} bucket")


def check_versioning(status: str) -> None:
    """Raises: StorageError (FeatureNotEnabled) unless versioning is off: old versions are not retained here."""
    if status != "DISABLED":
        raise feature_not_enabled("versioning")


def parse_size_limit(value: object, largest: int, *, name: str = "file_size_limit") -> int | None:
    """Return a limit of a bucket in bytes: a whole number, or a text such as `20mb`, rounded to three significant
    digits.

    Raises: StorageError: InvalidRequest, or EntityTooLarge for more than `largest`.
    """
    if value is None:
        return None
    match = _SIZE.fullmatch(value) if isinstance(value, str) else None
    if match:
        number = parse_decimal_number(match[1], least=0, most=_MOST_SIZE)
        if number is None:
            raise too_large()
        size = round(_rounded(number) * _SIZE_UNITS[match[2].lower()])
    elif isinstance(value, bool) or not isinstance(value, int) or value < 0:
        raise invalid_request(f"body/{name} must be >= 0, or a text such as 20mb")
    else:
        size = value
    if size > min(largest, _MOST_SIZE):
        raise too_large()
    return size


def _rounded(number: float) -> float:
    """Round to three significant digits, as the official server does."""
    return round(number, 2 - math.floor(math.log10(number))) if number else 0.0


def limit_of(bucket_limit: int | None, *, standard: int, largest: int) -> int:
    """Return the maximum object size of a bucket."""
    return standard if bucket_limit is None else min(bucket_limit, largest)


def cache_control_of(value: str | None) -> str:
    """Return the stored `cache-control`: bare seconds become `max-age`, an empty value becomes `no-cache`."""
    text = (value or "").strip()
    if not text:
        return "no-cache"
    return f"max-age={text}" if text.isascii() and text.isdecimal() else text


def check_header_values(*texts: str) -> None:
    """Raises: StorageError for a text that a response header cannot hold."""
    if not all(_SENDABLE.fullmatch(text) for text in texts):
        raise invalid_request("A header holds a character that is not allowed", "invalid_header_char")
