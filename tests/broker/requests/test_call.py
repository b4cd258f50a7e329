import asyncio
import signal
import time
from collections.abc import AsyncIterator
from dataclasses import dataclass, field

import pytest

from broker.nats.connection import NatsConnection
from broker.requests.call import Calls, PoolReply
from broker.requests.handler import RequestBody
from broker.requests.serve import PoolMember, serve
from broker.subjects import REST, Subject
from schemas.errors import ApiError, DeadlineExceeded, OutcomeUnknown, Unavailable
from schemas.http import Request, Response
from tests.broker.conftest import Open, Spawn
from tests.broker.server import NatsServer


@dataclass
class Pool:
    """A pool of this process, with a subject of its own: what it saw, and gates to hold it at."""

    subject: Subject
    calls: Calls
    connection: NatsConnection
    serving: PoolMember
    seen: list[str] = field(default_factory=list)
    cancelled: list[str] = field(default_factory=list)
    arrived: asyncio.Event = field(default_factory=asyncio.Event)
    gone: asyncio.Event = field(default_factory=asyncio.Event)
    gate: asyncio.Event = field(default_factory=asyncio.Event)

    async def ask(self, path: str = "/", id: str = "1", budget_ms: int = 20_000) -> PoolReply:
        return await self.calls.call(self.subject, Request(id, "GET", path, budget_ms=budget_ms))

    async def answer(self, request: Request, _: RequestBody) -> Response:
        self.seen.append(request.id)
        self.arrived.set()
        if request.path == "/wait":
            try:
                await self.gate.wait()
            except asyncio.CancelledError:
                self.cancelled.append(request.id)
                self.gone.set()
                raise
        return Response(200, [("x-path", request.path)], request.id.encode())


async def make_pool(url: str, name: str, connect: Open, max_in_flight: int = 1024) -> Pool:
    subject = Subject(f"{name}.request", name)
    edge, worker = await connect(url), await connect(url)
    pool: Pool

    async def answer(request: Request, body: RequestBody) -> Response:
        return await pool.answer(request, body)

    serving = await serve(worker, subject, answer, concurrency=4, queue=4)
    pool = Pool(subject, Calls(edge, max_in_flight=max_in_flight), edge, serving)
    return pool


async def refusal(awaited: "asyncio.Future[PoolReply] | asyncio.Task[PoolReply]") -> ApiError:
    with pytest.raises(ApiError) as caught:
        await awaited
    return caught.value


async def test_a_request_gets_its_response(nats: NatsServer, connect: Open) -> None:
    pool = await make_pool(nats.url, "round-trip", connect)

    answer = await pool.ask("/items", "42")

    assert answer.response == Response(200, [("x-path", "/items")], b"42")
    assert answer.chunks is None


async def test_each_of_many_requests_gets_its_own_response(nats: NatsServer, connect: Open) -> None:
    pool = await make_pool(nats.url, "many", connect)

    answers = await asyncio.gather(*(pool.ask(id=str(number)) for number in range(4)))

    assert [answer.response.body for answer in answers] == [b"0", b"1", b"2", b"3"]


async def test_a_pool_that_nobody_serves_is_unavailable_at_once(nats: NatsServer, connect: Open) -> None:
    calls = Calls(await connect(nats.url))

    error = await refusal(
        asyncio.ensure_future(calls.call(Subject("none.request", "none"), Request("1", "GET", "/")))
    )

    assert isinstance(error, Unavailable)
    assert ("retry-after", "1") in error.response().headers


async def test_a_call_past_its_budget_is_given_up_and_its_work_cancelled(
    nats: NatsServer, connect: Open
) -> None:
    pool = await make_pool(nats.url, "budget", connect)

    error = await refusal(asyncio.ensure_future(pool.ask("/wait", "late", budget_ms=150)))

    await asyncio.wait_for(pool.gone.wait(), 20)
    assert isinstance(error, DeadlineExceeded)
    assert error.response().status == 504
    assert pool.cancelled == ["late"]


async def test_a_client_that_leaves_cancels_the_work(nats: NatsServer, connect: Open) -> None:
    pool = await make_pool(nats.url, "leaves", connect)
    asked = asyncio.ensure_future(pool.ask("/wait", "left"))
    await pool.arrived.wait()

    asked.cancel()

    await asyncio.wait_for(pool.gone.wait(), 20)
    assert pool.cancelled == ["left"]
    assert (await pool.ask()).response.status == 200


