"""Parse the attributes of an upload from its headers or form fields. Pure.

Source: docs/reference/storage.md, section 6.1.
"""

import base64
import binascii
from collections.abc import Mapping
from dataclasses import replace

import msgspec

from schemas.blobs import FormHead
from schemas.numbers import LARGEST_SIZE, parse_whole_number
from workers.storage.model.content_headers import content_headers_of_fields, content_headers_of_request
from workers.storage.model.errors import no_content, too_large
from workers.storage.model.names_and_sizes import cache_control_of, check_header_values
from workers.storage.model.robots import check_robots
from workers.storage.requests.storage_request import StorageRequest
from workers.storage.uploads.model import ObjectAttributes

_MOST_METADATA = 1024 * 1024

_TOO_MUCH_METADATA = "The user_metadata exceeded the maximum allowed size"

_USUAL_TYPE = "application/octet-stream"

_FORM = "multipart/form-data"

_form = msgspec.msgpack.Decoder(FormHead)

_object = msgspec.json.Decoder(dict[str, msgspec.Raw])


def attributes_of(request: StorageRequest) -> ObjectAttributes:
    """Return the attributes of an upload, from its form or its headers. Raises: StorageError."""
    robots = (request.header("x-robots-tag") or "").strip()
    if robots:
        check_robots(robots)
    about = _of_form(request, robots) if is_form(request) else _of_headers(request, robots)
    check_header_values(about.mime_type, about.cache_control)
    return about


def is_form(request: StorageRequest) -> bool:
    """Return whether the bytes come in a form."""
    return (request.header("content-type") or "").partition(";")[0].strip().lower() == _FORM


def declared_length(request: StorageRequest) -> int | None:
    """Return the declared length; None for a chunked request."""
    return parse_whole_number(request.header("content-length") or "", most=LARGEST_SIZE)


def header_metadata(request: StorageRequest) -> bytes | None:
    """Decode `x-metadata`, base64 of a JSON object; other values are ignored. Raises: StorageError (413)."""
    text = "".join((request.header("x-metadata") or "").split())
    try:
        decoded = base64.b64decode(text + "=" * (-len(text) % 4))
    except (binascii.Error, ValueError):
        return None
    return user_metadata(decoded)


def user_metadata(encoded: bytes) -> bytes | None:
    """Return user metadata if it is a JSON object, else None. Raises: StorageError (413)."""
    if len(encoded) > _MOST_METADATA:
        raise too_large(_TOO_MUCH_METADATA)
    try:
        _object.decode(encoded)
        encoded.decode()
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None
    return encoded


def _of_headers(request: StorageRequest, robots: str) -> ObjectAttributes:
    return ObjectAttributes(
        (request.header("content-type") or "").strip() or _USUAL_TYPE,
        cache_control_of(request.header("cache-control")),
        robots,
        header_metadata(request),
        content_headers_of_request(request.header),
    )


def _of_form(request: StorageRequest, robots: str) -> ObjectAttributes:
    """Read the attributes from the head of a form, and from the fields behind the file once they are known."""
    try:
        form = _form.decode(request.body)
    except msgspec.DecodeError:
        raise no_content() from None
    stored = request.http.stored
    fields: Mapping[str, str] = form.fields | (stored.fields if stored else {})
    metadata = fields.get("metadata") or fields.get("userMetadata") or ""
    return ObjectAttributes(
        (fields.get("contentType") or form.content_type).strip() or _USUAL_TYPE,
        cache_control_of(fields.get("cacheControl")),
        robots,
        user_metadata(metadata.encode(errors="replace")),
        content_headers_of_fields(_content_fields(request) | dict(fields)),
    )


def _content_fields(request: StorageRequest) -> dict[str, str]:
    """Return what a form's own headers say of its file: clients that always send forms can only set headers.

    `Content-Encoding` is not among them: on a form it would describe the form, which is never encoded here.
    """
    return replace(content_headers_of_request(request.header), encoding="").members()
