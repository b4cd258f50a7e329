"""What the hop through the broker costs: CPU of asker, nats-server and worker for one request, and MiB/s of a body.

    python -m tests.bench.broker_hop [--seconds 3]

Compare inside one run; CPU per request is the figure, rates depend on what else the machine does. The row `nats-py`
is the same exchange through the client library: without deadlines, limits, cancelling or a request's decoding.
"""

import argparse
import asyncio
import os
import sys
import time
from collections.abc import AsyncIterator, Awaitable, Callable

import nats
import uvloop
from nats.aio.msg import Msg

from broker.nats.connection import NatsConnection
from broker.requests.call import Calls
from broker.requests.handler import RequestBody, StreamedResponse
from broker.requests.serve import serve
from broker.subjects import REST
from schemas.caller import UserCaller
from schemas.http import Request, Response
from tests.bench.cpu import spent
from tests.broker.server import NatsServer, running_server

MIB = 1024 * 1024
REQUEST = Request(
    "3f1c9a5e0d7b4a52", "GET", "/items", "select=id,name,price&id=eq.42&order=id.asc&limit=10",
    [("accept", "application/json"), ("x-client-info", "bench"), ("prefer", "count=exact")],
    UserCaller(b'{"sub":"11111111-2222-3333-4444-555555555555","role":"authenticated"}'),
)  # fmt: skip
RESPONSE = Response(200, [("content-type", "application/json; charset=utf-8")], b"x" * 300)
_PIECE = b"\0" * (256 * 1024)


async def _answer(request: Request, body: RequestBody) -> Response | StreamedResponse:
    if request.method == "GET":
        return RESPONSE
    if request.method == "POST":
        size = 0
        async for piece in body:
            size += len(piece)
        return Response(200, [], str(size).encode())
    return StreamedResponse(200, [], _source(int(request.query)))


async def _source(size: int) -> AsyncIterator[bytes]:
    for _ in range(size // len(_PIECE)):
        yield _PIECE


async def _worker(url: str) -> None:
    connection = await NatsConnection.open(url, name="bench-worker")
    await serve(connection, REST, _answer, concurrency=64, queue=512)
    plain = await nats.connect(url)

    async def echo(message: Msg) -> None:
        await plain.publish(message.reply, b"x" * 300)

    await plain.subscribe("bench.plain", queue="bench", cb=echo)
    await plain.flush()
    print("ready", flush=True)
    await asyncio.Event().wait()


async def _at(
    concurrency: int, seconds: float, ask: Callable[[], Awaitable[object]]
) -> tuple[int, list[float]]:
    """Keep so many requests in flight for a while; give how many were answered, and how long each took."""
    end, took = time.perf_counter() + seconds, list[float]()

    async def loop() -> None:
        while (began := time.perf_counter()) < end:
            await ask()
            took.append(time.perf_counter() - began)

    await asyncio.gather(*(loop() for _ in range(concurrency)))
    return len(took), sorted(took)


async def _hop(
    label: str, pids: dict[int, str], concurrency: int, seconds: float, ask: Callable[[], Awaitable[object]]
) -> None:
    await _at(concurrency, 0.3, ask)
    before = spent(pids)
    count, took = await _at(concurrency, seconds, ask)
    after = spent(pids)
    each = {name: (after[pid] - before[pid]) / count * 1e6 for pid, name in pids.items()}
    parts = ", ".join(f"{name} {cost:.1f}" for name, cost in each.items())
    print(
        f"{label:8} {concurrency:3} at a time: {sum(each.values()):6.1f} us CPU ({parts}); "
        f"{count / seconds:7.0f}/s, p50 {took[count // 2] * 1e6:.0f} us, p99 {took[count * 99 // 100] * 1e6:.0f} us"
    )


async def _bodies(calls: Calls, size: int) -> None:
    began = time.perf_counter()
    answer = await calls.call(REST, Request("b", "POST", "/"), body=_source(size))
    up = time.perf_counter() - began
    assert int(answer.response.body) == size
    began, got = time.perf_counter(), 0
    answer = await calls.call(REST, Request("b", "PUT", "/", str(size)))
    assert answer.chunks is not None
    async for chunk in answer.chunks:
        got += len(chunk)
    down = time.perf_counter() - began
    assert got == size
    print(f"body of {size // MIB} MiB: up {size / MIB / up:.0f} MiB/s, down {size / MIB / down:.0f} MiB/s")


async def _main(server: NatsServer, worker: int, seconds: float) -> None:
    connection = await NatsConnection.open(server.url, name="bench")
    calls = Calls(connection)
    plain = await nats.connect(server.url)
    pids = {os.getpid(): "asker", server.pid: "server", worker: "worker"}
    for concurrency in (1, 32):
        await _hop("broker", pids, concurrency, seconds, lambda: calls.call(REST, REQUEST))
        await _hop(
            "nats-py", pids, concurrency, seconds, lambda: plain.request("bench.plain", b"x" * 300, timeout=5)
        )
    for _ in range(2):
        await _bodies(calls, 256 * MIB)
    await plain.close()
    await connection.close()


async def _run(seconds: float) -> None:
    async with running_server() as server:
        worker = await asyncio.create_subprocess_exec(
            sys.executable,
            "-m",
            "tests.bench.broker_hop",
            "--worker",
            server.url,
            stdout=asyncio.subprocess.PIPE,
        )
        try:
            assert worker.stdout is not None
            assert await worker.stdout.readline() == b"ready\n"
            await _main(server, worker.pid, seconds)
        finally:
            worker.kill()
            await worker.wait()


def main() -> None:
    """Run the benchmark, or its worker."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=3.0)
    parser.add_argument("--worker", help=argparse.SUPPRESS)
    chosen = parser.parse_args()
    uvloop.run(_worker(chosen.worker) if chosen.worker else _run(chosen.seconds))


if __name__ == "__main__":
    main()
