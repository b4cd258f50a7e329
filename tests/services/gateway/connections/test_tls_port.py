"""The port with TLS and the one without: handshakes count and end, certificates of any kind are exchanged, http is sent to https."""

import asyncio
import contextlib
import ssl
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.asymmetric import rsa

from broker.observability.observe import exposition
from schemas.settings.tree import Gateway, Tls
from schemas.settings.types import Duration
from services.gateway.connections.certificate import Certificate
from tests.broker.certificate import certificate_for_loopback
from tests.broker.server import NatsServer
from tests.ports import free_port
from tests.services.gateway.running_gateway import RunningGateway, running_gateway
from tests.services.gateway.wire import connected

PATIENCE_S = 60.0


@pytest.fixture
def pair(tmp_path: Path) -> Tls:
    certificate_for_loopback(tmp_path)
    files = {"cert_path": str(tmp_path / "cert.pem"), "key_path": str(tmp_path / "key.pem")}
    return Tls(enabled=True, http_port=free_port(), hsts=Duration(600), **files)


def unverified() -> ssl.SSLContext:
    return ssl._create_unverified_context()


@contextlib.asynccontextmanager
async def bounded(nats: NatsServer, pair: Tls, **limits: float) -> AsyncIterator[RunningGateway]:
    async with running_gateway(nats.url, Gateway(**limits), api={"tls": pair}) as gateway:  # type: ignore[arg-type]  # options of a test
        yield gateway


async def alive(port: int) -> bytes:
    """Return the first line of a response over TLS; empty if the connection is closed before."""
    try:
        reader, writer = await asyncio.open_connection("127.0.0.1", port, ssl=unverified())
    except (ConnectionError, ssl.SSLError):
        return b""
    writer.write(b"GET /health/live HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n")
    with contextlib.suppress(ConnectionError):
        line = (await reader.read()).partition(b"\r\n")[0]
    writer.close()
    return line


async def test_a_stalled_handshake_is_closed(nats: NatsServer, pair: Tls) -> None:
    async with bounded(nats, pair, handshake_timeout=0.2) as gateway, asyncio.timeout(PATIENCE_S):
        for first in (b"", b"\x16", b"\x16\x03\x01\x02\x00\x01"):
            reader, writer = await asyncio.open_connection("127.0.0.1", gateway.port)
            writer.write(first)
            with contextlib.suppress(ConnectionError):
                assert await reader.read() == b""
            writer.close()
        assert await alive(gateway.port) == b"HTTP/1.1 200 OK"


async def test_a_handshake_under_way_is_finished_before_the_end(
    nats: NatsServer, pair: Tls, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        "services.gateway.connections.tls_port._LAST_HANDSHAKES_S", 60.0
    )  # the client may be slow here
    monkeypatch.setattr("services.listening._FIRST_HEAD_S", 60.0)
    async with (
        running_gateway(nats.url, api={"tls": pair}, drain_timeout=100.0) as edge,
        asyncio.timeout(PATIENCE_S),
    ):
        reader, writer = await asyncio.open_connection("127.0.0.1", edge.port)
        assert await alive(edge.port) == b"HTTP/1.1 200 OK", "connections are accepted in their order"
        edge.process.stop("the test ends it")
        with contextlib.suppress(OSError):
            while True:
                async with connected(edge.port):
                    await asyncio.sleep(0)

        await writer.start_tls(unverified())
        writer.write(b"GET /health/live HTTP/1.1\r\nHost: h\r\n\r\n")

        assert (await reader.read()).startswith(b"HTTP/1.1 200 OK")
        writer.close()
        await edge.ended()


async def test_connections_without_a_handshake_count(nats: NatsServer, pair: Tls) -> None:
    """Before, a connection counted only after its handshake: a flood of silent ones had no bound."""
    async with bounded(nats, pair, max_connections_per_address=3) as gateway, asyncio.timeout(PATIENCE_S):
        silent = [await asyncio.open_connection("127.0.0.1", gateway.port) for _ in range(3)]
        assert await alive(gateway.port) == b"", "the fourth is one too many"
        silent[0][1].close()
        while await alive(gateway.port) != b"HTTP/1.1 200 OK":
            await asyncio.sleep(0.02)
        for _, writer in silent[1:]:
            writer.close()


async def test_a_failed_handshake_gives_its_place_back(nats: NatsServer, pair: Tls) -> None:
    async with bounded(nats, pair, max_connections_per_address=2) as gateway, asyncio.timeout(PATIENCE_S):
        for _ in range(6):
            reader, writer = await asyncio.open_connection("127.0.0.1", gateway.port)
            writer.write(b"GET / HTTP/1.1\r\n\r\n")
            with contextlib.suppress(ConnectionError):
                await reader.read()
            writer.close()
        while await alive(gateway.port) != b"HTTP/1.1 200 OK":
            await asyncio.sleep(0.02)
        assert b"headwater_tls_handshakes_failed" in exposition()


