"""Headers of S3: what an upload says of its object, what an answer says of it, conditions. Pure.

Source: reference page "storage", section 10.
"""

import base64
import binascii
import re
from datetime import UTC, datetime
from email.utils import format_datetime, parsedate_to_datetime

import msgspec

from schemas.blobs import Stored
from schemas.http import Headers
from schemas.numbers import LARGEST_SIZE, parse_whole_number
from workers.storage.media_types import parse_media_type, protective_headers, served_type
from workers.storage.objects import ObjectRow, kept, matches
from workers.storage.robots import refuse_bad_robots
from workers.storage.rules import cache_control_of, refuse_unsendable
from workers.storage.s3.asking import Asking
from workers.storage.s3.errors import S3Error, precondition_failed
from workers.storage.uploads import About

_META = "x-amz-meta-"
_USUAL_TYPE = "binary/octet-stream"
_MOST_META = 1024 * 1024
_NAME = re.compile(r"[a-z0-9!#$%&'*+.^_`|~-]+", re.ASCII)
_OVERRIDES = {
    "response-cache-control": "cache-control",
    "response-content-disposition": "content-disposition",
    "response-content-encoding": "content-encoding",
    "response-content-language": "content-language",
    "response-content-type": "content-type",
    "response-expires": "expires",
}
_object = msgspec.json.Decoder(dict[str, object])


def about_of(asking: Asking) -> About:
    """Read what an upload says of its object. Raises: S3Error, StorageError."""
    robots = asking.headers.get("x-robots-tag", "")
    if robots:
        refuse_bad_robots(robots)
    about = About(
        asking.headers.get("content-type", "") or _USUAL_TYPE,
        cache_control_of(asking.headers.get("cache-control")),
        robots,
        user_metadata(asking),
    )
    refuse_unsendable(about.mime_type, about.cache_control)
    return about


def user_metadata(asking: Asking) -> bytes | None:
    """Give the headers `x-amz-meta-*` as the JSON of an object; None if there are none. Raises: S3Error."""
    given = [(name.lower(), value) for name, value in asking.query if name.lower().startswith(_META)]
    given += [(name, value) for name, value in asking.headers.items() if name.startswith(_META)]
    told = msgspec.json.encode({name.removeprefix(_META): value for name, value in given})
    if len(told) > _MOST_META:
        raise S3Error("MetadataTooLarge", "Your metadata headers exceed the maximum allowed metadata size")
    return told if given else None


def length_of(asking: Asking) -> int | None:
    """Give the bytes of an object that shall come; None if they are not told."""
    is_chunked = asking.payload.startswith("STREAMING-")
    text = asking.headers.get("x-amz-decoded-content-length" if is_chunked else "content-length", "")
    if is_chunked and not text:
        raise S3Error("MissingContentLength", "You must provide the Content-Length HTTP header.", 411)
    return parse_whole_number(text, most=LARGEST_SIZE)


def refuse_other_digest(asking: Asking, stored: Stored) -> None:
    """Raises: S3Error if the bytes are not those that the client meant. The door looked at all but the MD5."""
    given = asking.headers.get("content-md5")
    if given is None:
        return
    try:
        wanted = base64.b64decode(given, validate=True)
    except (binascii.Error, ValueError):
        wanted = b""
    if len(wanted) != 16:
        raise S3Error("InvalidDigest", "The Content-MD5 you specified is not valid.")
    if wanted.hex() != stored.md5:
        raise S3Error("BadDigest", "The Content-MD5 you specified did not match what we received.")


def shown(asking: Asking, row: ObjectRow) -> Headers:
    """Give the headers of an answer that holds an object, but those of its size and age. Raises: StorageError."""
    told = {
        "content-type": row.mime_type,
        "cache-control": kept(row, None),
        "x-robots-tag": row.robots,
    }
    for parameter, name in _OVERRIDES.items():
        if asking.has(parameter):
            told[name] = asking.parameter(parameter)
    told["content-type"] = served_type(parse_media_type(told["content-type"] or row.mime_type))
    refuse_unsendable(*told.values())
    return [
        *protective_headers(told["content-type"]),
        *told.items(),
        *metadata_headers(bytes(row.user_metadata)),
    ]


def metadata_headers(raw: bytes) -> Headers:
    """Give the metadata of a client's own as headers; what cannot stand in one is counted."""
    try:
        metadata = _object.decode(raw)
    except (msgspec.DecodeError, RecursionError):
        return []
    found: Headers = []
    missing = 0
    for name, value in metadata.items():
        text = value if isinstance(value, str) else msgspec.json.encode(value).decode()
        if _NAME.fullmatch(name.lower()) and text.isascii() and text.isprintable():
            found.append((_META + name.lower(), text))
        else:
            missing += 1
    return [*found, ("x-amz-missing-meta", str(missing))] if missing else found


def refuse_unless_fit(asking: Asking, row: ObjectRow, prefix: str = "") -> None:
    """Hold an object against `If-Match` and `If-Unmodified-Since`; of a copy's source, against all four of its own.

    The edge answers the other two conditions of a download. Raises: S3Error (412).
    """
    modified = int(row.modified.timestamp())
    match, since = asking.header(f"{prefix}if-match"), asking.header(f"{prefix}if-unmodified-since")
    if match is not None:
        if not _matches(match, row.etag):
            raise precondition_failed()
    elif (moment := _moment(since)) is not None and modified > moment:
        raise precondition_failed()
    if not prefix:
        return
    other, after = asking.header(f"{prefix}if-none-match"), asking.header(f"{prefix}if-modified-since")
    if other is not None:
        if _matches(other, row.etag):
            raise precondition_failed()
    elif (moment := _moment(after)) is not None and modified <= moment:
        raise precondition_failed()


def iso(moment: datetime) -> str:
    """Write a time as answers have it."""
    return moment.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def http_date(moment: datetime) -> str:
    """Write a time as headers have it."""
    return format_datetime(moment.astimezone(UTC), usegmt=True)


def _matches(listed: str, etag: str) -> bool:
    """Compare ETags as S3 does: clients may leave out the quotes."""
    bare = etag.strip('"')
    return matches(listed, etag) or any(each.strip().strip('"') == bare for each in listed.split(","))


def _moment(text: str | None) -> int | None:
    try:
        return int(parsedate_to_datetime(text).timestamp()) if text else None
    except (ValueError, TypeError, OverflowError):
        return None
