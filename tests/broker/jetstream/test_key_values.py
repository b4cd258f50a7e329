"""A bucket of keys and values: revisions, compare-and-set, and a bucket that was lost."""

from collections.abc import AsyncIterator

import pytest
import pytest_asyncio

from broker.jetstream.key_values import KeyValueBucket
from broker.jetstream.nats_py import JetStreamClient
from broker.nats.connection import NatsConnection
from schemas.errors import Unavailable
from tests.broker.server import NatsServer, running_server


@pytest_asyncio.fixture
async def server() -> AsyncIterator[NatsServer]:
    async with running_server() as one:
        yield one


@pytest_asyncio.fixture
async def connection(server: NatsServer) -> AsyncIterator[NatsConnection]:
    opened = await NatsConnection.open(server.url, name="test")
    yield opened
    await opened.close()


def bucket(connection: NatsConnection) -> KeyValueBucket:
    return KeyValueBucket(connection, "TEST", replicas=1, max_bytes=1024 * 1024)


async def test_only_the_first_of_two_changes_counts(connection: NatsConnection) -> None:
    one, other = bucket(connection), bucket(connection)

    assert await one.read("key") is None
    assert await one.replace("key", b"a", None) is not None
    assert await other.replace("key", b"b", None) is None
    seen = await other.read("key")
    assert seen is not None
    assert seen.value == b"a"
    assert await one.replace("key", b"c", seen) is not None
    assert await other.replace("key", b"d", seen) is None
    await one.remove("key")
    assert await other.read("key") is None
    assert await other.replace("key", b"e", None) is not None


async def test_the_reason_of_the_broker_is_reported(connection: NatsConnection) -> None:
    one = KeyValueBucket(connection, "TEST", replicas=3, max_bytes=1024)

    with pytest.raises(Unavailable, match="replicas > 1 not supported"):
        await one.read("key")


async def test_a_lost_bucket_is_created_again(connection: NatsConnection) -> None:
    one = bucket(connection)
    await one.write("key", b"a")
    async with connection.linked(JetStreamClient).use(5) as stream:
        await stream.delete_stream("KV_TEST")

    with pytest.raises(Unavailable):
        await one.write("key", b"b")
    await one.write("key", b"c")
    seen = await one.read("key")

    assert seen is not None
    assert seen.value == b"c"


async def test_a_broker_that_is_away_is_unavailable(connection: NatsConnection, server: NatsServer) -> None:
    one = bucket(connection)
    await one.write("key", b"a")
    server.kill()

    with pytest.raises(Unavailable):
        await one.read("key")
