"""Renewal under load: open connections stay, new ones get the new certificate; failures wait and are told."""

import asyncio
import contextlib
import errno
import json
import ssl
import time
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import msgspec
import pytest
import websockets

from broker.nats.connection import NatsConnection, NoResponders
from broker.subjects import CERTIFICATE_RENEWAL_SUBJECT, CERTIFICATE_REPORT_READING, CERTIFICATES_STREAM
from schemas.certificate_status import CertificateReport, RenewalRequest
from schemas.settings.certificates import HTTP, TLS_ALPN, Certificates
from schemas.settings.realtime import RealtimeSettings
from schemas.settings.tree import Auth
from services.certificates.certificate_facts import read_facts
from services.certificates.folder import CertificateFolder
from services.certificates.holder import CertificateHolder
from services.certificates.model import IssuedCertificate, OrderHistory
from services.certificates.shared import SharedCertificates
from tests.broker.server import NatsServer
from tests.services.certificates.edges import (
    DOMAIN,
    PATIENCE_S,
    issued_names,
    running_edge,
    served,
    settings_for,
    write_old_certificate,
)
from tests.services.certificates.pebble import Pebble
from tests.services.gateway.running_gateway import KEYS

_STREAMS, _KEPT = 3, 4
_NEVER = OrderHistory(1, 4e9, "a test holds it back")


@contextlib.asynccontextmanager
async def _shared(nats_url: str) -> AsyncIterator[SharedCertificates]:
    connection = await NatsConnection.open(nats_url, name="test")
    try:
        yield SharedCertificates(connection, Auth().jwt_secret)
    finally:
        await connection.close()


async def test_renewal_drops_no_connection(broker: NatsServer, pebble: Pebble, tmp_path: Path) -> None:
    """Under load: a WebSocket, connections kept alive with request after request, and streams of new connections live through a renewal."""
    old = write_old_certificate(tmp_path, days_left=3)
    CertificateFolder(tmp_path).write_history(_NEVER)
    unverified = ssl._create_unverified_context()
    async with (
        running_edge(
            broker.url, tmp_path, settings_for(pebble, TLS_ALPN), pebble, realtime=RealtimeSettings()
        ) as gateway,
        asyncio.timeout(PATIENCE_S),
    ):
        first = await served(gateway.port)
        address = f"wss://127.0.0.1:{gateway.port}/realtime/v1/websocket?vsn=1.0.0&apikey={KEYS.anon_key}"
        async with websockets.connect(address, ssl=unverified, proxy=None) as socket:
            kept = await asyncio.open_connection("127.0.0.1", gateway.port, ssl=unverified)
            assert await _ask(*kept) == b"HTTP/1.1 200 OK"
            new_ones = [
                asyncio.create_task(_connect_until_changed(gateway.port, first)) for _ in range(_STREAMS)
            ]
            is_renewed = asyncio.Event()
            on_kept = [asyncio.create_task(_ask_until(is_renewed, gateway.port)) for _ in range(_KEPT)]
            async with _shared(broker.url) as shared:
                while await shared.history() != _NEVER:  # the edge has shared its own
                    await asyncio.sleep(0.02)
                await shared.write(history=OrderHistory(changed_at=1.0))
            connections = sum(await asyncio.gather(*new_ones))
            is_renewed.set()
            requests = await asyncio.gather(*on_kept)
            assert await issued_names(pebble) == [DOMAIN]
            heartbeat = {"topic": "phoenix", "event": "heartbeat", "payload": {}, "ref": "7"}
            await socket.send(json.dumps(heartbeat))
            assert json.loads(await socket.recv())["ref"] == "7"
            assert await _ask(*kept) == b"HTTP/1.1 200 OK", "the connection that was kept alive still serves"
            shown = kept[1].get_extra_info("ssl_object").getpeercert(binary_form=True)
            assert shown == first, "with the certificate of its handshake"
            kept[1].close()
    assert connections > _STREAMS
    assert min(requests) > 1, "every connection was asked before and after"
    renewed = CertificateFolder(tmp_path).read_certificate()
    assert renewed is not None
    assert renewed.chain != old.chain


