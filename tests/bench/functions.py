"""Hosted functions, measured: cold, warm, many at a time, a hundred functions in memory, the first byte of events.

    python -m tests.bench.functions [--platform]

Without an argument the worker's parts run in this process behind a real broker; with it, a whole platform is asked over HTTP.
"""

import argparse
import asyncio
import contextlib
import os
import signal
import statistics
import time
from pathlib import Path

import aiohttp

from schemas.settings.functions import EdgeRuntime
from tests.broker.server import running_server
from tests.platform import Platform, platform
from tests.workers.functions.site import Site, site

HELLO = "Deno.serve(() => new Response('hello'));"
EVENTS = """Deno.serve(() => new Response(new ReadableStream({ async start(c) {
  for (let n = 0; n < 3; n++) { c.enqueue(new TextEncoder().encode(`data: ${n}\\n\\n`)); await new Promise((r) => setTimeout(r, 50)); }
  c.close(); } }), { headers: { "content-type": "text/event-stream" } }));"""
_WARM, _MANY_S, _AT_A_TIME, _FUNCTIONS = 500, 3.0, 16, 100


def memory_mb(pids: list[int]) -> float:
    """Give the proportional memory of processes: pages that they share are divided among them."""
    total = 0
    for pid in pids:
        with contextlib.suppress(OSError):
            for line in Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines():
                if line.startswith("Pss:"):
                    total += int(line.split()[1])
    return total / 1024


def show(name: str, value: str) -> None:
    print(f"{name:44} {value}")


async def parts() -> None:
    async with running_server() as nats, site(nats.url, runtime=EdgeRuntime(watch=0, log_lines=0)) as place:
        for number in range(_FUNCTIONS):
            place.write(f"hello{number}/index.ts", HELLO)
        place.write("events/index.ts", EVENTS)
        await place.catalog.look()
        cold = [await _took(place, f"/hello{number}") for number in range(_FUNCTIONS)]
        show("first call, p50 / p99", f"{_at(cold, 50):.0f} / {_at(cold, 99):.0f} ms")
        pids = [each.pid for each in place.worker.instances]
        show(f"memory of {len(pids)} functions", f"{memory_mb(pids):.0f} MB")
        again = [await _again(place, number) for number in range(0, _FUNCTIONS, 4)]
        show("cold start of a known version, p50 / p99", f"{_at(again, 50):.0f} / {_at(again, 99):.0f} ms")
        warm = [await _took(place, "/hello0") for _ in range(_WARM)]
        show("warm call through the broker, p50 / p99", f"{_at(warm, 50):.2f} / {_at(warm, 99):.2f} ms")
        show(f"{_AT_A_TIME} at a time", f"{await _many(lambda: _took(place, '/hello0')):.0f} requests/s")
        await place.ask("/events")
        first = []
        for _ in range(20):
            began = time.perf_counter()
            answer = await place.open("/events")
            assert answer.chunks is not None
            await anext(answer.chunks)
            first.append((time.perf_counter() - began) * 1000)
            await answer.close()
        show("first byte of events, p50", f"{_at(first, 50):.1f} ms")


async def _again(place: Site, number: int) -> float:
    """Give the time of a call that starts a process of a version which ran before."""
    for each in [each for each in place.worker.instances if each.function.name == f"hello{number}"]:
        os.kill(each.pid, signal.SIGKILL)
        await each.exited.wait()
    return await _took(place, f"/hello{number}")


async def whole(running_platform: Platform) -> None:
    root = running_platform.data.parent / "supabase" / "functions"
    for name, source in (("hello", HELLO), ("events", EVENTS)):
        (root / name).mkdir(parents=True)
        (root / name / "index.ts").write_text(source)
    headers = {"apikey": running_platform.values["ANON_KEY"]}
    async with aiohttp.ClientSession(headers=headers) as session:
        url = f"{running_platform.url}/functions/v1"

        async def ask() -> None:
            async with session.get(f"{url}/hello") as answer:
                assert await answer.read() == b"hello"

        deadline = time.monotonic() + 60
        while (await _status(session, f"{url}/hello")) != 200:
            assert time.monotonic() < deadline
            await asyncio.sleep(0.1)
        warm = []
        for _ in range(_WARM):
            began = time.perf_counter()
            await ask()
            warm.append((time.perf_counter() - began) * 1000)
        show("over HTTP: warm call, p50 / p99", f"{_at(warm, 50):.2f} / {_at(warm, 99):.2f} ms")
        show(f"over HTTP: {_AT_A_TIME} at a time", f"{await _many(ask):.0f} requests/s")
        await _status(session, f"{url}/events")
        first = []
        for _ in range(20):
            began = time.perf_counter()
            async with session.get(f"{url}/events") as answer:
                await answer.content.readany()
            first.append((time.perf_counter() - began) * 1000)
        show("over HTTP: first byte of events, p50", f"{_at(first, 50):.1f} ms")


async def _status(session: aiohttp.ClientSession, url: str) -> int:
    async with session.get(url) as answer:
        await answer.read()
        return answer.status


async def _took(place: Site, path: str) -> float:
    began = time.perf_counter()
    reply = await place.ask(path)
    assert reply.status == 200, reply
    return (time.perf_counter() - began) * 1000


async def _many(ask: object) -> float:
    assert callable(ask)
    count, until = 0, time.perf_counter() + _MANY_S

    async def one() -> None:
        nonlocal count
        while time.perf_counter() < until:
            await ask()
            count += 1

    await asyncio.gather(*(one() for _ in range(_AT_A_TIME)))
    return count / _MANY_S


def _at(times: list[float], percent: int) -> float:
    return statistics.quantiles(times, n=100)[percent - 1]


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--platform", action="store_true")
    if parser.parse_args().platform:
        with platform() as running_platform:
            asyncio.run(whole(running_platform))
    else:
        asyncio.run(parts())


if __name__ == "__main__":
    main()
