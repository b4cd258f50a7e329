"""What a function notices of bad neighbours, and how soon a changed file answers.

    python -m tests.bench.functions_neighbours

A whole platform is asked over HTTP, one request after the other: first alone, then beside functions that loop for ever, that
take memory without end, and that answer without end. The loop takes one of the machine's cores while it may.
"""

import asyncio
import contextlib
import statistics
import time

import aiohttp

from tests.bench.functions import HELLO, show
from tests.platform import Platform, platform
from tests.platforms.test_functions import write

NEIGHBOURS = {
    "loop": "Deno.serve(() => { while (true) {} });",
    "memory": "const kept = []; Deno.serve(() => { while (true) kept.push(new Array(100_000).fill(kept.length)); });",
    "endless": "Deno.serve(() => new Response(new ReadableStream({ pull(c) { c.enqueue(new Uint8Array(65536)); } })));",
}
_CALLS, _DEADLINE_S, _RELOADS = 400, 30, 10


async def _text(session: aiohttp.ClientSession, name: str) -> str:
    async with session.get(f"functions/v1/{name}") as answer:
        return await answer.text()


async def _calls(session: aiohttp.ClientSession) -> str:
    took = []
    for _ in range(_CALLS):
        began = time.perf_counter()
        assert await _text(session, "hello") == "hello"
        took.append((time.perf_counter() - began) * 1000)
    cuts = statistics.quantiles(took, n=100)
    return f"{cuts[49]:.2f} / {cuts[98]:.2f} ms"


async def _suffer(session: aiohttp.ClientSession, name: str) -> None:
    while True:
        with contextlib.suppress(aiohttp.ClientError):
            await _text(session, name)


async def _reload(session: aiohttp.ClientSession, running_platform: Platform, number: int) -> float:
    """Give the seconds from the change of a file to the first answer of the new version."""
    write(running_platform.data.parent, "changing", f"Deno.serve(() => new Response('{number}'));")
    began = time.perf_counter()
    async with asyncio.timeout(_DEADLINE_S):
        while await _text(session, "changing") != str(number):
            pass
    return time.perf_counter() - began


async def main() -> None:
    """Measure, and print a line for each."""
    with platform() as running_platform:
        for name, source in {"hello": HELLO, **NEIGHBOURS}.items():
            write(running_platform.data.parent, name, source)
        headers = {"Authorization": f"Bearer {running_platform.values['ANON_KEY']}"}
        async with aiohttp.ClientSession(f"{running_platform.url}/", headers=headers) as session:
            async with asyncio.timeout(_DEADLINE_S):
                while await _text(session, "hello") != "hello":
                    pass
            show("warm call alone, p50 / p99", await _calls(session))
            for name in NEIGHBOURS:
                suffering = asyncio.ensure_future(_suffer(session, name))
                show(f"beside `{name}`", await _calls(session))
                suffering.cancel()
                await asyncio.wait([suffering])
            reloads = [await _reload(session, running_platform, number) for number in range(_RELOADS)][1:]
            show(
                "a changed file answers after, p50 / most",
                f"{statistics.median(reloads):.2f} / {max(reloads):.2f} s",
            )


if __name__ == "__main__":
    asyncio.run(main())
