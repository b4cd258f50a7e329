import asyncio
import math
from collections.abc import AsyncIterator
from dataclasses import dataclass, field

from broker.nats.connection import NatsConnection
from broker.observability.observe import exposition
from broker.requests.call import Calls, PoolReply
from broker.requests.current_request import CURRENT
from broker.requests.handler import RequestBody, StreamedResponse
from broker.requests.serve import HeldRequest, PoolMember, serve
from broker.subjects import Subject
from schemas.errors import ApiError, Unavailable
from schemas.http import Request, Response
from tests.broker.conftest import Open
from tests.broker.server import NatsServer
from tests.reference_cycles import no_cycles


class Teapot(ApiError):
    """Refused, in a shape of its own."""

    status = 418

    def headers(self) -> list[tuple[str, str]]:
        return [("x-pot", "tea")]

    def body(self) -> dict[str, object]:
        return {"code": "T1", "message": str(self)}


@dataclass
class Scene:
    """One member of a pool whose handler waits at a gate for each request, and one that asks."""

    calls: Calls
    subject: Subject
    worker: NatsConnection
    serving: PoolMember
    begun: list[str] = field(default_factory=list)
    gates: dict[str, asyncio.Event] = field(default_factory=dict)

    def ask(
        self, id: str, path: str = "/wait", budget_ms: int = 20_000, caller_key: str = ""
    ) -> "asyncio.Task[PoolReply]":
        request = Request(id, "GET", path, budget_ms=budget_ms, caller_key=caller_key)
        return asyncio.ensure_future(self.calls.call(self.subject, request))

    def gate(self, id: str) -> asyncio.Event:
        return self.gates.setdefault(id, asyncio.Event())

    async def answer(self, request: Request, _: RequestBody) -> Response | StreamedResponse:
        self.begun.append(request.id)
        match request.path:
            case "/stored":
                return StreamedResponse(200, [], self.body_of(request.id), is_stored=True)
            case "/refuse":
                raise Teapot("short and stout")
            case "/crash":
                raise RuntimeError("secret of the platform")
            case "/wait":
                await self.gate(request.id).wait()
            case "/huge":
                return Response(200, [("x-long", "a" * 2_000_000)])
        return Response(200, [], request.id.encode())

    async def body_of(self, id: str) -> AsyncIterator[bytes]:
        await self.gate(id).wait()
        yield id.encode()

    async def until_begun(self, *ids: str) -> None:
        async with asyncio.timeout(60):
            while not set(ids) <= set(self.begun):
                await asyncio.sleep(0.01)

    async def until_waiting(self, count: int) -> None:
        waits = f'headwater_pool_waiting{{pool="{self.subject.pool}"}} {count}'.encode()
        async with asyncio.timeout(60):
            while waits not in exposition():
                await asyncio.sleep(0.01)


async def make_scene(url: str, name: str, connect: Open, concurrency: int = 1, queue: int = 1) -> Scene:
    edge, worker = await connect(url), await connect(url)
    subject = Subject(f"serve-{name}.request", f"serve-{name}")
    scenes: list[Scene] = []

    async def answer(request: Request, body: RequestBody) -> Response | StreamedResponse:
        return await scenes[0].answer(request, body)

    serving = await serve(worker, subject, answer, concurrency=concurrency, queue=queue)
    scenes.append(Scene(Calls(edge), subject, worker, serving))
    return scenes[0]


async def test_a_refusal_is_sent_in_its_own_shape(nats: NatsServer, connect: Open) -> None:
    scene = await make_scene(nats.url, "refusal", connect)

    response = (await scene.ask("1", "/refuse")).response

    assert response.status == 418
    assert ("x-pot", "tea") in response.headers
    assert response.body == b'{"code":"T1","message":"short and stout"}'


