"""Resuming, lost connections and lost messages: everything after a position, in order, none twice."""

import asyncio

import pytest

from broker.nats.connection import NatsConnection
from schemas.changes import Position
from schemas.errors import Unavailable
from schemas.realtime import ChangeSubscription, ClaimRule, SqlRule, VisibilityQuery
from services.realtime.changes import catch_up, subscribers
from services.realtime.changes.feed import ChangeFeed
from tests.broker.server import NatsServer
from tests.services.realtime.changes.conftest import OpenFeed
from tests.services.realtime.changes.listener import ALL, Listener
from tests.services.realtime.changes.log import Log, inserted
from tests.services.realtime.changes.pool import Pool, table

ONE = "00000000-0000-4000-8000-000000000001"


async def test_a_resume_gets_what_came_after_its_position(feed: ChangeFeed, log: Log) -> None:
    await log.commit(inserted(1))
    since = await log.commit(inserted(2))
    await log.commit(inserted(3), table="other")
    await log.commit(inserted(4))
    listener = Listener()

    await feed.subscribe(listener, [ALL], [1], since)
    await log.commit(inserted(5))
    await listener.heard(2)

    assert listener.ids == [4, 5]


async def test_a_resume_goes_on_within_a_batch(feed: ChangeFeed, log: Log) -> None:
    end = await log.commit(*(inserted(number) for number in range(10)))
    await log.commit(inserted(10))
    listener = Listener()

    await feed.subscribe(listener, [ALL], [1], Position(end.lsn, end.number, 6))
    await listener.heard(4)

    assert listener.ids == [7, 8, 9, 10]


async def test_a_resume_with_the_last_position_gets_only_what_is_new(feed: ChangeFeed, log: Log) -> None:
    since = await log.commit(inserted(1))
    listener = Listener()

    await feed.subscribe(listener, [ALL], [1], since)
    await log.commit(inserted(2))
    await listener.heard(1)

    assert (listener.ids, listener.gaps) == ([2], [])


async def test_a_resume_sees_only_what_it_may(feed: ChangeFeed, pool: Pool, log: Log) -> None:
    pool.tables["authenticated", "items"] = table(SqlRule())
    pool.visible = lambda role, claims, key: int(key) % 3 == 0
    since = await log.commit(inserted(0))
    for number in range(1, 40):
        await log.commit(inserted(number))
    listener = Listener("authenticated", sub=ONE)

    await feed.subscribe(listener, [ALL], [1], since)

    assert listener.ids == list(range(3, 40, 3))


async def test_many_resume_while_changes_go_on(feed: ChangeFeed, pool: Pool, log: Log) -> None:
    pool.tables["authenticated", "items"] = table(ClaimRule("user_id", ["sub"], "uuid"))
    positions = [await log.commit(inserted(number, ONE)) for number in range(60)]
    listeners = [Listener("authenticated", sub=ONE) for _ in range(30)]
    entries = [ALL, ChangeSubscription("INSERT", "public", "items", "amount=eq.1")]

    async def write() -> None:
        for number in range(60, 300):
            await log.commit(inserted(number, ONE))

    async def resume(number: int) -> None:
        await asyncio.sleep(0.003 * number)
        await feed.subscribe(listeners[number], entries, [1, 2], positions[2 * number])

    await asyncio.gather(write(), *(resume(number) for number in range(30)))
    for listener in listeners:
        await listener.saw(299)

    for number, listener in enumerate(listeners):
        assert listener.ids == list(range(2 * number + 1, 300))


async def test_beyond_retention_is_a_gap(feed: ChangeFeed, log: Log) -> None:
    since = await log.commit(inserted(1))
    for number in range(2, 6):
        await log.commit(inserted(number))
    await log.empty(keep=2)
    listener = Listener()

    subscription, _ = await feed.subscribe(listener, [ALL], [1], since)
    end = await log.commit(inserted(6))
    await listener.heard(1, gaps=1)

    assert (listener.ids, listener.gaps) == ([6], [since])
    assert subscription.position >= end


