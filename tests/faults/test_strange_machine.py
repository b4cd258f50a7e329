"""The clock jumps by hours, forward and back; the disk takes a second to confirm. Nothing is lost or doubled, and all goes on."""

import asyncio
import itertools
import json
import shutil
import tempfile
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import aiohttp
import asyncpg
import pytest

from tests.faults.ledger import Caller, Ledger, Meaning, answers_seen
from tests.faults.strange_machine import StrangeMachine, is_possible, strange_machine
from tests.platform import Platform, headwater, state_of
from tests.platforms.realtime_followers import Follower, following
from tests.ports import free_port

pytestmark = [
    pytest.mark.process_group("strange-machine"),
    pytest.mark.timeout(500),
    pytest.mark.skipif(not is_possible(), reason="needs root and a C compiler"),
]

_ROWS = "rows"
_JUMP_S = 2 * 3600
_PATIENCE_S = 60.0
_SLOW_S, _SLOW_FOR_S = 1.0, 20.0
_SCHEMA = """
create extension if not exists pg_cron;
create table public.marks (n bigint generated always as identity primary key, id bigint);
create table public.ticks (n bigint generated always as identity, at timestamptz not null default clock_timestamp());
alter publication supabase_realtime add table public.marks;
grant select, insert on public.marks to anon, service_role;
select cron.schedule('tick', '1 seconds', 'insert into public.ticks default values');
notify pgrst;
"""
_PERSON = {"email": "ada@example.com", "password": "correct horse battery"}


class Scene:
    """A platform on a strange machine, and one client of it."""

    def __init__(self, platform: Platform, session: aiohttp.ClientSession) -> None:
        self.platform, self.session = platform, session
        self.ledger = Ledger()
        self._ids = itertools.count()
        self._writing: list[asyncio.Task[None]] = []
        self._caller = Caller(session, self.ledger, platform.url, platform.values["SERVICE_ROLE_KEY"])

    def begin(self) -> None:
        """Write from now on."""
        self._writing = [asyncio.ensure_future(self._write()) for _ in range(3)]

    async def stop(self) -> None:
        """Write no more."""
        for task in self._writing:
            task.cancel()
        await asyncio.gather(*self._writing, return_exceptions=True)

    async def _write(self) -> None:
        while True:
            id = next(self._ids)
            await self._caller.send(_ROWS, id, "POST", "/rest/v1/marks", json={"id": id})
            await asyncio.sleep(0.02)

    async def auth(self, method: str, path: str, bearer: str = "", **body: str) -> tuple[int, dict[str, str]]:
        """Ask auth with the public key or as a user."""
        key = self.platform.values["ANON_KEY"]
        headers = {"apikey": key, "Authorization": f"Bearer {bearer or key}"}
        url = f"{self.platform.url}/auth/v1/{path}"
        async with self.session.request(method, url, headers=headers, json=body or None) as answer:
            return answer.status, await answer.json()

    async def value(self, sql: str) -> object:
        """Give one value of the database."""
        connection = await asyncpg.connect(self.platform.values["DB_URL"])
        try:
            return await connection.fetchval(sql)
        finally:
            await connection.close()

    async def until(self, sql: str, what: str) -> None:
        """Wait until a condition of the database holds."""
        try:
            async with asyncio.timeout(_PATIENCE_S):
                while not await self.value(sql):
                    await asyncio.sleep(0.1)
        except TimeoutError:
            raise AssertionError(what) from None

    async def until_written(self) -> None:
        """Wait until rows are acknowledged that were sent from now on."""
        began = time.monotonic()
        async with asyncio.timeout(_PATIENCE_S):
            while not any(
                each.began > began and each.meaning is Meaning.ACKNOWLEDGED
                for each in self.ledger.operations[-20:]
            ):
                await asyncio.sleep(0.05)

    def logged(self) -> str:
        """Give what the pools have written."""
        return (self.platform.data / "logs" / "pools.log").read_text()

    def pids(self) -> dict[str, int]:
        """Give the processes that run, by name."""
        children = json.loads((self.platform.data / "state.json").read_text())["children"]
        return {child["name"]: int(child["pid"]) for child in children if child["pid"]}

    async def check_rows(self) -> None:
        """Stop writing; every row that was acknowledged is stored once, and none that was refused."""
        await self.stop()
        text = await self.value(
            "select coalesce(jsonb_object_agg(id, n), '{}') from (select id, count(*) as n from public.marks group by id) m"
        )
        stored = {int(id): n for id, n in json.loads(str(text)).items()}
        assert self.ledger.ids(_ROWS, Meaning.ACKNOWLEDGED) <= stored.keys()
        assert self.ledger.ids(_ROWS, Meaning.REFUSED) & stored.keys() == set()
        assert set(stored.values()) == {1}
        assert self.ledger.strange == []


