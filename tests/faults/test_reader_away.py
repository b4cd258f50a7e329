"""The reader of the log is away for long: the log is given up at its limit, the disk stays bounded, and followers hear of the gap."""

import asyncio
import contextlib
import json
import os
import shutil
import signal
import tempfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from urllib.parse import quote, urlsplit

import asyncpg
import pytest

from tests.platform import Platform, headwater, state_of
from tests.platforms.realtime_followers import Follower, following
from tests.ports import free_port

pytestmark = [pytest.mark.process_group("reader-away"), pytest.mark.timeout(300)]

_MIB = 1024 * 1024
_KEPT_MIB, _WAL_MIB, _SEGMENT_MIB = 64, 64, 16
_CONFIG = f"""
[db.settings]
max_slot_wal_keep_size = "{_KEPT_MIB}MB"
max_wal_size = "{_WAL_MIB}MB"
min_wal_size = "32MB"
"""
_SCHEMA = """
create table public.marks (id bigint primary key);
alter publication supabase_realtime add table public.marks;
grant select, insert on public.marks to anon, service_role;
notify pgrst;
"""
_STATUS = "select wal_status from pg_replication_slots where slot_type = 'logical' and slot_name !~ 'archive'"
_PATIENCE_S = 120.0


@asynccontextmanager
async def _running() -> AsyncIterator[tuple[Platform, asyncpg.Connection]]:
    folder = Path(tempfile.mkdtemp(prefix="headwater-reader-"))
    folder.chmod(0o755)
    (folder / "supabase").mkdir()
    (folder / "supabase" / "config.toml").write_text(_CONFIG)
    data = folder / "data"
    where = ("--data", str(data), "--project", str(folder), "--port", str(free_port()))
    try:
        started = await asyncio.to_thread(headwater, "start", "--detach", *where)
        assert started.returncode == 0, started.stdout + started.stderr
        platform = Platform(data, 0, *state_of(data))
        await asyncio.to_thread(platform.psql, _SCHEMA)
        await asyncio.to_thread(platform.wait_for_catalog, "marks")
        parts = urlsplit(platform.values["DB_URL"])
        password = quote(json.loads((data / "passwords.json").read_text())["database"], safe="")
        admin = await asyncpg.connect(
            parts._replace(netloc=f"supabase_admin:{password}@{parts.netloc.rpartition('@')[2]}").geturl()
        )
        try:
            yield platform, admin
        finally:
            await admin.close()
    finally:
        await asyncio.to_thread(headwater, "stop", "--data", str(data))
        shutil.rmtree(folder, ignore_errors=True)


async def _keep_down(platform: Platform) -> None:
    """Kill the reader whenever it runs."""
    while True:
        for child in json.loads((platform.data / "state.json").read_text())["children"]:
            if child["name"] == "changes" and child["pid"]:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(child["pid"], signal.SIGKILL)
        await asyncio.sleep(0.02)


async def test_a_log_that_nobody_reads_is_given_up_at_its_limit_and_followers_hear_of_it() -> None:
    async with _running() as (platform, admin):
        follower = Follower(platform, {"event": "INSERT", "schema": "public", "table": "marks"})
        async with following(follower):
            await admin.execute("insert into public.marks values (1)")
            await follower.until(lambda: follower.ids == [1], "the first row did not come")
            killing = asyncio.ensure_future(_keep_down(platform))
            largest, written = 0, 0
            try:
                async with asyncio.timeout(_PATIENCE_S):
                    while await admin.fetchval(_STATUS) != "lost":
                        await admin.execute(
                            "select pg_logical_emit_message(false, 'filler', repeat('x', 1000000)) from generate_series(1, 16)"
                        )
                        await admin.execute("checkpoint")
                        written += 16
                        size = await admin.fetchval("select sum(size) from pg_ls_waldir()")
                        largest = max(largest, int(size) // _MIB)
                await admin.execute("insert into public.marks values (2)")
                doctor = await asyncio.to_thread(platform.command, "doctor")
            finally:
                killing.cancel()
            await follower.until(lambda: follower.gaps, "nobody said that changes are missing")
            await admin.execute("insert into public.marks values (3)")
            await follower.until(lambda: 3 in follower.ids, "changes do not go on")
            status = await admin.fetchval(_STATUS)

    print(
        f"\n{written} MB written, the log took {largest} MiB at most; {follower.gaps}; doctor: {[line for line in doctor.stdout.splitlines() if 'slot' in line]}"
    )
    assert largest <= _KEPT_MIB + _WAL_MIB + 4 * _SEGMENT_MIB
    assert follower.ids == [1, 3]
    assert status == "reserved"
    assert "slot" in doctor.stdout