async def test_a_position_of_another_history_is_a_gap(feed: ChangeFeed, log: Log) -> None:
    await log.commit(inserted(1))
    listener = Listener()

    await feed.subscribe(listener, [ALL], [1], Position(0xFFFFFFFF))

    assert listener.gaps == [Position(0xFFFFFFFF)]


async def test_a_position_is_known_after_everything_left_the_stream(feed: ChangeFeed, log: Log) -> None:
    first, second = Listener(), Listener()
    await feed.subscribe(first, [ALL], [1], None)
    since = await log.commit(inserted(1))
    await first.heard(1)
    await log.empty()

    await feed.subscribe(second, [ALL], [1], since)
    await log.commit(inserted(2))
    await second.heard(1)

    assert (second.ids, second.gaps) == ([2], [])


async def test_a_restart_of_the_broker_loses_and_doubles_nothing(
    broker: NatsServer, feed: ChangeFeed, pool: Pool, log: Log
) -> None:
    pool.tables["authenticated", "items"] = table(SqlRule())
    open, asked = Listener(), Listener("authenticated", sub=ONE)
    for listener in (open, asked):
        await feed.subscribe(listener, [ALL], [1], None)

    for number in range(150):
        if number in (50, 100):
            broker.kill()
            await broker.start()
        await _insist(log, number)
    for listener in (open, asked):
        await listener.saw(149)

    assert open.ids == asked.ids == list(range(150))
    assert open.gaps == asked.gaps == []


async def test_a_lost_connection_loses_and_doubles_nothing(feed: ChangeFeed, log: Log) -> None:
    listener = Listener()
    await feed.subscribe(listener, [ALL], [1], None)

    for number in range(200):
        if number % 40 == 20:
            _cut(feed._connection)
        await log.commit(inserted(number))
    await listener.saw(199)

    assert listener.ids == list(range(200))


async def test_messages_that_left_the_stream_unread_are_a_gap(
    broker: NatsServer, feed: ChangeFeed, pool: Pool, log: Log
) -> None:
    pool.tables["anon", "items"] = table(SqlRule())
    listener = Listener()
    await feed.subscribe(listener, [ALL], [1], None)
    await log.commit(inserted(1))
    await listener.heard(1)
    pool.gates["/visible"].clear()

    for number in range(2, 1400):
        await log.commit(inserted(number))
    await log.empty(keep=1)
    pool.gates["/visible"].set()
    await log.commit(inserted(1400))
    await listener.saw(1400)

    assert listener.gaps
    assert listener.ids == sorted(set(listener.ids))


async def test_a_stream_made_anew_is_a_gap_and_goes_on(feed: ChangeFeed, log: Log) -> None:
    listener = Listener()
    await feed.subscribe(listener, [ALL], [1], None)
    for number in range(5):
        await log.commit(inserted(number))
    await listener.heard(5)

    await log.make_anew()
    await log.gap(0)
    await log.commit(inserted(5))
    await listener.saw(5)

    assert listener.ids == list(range(6))
    assert listener.gaps


async def test_without_a_stream_nobody_subscribes(pool: Pool, open_one: OpenFeed) -> None:
    del pool
    feed = await open_one()

    with pytest.raises(Unavailable):
        await feed.subscribe(Listener(), [ALL], [1], None)


async def test_a_resume_that_is_given_up_leaves_nothing_behind(
    feed: ChangeFeed, pool: Pool, log: Log
) -> None:
    pool.tables["anon", "items"] = table(SqlRule())
    since = await log.commit(inserted(1))
    await log.commit(inserted(2))
    pool.gates["/visible"].clear()

    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0.2):
            await feed.subscribe(Listener(), [ALL], [1], since)
    pool.gates["/visible"].set()

    assert not feed.live.index.subscribers


async def test_who_resumes_hears_when_the_feed_ends(feed: ChangeFeed, pool: Pool, log: Log) -> None:
    pool.tables["anon", "items"] = table(SqlRule())
    since = await log.commit(inserted(1))
    await log.commit(inserted(2))
    pool.gates["/visible"].clear()
    resuming = asyncio.ensure_future(feed.subscribe(Listener(), [ALL], [1], since))
    async with asyncio.timeout(60):
        while not pool.count(VisibilityQuery):
            await asyncio.sleep(0.01)

    await feed.close()

    with pytest.raises(Unavailable):
        await resuming