@asynccontextmanager
async def _scene(machine: StrangeMachine) -> AsyncIterator[Scene]:
    folder = Path(tempfile.mkdtemp(prefix="headwater-strange-"))
    folder.chmod(0o755)
    data = folder / "data"
    where = ("--data", str(data), "--project", str(folder), "--port", str(free_port()))
    try:
        started = await asyncio.to_thread(headwater, "start", "--detach", *where, prefix=machine.prefix)
        assert started.returncode == 0, started.stdout + started.stderr
        platform = Platform(data, 0, *state_of(data))
        await asyncio.to_thread(platform.psql, _SCHEMA)
        await asyncio.to_thread(platform.wait_for_catalog, "marks")
        async with aiohttp.ClientSession() as session:
            scene = Scene(platform, session)
            scene.begin()
            try:
                await scene.until_written()
                yield scene
            finally:
                await scene.stop()
    finally:
        await asyncio.to_thread(headwater, "stop", "--data", str(data))
        shutil.rmtree(folder, ignore_errors=True)


async def test_a_clock_that_jumps_by_hours_ends_tokens_and_nothing_else() -> None:
    with strange_machine() as machine:
        async with _scene(machine) as scene:
            follower = Follower(scene.platform, {"event": "INSERT", "schema": "public", "table": "marks"})
            running = scene.pids()
            async with following(follower):
                status, signed_up = await scene.auth("POST", "signup", **_PERSON)
                assert status == 200, signed_up
                await scene.until("select count(*) > 2 from public.ticks", "the job does not run")

                machine.set_clock(_JUMP_S)
                await scene.until_written()
                status, refused = await scene.auth("GET", "user", signed_up["access_token"])
                assert (status, refused["error_code"]) == (401, "bad_jwt") or status in (401, 403), refused
                status, ahead = await scene.auth(
                    "POST", "token?grant_type=refresh_token", refresh_token=signed_up["refresh_token"]
                )
                assert status == 200, ahead
                assert (await scene.auth("GET", "user", ahead["access_token"]))[0] == 200
                await scene.until(
                    "select count(*) > 2 from public.ticks where at > now() - interval '10 seconds'",
                    "the job does not go on",
                )
                ran_at_once = await scene.value(
                    "select max(n) from (select count(*) as n from public.ticks group by date_trunc('second', at)) t"
                )
                assert isinstance(ran_at_once, int)
                assert ran_at_once <= 3, "what was due in between is missed, not made up for"

                before = await scene.value("select max(n) from public.ticks")
                machine.set_clock(0)
                await scene.until_written()
                assert (await scene.auth("GET", "user", ahead["access_token"]))[0] in (401, 403), (
                    "issued in what is the future"
                )
                status, back = await scene.auth("POST", "token?grant_type=password", **_PERSON)
                assert status == 200, back
                assert (await scene.auth("GET", "user", back["access_token"]))[0] == 200
                await scene.until(
                    f"select count(*) > 2 from public.ticks where n > {before} and at <= now()",
                    "the job does not go on after the clock was set back",
                )
                last = int(str(await scene.value("select max(id) from public.marks")))
                await follower.until(lambda: last in follower.ids, "row changes do not go on")
                assert len(set(follower.ids)) == len(follower.ids)
                assert (follower.gaps, follower.joins) == ([], 1)
            logged = scene.logged()
            await scene.check_rows()
            print("\n" + str(dict(answers_seen(scene.ledger.operations))))
            assert scene.pids() == running, "no process was taken for a hung one"
    assert "ClockSetBack" in logged
    assert '"level":"error"' not in logged


async def test_a_disk_that_takes_a_second_to_confirm_delays_writes_and_breaks_nothing() -> None:
    with strange_machine() as machine:
        async with _scene(machine) as scene:
            running, seen = scene.pids(), len(scene.ledger.operations)
            machine.slow_syncs(_SLOW_S)
            ends = time.monotonic() + _SLOW_FOR_S
            reads = list[float]()
            while time.monotonic() < ends:
                began = time.monotonic()
                status, _ = await asyncio.to_thread(scene.platform.get, "/rest/v1/marks?limit=1")
                assert status == 200
                reads.append(time.monotonic() - began)
                await asyncio.sleep(0.2)
            ready, why = await asyncio.to_thread(scene.platform.get, "/health/ready")
            machine.slow_syncs(0)
            await scene.until_written()
            slow = scene.ledger.operations[seen:]
            await scene.check_rows()
            assert scene.pids() == running, "no process was taken for a hung one"

    longest = max(each.ended - each.began for each in slow)
    print(
        f"\nwrites {dict(answers_seen(slow))}, longest {longest:.1f} s; reads at most {max(reads):.2f} s; ready {ready} {why[:200]!r}"
    )
    assert sum(each.meaning is Meaning.ACKNOWLEDGED for each in slow) > 3
