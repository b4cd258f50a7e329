"""Processes that are killed, stopped or silent during requests: those requests fail, other functions and later requests work."""

import asyncio
import contextlib
import os
import signal
from collections.abc import Callable

import pytest

from schemas.errors import ApiError
from tests.workers.functions.site import Reply, Site
from workers.functions import worker

WAITS = """
let go; const gate = new Promise((done) => go = done);
Deno.serve(async (req) => {
  if (req.url.endsWith("/wait")) await gate;
  if (req.url.endsWith("/block")) Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 60_000);
  return new Response("fine");
});
"""
_CALLS = 5
_PATIENCE_S = 60


def _pid(place: Site, name: str) -> int:
    return next(each.pid for each in place.worker.instances if each.function.name == name)


async def _in_flight(place: Site, name: str, count: int) -> None:
    def enough() -> bool:
        return any(each.function.name == name and each.in_flight >= count for each in place.worker.instances)

    await _until(enough)


async def _until(holds: Callable[[], bool]) -> None:
    async with asyncio.timeout(_PATIENCE_S):
        while not holds():
            await asyncio.sleep(0.02)


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGSTOP])
async def test_requests_to_a_killed_or_stopped_process_fail_and_later_ones_are_answered(
    place: Site, number: signal.Signals
) -> None:
    name = f"harmed-{number.name.lower()}"
    await place.add(name, WAITS)
    await place.add("bystander", "Deno.serve(() => new Response('hello'));")
    assert (await place.ask(f"/{name}")).body == b"fine"
    waiting = [asyncio.ensure_future(place.ask(f"/{name}/wait")) for _ in range(_CALLS)]
    await _in_flight(place, name, _CALLS)

    os.kill(_pid(place, name), number)

    beside = [await place.ask("/bystander") for _ in range(20)]
    async with asyncio.timeout(_PATIENCE_S):
        told: list[Reply] = await asyncio.gather(*waiting)
        again = await place.ask(f"/{name}")
    assert {reply.body for reply in beside} == {b"hello"}
    assert {reply.status for reply in told} <= {500, 546}
    assert (again.status, again.body) == (200, b"fine")


async def test_a_silent_process_gets_no_further_requests(
    place: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(worker, "_SILENT_S", 0.3)
    await place.add("silent", WAITS)
    assert (await place.ask("/silent")).body == b"fine"

    with contextlib.suppress(ApiError):
        await place.ask("/silent/block", budget_ms=2_000)
    async with asyncio.timeout(_PATIENCE_S):
        again = await place.ask("/silent")

    assert (again.status, again.body) == (200, b"fine")
