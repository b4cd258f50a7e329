"""The clock of the machine jumps, forwards and back: one order for each renewal that looks due, no storm, and none forgotten.

The authority's clock stays true. The machine's is the test's own, for all that decides when an order is due.
"""

import contextlib
import time
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from broker.nats.connection import NatsConnection
from schemas.settings.certificates import HTTP
from schemas.settings.tree import Auth
from services.certificates.folder import CertificateFolder
from services.certificates.holder import CertificateHolder
from services.certificates.model import OrderHistory, RenewalAdvice
from services.certificates.schedule import CertificateFacts, by_present_clock, clock_ahead, is_later
from services.certificates.shared import SharedCertificates
from tests.broker.server import NatsServer
from tests.services.certificates.edges import running_edge, settings_for
from tests.services.certificates.pebble import Pebble

DAY = 86400.0
_LOOKS = 5


class Clock:
    """The machine's clock."""

    ahead = 0.0

    def __call__(self) -> float:
        return time.time() + self.ahead


@contextlib.asynccontextmanager
async def _holder(
    nats_url: str, pebble: Pebble, folder: Path, clock: Clock
) -> AsyncIterator[tuple[CertificateHolder, SharedCertificates]]:
    """Open an edge's holder whose looks the test makes."""
    connection = await NatsConnection.open(nats_url, name="test")
    shared = SharedCertificates(connection, Auth().jwt_secret)
    holder = CertificateHolder(
        settings_for(pebble, HTTP),
        CertificateFolder(folder),
        shared,
        lambda: None,
        now=clock,
        ca_file=str(pebble.ca_file),
    )
    try:
        yield holder, shared
    finally:
        await connection.close()


async def _orders(holder: CertificateHolder) -> int:
    """Let the holder look several times; return how often it ordered."""
    return sum([await holder.check() for _ in range(_LOOKS)])


async def test_a_clock_that_jumps_orders_once_and_goes_on_renewing(
    broker: NatsServer, pebble: Pebble, tmp_path: Path
) -> None:
    """The edge of `answering` answers the challenges alone: it has a certificate, and orders nothing."""
    answering, folder, clock = tmp_path / "answering", tmp_path / "ordering", Clock()
    async with (
        running_edge(broker.url, answering, settings_for(pebble, HTTP), pebble),
        _holder(broker.url, pebble, folder, clock) as (holder, shared),
    ):
        own, other = (CertificateFolder(each).holder_name() for each in (folder, answering))
        while await shared.certificate() is None or not await shared.take_lease(own):
            await shared.drop_lease(other)
        first = await shared.certificate()
        assert first is not None
        assert await _orders(holder) == 0, "a new edge takes over what is there"

        clock.ahead = 70 * DAY
        assert await _orders(holder) == 1, "it looks due, and one order is enough"
        clock.ahead = 150 * DAY
        assert await _orders(holder) == 1, "so it does again"
        clock.ahead = 0.0
        assert await _orders(holder) == 0
        clock.ahead = 61 * DAY
        assert await _orders(holder) == 1, "time that really passes renews it: what was measured is forgotten"
    issued = CertificateFolder(folder).read_certificate()
    assert issued is not None
    assert issued.chain != first.chain


async def test_failures_of_a_clock_that_was_ahead_do_not_hold_orders_back(
    broker: NatsServer, pebble: Pebble, tmp_path: Path
) -> None:
    """Nothing listens where the authority looks: each order fails."""
    clock = Clock()
    async with _holder(broker.url, pebble, tmp_path, clock) as (holder, shared):
        clock.ahead = 400 * DAY
        assert await _orders(holder) == 1
        held_until = CertificateFolder(tmp_path).read_history().next_at
        assert held_until > time.time() + 399 * DAY

        clock.ahead = 0.0
        assert await _orders(holder) == 0, "it waits the minute of a first failure, from now on"
        assert CertificateFolder(tmp_path).read_history().next_at < time.time() + 120
        stored = await shared.history()
        assert stored is not None
        assert stored.next_at < time.time() + 120, "other edges learn it"

        clock.ahead = 120.0
        assert await _orders(holder) == 1
        assert CertificateFolder(tmp_path).read_history().failures == 2


async def test_advice_of_a_clock_that_was_ahead_is_asked_for_again(
    broker: NatsServer, pebble: Pebble, tmp_path: Path
) -> None:
    clock, folder = Clock(), CertificateFolder(tmp_path)
    async with _holder(broker.url, pebble, tmp_path, clock) as (holder, _):
        async with running_edge(broker.url, tmp_path, settings_for(pebble, HTTP), pebble):
            while folder.read_certificate() is None or folder.read_history().failures:
                await holder.check()
        facts = folder.facts()
        assert facts is not None
        ahead = time.time() + 400 * DAY
        folder.write_advice(RenewalAdvice(facts.fingerprint, ahead, ahead + DAY, ahead))

        await holder.check()

        advice = folder.read_advice()
        assert advice is not None
        assert advice.asked_at < time.time() + DAY


@pytest.mark.parametrize(
    ("history", "now", "expected"),
    [
        (OrderHistory(2, 1300.0, "why", 1000.0, "a", 1000.0), 900.0, OrderHistory(2, 1300.0, "why", 1000.0, "a", 1000.0)),
        (OrderHistory(2, 9300.0, "why", 9000.0, "a", 9000.0), 900.0, OrderHistory(2, 1200.0, "why", 900.0, "a", 900.0)),
        (OrderHistory(issued_by="a", changed_at=9000.0), 900.0, OrderHistory(issued_by="a", changed_at=900.0)),
    ],
)  # fmt: skip
def test_a_history_of_the_future_is_dated_anew(
    history: OrderHistory, now: float, expected: OrderHistory
) -> None:
    assert by_present_clock(history, now) == expected


def test_what_is_of_the_future_counts_least() -> None:
    assert is_later(2.0, 1.0, 10.0)
    assert not is_later(1.0, 2.0, 10.0)
    assert is_later(1.0, 5000.0, 10.0)
    assert not is_later(5000.0, 1.0, 10.0)
    assert not is_later(5000.0, 5000.0, 10.0)


@pytest.mark.parametrize(("days", "late", "ahead"), [(90, 0.5, 0), (90, 40, 40), (1, 0.2, 0), (1, 0.5, 0.5)])
def test_an_authority_that_dates_back_is_no_wrong_clock(days: float, late: float, ahead: float) -> None:
    facts = CertificateFacts(frozenset(), 0.0, days * DAY)

    assert clock_ahead(facts, late * DAY) == ahead * DAY
