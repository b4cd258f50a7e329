"""Reading a stream in order: nothing lost or doubled, and what left the stream unread is told."""

import asyncio
from collections.abc import AsyncIterator

import pytest
import pytest_asyncio

from broker.jetstream import ordered_reader
from broker.jetstream.durable_consumer import publish
from broker.jetstream.errors import JetStreamError
from broker.jetstream.ordered_reader import WINDOW, MessagesLost, StreamReader
from broker.jetstream.streams import (
    StreamLimits,
    create_stream,
    delete_stream,
    last_up_to,
    next_id,
    stream_head,
)
from broker.nats.connection import NatsConnection
from broker.subject_rights import EDGE_USER, authorization
from tests.broker.server import NatsServer, running_server

STREAM = "CHANGES"
LIMITS = StreamLimits(STREAM, ["changes.>", "gaps.>"], 900.0, 64 << 20)


@pytest_asyncio.fixture
async def server() -> AsyncIterator[NatsServer]:
    """A broker that asks for passwords, with the rights of its users."""
    async with running_server(
        authorization({user: user for user in (EDGE_USER, "changes", "platform")})
    ) as one:
        yield one


@pytest_asyncio.fixture
async def pool(server: NatsServer) -> AsyncIterator[NatsConnection]:
    """A connection that writes the stream and purges it, which no process of the platform may."""
    connection = await NatsConnection.open(server.url_of("platform", "platform"), name="writer")
    await create_stream(connection, LIMITS, {})
    yield connection
    await connection.close()


@pytest_asyncio.fixture
async def edge(server: NatsServer, pool: NatsConnection) -> AsyncIterator[NatsConnection]:
    """A connection that reads it."""
    del pool
    connection = await NatsConnection.open(server.url_of(EDGE_USER, EDGE_USER), name="reader")
    yield connection
    await connection.close()


async def write(pool: NatsConnection, numbers: range, subject: str = "changes.public.t") -> None:
    await asyncio.gather(*(publish(pool, subject, b"%d" % number, id=f"{number:x}-0") for number in numbers))


async def read(reader: StreamReader, count: int) -> list[int]:
    found: list[int] = []
    async with asyncio.timeout(60):
        while len(found) < count:
            found += [kept.seq for kept in await reader.next()]
    return found


async def test_what_is_there_and_what_comes_is_read_in_order(
    pool: NatsConnection, edge: NatsConnection
) -> None:
    await write(pool, range(3 * WINDOW))
    reader = StreamReader(edge, STREAM, ["changes.>"], 5)

    first = await read(reader, 3 * WINDOW - 5)
    await write(pool, range(3 * WINDOW, 3 * WINDOW + 10))
    second = await read(reader, 10)
    await reader.close()

    assert first == list(range(6, 3 * WINDOW + 1))
    assert second == list(range(3 * WINDOW + 1, 3 * WINDOW + 11))


async def test_the_rest_ends_where_the_stream_ends(pool: NatsConnection, edge: NatsConnection) -> None:
    await write(pool, range(700))
    await write(pool, range(700, 720), "changes.public.other")
    reader = StreamReader(edge, STREAM, ["changes.public.t"], 0)

    found: list[int] = []
    while taken := await reader.rest():
        found += [kept.seq for kept in taken]
    await reader.close()

    assert found == list(range(1, 701))


async def test_other_subjects_are_read_from_where_it_stands(
    pool: NatsConnection, edge: NatsConnection
) -> None:
    await write(pool, range(5))
    reader = StreamReader(edge, STREAM, ["changes.public.t"], 0)
    first = await read(reader, 5)
    await write(pool, range(5, 8), "changes.public.other")

    reader.watch(["changes.public.other", "changes.public.t"])
    second = await read(reader, 3)
    await reader.close()

    assert (first, second) == ([1, 2, 3, 4, 5], [6, 7, 8])