async def test_calls_beyond_the_bound_are_refused_at_once(nats: NatsServer, connect: Open) -> None:
    pool = await make_pool(nats.url, "bound", connect, max_in_flight=1)
    first = asyncio.ensure_future(pool.ask("/wait", "first"))
    await pool.arrived.wait()

    error = await refusal(asyncio.ensure_future(pool.ask("/", "second")))

    pool.gate.set()
    assert isinstance(error, Unavailable)
    assert (await first).response.status == 200
    assert pool.seen == ["first"]


async def test_one_caller_leaves_room_for_others_at_the_edge(nats: NatsServer, connect: Open) -> None:
    pool = await make_pool(nats.url, "room", connect, max_in_flight=8)
    flood = [
        asyncio.ensure_future(pool.calls.call(pool.subject, Request(str(n), "GET", "/wait", caller_key="a")))
        for n in range(12)
    ]
    await pool.arrived.wait()

    other = await pool.calls.call(pool.subject, Request("b", "GET", "/", caller_key="b"))

    pool.gate.set()
    outcomes = await asyncio.gather(*flood, return_exceptions=True)
    assert other.response.status == 200
    assert [isinstance(outcome, Unavailable) for outcome in outcomes] == [False] * 6 + [True] * 6
    assert (
        await pool.calls.call(pool.subject, Request("c", "GET", "/", caller_key="a"))
    ).response.status == 200


async def test_a_request_that_one_member_does_not_begin_is_taken_by_another(
    nats: NatsServer, connect: Open
) -> None:
    edge, workers = await connect(nats.url), [await connect(nats.url) for _ in range(2)]
    subject, gates = Subject("elsewhere.request", "elsewhere"), dict[str, asyncio.Event]()
    begun: list[str] = []

    async def answer(request: Request, _: RequestBody) -> Response:
        begun.append(request.id)
        await gates.setdefault(request.id, asyncio.Event()).wait()
        return Response(200, [], request.id.encode())

    calls = Calls(edge)
    serving = [await serve(worker, subject, answer, concurrency=1, queue=0) for worker in workers]
    async with asyncio.timeout(30):
        for number in range(10):  # NATS chooses a member without knowing which is busy
            one, other = f"one {number}", f"other {number}"
            asked = [asyncio.ensure_future(calls.call(subject, Request(one, "POST", "/")))]
            while one not in begun:
                await asyncio.sleep(0.01)
            while len(calls._tracker.pools[subject.pool].roll.members) < 2:
                await asyncio.sleep(0.01)
            asked.append(asyncio.ensure_future(calls.call(subject, Request(other, "POST", "/"))))
            while other not in begun and not asked[1].done():
                await asyncio.sleep(0.01)
            for each in (one, other):
                gates.setdefault(each, asyncio.Event()).set()
            assert [(await each).response.status for each in asked] == [200, 200]

    assert sorted(begun) == sorted(set(begun))
    for each in serving:
        await each.stop()


async def test_a_request_that_is_too_long_for_a_message_is_refused(nats: NatsServer, connect: Open) -> None:
    pool = await make_pool(nats.url, "long", connect)
    request = Request("1", "GET", "/", headers=[("x-long", "a" * 2_000_000)])

    error = await refusal(asyncio.ensure_future(pool.calls.call(pool.subject, request)))

    assert error.status == 431
    assert (await pool.ask()).response.status == 200


async def test_a_slow_call_is_answered_when_its_worker_lives(nats: NatsServer, connect: Open) -> None:
    pool = await make_pool(nats.url, "slow", connect)
    asked = asyncio.ensure_future(pool.ask("/wait"))
    # Long enough for the roll to be called several times.
    done, _ = await asyncio.wait([asked], timeout=1.5)

    pool.gate.set()

    assert not done
    assert (await asked).response.status == 200


async def test_losing_the_broker_fails_calls_at_once_and_no_write_is_sent_later(
    own_nats: NatsServer, connect: Open
) -> None:
    pool = await make_pool(own_nats.url, "restart", connect)
    in_flight = asyncio.ensure_future(pool.ask("/wait", "in-flight"))
    await pool.arrived.wait()

    own_nats.kill()
    lost = await refusal(in_flight)
    while pool.connection.is_connected:
        await asyncio.sleep(0.01)
    meanwhile = await refusal(asyncio.ensure_future(pool.ask("/", "meanwhile")))
    await own_nats.start()
    back = await _ask_until_answered(pool, "after")

    assert isinstance(lost, Unavailable)
    assert isinstance(meanwhile, Unavailable)
    assert back.response.body == b"after"
    assert "meanwhile" not in pool.seen
    assert pool.cancelled == ["in-flight"]


