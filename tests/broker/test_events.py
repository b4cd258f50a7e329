import asyncio
import contextlib
from collections.abc import Awaitable, Callable

import pytest

from broker.events import consume_events, publish_event, store_event, subscribe_events
from broker.jetstream.streams import ensure_stream
from broker.nats.connection import NatsConnection
from broker.subjects import CATALOG_CHANGED, Subject
from schemas.errors import Unavailable
from schemas.events import CatalogChanged, ConfigChanged
from tests.broker.conftest import Open
from tests.broker.server import NatsServer


class RecordingCallback:
    """A callback that keeps what it is told, and fails as often as it was asked to."""

    def __init__(self, failures: int = 0) -> None:
        self.versions: list[int] = []
        self.tries = 0
        self._failures = failures
        self._told = asyncio.Event()

    async def __call__(self, event: CatalogChanged) -> None:
        self.tries += 1
        if self.tries <= self._failures:
            raise RuntimeError("not now")
        self.versions.append(event.version)
        self._told.set()

    async def until(self, count: int) -> list[int]:
        async with asyncio.timeout(60):
            while len(self.versions) < count:
                self._told.clear()
                await self._told.wait()
        return self.versions


async def test_everyone_who_follows_hears_an_event(nats: NatsServer, connect: Open) -> None:
    speaker, one, two = await connect(nats.url), await connect(nats.url), await connect(nats.url)
    heard = RecordingCallback(), RecordingCallback()
    following = [
        await subscribe_events(one, CATALOG_CHANGED, CatalogChanged, heard[0]),
        await subscribe_events(two, "events.*", CatalogChanged, heard[1]),
    ]

    for version in range(5):
        publish_event(speaker, CATALOG_CHANGED, CatalogChanged(version))

    assert await heard[0].until(5) == list(range(5))
    assert await heard[1].until(5) == list(range(5))
    for each in following:
        await each.close()


async def test_an_event_that_fails_or_cannot_be_read_is_passed_over(nats: NatsServer, connect: Open) -> None:
    connection = await connect(nats.url)
    subject, heard = Subject("events.passed"), RecordingCallback(failures=1)
    following = await subscribe_events(connection, subject, CatalogChanged, heard)

    publish_event(connection, subject, CatalogChanged(1))
    publish_event(connection, subject, ConfigChanged())
    publish_event(connection, subject, CatalogChanged(2))

    assert await heard.until(1) == [2]
    await following.close()


async def test_when_events_pile_up_the_oldest_are_dropped(nats: NatsServer, connect: Open) -> None:
    connection = await connect(nats.url)
    subject, heard, gate = Subject("events.pile"), RecordingCallback(), asyncio.Event()

    async def slowly(event: CatalogChanged) -> None:
        await gate.wait()
        await heard(event)

    following = await subscribe_events(connection, subject, CatalogChanged, slowly, backlog=2)
    publish_event(connection, subject, CatalogChanged(0))
    await connection.flush()
    for version in range(1, 6):
        publish_event(connection, subject, CatalogChanged(version))
    await connection.flush()

    gate.set()

    assert await heard.until(3) == [0, 4, 5]
    await following.close()


async def test_a_closed_follower_hears_nothing_more(nats: NatsServer, connect: Open) -> None:
    connection = await connect(nats.url)
    subject, heard = Subject("events.closed"), RecordingCallback()
    following = await subscribe_events(connection, subject, CatalogChanged, heard)

    await following.close()
    publish_event(connection, subject, CatalogChanged(1))
    await connection.flush()

    assert heard.tries == 0


async def test_a_durable_follower_hears_what_was_told_before_it_came(nats: NatsServer, connect: Open) -> None:
    connection = await connect(nats.url)
    subject, heard = Subject("kept.before"), RecordingCallback()
    await ensure_stream(connection, "BEFORE", [subject.name])
    for version in range(100):
        await store_event(connection, subject, CatalogChanged(version))

    following = await consume_events(connection, subject, CatalogChanged, heard, stream="BEFORE", durable="d")

    assert await heard.until(100) == list(range(100))
    await following.close()


