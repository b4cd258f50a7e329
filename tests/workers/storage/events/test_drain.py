"""The outbox drained into a real stream: what is told, in which order, and what happens when something dies."""

import asyncio
import contextlib
import json
import uuid
from collections.abc import AsyncIterator

import pytest
from msgspec import Struct

from broker.nats.connection import NatsConnection
from schemas.storage_events import StorageEvent
from tests.broker.server import NatsServer
from tests.workers.storage.events.stream import Stream, until
from tests.workers.storage.storage_pool import ALICE, ALICE_ID, StoragePool
from workers.database.errors import DatabaseError, Disconnected
from workers.storage.events import drain as module
from workers.storage.events import outbox
from workers.storage.events.drain import OutboxDrain
from workers.storage.events.observations import (
    StorageEventDropped,
    StorageEventPublished,
    StorageEventsDelayed,
)
from workers.storage.events.outbox import OutboxDepth
from workers.storage.events.publish import EventStreamLimits, PublishResult, ensure_events, publish_events

LIMITS = EventStreamLimits(86400, 16 * 1024 * 1024)


def drain_of(storage_pool: StoragePool, connection: NatsConnection) -> OutboxDrain:
    return OutboxDrain(storage_pool.store.database, connection, lambda: ensure_events(connection, LIMITS))


@contextlib.asynccontextmanager
async def running(drain: OutboxDrain) -> AsyncIterator[OutboxDrain]:
    task = asyncio.create_task(drain.run())
    try:
        yield drain
    finally:
        task.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await task


async def waiting(storage_pool: StoragePool) -> int:
    return int(await storage_pool.value("select count(*) from storage.events_outbox"))


async def write(storage_pool: StoragePool, bucket: str, names: list[str]) -> None:
    """Write events of objects as the triggers do, by name."""
    payloads = [json.dumps({"bucketId": bucket, "name": name}) for name in names]
    await storage_pool.admin.execute(
        "insert into storage.events_outbox (event, payload)"
        " select 'ObjectCreated:Put', each::jsonb from unnest($1::text[]) with ordinality t (each, n) order by n",
        payloads,
    )


async def test_the_life_of_an_object_is_told(
    quiet: StoragePool, connection: NatsConnection, stream: Stream
) -> None:
    bucket = await quiet.bucket()
    await quiet.policy(bucket, "all")
    await quiet.uploaded(f"/object/{bucket}/a b.txt", b"hello", ALICE)
    version = await quiet.version(bucket, "a b.txt")
    assert await drain_of(quiet, connection).turn()
    await quiet.ok(
        "POST", "/object/move", {"bucketId": bucket, "sourceKey": "a b.txt", "destinationKey": "c"}
    )
    await quiet.ok("DELETE", f"/object/{bucket}/c")

    assert await drain_of(quiet, connection).turn()

    made, came, gone, moved, removed = await stream.events()
    assert (made.type, made.bucket, made.name) == ("Bucket:Created", bucket, bucket)
    assert (came.type, came.bucket, came.name, came.version) == (
        "ObjectCreated:Post",
        bucket,
        "a b.txt",
        version,
    )
    assert (came.size, came.mimetype, came.upload_type) == (5, "text/plain", "standard")
    assert came.etag == '"5d41402abc4b2a76b9719d911017c592"'
    assert (came.owner, came.request_id) == (ALICE_ID, "req-1")
    assert {gone.type, moved.type} == {"ObjectRemoved:Move", "ObjectCreated:Move"}
    assert (removed.type, removed.name, removed.version, removed.owner) == (
        "ObjectRemoved:Delete",
        "c",
        version,
        None,
    )
    subjects = [subject for subject, _ in await stream.messages()]
    assert subjects[:2] == [
        f"events.storage.{bucket}.bucket_created",
        f"events.storage.{bucket}.object_created",
    ]
    assert await waiting(quiet) == 0


async def test_rows_changed_by_plain_sql_are_told_by_themselves(
    quiet: StoragePool, connection: NatsConnection, stream: Stream
) -> None:
    bucket = await quiet.bucket()
    async with running(drain_of(quiet, connection)):
        await quiet.admin.execute(
            "insert into storage.objects (bucket_id, name, metadata) values ($1, 'x', '[7]')", bucket
        )
        _, event = await stream.having(2)

    assert (event.type, event.name, event.version, event.size) == ("ObjectCreated:Post", "x", None, None)
    assert (bytes(event.metadata), event.request_id) == (b"[7]", None)


async def test_what_is_rolled_back_is_not_told(
    quiet: StoragePool, connection: NatsConnection, stream: Stream
) -> None:
    bucket = await quiet.bucket()
    transaction = quiet.admin.transaction()
    await transaction.start()
    await quiet.admin.execute("insert into storage.objects (bucket_id, name) values ($1, 'x')", bucket)
    await transaction.rollback()

    await drain_of(quiet, connection).turn()

    assert [each.type for each in await stream.events()] == ["Bucket:Created"]


async def test_a_thousand_events_are_told_in_order_by_several_workers(
    quiet: StoragePool, nats: NatsServer, stream: Stream
) -> None:
    bucket = f"b-{uuid.uuid4().hex}"
    names = [f"{number % 7}" for number in range(1000)]
    async with contextlib.AsyncExitStack() as stack:
        connections = [await NatsConnection.open(nats.url, name="test") for _ in range(3)]
        for connection in connections:
            stack.push_async_callback(connection.close)
            await stack.enter_async_context(running(drain_of(quiet, connection)))
        for start in range(0, 1000, 50):
            await write(quiet, bucket, names[start : start + 50])
        events = await stream.having(1000)
        await until_empty(quiet)

    for name in map(str, range(7)):
        own = [each.sequence for each in events if each.name == name]
        assert own == sorted(own)
    assert len({each.id for each in events}) == 1000


