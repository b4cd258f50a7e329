"""Sockets that systemd holds: a service that restarts under load loses no connection, with and without TLS."""

import asyncio
import contextlib
import socket
import ssl
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.broker.certificate import certificate_for_loopback
from tests.broker.server import running_server
from tests.docs.pages import ROOT
from tests.services.activation import activated

_CLIENTS = 3
_RESTARTS = 2
_PATIENCE_S = 180.0


async def _ask(port: int, context: ssl.SSLContext | None) -> bytes:
    """Send a request on a connection of its own; return the beginning of the response."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port, ssl=context)
    try:
        writer.write(b"GET /health/live HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
        return await reader.readexactly(len(b"HTTP/1.1 200"))
    finally:
        writer.close()
        with contextlib.suppress(ConnectionError, ssl.SSLError):  # it ends after its response
            await writer.wait_closed()


@pytest.fixture
def listening() -> Iterator[tuple[socket.socket, socket.socket]]:
    """Sockets for HTTPS and HTTP, closed at the end however the test ends."""
    with (
        socket.create_server(("127.0.0.1", 0), backlog=512) as https,
        socket.create_server(("127.0.0.1", 0), backlog=512) as http,
    ):
        yield https, http


async def test_a_restart_loses_no_connection(
    tmp_path: Path, listening: tuple[socket.socket, socket.socket]
) -> None:
    certificate = certificate_for_loopback(tmp_path)
    https, http = listening
    ports = {https.getsockname()[1]: ssl._create_unverified_context(), http.getsockname()[1]: None}
    answered: dict[int, list[bytes]] = {port: [] for port in ports}
    is_over = asyncio.Event()

    async def ask_on_and_on(port: int) -> None:
        while not is_over.is_set():
            answered[port].append(await _ask(port, ports[port]))

    async with asyncio.timeout(_PATIENCE_S), running_server() as nats:
        environment = {
            "HEADWATER_BROKER_URL": nats.url,
            "HEADWATER_API_PORT": str(https.getsockname()[1]),
            "HEADWATER_API_TLS_ENABLED": "true",
            "HEADWATER_API_TLS_CERT_PATH": str(certificate),
            "HEADWATER_API_TLS_KEY_PATH": str(tmp_path / "key.pem"),
            "HEADWATER_API_TLS_HTTP_PORT": str(http.getsockname()[1]),
        }
        asking = [asyncio.ensure_future(ask_on_and_on(port)) for port in ports for _ in range(_CLIENTS)]
        codes = []
        for number in range(_RESTARTS + 1):
            process = await activated(["-m", "services", "gateway"], [https, http], environment, str(ROOT))
            try:
                before = {port: len(lines) for port, lines in answered.items()}
                while any(len(answered[port]) < before[port] + 20 for port in ports):
                    assert process.returncode is None
                    assert not any(task.done() for task in asking), "no connection fails"
                    await asyncio.sleep(0.02)  # the clients ask meanwhile
                if number == _RESTARTS:
                    is_over.set()
                    await asyncio.gather(*asking)
                process.terminate()
                codes.append(await process.wait())
            finally:
                if process.returncode is None:
                    process.kill()
                    await process.wait()

    assert codes == [0] * (_RESTARTS + 1)
    assert [set(lines) for lines in answered.values()] == [{b"HTTP/1.1 200"}, {b"HTTP/1.1 308"}]
