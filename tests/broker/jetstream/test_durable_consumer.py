import asyncio
from collections.abc import Callable

import pytest
from nats.js.api import ConsumerInfo

from broker.jetstream.durable_consumer import ConsumerPull, DurableConsumer, ensure_consumer, publish
from broker.jetstream.errors import JetStreamError
from broker.jetstream.nats_py import ConnectionClosed, JetStreamClient
from broker.jetstream.streams import ensure_stream
from broker.nats.connection import NatsConnection
from broker.nats.protocol import MessageTooLong, NatsMessage
from schemas.errors import Unavailable
from tests.broker.conftest import Open
from tests.broker.server import NatsServer, running_server


def _consumer(stream: str, batch: int = 64, ack_wait_s: float = 30.0) -> DurableConsumer:
    return DurableConsumer(stream, "d", f"{stream}.*", ack_wait_s, only_new=False, batch=batch)


async def _stream(
    connection: NatsConnection, name: str, payloads: list[bytes], consumer: DurableConsumer
) -> None:
    await ensure_stream(connection, name, [f"{name}.*"])
    for payload in payloads:
        await publish(connection, f"{name}.x", payload)
    await ensure_consumer(connection, consumer)


async def _info_when(
    connection: NatsConnection, consumer: DurableConsumer, is_so: Callable[[ConsumerInfo], bool]
) -> ConsumerInfo:
    """Give what the server tells of a consumer, once it is so."""
    async with asyncio.timeout(60):
        while True:
            async with connection.linked(JetStreamClient).use(5) as jetstream:
                info: ConsumerInfo = await jetstream.consumer_info(consumer.stream, consumer.durable)
            if is_so(info):
                return info
            await asyncio.sleep(0.02)


async def _next(pull: ConsumerPull) -> bytes:
    async with asyncio.timeout(60):
        return (await pull.next()).data


async def test_messages_come_in_their_order_and_are_done_for_good(nats: NatsServer, connect: Open) -> None:
    connection, consumer = await connect(nats.url), _consumer("ORDER", batch=3)
    await _stream(connection, "ORDER", [b"%d" % number for number in range(10)], consumer)

    got = []
    async with ConsumerPull(connection, consumer) as pull:
        for _ in range(10):
            got.append(await _next(pull))
            await pull.acknowledge()

    assert got == [b"%d" % number for number in range(10)]
    await _info_when(connection, consumer, lambda told: told.num_ack_pending == told.num_pending == 0)


async def test_what_is_rejected_is_never_delivered_again(nats: NatsServer, connect: Open) -> None:
    connection, consumer = await connect(nats.url), _consumer("REJECT", batch=1)
    await _stream(connection, "REJECT", [b"bad", b"good"], consumer)

    async with ConsumerPull(connection, consumer) as pull:
        first = await _next(pull)
        await pull.reject()
        second = await _next(pull)
        await pull.acknowledge()

    assert (first, second) == (b"bad", b"good")
    info = await _info_when(connection, consumer, lambda told: told.num_ack_pending == 0)
    assert info.num_redelivered == 0


async def test_what_is_asked_for_again_comes_after_its_delay(nats: NatsServer, connect: Open) -> None:
    connection, consumer = await connect(nats.url), _consumer("LATER", batch=1)
    await _stream(connection, "LATER", [b"one"], consumer)
    clock = asyncio.get_running_loop().time

    async with ConsumerPull(connection, consumer) as pull:
        await _next(pull)
        asked = clock()
        await pull.postpone(0.5)
        message = await pull.next()
        came = clock()
        await pull.acknowledge()

    assert message.metadata.num_delivered == 2
    assert came - asked > 0.4  # never sooner; later than that is no fault


async def test_what_is_in_hand_is_kept_beyond_the_time_to_acknowledge(
    nats: NatsServer, connect: Open
) -> None:
    connection, consumer = await connect(nats.url), _consumer("KEPT", batch=2, ack_wait_s=0.9)
    told: asyncio.Queue[NatsMessage] = asyncio.Queue()
    await _stream(connection, "KEPT", [b"done", b"in hand", b"waits"], consumer)

    async with ConsumerPull(connection, consumer) as pull:
        await _next(pull)
        await pull.acknowledge()
        await _next(pull)
        connection.subscribe("$JS.ACK.KEPT.d.>", told.put_nowait)
        async with asyncio.timeout(60):
            kept = [await told.get() for _ in range(2 * 5)]  # both of them, five times: longer than 0.9 s
        info = await _info_when(connection, consumer, lambda _: True)

    assert {message.payload for message in kept} == {b"+WPI"}
    assert len({message.subject for message in kept}) == 2
    assert info.num_redelivered == 0
    assert info.num_ack_pending == 2


async def test_what_is_not_done_is_given_back_at_the_end(nats: NatsServer, connect: Open) -> None:
    one, two, consumer = await connect(nats.url), await connect(nats.url), _consumer("BACK", batch=2)
    await _stream(one, "BACK", [b"a", b"b"], consumer)

    async with ConsumerPull(one, consumer) as pull:
        await _next(pull)
    got = []
    async with ConsumerPull(two, consumer) as pull:  # long before the 30 s after which it would come anyway
        for _ in range(2):
            got.append(await _next(pull))
            await pull.acknowledge()

    assert sorted(got) == [b"a", b"b"]