async def test_an_event_whose_callback_fails_comes_again(nats: NatsServer, connect: Open) -> None:
    connection = await connect(nats.url)
    subject, heard = Subject("kept.again"), RecordingCallback(failures=2)
    await ensure_stream(connection, "AGAIN", [subject.name])
    following = await consume_events(
        connection, subject, CatalogChanged, heard, stream="AGAIN", durable="d", batch=1
    )

    for version in (1, 2):
        await store_event(connection, subject, CatalogChanged(version))

    assert await heard.until(2) == [1, 2]
    assert heard.tries == 4
    await following.close()


async def test_what_cannot_be_read_does_not_come_again(nats: NatsServer, connect: Open) -> None:
    connection = await connect(nats.url)
    subject, heard = Subject("kept.garbage"), RecordingCallback()
    await ensure_stream(connection, "GARBAGE", [subject.name])
    await store_event(connection, subject, ConfigChanged())
    await store_event(connection, subject, CatalogChanged(7))

    following = await consume_events(
        connection, subject, CatalogChanged, heard, stream="GARBAGE", durable="d", batch=1
    )

    assert await heard.until(1) == [7]
    await following.close()


async def test_the_next_follower_of_a_name_goes_on_where_the_last_one_stopped(
    nats: NatsServer, connect: Open
) -> None:
    connection = await connect(nats.url)
    subject, first, second = Subject("kept.goes-on"), RecordingCallback(), RecordingCallback()
    await ensure_stream(connection, "GOES-ON", [subject.name])
    await store_event(connection, subject, CatalogChanged(1))
    following = await consume_events(
        connection, subject, CatalogChanged, first, stream="GOES-ON", durable="d", batch=1
    )
    await first.until(1)
    await connection.flush()
    await following.close()
    await store_event(connection, subject, CatalogChanged(2))

    following = await consume_events(
        connection, subject, CatalogChanged, second, stream="GOES-ON", durable="d"
    )

    assert await second.until(1) == [2]
    await following.close()


async def test_an_event_of_the_same_id_is_kept_once(nats: NatsServer, connect: Open) -> None:
    connection = await connect(nats.url)
    subject = Subject("kept.once")
    await ensure_stream(connection, "ONCE", [subject.name], max_age_s=3600)

    sequences = [await store_event(connection, subject, CatalogChanged(1), id=id) for id in ("a", "a", "b")]

    assert sequences == [1, 1, 2]


async def test_a_stream_can_be_ensured_again_with_other_limits(nats: NatsServer, connect: Open) -> None:
    connection = await connect(nats.url)

    for limit in (60.0, 60.0, 30.0):
        await ensure_stream(connection, "LIMITS", ["kept.limits"], max_age_s=limit)

    assert await store_event(connection, Subject("kept.limits"), CatalogChanged(1)) == 1


async def test_telling_durably_without_a_stream_is_unavailable(nats: NatsServer, connect: Open) -> None:
    with pytest.raises(Unavailable):
        await store_event(await connect(nats.url), Subject("kept.nowhere"), CatalogChanged(1))


async def test_a_durable_follower_goes_on_after_the_broker_was_killed(
    own_nats: NatsServer, connect: Open
) -> None:
    connection = await connect(own_nats.url)
    subject, heard = Subject("kept.restart"), RecordingCallback()
    await ensure_stream(connection, "RESTART", [subject.name])
    following = await consume_events(
        connection, subject, CatalogChanged, heard, stream="RESTART", durable="d"
    )
    await store_event(connection, subject, CatalogChanged(1))
    await heard.until(1)

    own_nats.kill()
    await own_nats.start()
    await connection.connected()
    await _until_told(connection, subject, 2)

    async with asyncio.timeout(60):
        # The first may come once more: its acknowledgement may have died with the broker.
        while 2 not in heard.versions:
            await heard.until(len(heard.versions) + 1)
    await following.close()


async def test_nothing_acknowledged_is_lost_when_the_broker_is_killed_again_and_again(
    own_nats: NatsServer, connect: Open
) -> None:
    speaker, listener = await connect(own_nats.url), await connect(own_nats.url)
    subject, heard, kept = Subject("kept.killed"), RecordingCallback(failures=3), list[int]()
    await ensure_stream(speaker, "KILLED", [subject.name])
    following = await consume_events(
        listener, subject, CatalogChanged, heard, stream="KILLED", durable="d", ack_wait_s=3.0
    )

    async def speak(first: int) -> None:
        for version in range(first, first + 300):
            with contextlib.suppress(Unavailable):
                await store_event(speaker, subject, CatalogChanged(version), id=str(version))
                kept.append(version)

    for first in (0, 300):
        speaking = asyncio.ensure_future(speak(first))
        while sum(version >= first for version in heard.versions) < 20:
            await heard.until(len(heard.versions) + 1)
        own_nats.kill()
        await speaking
        await own_nats.start()
        await speaker.connected()
    await _until_told(speaker, subject, 1000)
    async with asyncio.timeout(30):
        while not {*kept, 1000} <= set(heard.versions):
            await heard.until(len(heard.versions) + 1)

    await following.close()


