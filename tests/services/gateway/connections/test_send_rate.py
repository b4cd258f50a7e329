"""Clients that do not read what they asked for: they are counted by what their machine takes, and disconnected."""

import asyncio
import itertools
import socket

import pytest

from schemas.settings.tree import Gateway
from services.gateway.connections.send_rate import taken_bytes
from tests.broker.server import NatsServer
from tests.services.gateway.pool import Pool
from tests.services.gateway.running_gateway import KEYS, RunningGateway, running_gateway
from tests.services.gateway.wire import head_of

_SIZE = 32 * 1024 * 1024
_STRICT = Gateway(body_rate=1000, body_rate_window=0.3)


async def _connected(gateway: RunningGateway) -> socket.socket:
    client = socket.socket()
    client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    client.setblocking(False)
    await asyncio.get_running_loop().sock_connect(client, ("127.0.0.1", gateway.port))
    return client


@pytest.mark.parametrize("connection", ["keep-alive", "close"])
@pytest.mark.parametrize("target", ["/rest/v1/large", "/rest/v1/text"])
async def test_a_client_that_reads_nothing_is_disconnected(
    nats: NatsServer, pool: Pool, target: str, connection: str
) -> None:
    async with running_gateway(nats.url, _STRICT) as gateway:
        client = await _connected(gateway)
        request = head_of("GET", target, {"apikey": KEYS.anon_key, "connection": connection})
        await asyncio.get_running_loop().sock_sendall(client, request)

        async with asyncio.timeout(60):
            while not _is_reset(client):
                await asyncio.sleep(0.01)
        client.close()


def _is_reset(client: socket.socket) -> bool:
    """Look at the state of a connection without reading from it."""
    error = client.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR)
    return error != 0


async def test_what_a_client_takes_is_counted_until_nothing_waits() -> None:
    transports: list[asyncio.Transport] = []

    class Sender(asyncio.Protocol):
        def connection_made(self, transport: asyncio.BaseTransport) -> None:
            assert isinstance(transport, asyncio.Transport)
            transports.append(transport)
            transport.write(bytes(_SIZE))

    loop = asyncio.get_running_loop()
    async with await loop.create_server(Sender, "127.0.0.1", 0) as server:
        with socket.create_connection(server.sockets[0].getsockname()) as client:
            client.setblocking(False)
            received = len(await loop.sock_recv(client, 1024))
            states = [(taken_bytes(transports[0]), transports[0].get_write_buffer_size())]
            while received < _SIZE:
                received += len(await loop.sock_recv(client, 16 * 1024))
                await asyncio.sleep(0)
                states.append((taken_bytes(transports[0]), transports[0].get_write_buffer_size()))
        transports[0].abort()

    counts = [taken for taken, _ in states if taken is not None]
    assert counts == sorted(counts)
    assert any(a[1] == b[1] and (a[0] or 0) < (b[0] or 0) for a, b in itertools.pairwise(states))
    assert states[-1][0] is None
