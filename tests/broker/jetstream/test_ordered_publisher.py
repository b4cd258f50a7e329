"""Strict order into one stream, over a broker that comes and goes and beside a writer that should not be there."""

import asyncio

import pytest

from broker.jetstream.ordered_publisher import OrderedPublisher
from broker.jetstream.streams import (
    StreamLimits,
    create_stream,
    delete_stream,
    stream_state,
    update_stream,
)
from broker.nats.protocol import MessageTooLong, headers
from schemas.errors import Unavailable

LIMITS = StreamLimits("KEPT", ("kept.>",), 900, 10_000_000)


async def _writer(connection, **more) -> OrderedPublisher:
    state = await stream_state(connection, "KEPT")
    assert state is not None
    return OrderedPublisher(
        connection,
        "KEPT",
        order=int,
        last_seq=state.last_seq,
        last_id=state.last_id,
        confirmed=0,
        **more,
    )


@pytest.fixture
async def connection(own_nats, connect):
    made = await connect(own_nats.url)
    await create_stream(made, LIMITS, {"mine": "yes"})
    return made


async def test_a_stream_tells_its_last_id_and_its_notes(connection):
    connection.publish("kept.a", b"x", "", headers({"Nats-Msg-Id": "7"}))
    await connection.flush()
    async with asyncio.timeout(60):
        while (state := await stream_state(connection, "KEPT")).last_seq < 1:
            pass

    assert (state.first_seq, state.last_seq, state.last_id, state.notes) == (1, 1, "7", {"mine": "yes"})

    await connection.request("$JS.API.STREAM.PURGE.KEPT", b"")
    await update_stream(connection, LIMITS, {})
    state = await stream_state(connection, "KEPT")
    assert (state.first_seq, state.last_seq, state.last_id, state.notes) == (2, 1, "", {})


async def test_a_stream_that_is_not_there_has_no_state(connection):
    assert await stream_state(connection, "OTHER") is None

    await delete_stream(connection, "KEPT")
    assert await stream_state(connection, "KEPT") is None


async def test_messages_are_kept_in_order_and_marks_follow(connection):
    marks = []
    async with await _writer(connection, on_confirmed=marks.append) as ordered:
        for number in range(1, 2001):
            await ordered.publish("kept.a", b"x", id=str(number), mark=number * 10)
        ordered.advance(20_001)
        await ordered.settled()

        assert (ordered.confirmed, ordered.unconfirmed) == (20_001, 0)
        assert marks == sorted(set(marks))
    state = await stream_state(connection, "KEPT")
    assert (state.last_seq, state.last_id) == (2000, "2000")


async def test_what_the_stream_has_is_not_sent_again_after_restarts(own_nats, connection):
    async with await _writer(connection) as ordered:
        for number in range(1, 3001):
            await ordered.publish("kept.a", b"x" * 100, id=str(number), mark=number)
            if number % 1000 == 500:
                own_nats.kill()
                await own_nats.start()
        await ordered.settled()

        assert ordered.confirmed == 3000
    await connection.connected()
    state = await stream_state(connection, "KEPT")
    assert (state.last_seq, state.last_id) == (3000, "3000")


async def test_another_writer_is_noticed_and_its_messages_count(connection, own_nats, connect):
    other = await connect(own_nats.url)
    async with await _writer(connection) as first, await _writer(other) as second:
        for number in range(1, 101):
            await first.publish("kept.a", b"x", id=str(number), mark=number)
            await second.publish("kept.a", b"x", id=str(number), mark=number)
        await first.settled()
        await second.settled()

    state = await stream_state(connection, "KEPT")
    assert (state.last_seq, state.last_id) == (100, "100")


async def test_a_stream_that_is_deleted_ends_the_writing(connection):
    async with await _writer(connection) as ordered:
        await connection.request("$JS.API.STREAM.DELETE.KEPT", b"")
        await ordered.publish("kept.a", b"x", id="1", mark=1)

        with pytest.raises(Unavailable, match="gone"):
            await ordered.settled()


async def test_messages_that_cannot_be_sent_are_refused_at_once(connection):
    async with await _writer(connection) as ordered:
        with pytest.raises(MessageTooLong):
            await ordered.publish("kept.a", b"x" * (connection.max_payload), id="1", mark=1)
        with pytest.raises(ValueError, match="one word"):
            await ordered.publish("kept.a", b"x", id="1\r\n2", mark=1)
