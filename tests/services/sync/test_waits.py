"""Requests that wait for shapes: each is woken once, and no announcement is lost, whenever it comes."""

import asyncio
from collections.abc import AsyncIterator

import pytest

from broker.codec import decoder, encode
from broker.nats.connection import NatsConnection
from broker.nats.gather import gather_replies
from broker.requests.call import PoolReply
from broker.subjects import SHAPES_CHANGED, Subject
from schemas.errors import Unavailable
from schemas.http import Request, Response
from schemas.sync import HANDLE, OFFSET, WAIT, ShapesChanged, ShapeWaiters
from services.sync.waits import ShapeWaits
from tests.broker.server import running_server

FAR = 1000.0
NOTHING = Response(WAIT, [(HANDLE, "h"), (OFFSET, "1_0")])


class Pool:
    """Stands at the other end of the questions: each waits for an answer by `answer`."""

    def __init__(self) -> None:
        self.questions: asyncio.Queue[tuple[Request, asyncio.Future[Response | Exception]]] = asyncio.Queue()

    async def call(self, subject: Subject, request: Request) -> PoolReply:
        del subject
        answer: asyncio.Future[Response | Exception] = asyncio.get_running_loop().create_future()
        self.questions.put_nowait((request, answer))
        result = await answer
        if isinstance(result, Exception):
            raise result
        return PoolReply(result)

    async def answer(self, result: Response | Exception) -> Request:
        """Answer the next question."""
        request, answer = await asyncio.wait_for(self.questions.get(), 20)
        answer.set_result(result)
        return request


@pytest.fixture
async def connection() -> AsyncIterator[NatsConnection]:
    async with running_server() as server:
        one = await NatsConnection.open(server.url, name="test")
        yield one
        await one.close()


async def test_an_announcement_during_a_question_leads_to_another_one(connection: NatsConnection) -> None:
    pool = Pool()
    waits = ShapeWaits(connection, pool)  # type: ignore[arg-type]  # of it `call` alone is used
    watch = waits.enter("h")
    deadline = asyncio.get_running_loop().time() + FAR
    waiting = [
        asyncio.create_task(waits.next_part("h", "1_0", watch, watch.version, deadline)) for _ in range(3)
    ]
    elsewhere = asyncio.create_task(waits.next_part("h", "2_0", watch, watch.version, deadline))
    await asyncio.sleep(0)

    def announce() -> None:
        connection.publish(SHAPES_CHANGED.name, encode(ShapesChanged(["h"])))

    announce()
    first, second = [await asyncio.wait_for(pool.questions.get(), 20) for _ in range(2)]
    announce()
    while watch.version < 2:
        await asyncio.sleep(0.001)
    first[1].set_result(NOTHING)
    second[1].set_result(NOTHING)
    rows = Response(200, body=b"[]")
    for _ in range(2):
        await pool.answer(rows)

    assert [await one for one in (*waiting, elsewhere)] == [(rows, 2)] * 4
    assert pool.questions.empty()
    assert not watch.places
    waits.leave("h", watch)
    await waits.close()


async def test_an_announcement_before_a_request_waits_and_errors_and_deadlines(
    connection: NatsConnection,
) -> None:
    pool = Pool()
    waits = ShapeWaits(connection, pool)  # type: ignore[arg-type]  # as above
    watch = waits.enter("h")
    now = asyncio.get_running_loop().time()
    watch.version += 1  # it came between the pool's answer and this moment
    early = asyncio.create_task(waits.next_part("h", "1_0", watch, 0, now + FAR))
    await pool.answer(Response(200, body=b"[1]"))
    assert (await early)[0].body == b"[1]"
    failing = asyncio.create_task(waits.next_part("h", "1_0", watch, 0, now + FAR))
    await pool.answer(Unavailable("the pool is gone", 1))
    with pytest.raises(Unavailable):
        await failing
    late = [asyncio.create_task(waits.next_part("h", "1_0", watch, watch.version, now)) for _ in range(2)]
    question = await pool.answer(Response(200, body=b"[2]"))

    assert [(await one)[0].body for one in late] == [b"[2]", b"[2]"]
    assert "final=1" in question.query

    counted = await gather_replies(connection, SHAPES_CHANGED.name, encode(ShapesChanged()))
    assert [decoder(ShapeWaiters)(one).waiting for one in counted] == [{"h": 1}]
    stopped = asyncio.create_task(waits.next_part("h", "1_0", watch, watch.version, now + FAR))
    await asyncio.sleep(0)
    waits.stop()
    await pool.answer(Response(200, body=b"[3]"))
    assert (await stopped)[0].body == b"[3]"
    await waits.close()
