"""A way to a server on which packets can vanish: both sides keep their connections and hear nothing, as behind a broken switch."""

import asyncio
import contextlib
from collections.abc import AsyncIterator

_PIECE = 64 * 1024


class SilentWay:
    """Passes bytes on while it is open. While it is silent it reads nothing, so that both sides wait; new connections hang, too."""

    def __init__(self, host: str, port: int) -> None:
        self._host, self._port = host, port
        self._open = asyncio.Event()
        self._open.set()
        self._tasks: set[asyncio.Task[None]] = set()
        self.port = 0
        self.delay_s = 0.0
        """How much later each piece arrives: a slow link."""

    def silence(self) -> None:
        """Let nothing through, and break nothing."""
        self._open.clear()

    def mend(self) -> None:
        """Let everything through, also what has waited."""
        self._open.set()

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Serve one connection until one side ends it."""
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        back: asyncio.StreamWriter | None = None
        try:
            await self._open.wait()
            there, back = await asyncio.open_connection(self._host, self._port)
            passing = [
                asyncio.ensure_future(self._pass(reader, back)),
                asyncio.ensure_future(self._pass(there, writer)),
            ]
            try:
                await asyncio.wait(passing, return_when=asyncio.FIRST_COMPLETED)
            finally:
                for each in passing:
                    each.cancel()
                await asyncio.gather(*passing, return_exceptions=True)
        except (OSError, asyncio.CancelledError):
            pass
        finally:
            for end in (writer, back):
                if end is not None:
                    end.transport.abort()

    async def _pass(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while data := await reader.read(_PIECE):
            if self.delay_s:
                await asyncio.sleep(self.delay_s)
            await self._open.wait()
            writer.write(data)
            await writer.drain()

    async def close(self) -> None:
        """End all connections."""
        self.mend()
        for task in list(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)


@contextlib.asynccontextmanager
async def silent_way(host: str, port: int) -> AsyncIterator[SilentWay]:
    """Open a way to a server."""
    way = SilentWay(host, port)
    server = await asyncio.start_server(way.serve, "127.0.0.1", 0)
    way.port = server.sockets[0].getsockname()[1]
    try:
        yield way
    finally:
        server.close()
        await way.close()
