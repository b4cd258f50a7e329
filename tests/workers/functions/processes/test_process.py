"""Retiring processes: a request that a process accepted before a change is finished by it, however late its body arrives."""

import asyncio
from collections.abc import AsyncIterator

import pytest

from schemas.settings.functions import EdgeRuntime, FunctionSettings
from tests.broker.server import NatsServer
from tests.workers.functions.site import Reply, Site, site
from tests.workers.functions.test_worker import HELLO, until
from workers.functions.processes.process import Instance

READS = """
addEventListener("beforeunload", () => console.log("told"));
Deno.serve(async (req) => { let n = 0; if (!req.body) return new Response("old"); for await (const piece of req.body) { n += piece.length; console.log("got " + n); }
  return new Response("old " + n); });"""


class HeldBody:
    """A body whose pieces are sent when the test releases them."""

    def __init__(self) -> None:
        self.queue: asyncio.Queue[bytes] = asyncio.Queue()

    async def pieces(self) -> AsyncIterator[bytes]:
        while piece := await self.queue.get():
            yield piece


def instance_of(place: Site, name: str) -> Instance:
    return next(each for each in place.worker.instances if each.function.name == name)


async def send(place: Site, path: str, held: HeldBody) -> asyncio.Task[Reply]:
    """Start a request whose body is held back after its first piece."""
    asked = asyncio.ensure_future(place.ask(path, method="POST", pieces=held.pieces()))
    held.queue.put_nowait(b"x" * 1000)
    return asked


async def test_bodies_that_still_arrive_are_finished_by_the_version_that_accepted_them(place: Site) -> None:
    await place.add("reads", READS)
    await place.ask("/reads")
    bodies = [HeldBody() for _ in range(3)]
    asked = [await send(place, "/reads", held) for held in bodies]
    await until(lambda: place.said("reads").count("got 1000") == 3)

    await place.add("reads", "Deno.serve(() => new Response('new'));")
    assert (await place.ask("/reads")).body == b"new"
    await until(lambda: "told" in place.said("reads"))
    for held in bodies:
        held.queue.put_nowait(b"y" * 500_000)
        held.queue.put_nowait(b"")
    replies = [await each for each in asked]

    assert [(reply.status, reply.body) for reply in replies] == [(200, b"old 501000")] * 3
    await until(lambda: place.said("reads", "shutdown"))


async def test_a_request_on_its_way_into_the_socket_is_not_lost_by_a_change(place: Site) -> None:
    await place.add("swaps", HELLO)
    await place.ask("/swaps")
    statuses: set[int] = set()

    for number in range(6):
        asked = [asyncio.ensure_future(place.ask("/swaps")) for _ in range(12)]
        await asyncio.sleep(0)
        await place.add("swaps", f"Deno.serve(() => new Response('{number}'));")
        statuses |= {(await each).status for each in asked}

    assert statuses == {200}


async def test_a_stream_and_a_socket_outlive_a_change(place: Site) -> None:
    await place.add(
        "stays",
        """let go: (x: unknown) => void;
           Deno.serve((req) => {
             if (req.headers.get("upgrade") === "websocket") { const { socket, response } = Deno.upgradeWebSocket(req);
               socket.onopen = () => socket.send("open"); socket.onmessage = () => { socket.send("still"); socket.close(); }; return response; }
             if (req.url.endsWith("/go")) { go(0); return new Response(""); }
             return new Response(new ReadableStream({ async start(c) {
               c.enqueue("one"); await new Promise((r) => { go = r; addEventListener("beforeunload", r); }); c.enqueue("two"); c.close(); } })
               .pipeThrough(new TextEncoderStream())); });""",
    )
    stream = await place.open("/stays")
    said = HeldBody()
    wanted = {
        "upgrade": "websocket", "connection": "Upgrade", "sec-websocket-version": "13", "sec-websocket-key": "AAAAAAAAAAAAAAAAAAAAAA==",
    }  # fmt: skip
    socket = await place.open("/stays", headers=wanted, pieces=said.pieces())
    assert stream.chunks is not None
    assert socket.chunks is not None
    assert await anext(stream.chunks) == b"one"
    assert b"open" in await anext(socket.chunks)

    await place.add("stays", "Deno.serve(() => new Response('new'));")

    assert (await place.ask("/stays")).body == b"new"
    assert await anext(stream.chunks) == b"two"
    said.queue.put_nowait(b"\x81\x82\0\0\0\0hi")
    assert b"still" in await anext(socket.chunks)
    said.queue.put_nowait(b"")
    await stream.close()
    await socket.close()


async def test_limits_apply_to_a_retiring_process(own_nats: NatsServer) -> None:
    tight = {"loops": FunctionSettings(cpu_ms=300)}
    async with site(own_nats.url, runtime=EdgeRuntime(watch=0), functions=tight) as place:
        await place.add(
            "loops",
            "Deno.serve(() => new Promise(() => { addEventListener('beforeunload', () => { for (;;); }); console.log('begun'); }));",
        )
        asked = asyncio.ensure_future(place.ask("/loops"))
        await until(lambda: "begun" in place.said("loops"))

        await place.add("loops", HELLO)

        assert (await asked).status == 546
        assert (await place.ask("/loops")).body == b"hello"


async def test_work_after_responses_is_limited_in_time(own_nats: NatsServer) -> None:
    async with site(own_nats.url, runtime=EdgeRuntime(watch=0, wall_s=2, timeout_s=2)) as place:
        await place.add(
            "endless",
            "Deno.serve(() => { setInterval(() => 0, 1000); EdgeRuntime.waitUntil(new Promise(() => {})); return new Response('x'); });",
        )
        while (await place.ask("/endless")).status != 200:  # a start may take longer than an answer may
            pass
        old = instance_of(place, "endless")

        await place.add("endless", HELLO)

        async with asyncio.timeout(60):
            await old.exited.wait()


@pytest.mark.parametrize("ending", ["deploy", "close"])
async def test_a_worker_that_closes_stops_all_its_processes(own_nats: NatsServer, ending: str) -> None:
    async with site(own_nats.url, runtime=EdgeRuntime(watch=0)) as place:
        await place.add("hello", HELLO)
        await place.ask("/hello")
        old = instance_of(place, "hello")
        if ending == "deploy":
            await place.add("hello", "Deno.serve(() => new Response('new'));")

    assert old.exited.is_set()