async def test_any_other_exception_is_a_500_that_tells_its_request_id_only(
    nats: NatsServer, connect: Open
) -> None:
    scene = await make_scene(nats.url, "crash", connect)

    response = (await scene.ask("id-7", "/crash")).response

    assert response.status == 500
    assert b"id-7" in response.body
    assert b"secret" not in response.body


async def test_an_answer_with_a_head_too_long_is_a_500(nats: NatsServer, connect: Open) -> None:
    scene = await make_scene(nats.url, "huge", connect)

    assert (await scene.ask("1", "/huge")).response.status == 500
    assert (await scene.ask("2", "/")).response.status == 200


async def test_requests_beyond_the_queue_are_refused_at_once(nats: NatsServer, connect: Open) -> None:
    scene = await make_scene(nats.url, "overload", connect)
    first = scene.ask("first")
    await scene.until_begun("first")
    second, third = scene.ask("second"), scene.ask("third")

    refused = (await third).response

    assert refused.status == 503
    assert ("retry-after", "1") in refused.headers
    scene.gate("first").set()
    scene.gate("second").set()
    assert (await first).response.body == b"first"
    assert (await second).response.body == b"second"
    assert scene.begun == ["first", "second"]


async def test_one_caller_leaves_places_at_work_and_in_the_queue_for_others(
    nats: NatsServer, connect: Open
) -> None:
    scene = await make_scene(nats.url, "shares", connect, concurrency=4, queue=4)
    flood = [scene.ask(f"a{number}", caller_key="a") for number in range(20)]
    done, _ = await asyncio.wait(flood, return_when=asyncio.FIRST_COMPLETED)
    await scene.until_begun("a0", "a1", "a2")
    other = scene.ask("b", "/", caller_key="b")

    assert (await other).response.body == b"b"
    assert sorted(scene.begun) == ["a0", "a1", "a2", "b"]
    refused = next(iter(done)).result().response
    assert refused.status == 503
    assert ("retry-after", "1") in refused.headers
    assert b"too many requests of yours" in refused.body
    for number in range(20):
        scene.gate(f"a{number}").set()
    statuses = [answer.response.status for answer in await asyncio.gather(*flood)]
    assert statuses == [200] * 6 + [503] * 14


async def test_stored_answers_that_are_read_slowly_leave_their_callers_places_at_work(
    nats: NatsServer, connect: Open
) -> None:
    scene = await make_scene(nats.url, "stored", connect, concurrency=4, queue=4)
    slow = [await scene.ask(f"slow{number}", "/stored", caller_key="a") for number in range(3)]

    others = [scene.ask(f"quick{number}", "/", caller_key="a") for number in range(3)]
    assert [answer.response.status for answer in await asyncio.gather(*others)] == [200] * 3

    # No place for sending is left to this caller: what it asks for further is sent from places at work, so all is bounded.
    slow += [await scene.ask(f"slow{number}", "/stored", caller_key="a") for number in range(3, 6)]
    waiting = scene.ask("waiting", "/", caller_key="a")
    await scene.until_waiting(1)
    draining = asyncio.ensure_future(scene.serving.drain(timeout=20))
    for number in range(6):
        scene.gate(f"slow{number}").set()
    for number, reply in enumerate(slow):
        assert reply.chunks is not None
        assert b"".join([chunk async for chunk in reply.chunks]) == b"slow%d" % number
    assert (await waiting).response.body == b"waiting"
    assert await draining is True


async def test_callers_that_wait_are_begun_in_turn(nats: NatsServer, connect: Open) -> None:
    scene = await make_scene(nats.url, "turns", connect, queue=20)
    first = scene.ask("first", caller_key="a")
    await scene.until_begun("first")
    many = [scene.ask(f"a{number}", "/", caller_key="a") for number in range(5)]
    few = [scene.ask(f"b{number}", "/", caller_key="b") for number in range(2)]
    await scene.until_waiting(7)

    scene.gate("first").set()
    await asyncio.gather(first, *many, *few)

    assert scene.begun == ["first", "a0", "b0", "a1", "b1", "a2", "a3", "a4"]


