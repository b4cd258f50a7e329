"""The body of an upload -> a blob: raw bytes, or the file of a multipart form. Memory stays flat, whatever the size.

Source: docs/reference/storage.md, section 6.1; RFC 7578.
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import NamedTuple, Protocol, TypeVar

from aiohttp import BodyPartReader, MultipartReader, hdrs, web
from aiohttp.base_protocol import BaseProtocol
from aiohttp.http_exceptions import HttpProcessingError, PayloadEncodingError, TransferEncodingError
from aiohttp.streams import StreamReader
from multidict import CIMultiDict

from services.gateway.objects.short_form import ShortFormPart, parse_short_form
from services.gateway.requests.forward import BodyRejected
from services.gateway.requests.transfer_rate import BodyTooSlow

T = TypeVar("T")

_MOST_FIELDS = 10
_LONGEST_FIELD = 1024 * 1024 + 1
"""Bytes of one field; custom metadata of more than 1 MiB are refused by the pool."""
_BYTES = "application/octet-stream"
_NAMES_OF_FILES = (None, "", "file")
_CHUNK = 256 * 1024
BODY_AT_ONCE_S = 0.1
"""How long the rest of a small body is waited for: the packets behind the head are on their way."""


@dataclass(slots=True)
class UploadBody:
    """A body that is read once. `fields` grow while a form is read; `content_type` is the type of the file in a form."""

    pieces: AsyncIterator[bytes]
    fields: dict[str, str] = field(default_factory=dict)
    content_type: str = ""
    is_form: bool = False
    has_file: bool = True
    fields_read: int = 0
    """Parts of the form that were fields: more than `fields` where a name is repeated."""


class BodyPace(Protocol):
    """Waits for pieces of a body, as `TransferRate` does."""

    async def wait(self, reading: Awaitable[T], /) -> T:
        """Return a piece. Raises: BodyTooSlow."""


class BodySource(Protocol):
    """What is read of a request that carries an upload."""

    @property
    def headers(self) -> Mapping[str, str]:
        """The headers, whatever the case of a name."""

    @property
    def content(self) -> StreamReader:
        """The body."""


async def open_upload_body(request: BodySource, pace: BodyPace, *, takes_forms: bool = True) -> UploadBody:
    """Read a request up to its first byte of content. Raises: BodyRejected for an invalid form."""
    if not takes_forms or not is_form(request.headers.get("content-type", "")):
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


def is_form(content_type: str) -> bool:
    """Return whether a body of this type is a multipart form. Pure."""
    return content_type.partition(";")[0].strip().lower() == "multipart/form-data"


def read_form(content_type: str, data: bytes) -> tuple[UploadBody, bytes] | None:
    """Return a form whose bytes are all here, read to its end, and the bytes of its file.

    None if the form is invalid or has no file: `open_upload_body` tells why. The same code reads it, which never waits here,
    unless the form is as simple as most are.
    """
    parts = parse_short_form(content_type, data)
    if parts is not None:
        return _of_parts(parts)
    return read_any_form(content_type, data)


def _of_parts(parts: list[ShortFormPart]) -> tuple[UploadBody, bytes] | None:
    files = [part for part in parts if _names_file(part.filename, part.content_type, part.name)]
    if len(files) != 1:
        return None
    [file] = files
    fields = {part.name: part.content.decode("utf-8", "replace") for part in parts if part is not file}
    return UploadBody(pieces_of(), fields, file.content_type, is_form=True), file.content


def read_any_form(content_type: str, data: bytes) -> tuple[UploadBody, bytes] | None:
    """Return what `read_form` returns, for any form."""
    reading = _read_form(content_type, data)
    try:
        reading.send(None)
    except StopIteration as stop:
        result: tuple[UploadBody, bytes] | None = stop.value
        return result
    except Exception:  # no form may end the connection here: whoever reads it again answers with the error
        return None
    reading.close()  # it waits for more bytes
    return None


async def _read_form(content_type: str, data: bytes) -> tuple[UploadBody, bytes] | None:
    loop = asyncio.get_running_loop()
    content = StreamReader(BaseProtocol(loop), limit=len(data) + 1, loop=loop)
    content.feed_data(data)
    content.feed_eof()
    headers = CIMultiDict({hdrs.CONTENT_TYPE: content_type})
    body = await open_upload_body(_WholeBody(headers, content), _NoPace())
    return (body, b"".join([piece async for piece in body.pieces])) if body.has_file else None


class _WholeBody(NamedTuple):
    headers: CIMultiDict[str]
    content: StreamReader


class _NoPace:
    """The pace of a body that is here: no timer is needed."""

    async def wait(self, reading: Awaitable[T], /) -> T:
        return await reading


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
        async with asyncio.timeout(BODY_AT_ONCE_S):
            await content.wait_eof()
    except (TimeoutError, PayloadEncodingError, TransferEncodingError, web.PayloadAccessError):
        return False  # whoever reads the body gets the error
    return content.exception() is None


async def pieces_of(*pieces: bytes) -> AsyncIterator[bytes]:
    """Yield these pieces."""
    for piece in pieces:
        yield piece


async def _raw(request: BodySource, pace: BodyPace) -> AsyncIterator[bytes]:
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
    form: MultipartReader, file: BodyPartReader, body: UploadBody, pace: BodyPace
) -> AsyncIterator[bytes]:
    """Return the file's bytes, then take in the fields behind it."""
    while piece := await _timely(file.read_chunk(_CHUNK), pace):
        yield bytes(piece)
    if await _next_file(form, body, pace) is not None:
        raise BodyRejected(400, "The form has more than one file")


async def _next_file(form: MultipartReader, body: UploadBody, pace: BodyPace) -> BodyPartReader | None:
    """Take in fields until the file comes; None at the end of the form."""
    while True:
        part = await _timely(form.next(), pace)
        if part is None:
            return None
        if not isinstance(part, BodyPartReader):
            raise BodyRejected(400, "A form within a form is not taken")
        if _is_file(part):
            return part
        if body.fields_read >= _MOST_FIELDS:
            raise BodyRejected(400, f"The form has more than {_MOST_FIELDS} fields")
        body.fields_read += 1
        body.fields[part.name or ""] = await _text(part, pace)


def _is_file(part: BodyPartReader) -> bool:
    """Return whether a part is the file: it has a file name, or is of type octet-stream, or is named `file` or not at all.

    A content type alone says nothing: many clients type their text fields, too (RFC 7578, 4.4).
    """
    return _names_file(part.filename, part.headers.get("content-type", ""), part.name)


def _names_file(filename: str | None, content_type: str, name: str | None) -> bool:
    media_type = content_type.partition(";")[0].strip().lower()
    return filename is not None or media_type == _BYTES or name in _NAMES_OF_FILES


async def _text(part: BodyPartReader, pace: BodyPace) -> str:
    data = b""
    while piece := await _timely(part.read_chunk(_CHUNK), pace):
        data += piece
        if len(data) > _LONGEST_FIELD:
            raise BodyRejected(413, f"The form's field {part.name} is too long")
    return data.decode("utf-8", "replace")


async def _timely(reading: Awaitable[T], pace: BodyPace) -> T:
    """Wait for a piece of a form. Raises: BodyRejected if it does not arrive in time or is malformed."""
    try:
        return await pace.wait(reading)
    except BodyTooSlow as error:
        raise BodyRejected(408, str(error)) from None
    except (ValueError, AssertionError, RuntimeError, HttpProcessingError, web.PayloadAccessError) as error:
        # RuntimeError: a field `_charset_` that names no charset.
        raise BodyRejected(400, f"The form is malformed: {error}") from None