async def until_empty(storage_pool: StoragePool) -> None:
    async with asyncio.timeout(30):
        while await waiting(storage_pool):
            await asyncio.sleep(0.02)


async def test_an_object_is_in_one_hand_at_a_time(quiet: StoragePool) -> None:
    await write(quiet, "b", ["hot", "hot", "cold", "hot"])
    database = quiet.store.database

    async with database.transaction() as one:
        first = (await outbox.claim_rows(one)).rows
        await write(quiet, "b", ["hot", "new"])
        async with database.transaction() as other:
            second = (await outbox.claim_rows(other)).rows
    async with database.transaction() as later:
        third = (await outbox.claim_rows(later)).rows

    assert [json.loads(each.payload)["name"] for each in first] == ["hot", "hot", "cold", "hot"]
    assert [json.loads(each.payload)["name"] for each in second] == ["new"]
    assert len(third) == 6


async def test_a_worker_that_dies_before_it_forgets_tells_nothing_twice(
    quiet: StoragePool, connection: NatsConnection, stream: Stream, monkeypatch: pytest.MonkeyPatch
) -> None:
    await write(quiet, "b", ["x"] * 5)

    async def publish_and_die(connection: NatsConnection, events: list[StorageEvent]) -> PublishResult:
        told = await publish_events(connection, events)
        assert len(told.sequences) == 5
        await quiet.admin.execute(
            "select pg_terminate_backend(pid) from pg_stat_activity"
            " where usename = 'supabase_storage_admin' and state = 'idle in transaction'"
        )
        return told

    monkeypatch.setattr(module, "publish_events", publish_and_die)
    with pytest.raises((DatabaseError, Disconnected)):
        await drain_of(quiet, connection).turn()
    monkeypatch.setattr(module, "publish_events", publish_events)
    assert await waiting(quiet) == 5

    await drain_of(quiet, connection).turn()

    assert len(await stream.events()) == 5
    assert await waiting(quiet) == 0


async def test_events_wait_for_a_broker_that_is_away(
    quiet: StoragePool, nats: NatsServer, connection: NatsConnection, stream: Stream, seen: list[Struct]
) -> None:
    drain = drain_of(quiet, connection)
    async with running(drain):
        await write(quiet, "b", ["before"])
        await stream.having(1)
        nats.kill()
        await write(quiet, "b", ["x"] * 20)
        drain.wake()
        await until(lambda: any(isinstance(each, StorageEventsDelayed) for each in seen))
        assert await waiting(quiet) == 20
        await nats.start()
        events = await stream.having(21)
        await until_empty(quiet)

    assert [each.sequence for each in events] == sorted(each.sequence for each in events)
    assert len([each for each in seen if isinstance(each, StorageEventPublished)]) == 21


async def test_a_stream_that_is_gone_is_made_again(
    quiet: StoragePool, connection: NatsConnection, stream: Stream
) -> None:
    drain = drain_of(quiet, connection)
    await write(quiet, "b", ["one"])
    await drain.turn()
    await (await stream._connected()).jetstream().delete_stream("STORAGE_EVENTS")
    await write(quiet, "b", ["two"])

    await drain.turn()

    assert [each.name for each in await stream.events()] == ["two"]


async def test_rows_that_tell_nothing_do_not_keep_others_back(
    quiet: StoragePool, connection: NatsConnection, stream: Stream, seen: list[Struct]
) -> None:
    await quiet.admin.execute(
        """
        insert into storage.events_outbox (event, payload, created_at) values
          ('x', '{}', now()), ('x', '7', now()), ('x', '{"bucketId": "", "name": ""}', now()),
          ('x', '{"bucketId": "b", "name": "n"}', 'infinity'),
          ('x', jsonb_build_object('bucketId', repeat('b', 1001), 'name', 'n'), now()),
          ('x', jsonb_build_object('bucketId', 'b', 'name', repeat('n', 2000000)), now()),
          ('Bucket:Moved', '{"bucketId": "b.*>", "name": "n"}', now())
        """
    )

    await drain_of(quiet, connection).turn()

    assert [subject for subject, _ in await stream.messages()] == ["events.storage.b=2E=2A=3E.other"]
    assert await waiting(quiet) == 0
    dropped = [each for each in seen if isinstance(each, StorageEventDropped)]
    assert len(dropped) == 6
    assert "nnn" not in f"{dropped}"


async def test_metadata_too_long_for_a_message_is_left_out(
    quiet: StoragePool, connection: NatsConnection, stream: Stream
) -> None:
    await quiet.admin.execute(
        "insert into storage.events_outbox (event, payload) values ('ObjectUpdated:Metadata', jsonb_build_object("
        "'bucketId', 'b', 'name', 'n', 'metadata', jsonb_build_object('size', 3, 'own', repeat('x', 2000000))))"
    )

    await drain_of(quiet, connection).turn()

    (event,) = await stream.events()
    assert (event.size, bytes(event.metadata)) == (3, b"null")


async def test_the_depth_is_known_while_the_broker_is_away(
    quiet: StoragePool, nats: NatsServer, connection: NatsConnection, stream: Stream
) -> None:
    nats.kill()
    await write(quiet, "b", ["x"] * 3)
    drain = drain_of(quiet, connection)
    async with running(drain):
        await until(lambda: drain.depth.count == 3)
        assert drain.depth.age_s > 0
        await nats.start()
        await stream.having(3)
        await until_empty(quiet)  # what is published is deleted a moment later
    await drain.measure()

    assert drain.depth == OutboxDepth()
