"""How long reads go unanswered when a process of a platform is killed.

    python -m tests.bench.recovery [--times 5] [--processes pools edges ...] [--every 0.005]

A reader sends a request every 5 ms, whether or not the earlier ones are answered; each process is killed with SIGKILL in
turn. The table shows the longest time between two answers around each kill, and how many requests failed (a status other than
200, or a broken connection). Rows are read through REST; `images` is measured by renders, `functions` by calls, every 50 ms.
Between two kills of one process lie more than 30 s: the supervisor restarts a process later that was restarted just before.

Budgets: 0.3 s for our own processes, 1 s for NATS, 3 s for Postgres. The supervisor is not among them: with it everything ends.
"""

import argparse
import asyncio
import itertools
import json
import os
import signal
import statistics
import struct
import time
import zlib
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import aiohttp
import psutil

from tests.platform import Platform, platform

PROCESSES = ("pools", "edges", "changes", "images", "functions", "fork-server", "nats", "postgres")
_LONG_LIFE_S = 31.0
_CALM_S = 1.0
_MOST_S = 60.0
_REQUEST_S = 30.0
_AT_ONCE = 400
_SLOW_EVERY_S = 0.05
_FUNCTION = "Deno.serve(() => new Response('hello'));\n"
_TABLE = """\
create table public.rows (id int primary key, title text);
insert into public.rows select n, 'row ' || n from generate_series(1, 100) n;
grant select on public.rows to anon;
insert into storage.buckets (id, name, public) values ('pictures', 'pictures', true);
"""


class Reader:
    """Sends one request after another at a fixed pace, and notes when answers came."""

    def __init__(self, session: aiohttp.ClientSession, urls: Iterator[str], every_s: float) -> None:
        self._session, self._urls, self._every_s = session, urls, every_s
        self.answers: list[float] = []
        self.failures: list[str] = []
        self._open: set[asyncio.Task[None]] = set()

    async def run(self) -> None:
        """Read until cancelled."""
        try:
            due = time.monotonic()
            while True:
                if len(self._open) < _AT_ONCE:
                    task = asyncio.create_task(self._read(next(self._urls)))
                    self._open.add(task)
                    task.add_done_callback(self._open.discard)
                due = max(due + self._every_s, time.monotonic() - 1)
                await asyncio.sleep(max(0.0, due - time.monotonic()))
        finally:
            for task in self._open:
                task.cancel()

    async def _read(self, url: str) -> None:
        try:
            async with self._session.get(url) as answer:
                await answer.read()
                if answer.status == 200:
                    self.answers.append(time.monotonic())
                else:
                    self.failures.append(str(answer.status))
        except (aiohttp.ClientError, OSError, TimeoutError) as error:
            self.failures.append(type(error).__name__)

    async def calm(self, since: float) -> None:
        """Wait until answers have come for a while without a break. Raises: TimeoutError."""
        async with asyncio.timeout(_MOST_S):
            while True:
                await asyncio.sleep(0.1)
                recent = [at for at in self.answers if at > time.monotonic() - _CALM_S]
                span = _CALM_S * 0.5 / self._every_s
                if time.monotonic() - since > 2 * _CALM_S and len(recent) > span:
                    return

    def longest(self, since: float) -> float:
        """Return the longest time between two answers, from the last answer before a moment on."""
        before = [at for at in self.answers if at <= since]
        times = [before[-1] if before else since, *(at for at in self.answers if at > since)]
        return max((late - early for early, late in itertools.pairwise(times)), default=0.0)


def child(running_platform: Platform, name: str) -> tuple[int, int]:
    """Return the process id of a child, 0 while it is not running, and how often it was restarted."""
    state = json.loads((running_platform.data / "state.json").read_text())
    for each in state["children"]:
        if each["name"] == name:
            return (each["pid"] if each["status"] == "running" else 0) or 0, each["restarts"]
    return 0, 0


async def killed(running_platform: Platform, name: str, reader: Reader) -> tuple[float, list[str]]:
    """Kill a process under the reader; return the longest time without an answer, and the failures."""
    reading = asyncio.create_task(reader.run())
    try:
        await reader.calm(time.monotonic())
        reader.failures.clear()
        pid, restarts = child(running_platform, name)
        at = time.monotonic()
        os.kill(pid, signal.SIGKILL)
        async with asyncio.timeout(_MOST_S):
            while child(running_platform, name)[1] == restarts or not child(running_platform, name)[0]:
                await asyncio.sleep(0.05)
        await reader.calm(at)
        return reader.longest(at), list(reader.failures)
    finally:
        reading.cancel()
        await asyncio.gather(reading, return_exceptions=True)


