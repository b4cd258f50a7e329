"""Uploads to the S3 endpoint by a form, as browsers send it: its fields are read first, then the file is a body like any other.

    fields before the file --> one header of the request, whose name no client can send --> the pool holds the policy against it
    the file               --> what is streamed into the blob store
    what follows the file  --> not looked at, as S3 does

Source: docs/reference/storage.md, section 10; "Browser-based uploads using POST" of the Amazon S3 API reference; RFC 7578.
"""

from collections.abc import Awaitable
from dataclasses import dataclass
from typing import TypeVar, cast

import msgspec
from aiohttp import BodyPartReader, HttpVersion, HttpVersion11, MultipartReader, web
from aiohttp.http_exceptions import HttpProcessingError
from multidict import CIMultiDict

from schemas.http import Headers
from services.gateway.requests.forward import BodyRejected, send_continue
from services.gateway.requests.transfer_rate import BodyTooSlow, TransferRate

T = TypeVar("T")

FIELDS = ":form"
"""Header of the fields, as the JSON of an object: no name of HTTP/1.1 begins with a colon."""
_TOKEN = "x-amz-security-token"  # noqa: S105 - a field's name
_CHECKSUM = "x-amz-checksum-"
_FILE = "file"
_FILENAME = "${filename}"
_MOST_FIELDS = 100
_MOST_BYTES = 256 * 1024
"""Bytes of all fields; S3 takes 20 KB."""
_CHUNK = 256 * 1024


@dataclass(frozen=True, slots=True)
class S3Form:
    """A form that was read up to its file. Names of fields are in lower case; of a repeated one the first counts."""

    fields: dict[str, str]
    file: web.BaseRequest
    """The file as the body of a request."""

    @property
    def authorization(self) -> str | None:
        """Return the session token, as an `Authorization` header would have it."""
        token = self.fields.get(_TOKEN)
        return f"Bearer {token}" if token else None

    def headers(self, received: Headers) -> Headers:
        """Return the headers of the request, with the fields; checksums among them are those of the file."""
        sums = [(name, value) for name, value in self.fields.items() if name.startswith(_CHECKSUM)]
        others = [pair for pair in received if not pair[0].startswith("x-amz-")]
        return [*others, *sums, (FIELDS, msgspec.json.encode(self.fields).decode())]


def is_form(method: str, path: str, kind: str | None) -> bool:
    """Return whether a request is an upload by a form. `path` is below the storage's prefix. Pure."""
    _, area, *rest = path.split("/")
    is_bucket = area == "s3" and len(rest) in (1, 2) and bool(rest[0]) and not "".join(rest[1:])
    plain = (kind or "").partition(";")[0].strip().lower()
    return method == "POST" and is_bucket and plain == "multipart/form-data"


async def open_form(request: web.BaseRequest, pace: TransferRate) -> S3Form:
    """Read a form up to its file. Raises: BodyRejected for an invalid form, or one without a file."""
    await send_continue(request)
    try:
        form = MultipartReader(request.headers, request.content)
    except ValueError as error:
        raise BodyRejected(400, f"The form cannot be read: {error}") from None
    fields: dict[str, str] = {}
    left = _MOST_BYTES
    for _ in range(_MOST_FIELDS + 1):
        part = await _timely(form.next(), pace)
        if part is None:
            raise BodyRejected(400, "POST requires exactly one file upload per request")
        if not isinstance(part, BodyPartReader):
            raise BodyRejected(400, "A form within a form is not taken")
        name = (part.name or "").lower()
        if name == _FILE:
            return _opened(fields, part, pace)
        text = await _text(part, left, pace)
        left -= len(text.encode()) + len(name)
        fields.setdefault(name, text)
    raise BodyRejected(400, f"The form has more than {_MOST_FIELDS} fields")


def _opened(fields: dict[str, str], part: BodyPartReader, pace: TransferRate) -> S3Form:
    named = (part.filename or "").replace("\\", "/").rpartition("/")[2]
    if "key" in fields:
        fields["key"] = fields["key"].replace(_FILENAME, named)
    # The way of objects reads no more of a request than its headers and its content.
    file = cast("web.BaseRequest", _File(CIMultiDict(), _Content(part, pace)))
    return S3Form(fields, file)


@dataclass(frozen=True, slots=True)
class _File:
    headers: CIMultiDict[str]
    content: "_Content"
    version: HttpVersion = HttpVersion11


@dataclass(frozen=True, slots=True)
class _Content:
    part: BodyPartReader
    pace: TransferRate

    async def readany(self) -> bytes:
        """Return the next bytes of the file, none at its end. Raises: BodyRejected."""
        return bytes(await _timely(self.part.read_chunk(_CHUNK), self.pace))


async def _text(part: BodyPartReader, most: int, pace: TransferRate) -> str:
    data = b""
    while piece := await _timely(part.read_chunk(_CHUNK), pace):
        data += piece
        if len(data) > most:
            raise BodyRejected(400, "Your POST request fields preceding the upload file were too large")
    try:
        return data.decode()
    except UnicodeDecodeError:
        raise BodyRejected(400, "A field of the form is no UTF-8") from None


async def _timely(reading: Awaitable[T], pace: TransferRate) -> T:
    """Wait for a piece of a form. Raises: BodyRejected if it does not arrive in time or is malformed."""
    try:
        return await pace.wait(reading)
    except BodyTooSlow as error:
        raise BodyRejected(408, str(error)) from None
    except (ValueError, AssertionError, HttpProcessingError, web.PayloadAccessError) as error:
        raise BodyRejected(400, f"The form is malformed: {error}") from None
