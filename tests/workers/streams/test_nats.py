"""Changes as messages on the NATS server for streams, and what a consumer can reach there, with real servers."""

import contextlib
import json
from collections.abc import AsyncIterator
from typing import Any

import nats
import nats.errors
import pytest
from nats.aio.client import Client
from nats.js.api import ConsumerConfig, DeliverPolicy
from nats.js.errors import NotFoundError

from broker.nats.connection import NatsConnection
from broker.stream_accounts import stream_accounts
from broker.subject_rights import authorization
from schemas.errors import Unavailable
from schemas.keys.secret import Secret
from schemas.stream_server import consumer, password_of, publisher, server_url
from tests.broker.server import NatsServer, running_server
from tests.workers.replication.replication_pool import ReplicationPool
from tests.workers.streams.running_streams import stream, streaming, until
from workers.streams.targets.nats_target import order

SECRET = Secret("secret of the test")


@pytest.fixture
async def stream_server() -> AsyncIterator[NatsServer]:
    """The server for consumers, with two streams."""
    async with running_server(stream_accounts(["feed", "other"], SECRET)) as server:
        yield server


@contextlib.asynccontextmanager
async def connected(server: NatsServer, user: str) -> AsyncIterator[Client]:
    async def ignore(error: Exception) -> None:
        """Answers of the server to what it refuses are looked at by the test."""

    client = await nats.connect(
        server.url, user=user, password=password_of(SECRET, user), inbox_prefix=f"_INBOX.{user}".encode(),
        error_cb=ignore, allow_reconnect=False,
    )  # fmt: skip
    try:
        yield client
    finally:
        await client.close()


async def messages(client: Client, name: str) -> list[dict[str, Any]]:
    """Return all messages of a stream, as a consumer reads them."""
    try:
        subscription = await client.jetstream().pull_subscribe(
            "", stream=name, config=ConsumerConfig(deliver_policy=DeliverPolicy.ALL)
        )
        fetched = await subscription.fetch(1000, timeout=0.3)
    except (nats.errors.TimeoutError, NotFoundError):
        return []
    await subscription.unsubscribe()
    return [json.loads(message.data) for message in fetched]


async def test_messages_follow_a_snapshot_in_order_and_once_over_restarts(
    replication_pool: ReplicationPool, stream_server: NatsServer
):
    admin = replication_pool.admin
    await admin.execute("create table public.feed (id int primary key, a text, secret text)")
    await admin.execute(
        "grant select on public.feed to service_role; insert into public.feed values (1, 'x', 's')"
    )
    target = server_url(SECRET, publisher("feed"), stream_server.port).reveal()
    streams = {"feed": stream(target, "feed", without={"feed": ["secret"]}, closed_network=True)}
    expected: list[tuple[str, Any, Any]] = [
        ("snapshot", None, None), ("read", {"id": 1}, {"id": 1, "a": "x"}), ("snapshot_end", None, None),
    ]  # fmt: skip

    async def read_all() -> list[dict[str, Any]]:
        async with connected(stream_server, consumer("feed")) as client:
            return await messages(client, "feed-public-feed")

    async def has_all() -> bool:
        read = await read_all()
        return [(one["op"], one["key"], one["row"]) for one in read] == expected

    async with streaming(replication_pool, **streams):
        await until(has_all)
        await admin.execute(
            "insert into public.feed values (2, 'y', 's'); update public.feed set id = 3 where id = 2"
        )
        expected += [("insert", {"id": 2}, {"id": 2, "a": "y"}), ("update", {"id": 3}, {"id": 3, "a": "y"})]
        await until(has_all)
    await admin.execute("delete from public.feed where id = 1; truncate public.feed")
    expected += [("delete", {"id": 1}, None), ("truncate", None, None)]
    place = await admin.fetchval("select place from headwater.stream_tables where stream = 'feed'")
    async with streaming(replication_pool, **streams):
        await until(has_all)
    # as if the process had died behind the last message and before its place was stored
    await admin.execute("update headwater.stream_tables set place = $1 where stream = 'feed'", place)
    async with streaming(replication_pool, **streams):
        await admin.execute("insert into public.feed values (4)")
        expected.append(("insert", {"id": 4}, {"id": 4, "a": None}))
        await until(has_all)
    read = await read_all()
    assert {one["version"] for one in read} == {1}
    assert read[4]["former_key"] == {"id": 2}
    assert len({one["id"] for one in read}) == len(read)


