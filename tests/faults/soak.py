"""Hours of mixed traffic without a fault: `python -m tests.faults.soak --minutes 120` (`make soak`).

Every kind of client works and cleans up behind itself, with short ages of what the platform keeps, so that a figure that goes on
growing is one that nothing bounds. Every ten seconds memory, descriptors, disk, the slot's lag, and the rows, dead rows and sizes
of the platform's tables are read. Exit code 1: a figure left its bound (`soak_bounds.py`), a process was replaced, or requests failed.
"""

import argparse
import asyncio
import contextlib
import json
import sys
import time
from pathlib import Path

import aiohttp
import asyncpg
import psutil

from tests.bench.overload import Memory, pids
from tests.faults.campaign_platform import CampaignPlatform, running_platform
from tests.faults.jobs import Receivers, receivers
from tests.faults.soak_bounds import judged, verdict_table
from tests.faults.soak_clients import SoakClients
from tests.faults.uploaders import make_bucket
from tests.workers.management.operations.conftest import administrator

_SAMPLE_S, _SHOW_S = 10.0, 300.0
_FAILED_SHARE = 0.001
"""Requests that may fail: a busy machine lets some wait too long."""
SHORT_AGES = {
    "HEADWATER_API_IDEMPOTENCY_KEEP": "1m",
    "HEADWATER_SCHEDULER_KEEP_RUNS": "1m",
    "HEADWATER_MANAGEMENT_AUDIT_RETENTION": "1m",
    "HEADWATER_REALTIME_RETENTION": "60",
    "HEADWATER_STORAGE_EVENTS_MAX_AGE": "24h",
    "HEADWATER_STORAGE_IMAGE_TRANSFORMATION_CACHE_MAX_SIZE": "16MiB",
    "HEADWATER_LOG_STORE_MAX_SIZE": "64MiB",
    "HEADWATER_AUTH_DB_CLEANUP_ENABLED": "true",
    "HEADWATER_AUTH_AUDIT_LOG_RETENTION": "1m",
    "HEADWATER_AUTH_RATE_LIMIT_TOKEN_REFRESH": "1000000",
    "HEADWATER_AUTH_RATE_LIMIT_TOKEN_VERIFICATIONS": "1000000",
}
"""Settings under which what ages is gone within minutes."""
SCHEMA = """
create function public.drop_marks() returns int language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
  dropped int := 0;
  message pgmq.message_record;
begin
  for message in select * from pgmq.read('marks', 5, 50) loop
    perform pgmq.delete('marks', message.msg_id);
    dropped := dropped + 1;
  end loop;
  return dropped;
end $$;
revoke all on function public.drop_marks() from public, anon, authenticated;
grant execute on function public.drop_marks() to service_role;
grant delete on public.marks to service_role;
select cron.schedule('ticks', '* * * * *', 'delete from public.ticks');
notify pgrst;
"""
"""What the clients of a soak need besides the schema of the campaign."""
_TABLES = """
select c.relnamespace::regnamespace || '.' || c.relname as name, pg_total_relation_size(c.oid) as size,
  coalesce(s.n_dead_tup, 0) as dead
from pg_class c left join pg_stat_all_tables s on s.relid = c.oid
where c.relkind = 'r' and c.relnamespace::regnamespace::text in ('auth', 'storage', 'realtime', 'headwater', 'cron', 'net', 'pgmq', 'supabase_functions')
"""
_SLOT_LAG = """
select coalesce(max(pg_wal_lsn_diff(pg_current_wal_lsn(), confirmed_flush_lsn)), 0) from pg_replication_slots
where slot_type = 'logical'
"""