async def test_too_much_that_is_new_is_read_once_more(
    feed: ChangeFeed, pool: Pool, log: Log, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(subscribers, "_MOST_HELD", 5)
    pool.tables["authenticated", "items"] = table(SqlRule())
    listener, witness = Listener("authenticated", sub=ONE), Listener()
    await feed.subscribe(witness, [ALL], [1], None)
    since = await log.commit(inserted(0))
    for number in range(1, 30):
        await log.commit(inserted(number))
    pool.gates["/visible"].clear()
    resuming = asyncio.ensure_future(feed.subscribe(listener, [ALL], [1], since))
    for number in range(30, 90):
        await log.commit(inserted(number))
        pool.gates["/visible"].set()
    await resuming
    await listener.saw(89)

    assert listener.ids == list(range(1, 90))


async def _insist(log: Log, number: int) -> None:
    batch = log.batch(inserted(number))
    async with asyncio.timeout(30):
        while True:
            try:
                return await log.send(batch)
            except Unavailable:
                await asyncio.sleep(0.02)


def _cut(connection: NatsConnection) -> None:
    link = connection._server.link
    assert link is not None
    link.abort()


async def test_a_position_is_fresh_though_nothing_happened_to_the_table(
    feed: ChangeFeed, log: Log, open_one: OpenFeed
) -> None:
    idle, later = Listener(), Listener()
    subscription, _ = await feed.subscribe(idle, [ALL], [1], None)
    await log.commit(inserted(1), table="other")

    tick = await log.tick()
    async with asyncio.timeout(60):
        while subscription.position < tick:
            await asyncio.sleep(0.01)
    await log.empty(keep=1)
    other_edge = await open_one()
    await other_edge.subscribe(later, [ALL], [1], subscription.position)
    await log.commit(inserted(2))
    await later.heard(1)

    assert (later.ids, later.gaps, idle.gaps) == ([2], [], [])


class SlowListener(Listener):
    """A listener that reads a little at a time."""

    def __init__(self) -> None:
        super().__init__()
        self.most = self.read = 0
        self.rests = 0

    @property
    def is_behind(self) -> bool:
        self.most = max(self.most, len(self.got) - self.read)
        return len(self.got) - self.read > 100

    async def caught_up(self) -> None:
        self.rests += 1
        await asyncio.sleep(0)
        self.read = len(self.got)


async def test_what_was_missed_is_sent_as_fast_as_it_is_read(
    feed: ChangeFeed, log: Log, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(catch_up, "_PACE_BYTES", 1000)
    since = await log.commit(inserted(0))
    for number in range(0, 3000, 10):
        await log.commit(*(inserted(each) for each in range(number, number + 10)))
    slow, quick, asked, witness = SlowListener(), Listener(), SlowListener(), Listener()
    await feed.subscribe(witness, [ALL], [1], None)  # what the role may see is known from here on
    await log.commit(inserted(3000))
    await witness.heard(1)

    async def write() -> None:
        for number in range(3001, 3201):
            await log.commit(inserted(number))

    await asyncio.gather(write(), *(feed.subscribe(each, [ALL], [1], since) for each in (slow, quick, asked)))
    for each in (slow, quick, asked):
        await each.saw(3200)
        assert each.ids == list(range(3201))
    for behind in (slow, asked):
        assert behind.rests > 5
        assert behind.most < 400


async def test_who_never_reads_waits_alone_and_leaves_nothing_behind(feed: ChangeFeed, log: Log) -> None:
    since = await log.commit(inserted(0))
    for number in range(1, 400):
        await log.commit(inserted(number))
    stuck, other = SlowListener(), Listener()
    never = asyncio.Event()
    stuck.caught_up = never.wait  # type: ignore[method-assign,assignment]  # it does not read
    waiting = asyncio.ensure_future(feed.subscribe(stuck, [ALL], [1], since))
    await feed.subscribe(other, [ALL], [1], since)
    await stuck.heard(100)

    assert other.ids == list(range(1, 400))
    waiting.cancel()
    await asyncio.gather(waiting, return_exceptions=True)
    assert len(feed.live.index.subscribers) == 1
