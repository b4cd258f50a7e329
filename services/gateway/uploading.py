"""The body of an upload -> a blob: raw bytes, or the file of a multipart form. Memory stays flat, whatever the size.

Source: reference page "storage", section 6.1; RFC 7578.
"""

from collections.abc import AsyncIterator, Awaitable
from dataclasses import dataclass, field
from typing import TypeVar

from aiohttp import BodyPartReader, MultipartReader, web
from aiohttp.http_exceptions import HttpProcessingError, PayloadEncodingError, TransferEncodingError

from services.gateway.forward import BodyRefused
from services.gateway.pace import Pace, TooSlow

T = TypeVar("T")

_MOST_FIELDS = 10
_LONGEST_FIELD = 1024 * 1024 + 1
"""Bytes of one field; custom metadata of more than 1 MiB are refused by the pool."""
_CHUNK = 256 * 1024


@dataclass(slots=True)
class Body:
    """A body that is read once. `fields` grow while a form is read; `content_type` is that of the file of a form."""

    pieces: AsyncIterator[bytes]
    fields: dict[str, str] = field(default_factory=dict)
    content_type: str = ""
    is_form: bool = False
    has_file: bool = True


async def open_body(request: web.BaseRequest, pace: Pace, *, takes_forms: bool = True) -> Body:
    """Read a request up to its first byte of content. Raises: BodyRefused for a form that is none."""
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind != "multipart/form-data" or not takes_forms:
        return Body(_raw(request, pace))
    try:
        form = MultipartReader(request.headers, request.content)
    except ValueError as error:
        raise BodyRefused(400, f"The form cannot be read: {error}") from None
    body = Body(_nothing(), is_form=True, has_file=False)
    file = await _next_file(form, body, pace)
    if file is not None:
        body.has_file = True
        body.content_type = file.headers.get("content-type", "")
        body.pieces = _of_form(form, file, body, pace)
    return body


async def _raw(request: web.BaseRequest, pace: Pace) -> AsyncIterator[bytes]:
    while True:
        try:
            piece = await pace.wait(request.content.readany())
        except TooSlow as error:
            raise BodyRefused(408, str(error)) from None
        except (PayloadEncodingError, TransferEncodingError, web.PayloadAccessError) as error:
            raise BodyRefused(400, f"The body is malformed: {error}") from None
        if not piece:
            return
        yield piece


async def _of_form(
    form: MultipartReader, file: BodyPartReader, body: Body, pace: Pace
) -> AsyncIterator[bytes]:
    """Give the file's bytes, then take in the fields behind it."""
    while piece := await _timely(file.read_chunk(_CHUNK), pace):
        yield bytes(piece)
    if await _next_file(form, body, pace) is not None:
        raise BodyRefused(400, "The form has more than one file")


async def _next_file(form: MultipartReader, body: Body, pace: Pace) -> BodyPartReader | None:
    """Take in fields until the file comes; None at the end of the form."""
    while True:
        part = await _timely(form.next(), pace)
        if part is None:
            return None
        if not isinstance(part, BodyPartReader):
            raise BodyRefused(400, "A form within a form is not taken")
        if part.filename is not None or part.name in (None, "", "file") or "content-type" in part.headers:
            return part
        if len(body.fields) >= _MOST_FIELDS:
            raise BodyRefused(400, f"The form has more than {_MOST_FIELDS} fields")
        body.fields[part.name or ""] = await _text(part, pace)


async def _text(part: BodyPartReader, pace: Pace) -> str:
    data = b""
    while piece := await _timely(part.read_chunk(_CHUNK), pace):
        data += piece
        if len(data) > _LONGEST_FIELD:
            raise BodyRefused(413, f"The form's field {part.name} is too long")
    return data.decode("utf-8", "replace")


async def _timely(reading: Awaitable[T], pace: Pace) -> T:
    """Wait for a piece of a form. Raises: BodyRefused if it does not come in time, or is no form."""
    try:
        return await pace.wait(reading)
    except TooSlow as error:
        raise BodyRefused(408, str(error)) from None
    except (ValueError, AssertionError, HttpProcessingError, web.PayloadAccessError) as error:
        raise BodyRefused(400, f"The form is malformed: {error}") from None


async def _nothing() -> AsyncIterator[bytes]:
    return
    yield b""
