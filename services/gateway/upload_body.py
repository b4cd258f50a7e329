"""The body of an upload -> a blob: raw bytes, or the file of a multipart form. Memory stays flat, whatever the size.

Source: docs/reference/storage.md, section 6.1; RFC 7578.
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable
from dataclasses import dataclass, field
from functools import partial
from typing import TypeVar

from aiohttp import BodyPartReader, MultipartReader, StreamReader, hdrs, web
from aiohttp.http_exceptions import HttpProcessingError, PayloadEncodingError, TransferEncodingError

from services.gateway.forward import BodyRejected
from services.gateway.transfer_rate import BodyTooSlow, TransferRate

T = TypeVar("T")

_MOST_FIELDS = 10
_LONGEST_FIELD = 1024 * 1024 + 1
"""Bytes of one field; custom metadata of more than 1 MiB are refused by the pool."""
_BYTES = "application/octet-stream"
_NAMES_OF_FILES = (None, "", "file")
_CHUNK = 256 * 1024
_AT_ONCE_S = 0.1
"""How long the rest of a small body is waited for: the packets behind the head are on their way."""


@dataclass(slots=True)
class UploadBody:
    """A body that is read once. `fields` grow while a form is read; `content_type` is the type of the file in a form."""

    pieces: AsyncIterator[bytes]
    fields: dict[str, str] = field(default_factory=dict)
    content_type: str = ""
    is_form: bool = False
    has_file: bool = True


async def open_upload_body(
    request: web.BaseRequest, pace: TransferRate, *, takes_forms: bool = True
) -> UploadBody:
    """Read a request up to its first byte of content. Raises: BodyRejected for an invalid form."""
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind != "multipart/form-data" or not takes_forms:
        return UploadBody(_raw(request, pace))
    try:
        form = MultipartReader(request.headers, request.content)
    except ValueError as error:
        raise BodyRejected(400, f"The form cannot be read: {error}") from None
    body = UploadBody(pieces_of(), is_form=True, has_file=False)
    file = await _next_file(form, body, pace)
    if file is not None:
        body.has_file = True
        body.content_type = file.headers.get("content-type", "")
        body.pieces = _of_form(form, file, body, pace)
    return body


async def small_bytes(request: web.BaseRequest, body: UploadBody, limit: int) -> bytes | None:
    """Return all bytes of an upload whose declared length is at most `limit`, if they arrive at once; None otherwise.

    Then `body.pieces` are still to be read. Raises: BodyRejected if the body is malformed.
    """
    length = request.content_length
    if length is None or length > limit or not body.has_file or not await _has_arrived(request):
        return None
    data = b"".join([piece async for piece in body.pieces])
    if len(data) <= limit:
        return data
    body.pieces = pieces_of(data)  # the HTTP library decompressed it
    return None


async def _has_arrived(request: web.BaseRequest) -> bool:
    """Wait for the end of a body, but not long: a client may wait for an answer before it sends the body."""
    content = request.content
    if content.is_eof():
        return True
    try:
        async with asyncio.timeout(_AT_ONCE_S):
            await content.wait_eof()
    except (TimeoutError, PayloadEncodingError, TransferEncodingError, web.PayloadAccessError):
        return False  # whoever reads the body gets the error
    return content.exception() is None


async def pieces_of(*pieces: bytes) -> AsyncIterator[bytes]:
    """Yield these pieces."""
    for piece in pieces:
        yield piece


async def _raw(request: web.BaseRequest, pace: TransferRate) -> AsyncIterator[bytes]:
    """Yield the body in the chunks in which the transport has read it.

    The chunks of a body without a declared length are joined as far as they are there: a client may make them as short as it likes.
    """
    content = request.content
    read = partial(_chunk, content) if hdrs.CONTENT_LENGTH in request.headers else content.readany
    while True:
        try:
            piece = await pace.wait(read())
        except BodyTooSlow as error:
            raise BodyRejected(408, str(error)) from None
        except (PayloadEncodingError, TransferEncodingError, web.PayloadAccessError) as error:
            raise BodyRejected(400, f"The body is malformed: {error}") from None
        if not piece:
            return
        yield piece


async def _chunk(content: StreamReader) -> bytes:
    """Return the next chunk as it was read; b"" at the end of the body."""
    return (await content.readchunk())[0]


async def _of_form(
    form: MultipartReader, file: BodyPartReader, body: UploadBody, pace: TransferRate
) -> AsyncIterator[bytes]:
    """Return the file's bytes, then take in the fields behind it."""
    while piece := await _timely(file.read_chunk(_CHUNK), pace):
        yield bytes(piece)
    if await _next_file(form, body, pace) is not None:
        raise BodyRejected(400, "The form has more than one file")


async def _next_file(form: MultipartReader, body: UploadBody, pace: TransferRate) -> BodyPartReader | None:
    """Take in fields until the file comes; None at the end of the form."""
    while True:
        part = await _timely(form.next(), pace)
        if part is None:
            return None
        if not isinstance(part, BodyPartReader):
            raise BodyRejected(400, "A form within a form is not taken")
        if _is_file(part):
            return part
        if len(body.fields) >= _MOST_FIELDS:
            raise BodyRejected(400, f"The form has more than {_MOST_FIELDS} fields")
        body.fields[part.name or ""] = await _text(part, pace)


def _is_file(part: BodyPartReader) -> bool:
    """Return whether a part is the file: it has a file name, or is of type octet-stream, or is named `file` or not at all.

    A content type alone says nothing: many clients type their text fields, too (RFC 7578, 4.4).
    """
    media_type = part.headers.get("content-type", "").partition(";")[0].strip().lower()
    return part.filename is not None or media_type == _BYTES or part.name in _NAMES_OF_FILES


async def _text(part: BodyPartReader, pace: TransferRate) -> str:
    data = b""
    while piece := await _timely(part.read_chunk(_CHUNK), pace):
        data += piece
        if len(data) > _LONGEST_FIELD:
            raise BodyRejected(413, f"The form's field {part.name} is too long")
    return data.decode("utf-8", "replace")


async def _timely(reading: Awaitable[T], pace: TransferRate) -> T:
    """Wait for a piece of a form. Raises: BodyRejected if it does not arrive in time or is malformed."""
    try:
        return await pace.wait(reading)
    except BodyTooSlow as error:
        raise BodyRejected(408, str(error)) from None
    except (ValueError, AssertionError, HttpProcessingError, web.PayloadAccessError) as error:
        raise BodyRejected(400, f"The form is malformed: {error}") from None