async def test_a_request_that_waits_longer_than_allowed_is_refused_unbegun(
    nats: NatsServer, connect: Open
) -> None:
    worker, edge = await connect(nats.url), await connect(nats.url)
    subject, gate, begun = Subject("serve-longest.request", "serve-longest"), asyncio.Event(), list[str]()

    async def answer(request: Request, _: RequestBody) -> Response:
        begun.append(request.id)
        await gate.wait()
        return Response(200)

    serving = await serve(worker, subject, answer, concurrency=1, queue=9, longest_wait=0.1)
    calls = Calls(edge)
    first = asyncio.ensure_future(calls.call(subject, Request("first", "POST", "/", caller_key="a")))
    while not begun:
        await asyncio.sleep(0.01)

    refused = (await calls.call(subject, Request("late", "POST", "/", caller_key="b"))).response

    assert (refused.status, refused.rejected_by) == (503, serving.member)
    assert b"did not begin this request in time" in refused.body
    gate.set()
    assert (await first).response.status == 200
    assert begun == ["first"]
    await serving.stop()


async def test_what_a_handler_leaves_running_is_the_platforms_own_work(
    nats: NatsServer, connect: Open
) -> None:
    worker, edge = await connect(nats.url), await connect(nats.url)
    subject, gate, seen = Subject("serve-after.request", "serve-after"), asyncio.Event(), list[str]()
    later: list[asyncio.Task[None]] = []

    async def go_on() -> None:
        request = CURRENT.get()
        assert request is not None
        seen.append(request.caller_key)
        await gate.wait()
        seen.append(request.caller_key)
        assert request.deadline == math.inf

    async def answer(request: Request, _: RequestBody) -> Response:
        later.append(asyncio.ensure_future(go_on()))
        await asyncio.sleep(0)
        return Response(200)

    serving = await serve(worker, subject, answer, concurrency=1, queue=1)
    await Calls(edge).call(subject, Request("1", "GET", "/", caller_key="a"))
    await asyncio.sleep(0)
    gate.set()
    await asyncio.gather(*later)

    assert seen == ["a", ""]
    await serving.stop()


async def test_a_request_whose_budget_ends_while_it_waits_is_never_begun(
    nats: NatsServer, connect: Open
) -> None:
    scene = await make_scene(nats.url, "expired", connect, queue=4)
    first = scene.ask("first")
    await scene.until_begun("first")
    late = scene.ask("late", budget_ms=100)
    last = scene.ask("last", "/")

    await asyncio.wait([late])
    # The worker counts from when it heard of it: a second budget begun now surely ends after that.
    await asyncio.wait([scene.ask("witness", budget_ms=100)])
    scene.gate("first").set()

    assert (await last).response.body == b"last"
    assert (await first).response.body == b"first"
    assert isinstance(late.exception(), ApiError)
    assert "late" not in scene.begun


async def test_a_cancelled_request_gives_its_place_to_the_next(nats: NatsServer, connect: Open) -> None:
    scene = await make_scene(nats.url, "place", connect, queue=4)
    first = scene.ask("first")
    await scene.until_begun("first")
    waiting, last = scene.ask("waiting"), scene.ask("last", "/")
    await scene.worker.flush()

    waiting.cancel()
    first.cancel()

    assert (await last).response.body == b"last"
    assert "waiting" not in scene.begun


async def test_draining_finishes_what_is_begun_and_takes_nothing_more(
    nats: NatsServer, connect: Open
) -> None:
    scene = await make_scene(nats.url, "drain", connect, queue=4)
    first, second = scene.ask("first"), scene.ask("second")
    await scene.until_begun("first")
    draining = asyncio.ensure_future(scene.serving.drain(timeout=20))
    await asyncio.wait([draining], timeout=0.2)

    late = await asyncio.gather(scene.ask("late"), return_exceptions=True)
    scene.gate("first").set()
    scene.gate("second").set()

    assert (await first).response.body == b"first"
    assert (await second).response.body == b"second"
    assert isinstance(late[0], Unavailable)
    assert await draining is True
    assert scene.begun == ["first", "second"]