async def _ask_until_answered(pool: Pool, id: str) -> PoolReply:
    deadline = time.monotonic() + 60
    while True:
        try:
            return await pool.ask("/", id)
        except Unavailable:
            assert time.monotonic() < deadline
            await asyncio.sleep(0.02)


async def test_a_call_fails_when_its_only_worker_is_killed(
    own_nats: NatsServer, connect: Open, spawn: Spawn
) -> None:
    worker = await spawn("tests.broker.worker", own_nats.url)
    calls = Calls(await connect(own_nats.url))
    asked = asyncio.ensure_future(calls.call(REST, Request("1", "GET", "/hang")))
    await asyncio.wait([asked], timeout=0.05)

    worker.kill()

    error = await asyncio.wait_for(refusal(asked), 20)
    assert isinstance(error, Unavailable)


async def test_calls_fail_only_with_the_worker_that_took_them(
    own_nats: NatsServer, connect: Open, spawn: Spawn
) -> None:
    doomed = await spawn("tests.broker.worker", own_nats.url)
    other = await connect(own_nats.url)
    gate = asyncio.Event()

    async def answer(_: Request, __: RequestBody) -> Response:
        await gate.wait()
        return Response(200, [], b"from this process")

    serving = await serve(other, REST, answer, concurrency=64, queue=64)
    calls = Calls(await connect(own_nats.url))
    asked = [asyncio.ensure_future(calls.call(REST, Request(str(n), "POST", "/hang"))) for n in range(30)]
    await asyncio.wait(asked, timeout=1.0)

    doomed.kill()
    done, left = await asyncio.wait(asked, timeout=15, return_when=asyncio.FIRST_EXCEPTION)
    await asyncio.wait(left, timeout=1.0)
    gate.set()
    results = await asyncio.gather(*asked, return_exceptions=True)

    await serving.stop()
    answered = [result for result in results if isinstance(result, PoolReply)]
    failed = [result for result in results if isinstance(result, Unavailable)]
    assert done
    assert answered
    assert failed
    assert len(answered) + len(failed) == 30


async def test_a_worker_that_is_busy_for_long_is_not_taken_for_dead(
    own_nats: NatsServer, connect: Open, spawn: Spawn
) -> None:
    await spawn("tests.broker.worker", own_nats.url)
    calls = Calls(await connect(own_nats.url))
    await calls.call(REST, Request("0", "GET", "/"))

    blocking = asyncio.ensure_future(calls.call(REST, Request("1", "POST", "/block", "1.0")))
    behind = asyncio.ensure_future(calls.call(REST, Request("2", "POST", "/")))

    assert (await blocking).response.status == 200
    assert (await behind).response.status == 200


async def test_a_write_in_the_hands_of_a_stopped_worker_ends_with_an_unknown_outcome(
    own_nats: NatsServer, connect: Open, spawn: Spawn
) -> None:
    worker = await spawn("tests.broker.worker", own_nats.url)
    calls = Calls(await connect(own_nats.url))
    await calls.call(REST, Request("0", "GET", "/"))

    worker.send_signal(signal.SIGSTOP)
    error = await refusal(asyncio.ensure_future(calls.call(REST, Request("1", "POST", "/"))))
    worker.send_signal(signal.SIGCONT)

    response = error.response()
    assert isinstance(error, OutcomeUnknown)
    assert response.status == 504
    assert b'"outcome":"unknown"' in response.body
    assert "retry-after" not in dict(response.headers)


async def test_reads_and_new_requests_go_past_a_stopped_worker(
    own_nats: NatsServer, connect: Open, spawn: Spawn
) -> None:
    stopped = await spawn("tests.broker.worker", own_nats.url)
    calls = Calls(await connect(own_nats.url))
    await calls.call(REST, Request("0", "GET", "/"))
    other = await connect(own_nats.url)

    async def answer(request: Request, _: RequestBody) -> Response:
        return Response(200, [], b"from this process")

    serving = await serve(other, REST, answer, concurrency=64, queue=64)
    stopped.send_signal(signal.SIGSTOP)
    reads = await asyncio.gather(*(calls.call(REST, Request(f"r{n}", "GET", "/")) for n in range(20)))
    writes = await asyncio.gather(*(calls.call(REST, Request(f"w{n}", "POST", "/")) for n in range(20)))
    stopped.send_signal(signal.SIGCONT)
    await serving.stop()

    assert {one.response.body for one in [*reads, *writes]} == {b"from this process"}


