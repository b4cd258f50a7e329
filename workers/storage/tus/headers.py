"""TUS 1.0.0 headers: parse those of requests, build those of responses. Pure.

Source: tus.io, "Resumable upload protocol 1.0.x"; docs/reference/storage.md, section 9.
"""

import base64
import binascii
from collections.abc import Mapping
from datetime import UTC, datetime
from email.utils import format_datetime
from typing import NamedTuple
from uuid import UUID

from schemas.http import Headers
from schemas.numbers import LARGEST_SIZE, parse_whole_number
from schemas.resumable_uploads import VERSION
from workers.storage.requests.storage_request import StorageRequest
from workers.storage.tus.errors import TusError, bad_request, no_such_upload

BODY_TYPE = "application/offset+octet-stream"
RESPONSE_HEADERS: Headers = [VERSION]
"""Headers of every response. Which of them a page may read is in the gateway's table (`services/middleware/cors.py`)."""


class UploadName(NamedTuple):
    """The content of the last path segment of an upload's URL."""

    bucket: str
    key: str
    version: str


def check_protocol_version(request: StorageRequest) -> None:
    """Raises: TusError (412) unless the client sends our protocol version."""
    if (request.header(VERSION[0]) or "").strip() != VERSION[1]:
        raise TusError(412, "Tus-Resumable Required", [("tus-version", VERSION[1])])


def has_body(request: StorageRequest) -> bool:
    """Return whether a request may carry bytes of the upload: a chunked body does not declare its length."""
    return _is_body_type(request) and (request.header("content-length") or "").strip() != "0"


def content_length(request: StorageRequest) -> int:
    """Return the body size that a request declares, 0 without one."""
    text = (request.header("content-length") or "").strip()
    return parse_whole_number(text, most=LARGEST_SIZE) or 0


def check_body_type(request: StorageRequest) -> None:
    """Raises: TusError (400) unless the content type is that of upload bytes."""
    if not _is_body_type(request):
        raise bad_request("Invalid content-type")


def read_offset(request: StorageRequest) -> int:
    """Return `Upload-Offset`. Raises: TusError (400)."""
    offset = _number(request, "upload-offset")
    if offset is None:
        raise bad_request("Upload-Offset header required")
    return offset


def read_length(request: StorageRequest) -> int | None:
    """Return the length of a new upload; None if it is deferred. Raises: TusError (400)."""
    length, deferred = request.header("upload-length"), request.header("upload-defer-length")
    if (length is None) == (deferred is None) or (deferred is not None and deferred.strip() != "1"):
        raise bad_request("Upload-Length or Upload-Defer-Length header required")
    return _number(request, "upload-length")


def read_declared_length(request: StorageRequest, current: int | None) -> int | None:
    """Return the length of an existing upload, which a request may declare once. Raises: TusError (400)."""
    declared = _number(request, "upload-length")
    if declared is not None and current is not None and declared != current:
        raise bad_request("Upload-Length cannot be changed")
    return current if declared is None else declared


def read_metadata(request: StorageRequest) -> tuple[str, Mapping[str, str]]:
    """Return `Upload-Metadata` as it was sent, and its values by name. Raises: TusError (400)."""
    sent = (request.header("upload-metadata") or "").strip()
    if not sent:
        raise bad_request("Metadata header is required")
    return sent, parse_metadata(sent)


def parse_metadata(sent: str) -> Mapping[str, str]:
    """Return the values of `Upload-Metadata` by name; of an empty header none. Raises: TusError (400)."""
    values: dict[str, str] = {}
    for pair in sent.split(",") if sent else []:
        name, _, value = pair.strip().partition(" ")
        if not name or name in values or not (name.isascii() and name.isprintable()):
            raise bad_request("Upload-Metadata is malformed")
        values[name] = _text(value.strip())
    return values


def encode_name(name: UploadName) -> str:
    """Return the last path segment of an upload's URL."""
    return base64.urlsafe_b64encode("/".join(name).encode()).rstrip(b"=").decode()


def read_name(id: str) -> UploadName:
    """Decode the last path segment of an upload's URL.

    Raises: TusError: 400 if it is no base64 of a bucket, a key and a version; 404 if the version is no UUID, as of all uploads.
    """
    try:
        text = base64.b64decode(id + "=" * (-len(id) % 4), altchars=b"-_", validate=True).decode()
    except (binascii.Error, ValueError):
        raise bad_request("The id of the upload cannot be read") from None
    bucket, _, rest = text.partition("/")
    key, _, version = rest.rpartition("/")
    if "\0" in text or not bucket or not key:
        raise bad_request("The id of the upload cannot be read")
    try:
        return UploadName(bucket, key, str(UUID(version)))
    except ValueError:
        raise no_such_upload() from None


def expires_header(epoch_s: int) -> tuple[str, str]:
    """Return the header with the expiry of an upload."""
    return "upload-expires", format_datetime(datetime.fromtimestamp(epoch_s, UTC), usegmt=True)


def _is_body_type(request: StorageRequest) -> bool:
    return (request.header("content-type") or "").partition(";")[0].strip().lower() == BODY_TYPE


def _number(request: StorageRequest, name: str) -> int | None:
    text = request.header(name)
    if text is None:
        return None
    number = parse_whole_number(text.strip(), most=LARGEST_SIZE)
    if number is None:
        raise bad_request(f"{name.title()} header is not a number")
    return number


def _text(value: str) -> str:
    try:
        return base64.b64decode(value + "=" * (-len(value) % 4), validate=True).decode()
    except (binascii.Error, ValueError):
        raise bad_request("Upload-Metadata is malformed") from None