async def test_a_clock_that_was_set_back_and_a_row_too_long_for_the_server_lose_nothing(
    replication_pool: ReplicationPool,
):
    admin = replication_pool.admin
    await admin.execute("create table public.late (id int primary key, a text)")
    await admin.execute(
        "grant select on public.late to service_role; insert into public.late values (1, repeat('x', 70000))"
    )

    async with (
        running_server(f"{stream_accounts(['feed'], SECRET)}\nmax_payload: 65536") as server,
        connected(server, publisher("feed")) as client,
    ):
        await client.jetstream().add_stream(name="feed-public-late", subjects=["headwater.feed.public.late"])
        future = {"Nats-Msg-Id": f"{1 << 60:x}-1-1-0"}
        await client.jetstream().publish("headwater.feed.public.late", b'{"op": "before"}', headers=future)
        target = server_url(SECRET, publisher("feed"), server.port).reveal()

        async def has_all() -> bool:
            read = await messages(client, "feed-public-late")
            return [(one["op"], one.get("omitted")) for one in read] == [
                ("before", None), ("snapshot", []), ("read", ["id", "a"]), ("snapshot_end", []), ("insert", []),
            ]  # fmt: skip

        async def is_copied() -> bool:
            return len(await messages(client, "feed-public-late")) >= 4

        async with streaming(replication_pool, feed=stream(target, "late", closed_network=True)):
            await until(is_copied)
            await admin.execute("insert into public.late values (2)")
            await until(has_all)
        ids = [order(one["id"]) for one in (await messages(client, "feed-public-late"))[1:]]
        assert [order(future["Nats-Msg-Id"]), *ids] == sorted([order(future["Nats-Msg-Id"]), *ids])
        # as if the process had died in a later snapshot: ids of the stored place are before all that is there
        later = {"Nats-Msg-Id": f"{1 << 61:x}-0-1-0"}
        await client.jetstream().publish("headwater.feed.public.late", b'{"op": "later"}', headers=later)

        async def is_copied_again() -> bool:
            read = await messages(client, "feed-public-late")
            return [one["op"] for one in read[5:]] == ["later", "snapshot", "read", "read", "snapshot_end"]

        async with streaming(replication_pool, feed=stream(target, "late", closed_network=True)):
            await until(is_copied_again)


async def test_a_consumer_reaches_its_own_streams_alone(stream_server: NatsServer):
    heard: list[str] = []

    async def hear(message: Any) -> None:
        heard.append(message.subject)

    async with (
        connected(stream_server, publisher("feed")) as feed,
        connected(stream_server, publisher("other")) as other,
        connected(stream_server, consumer("feed")) as reader,
    ):
        for name, client in (("feed", feed), ("other", other)):
            await client.jetstream().add_stream(name=name, subjects=[f"headwater.{name}.>"])
            await client.jetstream().publish(f"headwater.{name}.public.t", b"{}")
            await client.subscribe("rest.request", cb=hear)
            await client.flush()
        # Refused outright: writing, changing a stream, and the streams of other accounts.
        for subject in (
            "headwater.feed.public.t",
            "rest.request",
            "$JS.API.STREAM.DELETE.feed",
            "$JS.API.STREAM.PURGE.feed",
        ):
            await reader.publish(subject, b"{}")
        with pytest.raises(NotFoundError):
            await reader.jetstream().stream_info("other")
        # The reply subject of a pull is not compared with the user's rights: a copy stays within the account.
        await reader.jetstream().add_consumer("feed", durable_name="c", ack_policy="explicit")
        for target in ("rest.request", "headwater.other.public.t"):
            await reader.publish("$JS.API.CONSUMER.MSG.NEXT.feed.c", b"1", reply=target)
        for client in (reader, feed, other):
            await client.flush()

        assert (await feed.jetstream().stream_info("feed")).state.messages == 1
        assert (await other.jetstream().stream_info("other")).state.messages == 1
        assert set(heard) <= {"headwater.feed.public.t"}
    async with running_server(
        authorization({"door": "door", "pool": "pool", "changes": "changes"})
    ) as platform:
        url = server_url(SECRET, consumer("feed"), platform.port).reveal()
        with pytest.raises(Unavailable, match="refuses to let us in"):
            await NatsConnection.open(url, name="consumer", timeout=1.0)
