"""HTTP as bytes on a socket: what is sent is what the test wrote, and answers are shown as they came."""

import asyncio
import json
from collections.abc import AsyncIterator, Iterable, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from typing import Any

_PATIENCE_S = 60.0


@dataclass(frozen=True, slots=True)
class Reply:
    """One answer; header names in lower case, in their order."""

    status: int
    reason: str
    headers: list[tuple[str, str]]
    body: bytes = b""

    def header(self, name: str) -> str | None:
        return next(iter(self.all(name)), None)

    def all(self, name: str) -> list[str]:
        return [value for key, value in self.headers if key == name]

    def json(self) -> Any:
        return json.loads(self.body)


class Wire:
    """One connection to a server."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer

    async def send(self, data: bytes) -> None:
        self._writer.write(data)
        await self._writer.drain()

    async def reply(self, method: str = "GET") -> Reply:
        """Read one answer to its end."""
        async with asyncio.timeout(_PATIENCE_S):
            return await self._reply(method)

    async def rest(self, until: bytes = b"") -> bytes:
        """Read until the server ends the connection, or has sent these words."""
        received = b""
        async with asyncio.timeout(_PATIENCE_S):
            with suppress(ConnectionResetError):
                while not (until and until in received) and (piece := await self._reader.read(1 << 16)):
                    received += piece
        return received

    def finish(self) -> None:
        """Send no more, but go on listening."""
        self._writer.write_eof()

    def abort(self) -> None:
        self._writer.transport.abort()

    async def head(self) -> Reply:
        """Read the head of an answer."""
        async with asyncio.timeout(_PATIENCE_S):
            text = (await self._reader.readuntil(b"\r\n\r\n")).decode()
        first, *lines = text.rstrip("\r\n").split("\r\n")
        _, status, reason = first.split(" ", 2)
        pairs = [line.partition(":") for line in lines]
        return Reply(int(status), reason, [(name.lower(), value.strip()) for name, _, value in pairs])

    async def piece(self) -> bytes:
        """Read one chunk of a chunked body; the last one is empty."""
        async with asyncio.timeout(_PATIENCE_S):
            size = int(await self._reader.readline(), 16)
            return (await self._reader.readexactly(size + 2))[:-2]

    async def _reply(self, method: str) -> Reply:
        head = await self.head()
        length = head.header("content-length")
        if method == "HEAD" or head.status < 200 or head.status in (204, 304):
            body = b""
        elif head.header("transfer-encoding") == "chunked":
            pieces = []
            while piece := await self.piece():
                pieces.append(piece)
            body = b"".join(pieces)
        elif length is not None:
            body = await self._reader.readexactly(int(length))
        else:
            body = await self._reader.read()
        return Reply(head.status, head.reason, head.headers, body)


@asynccontextmanager
async def connected(port: int) -> AsyncIterator[Wire]:
    """Open a connection and close it at the end."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port, limit=1 << 22)
    try:
        yield Wire(reader, writer)
    finally:
        writer.transport.abort()


def head_of(method: str, target: str, headers: Mapping[str, str] | Iterable[tuple[str, str]]) -> bytes:
    """Return the head of a request, in the letters it was given."""
    pairs = headers.items() if isinstance(headers, Mapping) else headers
    lines = [
        f"{method} {target} HTTP/1.1",
        "Host: gateway.test",
        *(f"{name}: {value}" for name, value in pairs),
    ]
    return "\r\n".join([*lines, "", ""]).encode(errors="surrogateescape")


def chunked(*pieces: bytes) -> bytes:
    """Return a body in the chunked coding."""
    return b"".join(b"%x\r\n%s\r\n" % (len(piece), piece) for piece in (*pieces, b""))