class Sampler:
    """Reads the figures of one platform."""

    def __init__(self, place: CampaignPlatform, database: asyncpg.Connection) -> None:
        self._place, self._database = place, database
        self._memory = Memory(place.platform)
        self.samples: list[dict[str, float]] = []

    async def sample(self) -> dict[str, float]:
        """Read all figures once."""
        figures: dict[str, float] = {}
        with contextlib.suppress(psutil.NoSuchProcess):
            figures |= {f"memory {name}": size for name, size in self._memory.look().items()}
        for name, pid in pids(self._place.platform).items():
            with contextlib.suppress(psutil.NoSuchProcess):
                process = psutil.Process(pid)
                tree = (process, *process.children(recursive=True))
                figures[f"descriptors {name}"] = float(sum(each.num_fds() for each in tree))
        data = self._place.data
        for name in ("nats", "logs", "log-store", "storage"):
            figures[f"disk {name}"] = float(await asyncio.to_thread(_size, data / name))
        figures["disk pg_wal"] = float(
            await self._database.fetchval("select coalesce(sum(size), 0) from pg_ls_waldir()")
        )
        figures["slot lag"] = float(await self._database.fetchval(_SLOT_LAG))
        for row in await self._database.fetch(_TABLES):
            name = row["name"]
            figures[f"size {name}"], figures[f"dead {name}"] = float(row["size"]), float(row["dead"])
            schema, _, table = name.partition(".")
            count = await self._database.fetchval(f'select count(*) from "{schema}"."{table}"')
            figures[f"rows {name}"] = float(count)
        return figures

    async def run(self, until: float) -> None:
        """Sample until a time."""
        while time.monotonic() < until:
            began = time.monotonic()
            self.samples.append(await self.sample())
            await asyncio.sleep(max(0.0, _SAMPLE_S - (time.monotonic() - began)))


def _size(folder: Path) -> int:
    """Return the bytes of a folder's files; files that vanish meanwhile do not count."""
    total = 0
    for path in folder.rglob("*"):
        with contextlib.suppress(OSError):
            stat = path.stat()
            total += stat.st_blocks * 512
    return total


async def soak(minutes: float, logs: Path | None) -> int:
    """Run a soak and print it; return the exit code."""
    async with receivers() as servers, running_platform(servers, logs, SHORT_AGES) as place:
        database = await asyncpg.connect(place.superuser_url)
        await asyncio.to_thread(place.platform.psql, SCHEMA)
        owner = await asyncio.to_thread(administrator, place.platform, "soak", "--rights", "owner", "--write")
        connector = aiohttp.TCPConnector(limit=0)
        async with aiohttp.ClientSession(connector=connector, timeout=aiohttp.ClientTimeout()) as session:
            await make_bucket(place.platform, session)
            clients = SoakClients(place, session, owner)
            sampler, running = Sampler(place, database), pids(place.platform)
            tasks = clients.tasks()
            showing = asyncio.ensure_future(_show(clients, servers))
            try:
                await sampler.run(time.monotonic() + minutes * 60)
            finally:
                ended = [task for task in tasks if task.done()]
                for task in (*tasks, showing):
                    task.cancel()
                await asyncio.gather(*tasks, showing, return_exceptions=True)
        await database.close()
        replaced = {name for name, pid in pids(place.platform).items() if running.get(name) != pid}
    verdicts = judged(sampler.samples)
    done, failed = clients.tally.done.total(), clients.tally.failed
    print(verdict_table(verdicts))
    print(f"{done} operations in {minutes:g} minutes: {dict(clients.tally.done)}")
    print(f"failed: {dict(failed)}; replaced: {sorted(replaced) or 'none'}; {len(sampler.samples)} samples")
    for task in ended:
        print(f"a client ended: {task.exception()!r}")
    is_kept = all(each.is_kept for each in verdicts) and not replaced and not ended
    is_kept = is_kept and failed.total() <= done * _FAILED_SHARE
    print("Every bound was held." if is_kept else "A BOUND WAS LEFT.")
    return 0 if is_kept else 1


async def _show(clients: SoakClients, servers: Receivers) -> None:
    while True:
        await asyncio.sleep(_SHOW_S)
        servers.mails.envelopes.clear()
        servers.hooks.clear()
        counts = json.dumps(clients.tally.done), json.dumps(clients.tally.failed)
        print(f"{time.strftime('%H:%M:%S')} {' failed '.join(counts)}", flush=True)


def main() -> int:
    """Run a soak as the command line says."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--minutes", type=float, default=120)
    parser.add_argument("--logs", type=Path, default=None, help="folder to which the logs are copied")
    asked = parser.parse_args()
    return asyncio.run(soak(asked.minutes, asked.logs))


if __name__ == "__main__":
    sys.exit(main())
