"""A way to a server that can be cut: open connections break off, and new ones are closed at once."""

import asyncio
import contextlib
from collections.abc import AsyncIterator
from urllib.parse import urlsplit


class Outage:
    """Passes connections on to a server, until it is cut."""

    def __init__(self, host: str, port: int) -> None:
        self._host, self._port = host, port
        self._is_cut = False
        self._connections: set[asyncio.Task[None]] = set()
        self.url = ""

    def cut(self) -> None:
        """Let nothing through."""
        self._is_cut = True
        for connection in self._connections:
            connection.cancel()

    def mend(self) -> None:
        """Let everything through again."""
        self._is_cut = False

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Serve one connection."""
        task = asyncio.ensure_future(self._pass_on(reader, writer))
        self._connections.add(task)
        task.add_done_callback(self._connections.discard)
        try:
            with contextlib.suppress(asyncio.CancelledError, OSError):
                await task
        finally:
            writer.transport.abort()

    async def _pass_on(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if self._is_cut:
            return
        there, back = await asyncio.open_connection(self._host, self._port)
        try:
            async with asyncio.TaskGroup() as group:
                group.create_task(_copy(reader, back))
                group.create_task(_copy(there, writer))
        except* OSError:
            pass
        finally:
            back.transport.abort()


async def _copy(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    while data := await reader.read(64 * 1024):
        writer.write(data)
        await writer.drain()
    raise ConnectionResetError  # one side has ended: so does the other


@contextlib.asynccontextmanager
async def outage(url: str) -> AsyncIterator[Outage]:
    """Open a way to the server of a URL."""
    parts = urlsplit(url)
    assert parts.hostname is not None
    assert parts.port is not None
    way = Outage(parts.hostname, parts.port)
    server = await asyncio.start_server(way.serve, "127.0.0.1", 0)
    way.url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    try:
        yield way
    finally:
        way.cut()
        server.close()