async def test_a_write_with_an_idempotency_key_goes_past_a_stopped_worker(
    own_nats: NatsServer, connect: Open, spawn: Spawn
) -> None:
    stopped = await spawn("tests.broker.worker", own_nats.url)
    calls = Calls(await connect(own_nats.url), repeats_keyed=True)
    await calls.call(REST, Request("0", "GET", "/"))
    other = await connect(own_nats.url)
    seen: list[str] = []

    async def answer(request: Request, _: RequestBody) -> Response:
        seen.append(request.id)
        return Response(200, [], b"from this process")

    serving = await serve(other, REST, answer, concurrency=64, queue=64)
    stopped.send_signal(signal.SIGSTOP)
    keyed = [Request(f"w{n}", "POST", "/", headers=[("idempotency-key", f"k{n}")]) for n in range(20)]
    plain = [Request(f"p{n}", "POST", "/") for n in range(20)]
    results = await asyncio.gather(
        *(calls.call(REST, request) for request in (*keyed, *plain)), return_exceptions=True
    )
    stopped.send_signal(signal.SIGCONT)
    await serving.stop()

    assert {one.response.body for one in results[:20] if isinstance(one, PoolReply)} == {b"from this process"}
    assert all(isinstance(one, PoolReply) for one in results[:20])
    assert any(isinstance(one, OutcomeUnknown) for one in results[20:])
    assert len(seen) == len(set(seen))


async def test_a_write_with_an_idempotency_key_that_nobody_answers_has_an_unknown_outcome(
    own_nats: NatsServer, connect: Open, spawn: Spawn
) -> None:
    worker = await spawn("tests.broker.worker", own_nats.url)
    calls = Calls(await connect(own_nats.url), repeats_keyed=True)
    request = Request("1", "POST", "/hang", headers=[("idempotency-key", "k")])
    asked = asyncio.ensure_future(calls.call(REST, request))
    await asyncio.wait([asked], timeout=0.3)

    worker.kill()
    error = await asyncio.wait_for(refusal(asked), 20)

    assert isinstance(error, OutcomeUnknown)


async def test_a_request_waits_a_moment_for_the_next_worker_of_a_pool(
    nats: NatsServer, connect: Open
) -> None:
    pool = await make_pool(nats.url, "next", connect)
    await pool.ask()
    await pool.serving.stop()
    await pool.connection.flush()

    asked = asyncio.ensure_future(
        pool.calls.call(pool.subject, Request("held", "POST", "/", budget_ms=20_000))
    )
    await asyncio.wait([asked], timeout=0.2)
    worker = await connect(nats.url)
    serving = await serve(worker, pool.subject, pool.answer, concurrency=4, queue=4)

    assert (await asked).response.body == b"held"
    assert pool.seen == ["1", "held"]
    await serving.stop()


async def test_a_read_whose_worker_was_killed_waits_for_the_next_worker(
    own_nats: NatsServer, connect: Open, spawn: Spawn
) -> None:
    worker = await spawn("tests.broker.worker", own_nats.url)
    calls = Calls(await connect(own_nats.url))
    await calls.call(REST, Request("0", "GET", "/"))
    read = asyncio.ensure_future(calls.call(REST, Request("read", "GET", "/hang", budget_ms=60_000)))
    write = asyncio.ensure_future(calls.call(REST, Request("write", "POST", "/hang", budget_ms=60_000)))
    await asyncio.wait([read], timeout=0.2)

    worker.kill()
    async with asyncio.timeout(60):
        while (
            not calls._tracker.pools["rest"].held and not read.done()
        ):  # it was sent again and reached no worker
            await asyncio.sleep(0)
    next_one = await connect(own_nats.url)
    serving = await serve(next_one, REST, _answer_id, concurrency=4, queue=4)

    assert (await read).response.body == b"read"
    assert isinstance(await refusal(write), OutcomeUnknown)
    await serving.stop()


async def _answer_id(request: Request, _: RequestBody) -> Response:
    return Response(200, [], request.id.encode())


async def test_a_broken_request_body_fails_the_call_with_its_own_error(
    nats: NatsServer, connect: Open
) -> None:
    edge, worker = await connect(nats.url), await connect(nats.url)
    subject = Subject("broken.request", "broken")
    cancelled = asyncio.Event()

    async def answer(_: Request, body: RequestBody) -> Response:
        try:
            return Response(200, [], await body.read(1 << 30))
        finally:
            cancelled.set()

    async def source() -> AsyncIterator[bytes]:
        yield b"first"
        raise ConnectionResetError("the client left")

    serving = await serve(worker, subject, answer, concurrency=1, queue=1)
    with pytest.raises(ConnectionResetError, match="the client left"):
        await Calls(edge).call(subject, Request("1", "POST", "/"), body=source())

    await asyncio.wait_for(cancelled.wait(), 20)
    await serving.stop()