async def test_a_drain_that_takes_too_long_cancels_the_rest(nats: NatsServer, connect: Open) -> None:
    scene = await make_scene(nats.url, "late-drain", connect)
    asked = scene.ask("stuck", budget_ms=60_000)
    await scene.until_begun("stuck")

    finished = await scene.serving.drain(timeout=0.1)

    assert finished is False
    assert isinstance((await asyncio.gather(asked, return_exceptions=True))[0], Unavailable)


async def test_losing_the_broker_cancels_the_work_nobody_can_hear_of(
    own_nats: NatsServer, connect: Open
) -> None:
    scene = await make_scene(own_nats.url, "lost", connect)
    cancelled = asyncio.Event()

    async def answer(request: Request, _: RequestBody) -> Response:
        try:
            await asyncio.Event().wait()
        finally:
            cancelled.set()
        return Response(200)

    serving = await serve(scene.worker, Subject("lost.request", "lost"), answer, concurrency=1, queue=1)
    asked = asyncio.ensure_future(scene.calls.call(Subject("lost.request", "lost"), Request("1", "GET", "/")))
    await asyncio.wait([asked], timeout=0.1)

    own_nats.kill()

    await asyncio.wait_for(cancelled.wait(), 60)
    assert isinstance((await asyncio.gather(asked, return_exceptions=True))[0], Unavailable)
    await serving.stop()


async def test_what_is_no_request_is_answered_with_a_500(nats: NatsServer, connect: Open) -> None:
    scene = await make_scene(nats.url, "garbage", connect)

    answer = await scene.worker.request(scene.subject.name, b"\xc1 no message pack")

    assert b"An internal error occurred." in answer.payload
    assert (await scene.ask("1", "/")).response.status == 200


async def test_an_answered_request_leaves_no_reference_cycle(nats: NatsServer, connect: Open) -> None:
    scene = await make_scene(nats.url, "cycles", connect)

    async with no_cycles(HeldRequest):
        for id in ("1", "2", "3"):
            assert (await scene.ask(id, "/")).response.status == 200
        first, waiting = scene.ask("first"), scene.ask("waits", "/")
        await scene.until_begun("first")
        await scene.until_waiting(1)
        scene.gate("first").set()
        assert {(await call).response.status for call in (first, waiting)} == {200}


async def test_a_request_that_could_not_begin_for_an_outage_goes_to_another_member(
    nats: NatsServer, connect: Open
) -> None:
    """A write is passed on only where the outage is the same before and after its handler, so that nothing was done."""
    subject, outages, taken = Subject("serve-outage.request", "serve-outage"), [1], list[str]()

    async def fails(request: Request, _: RequestBody) -> Response:
        taken.append(request.id)
        if request.path == "/recovers":
            outages[0] += 1
        return Response(503)

    async def answers(request: Request, _: RequestBody) -> Response:
        return Response(200, body=request.id.encode())

    away = await serve(
        await connect(nats.url), subject, fails, concurrency=8, queue=8, outage=lambda: outages[0]
    )
    others_connection = await connect(nats.url)
    other = await serve(others_connection, subject, answers, concurrency=8, queue=8)
    calls = Calls(await connect(nats.url))

    async def statuses(path: str) -> set[int]:
        requests = [Request(f"{path}{number}", "POST", path) for number in range(32)]
        return {(await calls.call(subject, request)).response.status for request in requests}

    assert await statuses("/") == {200}
    assert taken, "both members are asked"
    assert await statuses("/recovers") == {200, 503}
    await other.stop()
    await others_connection.flush()  # from now on the server sends it nothing
    lonely = (await calls.call(subject, Request("last", "POST", "/"))).response
    assert lonely.status == 503
    await away.stop()