async def _ask(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bytes:
    """Send a request on an open connection; return the first line of the response."""
    writer.write(b"GET /health/live HTTP/1.1\r\nHost: api.example.org\r\n\r\n")
    head = await reader.readuntil(b"\r\n\r\n")
    await reader.readuntil(b"}")
    return head.partition(b"\r\n")[0]


async def _ask_until(is_over: asyncio.Event, port: int) -> int:
    """Send request after request on one connection, and a last one afterwards; every one has to succeed. Return how many."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port, ssl=ssl._create_unverified_context())
    count = 0
    while True:
        is_last = is_over.is_set()
        assert await _ask(reader, writer) == b"HTTP/1.1 200 OK"
        count += 1
        if is_last:
            writer.close()
            return count


async def _connect_until_changed(port: int, first: bytes) -> int:
    """Open connection after connection until one shows another certificate; every one has to succeed."""
    count = 0
    while True:
        count += 1
        if await served(port) != first:
            return count


async def test_a_renewal_can_be_requested_and_is_reported(
    broker: NatsServer, pebble: Pebble, tmp_path: Path
) -> None:
    """The request comes while failures make the order wait until long after."""
    write_old_certificate(tmp_path, days_left=60)
    CertificateFolder(tmp_path).write_history(OrderHistory(3, 4e9, "no route to host", changed_at=1.0))
    connection = await NatsConnection.open(broker.url, name="test")

    async def report() -> CertificateReport | None:
        with contextlib.suppress(NoResponders):
            reply = await connection.request(CERTIFICATE_REPORT_READING, b"")
            return msgspec.json.decode(reply.payload, type=CertificateReport) if reply.payload else None
        return None

    try:
        async with (
            running_edge(broker.url, tmp_path, settings_for(pebble, HTTP), pebble),
            asyncio.timeout(PATIENCE_S),
        ):
            while (before := await report()) is None:
                await asyncio.sleep(0.05)
            old, new = (msgspec.json.encode(RenewalRequest(time.time() - age)) for age in (3600.0, 0.0))
            await connection.request(CERTIFICATE_RENEWAL_SUBJECT, old)
            taken = f"$JS.API.DIRECT.GET.{CERTIFICATES_STREAM}.{CERTIFICATE_RENEWAL_SUBJECT}"
            while (await connection.request(taken, b"")).payload:
                await asyncio.sleep(0.05)
            assert CertificateFolder(tmp_path).read_history().failures == 3, "an old request counts no more"
            await connection.request(CERTIFICATE_RENEWAL_SUBJECT, new)
            assert await issued_names(pebble) == [DOMAIN]
            while (after := await report()) is None or after.is_ordering or after.failures:
                await asyncio.sleep(0.05)
    finally:
        await connection.close()

    assert (before.failures, before.last_error, before.next_order_at) == (3, "no route to host", 4e9)
    assert (before.names, before.issuer) == ([DOMAIN], "an earlier one")
    assert after.issuer.startswith("Pebble Intermediate CA")
    assert round((after.not_after - after.renewal_at) / 86400) == 30


async def test_a_failed_challenge_waits_and_says_why(
    broker: NatsServer, pebble: Pebble, tmp_path: Path
) -> None:
    settings = settings_for(pebble, TLS_ALPN, HTTP, domains=("missing.example.org",))
    folder = CertificateFolder(tmp_path)
    async with running_edge(broker.url, tmp_path, settings, pebble) as gateway, asyncio.timeout(PATIENCE_S):
        while "missing" not in (history := folder.read_history()).error:
            await asyncio.sleep(0.05)
        assert await served(gateway.port), "the self-signed certificate serves meanwhile"
    assert history.failures == 1
    assert history.next_at - history.failed_at == 60
    assert "missing.example.org by tls-alpn-01" in history.error
    assert "missing.example.org by http-01" in history.error
    assert folder.read_account() is not None, "the account outlives a failed order"


async def test_waits_grow_with_failures_and_end_with_success(
    broker: NatsServer, pebble: Pebble, tmp_path: Path
) -> None:
    """The clock is the test's own; nothing listens where the authority looks, until the gateway runs."""
    now = 1_000_000.0
    folder = CertificateFolder(tmp_path)
    waits = []
    async with _shared(broker.url) as shared:
        holder = CertificateHolder(
            settings_for(pebble, HTTP),
            folder,
            shared,
            lambda: None,
            now=lambda: now,
            ca_file=str(pebble.ca_file),
        )
        for _ in range(3):
            assert await holder.check()
            assert not await holder.check(), "not before its time"
            history = folder.read_history()
            waits.append(history.next_at - now)
            now = history.next_at
        await shared.drop_lease(folder.holder_name())
        assert waits == [60, 300, 1800]

        folder.write_history(history := OrderHistory(3, 0.0, "an earlier failure", 1.0))
        await shared.write(history=history)
        async with running_edge(broker.url, tmp_path, settings_for(pebble, HTTP), pebble):
            await issued_names(pebble)
            async with asyncio.timeout(PATIENCE_S):
                while folder.read_history().failures:
                    await asyncio.sleep(0.05)


async def test_an_authority_that_is_away_fails_with_its_reason(
    broker: NatsServer, pebble: Pebble, tmp_path: Path
) -> None:
    settings = settings_for(pebble, HTTP)
    async with _shared(broker.url) as shared:
        untrusting = CertificateHolder(settings, CertificateFolder(tmp_path), shared, lambda: None)
        assert await untrusting.check()
    assert "certificates.directory_ca" in CertificateFolder(tmp_path).read_history().error


async def test_one_edge_holds_the_lease_until_it_stops_or_is_silent(broker: NatsServer) -> None:
    now = 0.0
    connection = await NatsConnection.open(broker.url, name="test")
    secret = Auth().jwt_secret
    one = SharedCertificates(connection, secret)
    other = SharedCertificates(connection, secret, clock=lambda: now)
    try:
        assert await one.take_lease("one")
        assert await one.take_lease("one")
        assert not await other.take_lease("other")
        now = 59.0
        assert not await other.take_lease("other")
        assert await one.take_lease("one")
        now = 61.0
        assert not await other.take_lease("other"), "it was renewed meanwhile"
        now = 121.0
        assert await other.take_lease("other"), "silent for a minute"
        await other.drop_lease("other")
        assert await one.take_lease("one")
    finally:
        await connection.close()


async def test_what_edges_share_is_sealed(broker: NatsServer, tmp_path: Path) -> None:
    connection = await NatsConnection.open(broker.url, name="test")
    secret = Auth().jwt_secret
    issued: IssuedCertificate = write_old_certificate(tmp_path, days_left=30)
    try:
        await SharedCertificates(connection, secret).write(certificate=issued)
        assert await SharedCertificates(connection, secret).certificate() == issued
        other = SharedCertificates(connection, type(secret)("another secret of thirty-two characters"))
        assert await other.certificate() is None
    finally:
        await connection.close()
    assert not any(
        b"PRIVATE KEY" in path.read_bytes() for path in broker._folder.rglob("*") if path.is_file()
    ), "no key lies readable in the broker's store"
    facts = read_facts(issued.chain.encode())
    assert facts is not None
    assert facts.names == {DOMAIN}


async def test_a_full_disk_does_not_order(
    broker: NatsServer, pebble: Pebble, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What cannot be stored is not ordered: an authority issues few certificates a week."""
    folder = CertificateFolder(tmp_path)
    name = folder.holder_name()

    def full(path: Path, content: bytes, *, is_durable: bool) -> None:
        del content, is_durable
        raise OSError(errno.ENOSPC, "No space left on device", str(path))

    monkeypatch.setattr("services.certificates.folder.write_private", full)
    async with _shared(broker.url) as shared:
        holder = CertificateHolder(
            settings_for(pebble, HTTP), folder, shared, lambda: None, ca_file=str(pebble.ca_file)
        )
        with pytest.raises(OSError, match="No space"):
            await holder.check()
        assert await shared.account() is None, "no order began"
        await shared.drop_lease(name)


class _HeldBack(SharedCertificates):
    """Never finishes sharing challenges, so that an order stays where it is."""

    async def write(self, **entries: Any) -> None:
        if entries.get("challenges"):
            self.presented.set()
            await asyncio.Event().wait()
        await super().write(**entries)

    presented: asyncio.Event


async def test_an_order_that_was_interrupted_counts_as_failed(
    broker: NatsServer, pebble: Pebble, tmp_path: Path
) -> None:
    folder = CertificateFolder(tmp_path)
    connection = await NatsConnection.open(broker.url, name="test")
    shared = _HeldBack(connection, Auth().jwt_secret)
    shared.presented = asyncio.Event()
    holder = CertificateHolder(
        settings_for(pebble, HTTP), folder, shared, lambda: None, ca_file=str(pebble.ca_file)
    )
    looking = asyncio.ensure_future(holder.check())
    presented = asyncio.ensure_future(shared.presented.wait())
    try:
        await asyncio.wait([looking, presented], timeout=PATIENCE_S, return_when=asyncio.FIRST_COMPLETED)
        assert presented.done(), looking
        looking.cancel()
        await asyncio.wait([looking])
        history = folder.read_history()
        assert (history.failures, history.error) == (1, "an order runs, or was interrupted")
        assert not await holder.check()
    finally:
        presented.cancel()
        await connection.close()


class _FailingCertificates(SharedCertificates):
    """Raises an error that nothing expects, once."""

    looks = 0

    async def certificate(self) -> IssuedCertificate | None:
        self.looks += 1
        if self.looks == 1:
            raise ValueError("a line that is no message")
        return await super().certificate()


async def test_an_unexpected_error_does_not_end_the_looks(broker: NatsServer, tmp_path: Path) -> None:
    connection = await NatsConnection.open(broker.url, name="test")
    shared = _FailingCertificates(connection, Auth().jwt_secret)
    CertificateFolder(tmp_path).write_history(_NEVER)
    settings = Certificates(domains=[DOMAIN], accept_terms=True)
    holder = CertificateHolder(settings, CertificateFolder(tmp_path), shared, lambda: None)
    holder.start()
    try:
        async with asyncio.timeout(PATIENCE_S):
            while shared.looks < 3:
                await asyncio.sleep(0.02)
    finally:
        await holder.close()
        await connection.close()
