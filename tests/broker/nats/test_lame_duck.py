"""Leaving a server that is about to end: nothing that waits for an answer fails, and no event comes twice."""

import asyncio
import os
import signal
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack

import pytest

from broker.nats.connection import NatsConnection
from broker.nats.lame_duck import Overlap
from broker.nats.protocol import NatsMessage
from broker.requests.call import Calls
from broker.requests.handler import RequestBody
from broker.requests.serve import serve
from broker.subjects import REST
from schemas.http import Request, Response
from tests.broker.server import NatsServer, free_port, running_server

pytestmark = pytest.mark.timeout(90)


@pytest.fixture
async def cluster() -> AsyncIterator[tuple[NatsServer, NatsServer]]:
    """Two servers of a cluster that leave in peace."""
    routes = [free_port(), free_port()]
    async with AsyncExitStack() as stack:
        servers = []
        for own, other in (routes, routes[::-1]):
            config = (
                f'server_name: "n{own}"\nlame_duck_duration: "30s"\nlame_duck_grace_period: "2s"\n'
                f"cluster {{ name: c, listen: 127.0.0.1:{own}, routes: [nats://127.0.0.1:{other}] }}"
            )
            servers.append(await stack.enter_async_context(running_server(config, jetstream=False)))
        yield servers[0], servers[1]


async def test_calls_and_events_go_on_while_their_server_leaves(
    cluster: tuple[NatsServer, NatsServer],
) -> None:
    leaving, staying = cluster
    url = f"{leaving.url},{staying.url}"
    async with AsyncExitStack() as stack:
        connections = [
            await NatsConnection.open(urls, name=name)
            for urls, name in ((url, "edge"), (url, "worker"), (staying.url, "publisher"))
        ]
        for connection in connections:
            stack.push_async_callback(connection.close)
        edge, worker, publisher = connections
        received: list[int] = []
        worker.subscribe("news", lambda message: received.append(int(message.payload)))
        may_answer = asyncio.Event()

        async def answer(request: Request, _: RequestBody) -> Response:
            if request.path == "/slow":
                await may_answer.wait()
            return Response(200, body=request.path.encode())

        serving = await serve(worker, REST, answer, concurrency=64, queue=64)
        stack.push_async_callback(serving.stop)
        calls = Calls(edge)
        slow = asyncio.ensure_future(calls.call(REST, Request("slow", "GET", "/slow")))
        published = 0
        is_over = False

        async def publish_all() -> None:
            nonlocal published
            while not is_over:
                publisher.publish("news", str(published).encode())
                published += 1
                await asyncio.sleep(0.002)

        async def call_all() -> None:
            number = 0
            while not is_over:
                number += 1
                answer = await calls.call(REST, Request(f"r{number}", "GET", f"/{number}"))
                assert answer.response.body == f"/{number}".encode()

        work = [asyncio.ensure_future(each()) for each in (publish_all, call_all, call_all)]
        async with asyncio.timeout(60):
            while not received:
                await asyncio.sleep(0.01)
        os.kill(leaving.pid, signal.SIGUSR2)
        async with asyncio.timeout(60):
            while leaving.is_running:
                assert not any(each.done() for each in work)
                await asyncio.sleep(0.02)
        is_over = True
        await asyncio.gather(*work)
        may_answer.set()

        assert (await slow).response.body == b"/slow"
        await publisher.flush()
        await worker.flush()
        # Each once; messages of the overlap may come in another order.
        assert sorted(received) == list(range(min(received), published))


def test_message_that_both_have_is_handed_on_once() -> None:
    seen: list[bytes] = []
    overlap = Overlap({b"1": lambda message: seen.append(message.payload)}, frozenset({b"1"}))
    old, new = overlap.side(), overlap.side()

    def come(side: object, payload: bytes) -> None:
        found = side.get(b"1")  # type: ignore[attr-defined]  # a side
        found(NatsMessage("s", "", payload))

    for side, payload in ((old, b"a"), (new, b"a"), (old, b"a"), (new, b"b"), (old, b"b"), (new, b"a")):
        come(side, payload)

    assert seen == [b"a", b"a", b"b"]
    assert old.get(b"2") is None


def test_messages_of_a_queue_group_are_all_handed_on() -> None:
    seen: list[bytes] = []
    overlap = Overlap({b"1": lambda message: seen.append(message.payload)}, frozenset())
    for side in (overlap.side(), overlap.side()):
        found = side.get(b"1")
        assert found is not None
        found(NatsMessage("s", "", b"same"))

    assert seen == [b"same", b"same"]
