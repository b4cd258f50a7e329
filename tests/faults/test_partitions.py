"""NATS or Postgres cannot be reached, without any error: packets vanish, connections stay open. Then the link is back, or slow.

What was acknowledged is stored once, what was refused is not, every request ends, and all heals. `FAULTS_LONG=1`: longer silences.
"""

import asyncio
import itertools
import os
import shutil
import tempfile
import time
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import aiohttp
import asyncpg
import pytest

from tests.broker.server import running_server
from tests.faults.ledger import Caller, Ledger, Meaning, answers_seen
from tests.faults.silent_way import SilentWay, silent_way
from tests.platform import Platform, headwater, state_of
from tests.ports import free_port
from tests.workers.database.server import temporary_server

pytestmark = [pytest.mark.process_group("partitions"), pytest.mark.timeout(600)]

_ROWS = "rows"
_WRITERS = 4
_SILENT_S = 45.0 if os.environ.get("FAULTS_LONG") else 12.0
_SLOW_S = 0.05
_HEALS_S = 90.0
_IN_A_ROW = 5
_SCHEMA = "create table public.marks (id bigint); grant select, insert on public.marks to service_role; notify pgrst"


@dataclass(frozen=True, slots=True)
class Partitioned:
    """A platform, and the ways to its servers."""

    platform: Platform
    database: SilentWay
    broker: SilentWay
    database_url: str


@asynccontextmanager
async def _partitioned() -> AsyncIterator[Partitioned]:
    folder = Path(tempfile.mkdtemp(prefix="headwater-partition-"))
    folder.chmod(0o755)
    with temporary_server(settings={"max_connections": "100"}) as server:
        async with (
            running_server() as nats,
            silent_way("127.0.0.1", server.port) as database,
            silent_way("127.0.0.1", nats.port) as broker,
        ):
            url = server.url().replace(f":{server.port}/", f":{database.port}/")
            where = ("--data", str(folder / "data"), "--project", str(folder), "--port", str(free_port()))
            links = ("--database-url", url, "--nats-url", f"nats://127.0.0.1:{broker.port}")
            try:
                started = await asyncio.to_thread(headwater, "start", "--detach", *where, *links)
                assert started.returncode == 0, started.stdout + started.stderr
                running = Platform(folder / "data", 0, *state_of(folder / "data"))
                await asyncio.to_thread(running.psql, _SCHEMA)
                await asyncio.to_thread(running.wait_for_catalog, "marks")
                yield Partitioned(running, database, broker, server.url())
            finally:
                database.mend()
                broker.mend()
                await asyncio.to_thread(headwater, "stop", "--data", str(folder / "data"))
                shutil.rmtree(folder, ignore_errors=True)


class _Traffic:
    """Writers that send one row after another and never repeat one."""

    def __init__(self, place: Partitioned, session: aiohttp.ClientSession) -> None:
        self.ledger = Ledger()
        self._ids = itertools.count()
        key = place.platform.values["SERVICE_ROLE_KEY"]
        self._caller = Caller(session, self.ledger, place.platform.url, key)

    async def write(self) -> None:
        while True:
            id = next(self._ids)
            done = await self._caller.send(_ROWS, id, "POST", "/rest/v1/marks", json={"id": id})
            await asyncio.sleep(0.02 if done is not None else 0.1)

    async def healed(self) -> float:
        """Wait until several writes in a row succeed; return the seconds until the first of them was answered."""
        began, seen = time.monotonic(), len(self.ledger.operations)
        async with asyncio.timeout(_HEALS_S):
            while True:
                last = self.ledger.operations[seen:][-_IN_A_ROW:]
                if len(last) == _IN_A_ROW and all(each.meaning is Meaning.ACKNOWLEDGED for each in last):
                    return last[0].ended - began
                await asyncio.sleep(0.05)


async def test_partitions_lose_and_double_nothing_and_heal() -> None:
    async with _partitioned() as place, aiohttp.ClientSession() as session:
        traffic = _Traffic(place, session)
        writing = [asyncio.ensure_future(traffic.write()) for _ in range(_WRITERS)]
        await traffic.healed()
        print("| fault | answers meanwhile | longest answer s | healed in s |\n|---|---|---|---|")
        for name, ways in {
            "NATS": (place.broker,),
            "Postgres": (place.database,),
            "both": (place.database, place.broker),
        }.items():
            seen = len(traffic.ledger.operations)
            for way in ways:
                way.silence()
            await asyncio.sleep(_SILENT_S)
            for way in ways:
                way.mend()
            seconds = await traffic.healed()
            _show(f"{name} silent for {_SILENT_S:.0f} s", traffic, seen, seconds)
        seen = len(traffic.ledger.operations)
        place.database.delay_s = place.broker.delay_s = _SLOW_S
        await asyncio.sleep(_SILENT_S)
        place.database.delay_s = place.broker.delay_s = 0.0
        _show(f"links slower by {1000 * _SLOW_S:.0f} ms", traffic, seen, await traffic.healed())
        during = traffic.ledger.operations[seen:]
        assert any(each.meaning is Meaning.ACKNOWLEDGED for each in during), "slow is not away"
        for task in writing:
            task.cancel()
        await asyncio.gather(*writing, return_exceptions=True)
        stored = await _stored(place.database_url)

    ledger = traffic.ledger
    assert ledger.ids(_ROWS, Meaning.ACKNOWLEDGED) <= stored.keys()
    assert ledger.ids(_ROWS, Meaning.REFUSED) & stored.keys() == set()
    assert set(stored.values()) == {1}
    assert not [each for each in ledger.operations if each.answer.startswith("none in")], "every request ends"
    assert ledger.strange == []


def _show(name: str, traffic: _Traffic, seen: int, seconds: float) -> None:
    operations = traffic.ledger.operations[seen:]
    longest = max(each.ended - each.began for each in operations)
    answers = ", ".join(f"{count} x {answer}" for answer, count in answers_seen(operations).most_common())
    print(f"| {name} | {answers} | {longest:.1f} | {seconds:.1f} |")


async def _stored(url: str) -> Counter[int]:
    connection = await asyncpg.connect(url)
    try:
        return Counter(row["id"] for row in await connection.fetch("select id from public.marks"))
    finally:
        await connection.close()
