"""Events on their subjects; what the stream keeps of those that come twice."""

import pytest

from broker.nats.connection import NatsConnection
from tests.broker.server import NatsServer
from tests.workers.storage.events.events import event_of
from tests.workers.storage.events.stream import Stream, until
from workers.storage.events.publish import EventStreamLimits, ensure_events, publish_events, subject_of


@pytest.mark.parametrize(
    ("type", "last"),
    [
        ("ObjectCreated:Post", "object_created"),
        ("ObjectCreated:Move", "object_created"),
        ("ObjectRemoved:Delete", "object_removed"),
        ("ObjectUpdated:Metadata", "object_updated"),
        ("Bucket:Created", "bucket_created"),
        ("Bucket:Deleted", "bucket_deleted"),
        ("Bucket:Other", "other"),
    ],
)
def test_each_kind_has_its_subject(type: str, last: str) -> None:
    assert subject_of(event_of(1, type=type)).name == f"events.storage.avatars.{last}"


async def test_an_event_is_kept_once_however_often_it_is_published(
    connection: NatsConnection, stream: Stream
) -> None:
    await ensure_events(connection, EventStreamLimits(0, 1024 * 1024))

    for _ in range(3):
        told = await publish_events(connection, [event_of(1), event_of(2), event_of(3, "b.txt")])
        assert sorted(told.sequences) == [1, 2, 3]

    assert sorted(each.sequence for each in await stream.events()) == [1, 2, 3]


async def test_after_a_failure_nothing_of_the_object_is_told(
    nats: NatsServer, connection: NatsConnection
) -> None:
    nats.kill()
    await until(lambda: not connection.is_connected)

    told = await publish_events(connection, [event_of(1), event_of(2)])

    assert told.sequences == []
    assert told.reason


async def test_the_oldest_go_when_the_stream_is_full(connection: NatsConnection, stream: Stream) -> None:
    await ensure_events(connection, EventStreamLimits(60, 10_000_000))
    await ensure_events(connection, EventStreamLimits(60, 4_000))

    told = await publish_events(connection, [event_of(number) for number in range(50)])

    assert len(told.sequences) == 50
    left = [each.sequence for each in await stream.events()]
    assert left == list(range(50 - len(left), 50))
    assert 0 < len(left) < 20
