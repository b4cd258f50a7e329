"""The first rows of shapes: this edge sends them from the files of the pool `sync`, where both have one folder.

A request names the folder by its mark; a pool with the same folder answers with a part of a file (`FilePart`) instead of bytes. A file
that is gone when it is opened belongs to a shape that has just ended: the request is sent again without the mark.
"""

import asyncio
import re
from io import FileIO
from pathlib import Path

from aiohttp import web

from schemas.http import FilePart, Headers, Response
from schemas.sync import folder_mark, snapshot_file
from services.gateway.objects.conditions import ByteRange
from services.gateway.objects.file_copy import copy_to_socket
from services.gateway.objects.file_responses import send_file
from services.gateway.requests.compression import IDENTITY, preferred_coding
from services.gateway.requests.forward import response_headers

_HANDLE = re.compile(r"[0-9a-f]{32}-[0-9]{1,20}")


class ShapeFiles:
    """The files of one folder; `folder` None where this process knows none."""

    def __init__(self, folder: Path | None) -> None:
        self._folder = folder

    def mark(self) -> str:
        """Return what tells the pool which folder this process has; empty for none."""
        return folder_mark(self._folder)

    def open(self, part: FilePart) -> FileIO:
        """Open the file of a part. Raises: OSError."""
        if self._folder is None or not _HANDLE.fullmatch(part.name):
            raise FileNotFoundError(part.name)
        return snapshot_file(self._folder, part.name).open("rb", buffering=0)

    async def send(
        self, http: web.BaseRequest, response: Response, file: FileIO, part: FilePart, extra: Headers
    ) -> Response | web.StreamResponse:
        """Send the response; return it with its bytes where they have to be compressed. Raises: ConnectionError, TimeoutError, OSError."""
        span = ByteRange(part.start, part.start + part.size)
        with file:
            if preferred_coding(http.headers.get("accept-encoding")) != IDENTITY:
                body = await asyncio.to_thread(_read, file, part)
                return Response(response.status, response.headers, body)
            sent = web.StreamResponse(
                status=response.status, headers=response_headers(response.headers, extra)
            )
            sent.content_length = part.size
            await sent.prepare(http)
            if not await send_file(http, sent, file.fileno(), span, copy_to_socket):
                await sent.write(await asyncio.to_thread(_read, file, part))
                await sent.write_eof()
            return sent


def _read(file: FileIO, part: FilePart) -> bytes:
    """Return the bytes of a part. Raises: OSError, also where the file is shorter."""
    file.seek(part.start)
    pieces = bytearray()
    while len(pieces) < part.size:
        piece = file.read(part.size - len(pieces))
        if not piece:
            raise OSError("the file of a shape is shorter than it was")
        pieces += piece
    return bytes(pieces)