async def test_subjects_that_change_while_it_begins_are_read_at_once(
    pool: NatsConnection, edge: NatsConnection, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ordered_reader, "_HEARTBEAT_S", 100.0)  # nothing else would wake it
    monkeypatch.setattr(ordered_reader, "_EXPIRES_S", 300.0)
    await write(pool, range(5))
    reader = StreamReader(edge, STREAM, ["changes.public.other"], 0)

    reading = asyncio.create_task(read(reader, 5))
    await asyncio.sleep(0)
    reader.watch(["changes.public.t"])
    found = await reading
    await reader.close()

    assert found == [1, 2, 3, 4, 5]


async def test_a_consumer_that_is_gone_is_made_anew(
    server: NatsServer, pool: NatsConnection, edge: NatsConnection
) -> None:
    reader = StreamReader(edge, STREAM, ["changes.>"], 0)
    await write(pool, range(3))
    first = await read(reader, 3)

    server.kill()
    await server.start()
    await pool.connected()
    await edge.connected()
    await write(pool, range(3, 6))
    second = await read(reader, 3)
    await reader.close()

    assert first + second == [1, 2, 3, 4, 5, 6]


async def test_messages_that_left_before_the_first_look_are_lost(
    pool: NatsConnection, edge: NatsConnection
) -> None:
    await write(pool, range(10))
    await pool.request(f"$JS.API.STREAM.PURGE.{STREAM}", b'{"keep":2}')
    reader = StreamReader(edge, STREAM, ["changes.>"], 3)

    with pytest.raises(MessagesLost) as lost:
        await reader.next()
    found = await read(reader, 2)
    await reader.close()

    assert not lost.value.is_another
    assert found == [9, 10]


async def test_another_stream_of_that_name_is_noticed(pool: NatsConnection, edge: NatsConnection) -> None:
    await write(pool, range(3))
    reader = StreamReader(edge, STREAM, ["changes.>"], 0)
    await read(reader, 3)

    await delete_stream(pool, STREAM)
    await create_stream(pool, LIMITS, {})
    await write(pool, range(4))
    with pytest.raises(MessagesLost) as lost:
        await read(reader, 1)
    found = await read(reader, 4)
    await reader.close()

    assert lost.value.is_another
    assert found == [1, 2, 3, 4]


async def test_the_last_message_up_to_an_id_is_found(pool: NatsConnection, edge: NatsConnection) -> None:
    for number in range(0, 40, 2):
        await publish(pool, "changes.public.t", b"", id=f"{number:x}-0")
    await pool.request(f"$JS.API.STREAM.PURGE.{STREAM}", b'{"seq":4}')
    head = await stream_head(edge, STREAM)

    def order(id: str) -> int:
        return int(id.split("-")[0], 16)

    found = [await last_up_to(edge, STREAM, head, order, most) for most in (0, 6, 7, 38, 99)]

    assert (head.first_seq, head.last_seq) == (4, 20)
    assert found == [3, 4, 4, 20, 20]
    assert await next_id(edge, STREAM, 1) == (4, "6-0")
    assert await next_id(edge, STREAM, 21) is None


async def test_in_silence_it_moves_on_to_the_end_of_the_stream(
    pool: NatsConnection, edge: NatsConnection, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ordered_reader, "_EXPIRES_S", 0.3)
    monkeypatch.setattr(ordered_reader, "_HEARTBEAT_S", 0.1)
    await write(pool, range(3))
    await write(pool, range(3, 9), "changes.public.other")
    reader = StreamReader(edge, STREAM, ["changes.public.t"], 0)
    await read(reader, 3)

    nothing = await reader.next()
    await reader.close()

    assert nothing == []
    assert reader.after == 9


async def test_without_a_stream_nothing_is_read(server: NatsServer) -> None:
    connection = await NatsConnection.open(server.url_of(EDGE_USER, EDGE_USER), name="reader")
    reader = StreamReader(connection, STREAM, ["changes.>"], 0)

    with pytest.raises(JetStreamError):
        await reader.next()
    await reader.close()
    await connection.close()