async def test_followers_who_share_a_name_hear_each_event_once(nats: NatsServer, connect: Open) -> None:
    speaker, one, two = await connect(nats.url), await connect(nats.url), await connect(nats.url)
    subject, heard = Subject("kept.shared"), RecordingCallback()
    shares: tuple[list[int], list[int]] = ([], [])
    await ensure_stream(speaker, "SHARED", [subject.name])

    def taking(share: list[int]) -> Callable[[CatalogChanged], Awaitable[None]]:
        async def take(event: CatalogChanged) -> None:
            share.append(event.version)
            await heard(event)

        return take

    following = [
        await consume_events(
            each, subject, CatalogChanged, taking(share), stream="SHARED", durable="d", batch=4
        )
        for each, share in zip((one, two), shares, strict=True)
    ]
    for version in range(200):
        await store_event(speaker, subject, CatalogChanged(version))
    await heard.until(200)
    for each in following:
        await each.close()

    assert sorted(heard.versions) == list(range(200))
    assert all(shares)


async def test_an_event_in_hand_of_a_closed_follower_comes_to_the_next(
    nats: NatsServer, connect: Open
) -> None:
    connection = await connect(nats.url)
    subject, heard, begun = Subject("kept.in-hand"), RecordingCallback(), asyncio.Event()
    await ensure_stream(connection, "IN-HAND", [subject.name])

    async def begin(_: CatalogChanged) -> None:
        begun.set()
        await asyncio.Event().wait()

    first = await consume_events(connection, subject, CatalogChanged, begin, stream="IN-HAND", durable="d")
    await store_event(connection, subject, CatalogChanged(1))
    await begun.wait()
    await first.close()
    second = await consume_events(connection, subject, CatalogChanged, heard, stream="IN-HAND", durable="d")

    assert await heard.until(1) == [1]
    await second.close()


async def test_a_follower_that_wants_only_what_is_new_hears_nothing_older(
    nats: NatsServer, connect: Open
) -> None:
    connection = await connect(nats.url)
    subject, heard = Subject("kept.new"), RecordingCallback()
    await ensure_stream(connection, "NEW", [subject.name], in_memory=True)
    await store_event(connection, subject, CatalogChanged(1))

    following = await consume_events(
        connection, subject, CatalogChanged, heard, stream="NEW", durable="d", only_new=True
    )
    await store_event(connection, subject, CatalogChanged(2))

    assert await heard.until(1) == [2]
    await following.close()


async def test_following_a_stream_that_is_not_there_is_unavailable(nats: NatsServer, connect: Open) -> None:
    connection = await connect(nats.url)

    with pytest.raises(Unavailable):
        await consume_events(
            connection, Subject("kept.no"), CatalogChanged, RecordingCallback(), stream="NO", durable="d"
        )


async def test_a_durable_follower_ends_with_its_connection_and_can_still_be_closed(
    nats: NatsServer, connect: Open
) -> None:
    connection = await connect(nats.url)
    subject, heard = Subject("kept.ends"), RecordingCallback()
    await ensure_stream(connection, "ENDS", [subject.name])
    following = await consume_events(connection, subject, CatalogChanged, heard, stream="ENDS", durable="d")
    await store_event(connection, subject, CatalogChanged(1))
    await heard.until(1)

    await connection.close()

    await asyncio.wait_for(following.close(), 60)


async def _until_told(connection: NatsConnection, subject: Subject, version: int) -> None:
    async with asyncio.timeout(60):
        while not await _is_told(connection, subject, version):
            await asyncio.sleep(0.05)


async def _is_told(connection: NatsConnection, subject: Subject, version: int) -> bool:
    try:
        await store_event(connection, subject, CatalogChanged(version), id=str(version))
    except Unavailable:
        return False
    return True
