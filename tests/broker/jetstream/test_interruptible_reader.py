"""Waits for messages that are interrupted: what arrives meanwhile is neither lost nor counted as returned."""

import asyncio

from broker.jetstream.durable_consumer import publish
from broker.jetstream.interruptible_reader import InterruptibleReader
from broker.jetstream.ordered_reader import StreamReader
from broker.jetstream.streams import ensure_stream
from tests.broker.conftest import Open
from tests.broker.server import NatsServer

STREAM = "INTERRUPTED"


async def test_what_arrives_during_an_interruption_is_returned_by_the_next_call(
    nats: NatsServer, connect: Open
) -> None:
    connection = await connect(nats.url)
    await ensure_stream(connection, STREAM, ["interrupted.*"])
    inner = StreamReader(connection, STREAM, ["interrupted.*"], 0)
    reader, interruption = InterruptibleReader(inner), asyncio.Event()

    interruption.set()
    nothing = await reader.next(interruption)
    interruption.clear()
    for number in range(3):
        await publish(connection, "interrupted.x", b"%d" % number)
    async with asyncio.timeout(60):
        while not inner.after:
            await asyncio.sleep(0.01)
    after_the_interruption = reader.after
    arrived = await reader.next(interruption)
    await reader.close()

    assert (nothing, after_the_interruption) == ([], 0)
    assert arrived[0].payload == b"0"
    assert reader.after == arrived[-1].seq
