"""A network that breaks: a relay between browser and platform whose connections a test cuts, and lets through again."""

import asyncio
import contextlib
from collections.abc import AsyncIterator
from urllib.parse import urlsplit


class Relay:
    """Passes bytes between a port of its own and the platform."""

    def __init__(self, port: int) -> None:
        self._target = port
        self._writers: set[asyncio.StreamWriter] = set()
        self._is_cut = False
        self._tasks: set[asyncio.Task[None]] = set()
        self.url = ""
        self.refused = 0
        """Connections that were closed at once since the network was cut."""

    def cut(self) -> None:
        """Reset all connections, and those that come until `mend`."""
        self._is_cut, self.refused = True, 0
        for writer in self._writers:
            writer.transport.abort()

    def mend(self) -> None:
        """Let connections through again."""
        self._is_cut = False

    async def accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Serve one connection."""
        if self._is_cut:
            self.refused += 1
            writer.transport.abort()
            return
        far_reader, far_writer = await asyncio.open_connection("127.0.0.1", self._target)
        self._writers |= {writer, far_writer}
        try:
            async with asyncio.TaskGroup() as group:
                group.create_task(_pass_on(reader, far_writer))
                group.create_task(_pass_on(far_reader, writer))
        finally:
            self._writers -= {writer, far_writer}
            writer.close()
            far_writer.close()


async def _pass_on(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    with contextlib.suppress(ConnectionError):
        while data := await reader.read(65536):
            writer.write(data)
            await writer.drain()
        writer.write_eof()


@contextlib.asynccontextmanager
async def relay_to(url: str) -> AsyncIterator[Relay]:
    """Run a relay in front of a platform's URL."""
    port = urlsplit(url).port
    assert port is not None
    relay = Relay(port)
    server = await asyncio.start_server(relay.accept, "127.0.0.1", 0)
    relay.url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    try:
        yield relay
    finally:
        relay.cut()
        server.close()
        await server.wait_closed()
