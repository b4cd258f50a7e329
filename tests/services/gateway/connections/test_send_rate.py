"""Clients that do not read what they asked for: they are counted by what their machine takes, and disconnected."""

import asyncio
import itertools
import socket

import pytest

from schemas.settings.tree import Gateway
from services.gateway.connections.send_rate import taken_bytes
from tests.broker.server import NatsServer
from tests.services.gateway.door import KEYS, Door, running_door
from tests.services.gateway.pool import Pool
from tests.services.gateway.wire import head_of

_STRICT = Gateway(body_rate=1000, body_rate_window=0.3)


async def _connected(door: Door) -> socket.socket:
    client = socket.socket()
    client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    client.setblocking(False)
    await asyncio.get_running_loop().sock_connect(client, ("127.0.0.1", door.port))
    return client


@pytest.mark.parametrize("target", ["/rest/v1/large", "/rest/v1/text"])
async def test_a_client_that_reads_nothing_is_disconnected(nats: NatsServer, pool: Pool, target: str) -> None:
    async with running_door(nats.url, _STRICT) as door:
        client = await _connected(door)
        request = head_of("GET", target, {"apikey": KEYS.anon_key})
        await asyncio.get_running_loop().sock_sendall(client, request)

        async with asyncio.timeout(60):
            while not _is_reset(client):
                await asyncio.sleep(0.01)
        client.close()


def _is_reset(client: socket.socket) -> bool:
    """Look at the state of a connection without reading from it."""
    error = client.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR)
    return error != 0


async def test_what_a_client_takes_is_counted_although_the_buffer_does_not_shrink() -> None:
    transports: list[asyncio.Transport] = []

    class Sender(asyncio.Protocol):
        def connection_made(self, transport: asyncio.BaseTransport) -> None:
            assert isinstance(transport, asyncio.Transport)
            transports.append(transport)
            transport.write(bytes(32 * 1024 * 1024))

    loop = asyncio.get_running_loop()
    async with await loop.create_server(Sender, "127.0.0.1", 0) as server:
        with socket.create_connection(server.sockets[0].getsockname()) as client:
            client.setblocking(False)
            await loop.sock_recv(client, 1)
            before = [(taken_bytes(transports[0]), transports[0].get_write_buffer_size())]
            for _ in range(32 * 1024):  # a third of the kernel's buffer is many of these
                await loop.sock_recv(client, 1024)
                await asyncio.sleep(0)
                before.append((taken_bytes(transports[0]), transports[0].get_write_buffer_size()))
        transports[0].abort()

    grown_alone = [a for a, b in itertools.pairwise(before) if b[0] > a[0] and b[1] == a[1]]
    assert before[-1][0] > before[0][0]
    assert grown_alone