async def test_a_consumer_that_is_gone_is_made_anew(nats: NatsServer, connect: Open) -> None:
    connection, consumer = await connect(nats.url), _consumer("GONE")
    await _stream(connection, "GONE", [b"before"], consumer)

    async with ConsumerPull(connection, consumer) as pull:
        await _next(pull)
        await pull.acknowledge()
        async with connection.linked(JetStreamClient).use(5) as jetstream:
            await jetstream.delete_consumer("GONE", "d")
        await publish(connection, "GONE.x", b"after")
        got = []
        while b"after" not in got:
            got.append(await _next(pull))
            await pull.acknowledge()

    assert got == [b"before", b"after"]  # from its beginning: once more is allowed, never is not


async def test_a_pull_ends_with_its_connection(nats: NatsServer, connect: Open) -> None:
    connection, consumer = await connect(nats.url), _consumer("ENDS")
    await _stream(connection, "ENDS", [], consumer)

    async with ConsumerPull(connection, consumer) as pull:
        waiting = asyncio.ensure_future(pull.next())
        await _info_when(connection, consumer, lambda told: bool(told.num_waiting))
        await connection.close()

        with pytest.raises(ConnectionClosed):
            async with asyncio.timeout(60):
                await waiting


async def test_a_message_longer_than_the_broker_takes_is_refused_and_nothing_else(
    nats: NatsServer, connect: Open
) -> None:
    connection = await connect(nats.url)
    await ensure_stream(connection, "LONG", ["LONG.*"])
    at_limit = connection.max_payload

    assert await publish(connection, "LONG.x", bytes(at_limit)) == 1
    for size, id in ((at_limit + 1, ""), (at_limit, "an id needs room too")):
        with pytest.raises(MessageTooLong):
            await publish(connection, "LONG.x", bytes(size), id=id)

    room = len("NATS/1.0\r\nNats-Msg-Id: é\r\n\r\n".encode())
    assert await publish(connection, "LONG.x", bytes(at_limit - room), id="é") == 2


async def test_an_id_cannot_add_headers(nats: NatsServer, connect: Open) -> None:
    connection = await connect(nats.url)
    await ensure_stream(connection, "LINE", ["LINE.*"])

    sequences = [await publish(connection, "LINE.x", b"", id=id) for id in ("a\r\nb: c", "a\r\nb: c", "a")]

    assert sequences == [1, 1, 2]


async def test_an_answer_that_is_no_streams_is_unavailable(nats: NatsServer, connect: Open) -> None:
    connection, other = await connect(nats.url), await connect(nats.url)
    answers = [b"hello", b"[]", b"{}", b"7"]
    other.subscribe("answered", lambda message: other.publish(message.reply, answers.pop()))
    await other.flush()

    for _ in range(4):
        with pytest.raises(Unavailable, match="not one of a stream"):
            await publish(connection, "answered", b"")


async def test_silence_and_nobody_are_unavailable(nats: NatsServer, connect: Open) -> None:
    connection, other = await connect(nats.url), await connect(nats.url)
    other.subscribe("silent", lambda _: None)
    await other.flush()

    with pytest.raises(Unavailable, match=r"within 0\.05 s"):
        await publish(connection, "silent", b"", timeout=0.05)
    with pytest.raises(Unavailable, match="nobody answers"):
        await publish(connection, "nobody.there", b"")


async def test_a_refusal_keeps_the_servers_number(nats: NatsServer, connect: Open) -> None:
    connection = await connect(nats.url)
    await ensure_stream(connection, "FIRST", ["overlaps.>"])

    with pytest.raises(JetStreamError, match="overlap") as overlapping:
        await ensure_stream(connection, "SECOND", ["overlaps.x"])
    with pytest.raises(JetStreamError, match="stream not found") as missing:
        await ensure_consumer(connection, _consumer("MISSING"))

    assert (overlapping.value.code, missing.value.code) == (10065, 10059)


async def test_a_server_without_jetstream_is_unavailable(connect: Open) -> None:
    async with running_server("jetstream: false") as server:
        with pytest.raises(Unavailable):
            await ensure_stream(await connect(server.url), "NONE", ["none.*"])


@pytest.mark.parametrize("turns", range(6))
async def test_a_cancellation_in_the_moment_of_a_message_is_not_lost(
    nats: NatsServer, connect: Open, turns: int
) -> None:
    """asyncio.wait_for of Python 3.11, which nats-py uses, returns the result instead if there is one already."""
    stream = f"CANCELLED{turns}"
    connection, consumer = await connect(nats.url), _consumer(stream)
    await _stream(connection, stream, [b"first"], consumer)
    loop = asyncio.get_running_loop()

    async with ConsumerPull(connection, consumer) as pull:

        async def take_all() -> None:
            while True:
                await pull.next()
                await pull.acknowledge()

        taking = asyncio.create_task(take_all())
        await _info_when(connection, consumer, lambda info: info.num_waiting == 1 and not info.num_pending)
        assert pull._subscription is not None
        queue = pull._subscription._sub._pending_queue
        put = queue.put_nowait

        def cancel_after(left: int) -> None:
            if left:
                loop.call_soon(cancel_after, left - 1)
            else:
                taking.cancel()

        def put_and_cancel(message: object) -> None:
            queue.put_nowait = put
            put(message)
            cancel_after(turns)

        queue.put_nowait = put_and_cancel
        await publish(connection, f"{stream}.x", b"second")
        await asyncio.wait([taking], timeout=30)

    assert taking.cancelled()
