"""A pool whose attempts to connect fail while the event loop is busy."""

import asyncio
import contextlib
import time
from urllib.parse import urlsplit

import pytest
import uvloop

from tests.workers.database.connections import opened, session_database, until, value
from workers.database.connection_pool.open_connections import PoolEventKind
from workers.database.errors import Disconnected

_LONGER_THAN_THE_PAUSE_S = 0.06


class Gate:
    """A port in front of Postgres that can be shut, which cuts off all connections. It works in every event loop."""

    def __init__(self, port):
        self._port, self._is_shut, self._writers = port, False, set()

    async def listen(self):
        """Start to listen; return the server and its port."""
        server = await asyncio.start_server(self._connected, "127.0.0.1", 0)
        return server, server.sockets[0].getsockname()[1]

    def shut(self):
        self._is_shut = True
        for writer in self._writers:
            writer.transport.abort()

    def open(self):
        self._is_shut = False

    async def _connected(self, reader, writer):
        if self._is_shut:
            writer.transport.abort()
            return
        to_server = await asyncio.open_connection("127.0.0.1", self._port)
        await asyncio.gather(self._copy(reader, to_server[1]), self._copy(to_server[0], writer))

    async def _copy(self, reader, writer):
        self._writers.add(writer)
        with contextlib.suppress(OSError):
            while data := await reader.read(65536):
                writer.write(data)
        self._writers.discard(writer)
        writer.close()


@pytest.mark.parametrize(
    "new_loop", [asyncio.new_event_loop, uvloop.new_event_loop], ids=["asyncio", "uvloop"]
)
async def test_a_pool_connects_again_when_an_attempt_fails_as_the_timer_of_another_fires(server, new_loop):
    def run():
        with asyncio.Runner(loop_factory=new_loop) as runner:
            return runner.run(_two_attempts_fail(server.url))

    ends = await asyncio.to_thread(run)

    assert len(ends) == 2
    assert all(isinstance(end, Disconnected) for end in ends), ends


async def _two_attempts_fail(server_url):
    """Cut off the only connection while two callers want one: two attempts start, and fail one after the other.

    The second failure blocks the event loop for longer than the pause that the first has begun. Return the callers' results.
    """
    refused, calls = [], []

    def on_event(event):
        match event.kind:
            case PoolEventKind.LOST:
                calls.extend(asyncio.ensure_future(value(pool, "select 1")) for _ in range(2))
            case PoolEventKind.REFUSED:
                refused.append(event.message)
                if len(refused) == 2:
                    time.sleep(_LONGER_THAN_THE_PAUSE_S)

    async with session_database(server_url) as database:
        parts = urlsplit(database.login)
        gate = Gate(parts.port)
        gate_server, port = await gate.listen()
        url = parts._replace(netloc=parts.netloc.replace(f":{parts.port}", f":{port}")).geturl()
        try:
            async with opened(url, 2, on_event=on_event) as pool:
                gate.shut()
                await until(lambda: len(refused) >= 2)
                ends = await asyncio.gather(*calls, return_exceptions=True)
                outage = pool.outage
                assert outage is not None
                gate.open()

                await until(lambda: pool.state.open)
                assert pool.outage is None
                assert await value(pool, "select 1") == b"1"
                gate.shut()
                await until(lambda: pool.outage is not None)
                assert pool.outage != outage, "another one"
        finally:
            gate.shut()
            gate_server.close()
    return ends