@pytest.mark.parametrize(
    "limit",
    [{"maximum_version": ssl.TLSVersion.TLSv1_1}, {"ciphers": "AES128-SHA:AES256-SHA256"}],
)
async def test_old_protocols_and_ciphers_are_refused(
    nats: NatsServer, pair: Tls, limit: dict[str, object]
) -> None:
    context = unverified()
    if "ciphers" in limit:
        context.maximum_version = ssl.TLSVersion.TLSv1_2
        context.set_ciphers(f"{limit['ciphers']}:@SECLEVEL=0")
    else:
        context.set_ciphers("ALL:@SECLEVEL=0")
        context.minimum_version = ssl.TLSVersion.MINIMUM_SUPPORTED
        with pytest.warns(DeprecationWarning, match="TLSv1_1"):
            context.maximum_version = ssl.TLSVersion.TLSv1_1
    async with bounded(nats, pair) as gateway:
        with pytest.raises((ssl.SSLError, ConnectionError)):
            await asyncio.open_connection("127.0.0.1", gateway.port, ssl=context)


async def test_http_11_is_agreed_and_hsts_is_sent(nats: NatsServer, pair: Tls) -> None:
    context = unverified()
    context.set_alpn_protocols(["h2", "http/1.1"])
    async with bounded(nats, pair) as gateway:
        reader, writer = await asyncio.open_connection("127.0.0.1", gateway.port, ssl=context)
        agreed = writer.get_extra_info("ssl_object").selected_alpn_protocol()
        writer.write(b"GET /health/live HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n")
        head = (await reader.read()).partition(b"\r\n\r\n")[0].lower()
        writer.close()

    assert agreed == "http/1.1"
    assert b"strict-transport-security: max-age=600" in head


async def test_a_key_of_another_kind_replaces_the_first(pair: Tls, tmp_path: Path) -> None:
    """One context with both would serve either, as the client prefers."""
    certificate = Certificate.of_settings(pair)
    server = await asyncio.start_server(lambda _, w: w.close(), "127.0.0.1", 0, ssl=certificate.context)
    port = server.sockets[0].getsockname()[1]
    renewed = tmp_path / "renewed"
    renewed.mkdir()
    certificate_for_loopback(renewed, rsa.generate_private_key(public_exponent=65537, key_size=2048))
    for name in ("cert.pem", "key.pem"):
        (tmp_path / name).write_bytes((renewed / name).read_bytes())

    assert certificate.reload_if_changed()
    shown = set()
    for ciphers in ("ECDHE+ECDSA:ECDHE+aRSA", "ECDHE+aRSA"):
        context = ssl.create_default_context(cafile=str(renewed / "cert.pem"))
        context.maximum_version = ssl.TLSVersion.TLSv1_2
        context.set_ciphers(ciphers)
        _, writer = await asyncio.open_connection("127.0.0.1", port, ssl=context)
        shown.add(writer.get_extra_info("ssl_object").getpeercert(binary_form=True))
        writer.close()
    assert len(shown) == 1
    server.close()
    await server.wait_closed()


async def test_the_first_pair_that_can_be_used_is_served(tmp_path: Path) -> None:
    own, issued = tmp_path / "own", tmp_path / "issued"
    own.mkdir()
    issued.mkdir()
    certificate_for_loopback(own)
    certificate = Certificate([(folder / "cert.pem", folder / "key.pem") for folder in (issued, own)])

    assert not certificate.reload_if_changed()
    certificate_for_loopback(issued)
    assert certificate.reload_if_changed()
    assert not certificate.reload_if_changed()


async def test_http_is_sent_to_https(nats: NatsServer, pair: Tls) -> None:
    async with bounded(nats, pair) as gateway:
        replies = []
        for host, target in (
            ("127.0.0.1", "/rest/v1/items?select=a&b=%20"),
            ("LOCALHOST:80", "/"),
            ("evil.example.net", "/"),
            ("127.0.0.1", "/.well-known/acme-challenge/token"),
            ("127.0.0.1", "//evil.example.net/"),
        ):
            async with connected(pair.http_port or 0) as wire:
                await wire.send(f"GET {target} HTTP/1.1\r\nHost: {host}\r\n\r\n".encode())
                replies.append(await wire.reply("GET"))
        port = gateway.port

    assert [reply.status for reply in replies] == [308, 308, 421, 308, 308]
    assert replies[0].header("location") == f"https://127.0.0.1:{port}/rest/v1/items?select=a&b=%20"
    assert replies[1].header("location") == f"https://localhost:{port}/"
    assert replies[2].header("location") is None
    assert replies[4].header("location") == f"https://127.0.0.1:{port}//evil.example.net/"
