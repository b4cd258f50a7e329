import asyncio
import hashlib
import tracemalloc
from collections.abc import AsyncIterator

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from broker.nats.connection import NatsConnection
from broker.requests import body
from broker.requests.body import BodyBroken, BodySender, receive_body
from broker.requests.call import Calls
from broker.requests.handler import BodyTooLarge, RequestBody, StreamedResponse
from broker.requests.serve import PoolMember, serve
from broker.subjects import REST, Subject
from schemas.errors import ApiError
from schemas.http import INLINE_LIMIT, BodyStream, Request, Response
from tests.broker.conftest import Open, Spawn
from tests.broker.server import NatsServer

MIB = 1024 * 1024


async def pieces(*data: bytes) -> AsyncIterator[bytes]:
    for piece in data:
        yield piece


async def large(size: int, piece: int = 100_000) -> AsyncIterator[bytes]:
    """Give a body whose bytes differ from place to place, without holding it."""
    sent = number = 0
    while sent < size:
        data = (number.to_bytes(8, "big") * (piece // 8))[: size - sent]
        yield data
        sent, number = sent + len(data), number + 1


async def digest(source: AsyncIterator[bytes]) -> tuple[int, str]:
    size, seen = 0, hashlib.sha256()
    async for piece in source:
        size += len(piece)
        seen.update(piece)
    return size, seen.hexdigest()


class BodyTransfer:
    """Two connections, a sender at one and a receiver at the other."""

    def __init__(self, left: NatsConnection, right: NatsConnection) -> None:
        self.right = right
        self.sender = BodySender(left)
        self.stream = BodyStream(self.sender.subject)


async def make_ends(url: str, connect: Open) -> BodyTransfer:
    return BodyTransfer(await connect(url), await connect(url))


async def make_pool(url: str, name: str, connect: Open) -> tuple[Calls, Subject, PoolMember]:
    """A pool that digests a POST, and answers a GET with as many bytes as its query says."""

    async def answer(request: Request, content: RequestBody) -> Response | StreamedResponse:
        match request.path:
            case "/digest":
                size, seen = await digest(content.__aiter__())
                return Response(200, [], f"{size} {seen}".encode())
            case "/read":
                return Response(200, [], await content.read(int(request.query)))
            case "/whole":
                return Response(
                    201, [("etag", "x")], b"".join([p async for p in large(int(request.query))]), "Made"
                )
            case "/broken":
                return StreamedResponse(200, [], broken())
            case "/early":
                return Response(403, [], b"not yours")
        return StreamedResponse(200, [], large(int(request.query)), size=int(request.query))

    worker = await connect(url)
    subject = Subject(f"{name}.request", name)
    serving = await serve(worker, subject, answer, concurrency=8, queue=8)
    return Calls(await connect(url)), subject, serving


async def broken() -> AsyncIterator[bytes]:
    yield b"begun"
    raise RuntimeError("the source broke")


@pytest.mark.parametrize("size", [0, 1, INLINE_LIMIT, INLINE_LIMIT + 1, 3 * MIB])
async def test_a_body_of_any_size_arrives_whole(nats: NatsServer, connect: Open, size: int) -> None:
    calls, subject, serving = await make_pool(nats.url, f"size-{size}", connect)
    whole = b"".join([piece async for piece in large(size)])

    answer = await calls.call(subject, Request("1", "POST", "/digest", body=whole))

    assert answer.response.body.decode() == f"{size} {hashlib.sha256(whole).hexdigest()}"
    await serving.stop()


async def test_a_long_inline_answer_follows_as_chunks(nats: NatsServer, connect: Open) -> None:
    calls, subject, serving = await make_pool(nats.url, "inline", connect)

    answer = await calls.call(subject, Request("1", "GET", "/whole", str(2 * MIB)))

    assert (answer.response.status, answer.response.reason) == (201, "Made")
    assert answer.response.stream is not None
    assert answer.response.stream.size == 2 * MIB
    assert answer.chunks is not None
    assert await digest(answer.chunks) == await digest(large(2 * MIB))
    await serving.stop()


async def test_large_bodies_need_little_memory_in_both_directions(nats: NatsServer, connect: Open) -> None:
    calls, subject, serving = await make_pool(nats.url, "memory", connect)
    size = 64 * MIB
    expected = await digest(large(size))

    tracemalloc.start()
    try:
        up = await calls.call(subject, Request("1", "POST", "/digest"), body=large(size))
        down = await calls.call(subject, Request("2", "GET", "/", str(size)))
        assert down.chunks is not None
        came = await digest(down.chunks)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()

    assert up.response.body.decode() == f"{expected[0]} {expected[1]}"
    assert came == expected
    assert peak < 16 * MIB
    await serving.stop()


async def test_a_slow_reader_slows_the_source(nats: NatsServer, connect: Open) -> None:
    ends = await make_ends(nats.url, connect)
    given_out = 0

    async def source() -> AsyncIterator[bytes]:
        nonlocal given_out
        for _ in range(100):
            given_out += 1
            yield b"\0" * body.CHUNK

    sending = asyncio.ensure_future(ends.sender.send(source()))
    chunks = receive_body(ends.right, ends.stream)
    await anext(chunks)
    await asyncio.wait([sending], timeout=0.3)

    assert given_out <= body.WINDOW // body.CHUNK + 3
    await chunks.aclose()
    await asyncio.wait_for(sending, 20)


@given(data=st.lists(st.binary(max_size=60), max_size=12))
@settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
async def test_pieces_arrive_in_their_order(nats: NatsServer, connect: Open, data: list[bytes]) -> None:
    ends = await make_ends(nats.url, connect)
    sending = asyncio.ensure_future(ends.sender.send(pieces(*data)))

    came = [chunk async for chunk in receive_body(ends.right, ends.stream)]

    await sending
    assert came == [piece for piece in data if piece]


async def test_a_small_piece_does_not_wait_for_more(nats: NatsServer, connect: Open) -> None:
    ends = await make_ends(nats.url, connect)
    more = asyncio.Event()

    async def source() -> AsyncIterator[bytes]:
        yield b"event"
        await more.wait()

    sending = asyncio.ensure_future(ends.sender.send(source()))
    chunks = receive_body(ends.right, ends.stream)

    assert await asyncio.wait_for(anext(chunks), 20) == b"event"
    more.set()
    assert [chunk async for chunk in chunks] == []
    await sending


async def test_a_reader_that_stops_early_stops_the_sender_and_closes_its_source(
    nats: NatsServer, connect: Open
) -> None:
    ends = await make_ends(nats.url, connect)
    closed = asyncio.Event()

    async def source() -> AsyncIterator[bytes]:
        try:
            yield b"event"
            await asyncio.Event().wait()
        finally:
            closed.set()

    sending = asyncio.ensure_future(ends.sender.send(source()))
    chunks = receive_body(ends.right, ends.stream)
    await anext(chunks)

    await chunks.aclose()

    await asyncio.wait_for(sending, 20)
    assert closed.is_set()


async def test_an_answer_closed_before_it_is_read_stops_its_sender(nats: NatsServer, connect: Open) -> None:
    closed = asyncio.Event()

    async def source() -> AsyncIterator[bytes]:
        try:
            while True:
                yield b"event"
        finally:
            closed.set()

    async def answer(_: Request, __: RequestBody) -> StreamedResponse:
        stream = source()
        await anext(stream)
        return StreamedResponse(200, [], stream)

    subject = Subject("unread.request", "unread")
    serving = await serve(await connect(nats.url), subject, answer, concurrency=1, queue=1)
    unread = await Calls(await connect(nats.url)).call(subject, Request("1", "GET", "/"), body=pieces(b"x"))

    await unread.close()

    await asyncio.wait_for(closed.wait(), 20)
    assert await serving.drain(10)


async def test_a_source_that_breaks_breaks_the_reader(nats: NatsServer, connect: Open) -> None:
    calls, subject, serving = await make_pool(nats.url, "breaks", connect)

    answer = await calls.call(subject, Request("1", "GET", "/broken"))

    assert answer.chunks is not None
    with pytest.raises(BodyBroken):
        await digest(answer.chunks)
    assert (await calls.call(subject, Request("2", "GET", "/early"))).response.status == 403
    await serving.stop()


async def test_an_answer_before_the_body_is_read_ends_the_body(nats: NatsServer, connect: Open) -> None:
    calls, subject, serving = await make_pool(nats.url, "early", connect)
    closed = asyncio.Event()

    async def source() -> AsyncIterator[bytes]:
        try:
            while True:
                yield b"\0" * 1000
        finally:
            closed.set()

    unread = source()
    await anext(unread)

    answer = await calls.call(subject, Request("1", "POST", "/early"), body=unread)

    assert answer.response.status == 403
    assert closed.is_set()
    await serving.stop()


async def test_a_body_beyond_its_limit_is_refused(nats: NatsServer, connect: Open) -> None:
    calls, subject, serving = await make_pool(nats.url, "limit", connect)
    fits, told, streamed = (
        await calls.call(subject, Request("1", "POST", "/read", "10", body=b"0123456789")),
        await calls.call(subject, Request("2", "POST", "/read", "9", body=b"0123456789")),
        await calls.call(subject, Request("3", "POST", "/read", "9"), body=pieces(b"01234", b"56789")),
    )

    assert fits.response.body == b"0123456789"
    assert told.response.status == BodyTooLarge.status
    assert streamed.response.status == BodyTooLarge.status
    await serving.stop()


async def test_a_missing_chunk_breaks_the_body(nats: NatsServer, connect: Open) -> None:
    ends = await make_ends(nats.url, connect)
    left = await connect(nats.url)
    told = asyncio.get_running_loop().create_future()
    sender = left.inbox.open(lambda message: None if told.done() else told.set_result(message.reply))
    chunks = receive_body(ends.right, BodyStream(sender))
    reading = asyncio.ensure_future(anext(chunks))

    left.publish(await told, bytes([0]) + (1).to_bytes(8, "big") + b"the second chunk", sender)

    with pytest.raises(BodyBroken, match="chunk 0 is missing"):
        await reading


async def test_a_sender_that_is_closed_already_breaks_the_reader_at_once(
    nats: NatsServer, connect: Open
) -> None:
    left, right = await connect(nats.url), await connect(nats.url)
    subject = left.inbox.open(lambda _: None)
    left.inbox.close(subject)

    with pytest.raises(BodyBroken):
        await asyncio.wait_for(digest(receive_body(right, BodyStream(subject))), 20)


async def test_a_sender_that_does_not_exist_breaks_the_reader_at_once(
    nats: NatsServer, connect: Open
) -> None:
    right = await connect(nats.url)

    for name in ("_INBOX.open.nobody.1", "events.catalog", "_INBOX.a b", "_INBOX.>"):
        with pytest.raises(BodyBroken):
            await asyncio.wait_for(digest(receive_body(right, BodyStream(name))), 20)


async def test_losing_the_broker_breaks_both_ends(own_nats: NatsServer, connect: Open) -> None:
    ends = await make_ends(own_nats.url, connect)

    async def source() -> AsyncIterator[bytes]:
        yield b"event"
        await asyncio.Event().wait()

    sending = asyncio.ensure_future(ends.sender.send(source()))
    chunks = receive_body(ends.right, ends.stream)
    await anext(chunks)

    own_nats.kill()

    with pytest.raises(BodyBroken):
        await asyncio.wait_for(anext(chunks), 20)
    with pytest.raises(BodyBroken):
        await asyncio.wait_for(sending, 20)


async def test_a_worker_that_dies_while_it_sends_breaks_the_body(
    own_nats: NatsServer, connect: Open, spawn: Spawn
) -> None:
    worker = await spawn("tests.broker.worker", own_nats.url)
    answer = await Calls(await connect(own_nats.url)).call(REST, Request("1", "GET", "/flow"))
    assert answer.chunks is not None
    assert await anext(answer.chunks) == b"begun"

    worker.kill()

    with pytest.raises(BodyBroken):
        await asyncio.wait_for(anext(answer.chunks), 20)


async def test_a_worker_that_dies_while_it_reads_fails_the_call(
    own_nats: NatsServer, connect: Open, spawn: Spawn
) -> None:
    worker = await spawn("tests.broker.worker", own_nats.url)
    begun = asyncio.Event()

    async def source() -> AsyncIterator[bytes]:
        yield b"first"
        begun.set()
        await asyncio.Event().wait()

    calls = Calls(await connect(own_nats.url))
    asked = asyncio.ensure_future(calls.call(REST, Request("1", "POST", "/read"), body=source()))
    await asyncio.wait_for(begun.wait(), 20)

    worker.kill()

    with pytest.raises(ApiError) as caught:
        await asyncio.wait_for(asked, 20)
    assert caught.value.status == 503