def urls_of(running_platform: Platform, name: str) -> Iterator[str]:
    """Return the addresses that show whether a process works, one after another."""
    number = 0
    while True:
        number += 1
        if name == "images":  # another width each time: a rendition that was made once is kept
            size = f"width={20 + number % 700}&height={20 + number // 700}&resize=fill"
            yield f"{running_platform.url}/storage/v1/render/image/public/pictures/one.png?{size}"
        elif name == "functions":
            yield f"{running_platform.url}/functions/v1/hello"
        else:
            yield f"{running_platform.url}/rest/v1/rows?id=eq.{number % 100 + 1}"


def picture() -> bytes:
    """Return a PNG of 64 x 64 grey pixels."""

    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack("!I", len(data)) + kind + data + struct.pack("!I", zlib.crc32(kind + data))

    head = struct.pack("!IIBBBBB", 64, 64, 8, 0, 0, 0, 0)
    rows = b"".join(b"\0" + bytes(range(64)) for _ in range(64))
    return (
        b"\x89PNG\r\n\x1a\n"
        + chunk(b"IHDR", head)
        + chunk(b"IDAT", zlib.compress(rows))
        + chunk(b"IEND", b"")
    )


async def fill(running_platform: Platform, session: aiohttp.ClientSession) -> None:
    """Make the table, the object and the function that are read."""
    running_platform.psql(_TABLE)
    running_platform.wait_for_catalog("rows")
    key = running_platform.values["SERVICE_ROLE_KEY"]
    async with session.post(
        f"{running_platform.url}/storage/v1/object/pictures/one.png",
        data=picture(),
        headers={"Authorization": f"Bearer {key}", "apikey": key, "Content-Type": "image/png"},
    ) as answer:
        assert answer.status == 200, await answer.text()
    folder = next(running_platform.data.parent.glob("supabase")) / "functions" / "hello"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "index.ts").write_text(_FUNCTION)
    for name in ("images", "functions"):
        urls = urls_of(running_platform, name)
        async with asyncio.timeout(_MOST_S):
            while True:
                async with session.get(next(urls)) as answer:
                    if answer.status == 200:
                        break
                await asyncio.sleep(0.2)


async def measure(running_platform: Platform, names: list[str], times: int, every_s: float) -> None:
    """Kill each process so many times, and print the table."""
    key = running_platform.values["ANON_KEY"]
    headers = {"apikey": key, "Authorization": f"Bearer {key}"}
    limits = aiohttp.TCPConnector(limit=0)
    patience = aiohttp.ClientTimeout(total=_REQUEST_S)
    gaps: dict[str, list[float]] = {name: [] for name in names}
    failures: dict[str, list[str]] = {name: [] for name in names}
    async with aiohttp.ClientSession(headers=headers, connector=limits, timeout=patience) as session:
        await fill(running_platform, session)
        for _ in range(times):
            began = time.monotonic()
            for name in names:
                if not child(running_platform, name)[0]:
                    continue
                pace_s = _SLOW_EVERY_S if name in ("images", "functions") else every_s
                reader = Reader(session, urls_of(running_platform, name), pace_s)
                gap, failed = await killed(running_platform, name, reader)
                gaps[name].append(gap)
                failures[name] += failed
            await asyncio.sleep(max(0.0, _LONG_LIFE_S - (time.monotonic() - began)))
    print(
        "| process | n | longest time without an answered read, p50 / max | failed requests |\n|---|---|---|---|"
    )
    for name, found in gaps.items():
        if not found:
            continue
        kinds = sorted(set(failures[name]))
        told = ", ".join(f"{failures[name].count(kind)} x {kind}" for kind in kinds) or "0"
        print(f"| {name} | {len(found)} | {statistics.median(found):.2f} / {max(found):.2f} s | {told} |")


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--times", type=int, default=5)
    parser.add_argument("--every", type=float, default=0.005)
    parser.add_argument("--processes", nargs="*", default=list(PROCESSES), choices=PROCESSES)
    chosen = parser.parse_args()
    print(f"load average {psutil.getloadavg()[0]:.1f}, a read every {1000 * chosen.every:g} ms")
    with platform() as running_platform:
        (Path(running_platform.data).parent / "supabase" / "functions").mkdir(parents=True, exist_ok=True)
        with suppress(KeyboardInterrupt):
            asyncio.run(measure(running_platform, chosen.processes, chosen.times, chosen.every))


if __name__ == "__main__":
    main()
