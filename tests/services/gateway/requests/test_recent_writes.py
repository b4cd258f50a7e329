"""Positions of callers who wrote a moment ago."""

import asyncio
from collections.abc import AsyncIterator

import pytest

from broker.codec import encode
from broker.nats.connection import NatsConnection
from broker.subjects import POSITIONS
from schemas.caller import ServiceCaller
from schemas.positions import POSITION, CallerPosition
from services.gateway.requests.recent_writes import RecentWrites
from services.middleware.caller_key import CallerKeys
from tests.broker.server import NatsServer, running_server
from tests.services.gateway.pool import Pool
from tests.services.gateway.running_gateway import KEYS, RunningGateway


class Clock:
    """Seconds that a test sets."""

    now = 100.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


def test_reads_of_the_writer_have_its_position_until_the_window_ends(clock):
    writes = RecentWrites(clock)
    assert writes.is_empty
    writes.note(CallerPosition("ada", "ff.1000"))
    writes.note(CallerPosition("ada", "1ff.1000"))
    clock.now += 0.9

    during = writes.with_position([("accept", "*/*")], "ada")
    others = writes.with_position([], "bob")
    clock.now += 0.2
    after = writes.with_position([], "ada")

    assert during == [("accept", "*/*"), (POSITION, "1ff.1000")]
    assert (others, after) == ([], [])
    assert writes.is_empty


def test_of_two_writes_at_a_time_the_later_position_counts_whichever_arrives_last(clock):
    writes = RecentWrites(clock)
    writes.note(CallerPosition("ada", "1ff.1000"))
    writes.note(CallerPosition("ada", "ff.1000"))

    during = writes.with_position([], "ada")
    clock.now += 1.1
    writes.note(CallerPosition("ada", "ee.1000"))  # as after a replica with a shorter log has taken over

    assert (during, writes.with_position([], "ada")) == ([(POSITION, "1ff.1000")], [(POSITION, "ee.1000")])


def test_beyond_the_limit_all_reads_go_to_the_primary_until_the_entries_end(clock):
    writes = RecentWrites(clock, most=2)
    for key in ("ada", "bob", "cy"):
        writes.note(CallerPosition(key, "ff.1000"))

    assert writes.with_position([], "dan") == [(POSITION, "x.0")]
    clock.now += 1.1
    assert writes.with_position([], "ada") == []
    assert writes.is_empty


def test_entries_that_ended_make_room(clock):
    writes = RecentWrites(clock, most=2)
    for key in ("ada", "bob", "cy", "dan"):
        writes.note(CallerPosition(key, "ff.1000"))
        clock.now += 0.6

    assert writes.with_position([], "other") == []
    assert writes.with_position([], "dan") == [(POSITION, "ff.1000")]


@pytest.fixture
async def connection() -> AsyncIterator[NatsConnection]:
    async with running_server(jetstream=False) as nats:
        opened = await NatsConnection.open(nats.url, name="test")
        yield opened
        await opened.close()


async def test_positions_arrive_from_workers_and_unreadable_messages_are_ignored(connection):
    writes = RecentWrites()
    writes.follow(connection)
    connection.publish(POSITIONS.name, b"nonsense")
    connection.publish(POSITIONS.name, encode(CallerPosition("ada", "ff.60000")))
    await connection.flush()

    assert writes.with_position([], "ada") == [(POSITION, "ff.60000")]


async def test_an_edge_adds_the_position_to_reads_of_the_writer_alone(
    nats: NatsServer, gateway: RunningGateway, pool: Pool
) -> None:
    del pool
    keys = CallerKeys()
    writer = keys.key_of(ServiceCaller(), KEYS.secret_key, lambda: "127.0.0.1")
    publisher = await NatsConnection.open(nats.url, name="worker")
    try:
        publisher.publish(POSITIONS.name, encode(CallerPosition(writer, "ff.60000")))
        await publisher.flush()
        async with asyncio.timeout(60):
            while POSITION not in (names := await _headers_behind(gateway, KEYS.secret_key)):
                await asyncio.sleep(0.02)
        others = await _headers_behind(gateway, KEYS.publishable_key)
    finally:
        await publisher.close()

    assert names[POSITION] == "ff.60000"
    assert POSITION not in others


async def _headers_behind(gateway: RunningGateway, key: str) -> dict[str, str]:
    """Return the headers of a request as the pool gets it."""
    reply = await gateway.ask("GET", "/rest/v1/items", key=key)
    return dict(reply.json()["headers"])
