"""Joins without measure: what another client feels while ten sockets ask for tens of thousands of filters.

    python -m tests.bench.realtime_joins [--sockets 10] [--joins 40] [--entries 2000]

Three attacks after one another, each over before the next begins: joins with more entries than may be, joins with as many
as may be (which the platform serves), and one frame of 60,000 entries. Printed for each, and for a platform at rest: how
long requests of another client (`GET /health/live`, one connection, one after another) took at the edge, in milliseconds.
The other client is a process of its own. The budget is a p99 of 50 ms.
"""

import argparse
import asyncio
import contextlib
import json
import multiprocessing
import statistics
import time
from collections import Counter
from http.client import HTTPConnection
from multiprocessing.connection import Connection as Pipe
from multiprocessing.synchronize import Event

import aiohttp

from tests.platform import Platform, platform

_BUDGET_MS = 50.0
_PAUSE_S = 0.005
_REST_S = 5.0
_PATIENCE_S = 60.0
_TABLE = """
create table public.joined (id bigint generated always as identity primary key, n bigint, body text);
grant select on public.joined to anon;
alter publication supabase_realtime add table public.joined;
"""


def _probe(port: int, stop: Event, results: Pipe) -> None:
    """Ask for the health of the gateway until it is told to stop; send how long each request took, in milliseconds."""
    took, connection = [], HTTPConnection("127.0.0.1", port, timeout=30)
    while not stop.is_set():
        began = time.perf_counter()
        connection.request("GET", "/health/live")
        connection.getresponse().read()
        took.append(1000 * (time.perf_counter() - began))
        time.sleep(_PAUSE_S)
    results.send(took)


@contextlib.asynccontextmanager
async def probing(port: int, name: str):  # type: ignore[no-untyped-def]  # a context manager of a script
    """Measure another client's requests while the body runs; print what came out."""
    stop = multiprocessing.Event()
    ours, theirs = multiprocessing.Pipe()
    process = multiprocessing.Process(target=_probe, args=(port, stop, theirs), daemon=True)
    process.start()
    try:
        yield
    finally:
        stop.set()
        took = await asyncio.to_thread(ours.recv)
        process.join()
    cuts = statistics.quantiles(took, n=100)
    verdict = "ok" if cuts[98] < _BUDGET_MS else "OVER BUDGET"
    print(
        f"{name:40s} {len(took):6d} requests, p50 {cuts[49]:7.1f}, p99 {cuts[98]:7.1f}, most {max(took):7.1f} ms  {verdict}"
    )


async def attack(target: Platform, sockets: int, joins: int, entries: int) -> Counter[str]:
    """Send joins over some sockets, all at once; count what became of them."""
    outcomes: Counter[str] = Counter()
    filters = [
        {"event": "*", "schema": "public", "table": "joined", "filter": f"n=neq.{number}"}
        for number in range(entries)
    ]
    payload = {"config": {"postgres_changes": filters}}
    url = f"{target.url}/realtime/v1/websocket?vsn=2.0.0&apikey={target.values['ANON_KEY']}"
    async with aiohttp.ClientSession() as session:
        await asyncio.gather(*(_one_socket(session, url, payload, joins, outcomes) for _ in range(sockets)))
    return outcomes


async def _one_socket(
    session: aiohttp.ClientSession, url: str, payload: object, joins: int, outcomes: Counter[str]
) -> None:
    async with session.ws_connect(url, max_msg_size=0) as socket:
        with contextlib.suppress(ConnectionError):
            for number in range(joins):
                await socket.send_str(
                    json.dumps([str(number), str(number), f"realtime:room-{number}", "phx_join", payload])
                )
        answered, deadline = 0, time.monotonic() + _PATIENCE_S
        while answered < joins and time.monotonic() < deadline:
            try:
                message = await socket.receive(timeout=_PATIENCE_S)
            except TimeoutError:
                break
            if message.type is not aiohttp.WSMsgType.TEXT:
                outcomes[f"closed {socket.close_code}"] += 1
                break
            frame = json.loads(message.data)
            if frame[3] == "phx_reply":
                answered += 1
                reason = frame[4]["response"].get("reason", "")
                outcomes[reason.partition(":")[0] or frame[4]["status"]] += 1


async def main() -> None:
    """Run the attacks."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--sockets", type=int, default=10)
    parser.add_argument("--joins", type=int, default=40)
    parser.add_argument("--entries", type=int, default=2000)
    given = parser.parse_args()
    with platform() as target:
        target.psql(_TABLE)
        target.wait_for_catalog("joined")
        async with probing(target.port, "at rest"):
            await asyncio.sleep(_REST_S)
        for name, attacked in (
            (
                f"{given.sockets} x {given.joins} joins of {given.entries}",
                (given.sockets, given.joins, given.entries),
            ),
            (f"{given.sockets} x {given.joins} joins of 100", (given.sockets, given.joins, 100)),
            ("one frame of 60,000 entries", (1, 1, 60_000)),
        ):
            async with probing(target.port, name):
                outcomes = await attack(target, *attacked)
                await asyncio.sleep(_REST_S)
            print(" " * 41 + ", ".join(f"{count} {what}" for what, count in outcomes.most_common()))


if __name__ == "__main__":
    asyncio.run(main())
