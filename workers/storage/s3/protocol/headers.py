"""S3 headers: attributes of an upload, headers of a response, conditions. Pure.

Source: docs/reference/storage.md, section 10.
"""

import base64
import binascii
import re
from datetime import UTC, datetime

import msgspec

from schemas.http import Headers
from schemas.http_dates import parse_http_date
from schemas.numbers import LARGEST_SIZE, parse_whole_number
from workers.storage.model.content_headers import content_headers_of_request
from workers.storage.model.media_types import parse_media_type, protective_headers, served_type
from workers.storage.model.names_and_sizes import cache_control_of, check_header_values
from workers.storage.model.robots import check_robots
from workers.storage.objects.rows import ObjectRow, cache_control_for, etag_matches
from workers.storage.s3.protocol.errors import S3Error, precondition_failed
from workers.storage.s3.protocol.request import S3Request
from workers.storage.uploads.model import ObjectAttributes

_META = "x-amz-meta-"
_USUAL_TYPE = "binary/octet-stream"
_MOST_META = 2048
"""Bytes of user metadata: those of all names, without the prefix, and values in UTF-8, as S3 counts them."""
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


def attributes_of(request: S3Request) -> ObjectAttributes:
    """Read the attributes of an uploaded object. Raises: S3Error, StorageError."""
    robots = request.headers.get("x-robots-tag", "")
    if robots:
        check_robots(robots)
    about = ObjectAttributes(
        request.headers.get("content-type", "") or _USUAL_TYPE,
        cache_control_of(request.headers.get("cache-control")),
        robots,
        user_metadata(request),
        content_headers_of_request(request.headers.get),
    )
    check_header_values(about.mime_type, about.cache_control)
    return about


def user_metadata(request: S3Request) -> bytes | None:
    """Return the headers `x-amz-meta-*` as a JSON object; None without any. Raises: S3Error."""
    pairs = [(name.lower(), value) for name, value in request.query if name.lower().startswith(_META)]
    pairs += [(name, value) for name, value in request.headers.items() if name.startswith(_META)]
    metadata = {name.removeprefix(_META): value for name, value in pairs}
    size = sum(len(name.encode()) + len(value.encode()) for name, value in metadata.items())
    if size > _MOST_META:
        message = "Your metadata headers exceed the maximum allowed metadata size"
        raise S3Error("MetadataTooLarge", message, Size=str(size), MaxSizeAllowed=str(_MOST_META))
    return msgspec.json.encode(metadata) if pairs else None


def length_of(request: S3Request) -> int | None:
    """Return the announced length of an object; None if the request does not declare one."""
    is_chunked = request.payload.startswith("STREAMING-")
    text = request.headers.get("x-amz-decoded-content-length" if is_chunked else "content-length", "")
    if is_chunked and not text:
        raise S3Error("MissingContentLength", "You must provide the Content-Length HTTP header.", 411)
    return parse_whole_number(text, most=LARGEST_SIZE)


def check_content_md5(request: S3Request, md5: str) -> None:
    """Raises: S3Error if the MD5 of the body, in hex, is not Content-MD5. The gateway checks other hashes of objects."""
    header = request.headers.get("content-md5")
    if header is None:
        return
    try:
        expected = base64.b64decode(header, validate=True)
    except (binascii.Error, ValueError):
        expected = b""
    if len(expected) != 16:
        raise S3Error("InvalidDigest", "The Content-MD5 you specified is not valid.")
    if expected.hex() != md5:
        raise S3Error("BadDigest", "The Content-MD5 you specified did not match what we received.")


def object_response_headers(request: S3Request, row: ObjectRow) -> Headers:
    """Return the headers of a response with an object, except size and dates. Raises: StorageError."""
    headers = {
        "content-type": row.mime_type,
        "cache-control": cache_control_for(row, None),
        "x-robots-tag": row.robots,
        **dict(row.content.headers()),
    }
    for parameter, name in _OVERRIDES.items():
        if request.has(parameter):
            headers[name] = request.parameter(parameter)
    headers["content-type"] = served_type(parse_media_type(headers["content-type"] or row.mime_type))
    check_header_values(*headers.values())
    return [
        *protective_headers(headers["content-type"]),
        *headers.items(),
        *metadata_headers(bytes(row.user_metadata)),
    ]


def metadata_headers(raw: bytes) -> Headers:
    """Return user metadata as headers; entries that a header cannot hold are only counted."""
    try:
        metadata = _object.decode(raw)
    except (msgspec.DecodeError, RecursionError):
        return []
    headers: Headers = []
    missing = 0
    for name, value in metadata.items():
        text = value if isinstance(value, str) else msgspec.json.encode(value).decode()
        if _NAME.fullmatch(name.lower()) and text.isascii() and text.isprintable():
            headers.append((_META + name.lower(), text))
        else:
            missing += 1
    return [*headers, ("x-amz-missing-meta", str(missing))] if missing else headers


def check_preconditions(request: S3Request, row: ObjectRow, prefix: str = "") -> None:
    """Check an object against `If-Match` and `If-Unmodified-Since`; a copy's source against its four conditions.

    The gateway checks the other two conditions of a download. Raises: S3Error (412).
    """
    modified = int(row.modified.timestamp())
    match, since = request.header(f"{prefix}if-match"), request.header(f"{prefix}if-unmodified-since")
    if match is not None:
        if not _matches(match, row.etag):
            raise precondition_failed()
    elif (moment := parse_http_date(since)) is not None and modified > moment:
        raise precondition_failed()
    if not prefix:
        return
    other, after = request.header(f"{prefix}if-none-match"), request.header(f"{prefix}if-modified-since")
    if other is not None:
        if _matches(other, row.etag):
            raise precondition_failed()
    elif (moment := parse_http_date(after)) is not None and modified <= moment:
        raise precondition_failed()


def iso(moment: datetime) -> str:
    """Format a time for XML."""
    return moment.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def _matches(listed: str, etag: str) -> bool:
    """Compare ETags as S3 does: clients may omit the quotes."""
    bare = etag.strip('"')
    return etag_matches(listed, etag) or any(item.strip().strip('"') == bare for item in listed.split(","))
