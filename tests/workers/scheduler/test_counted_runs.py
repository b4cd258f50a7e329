"""What the fault campaign counts of jobs: a run that begins while it counts is neither lost nor doubled."""

import contextlib
from collections.abc import Awaitable, Callable

import asyncpg
import pytest

from tests.faults.jobs import compare_runs, read_runs
from tests.workers.database.server import connected
from tests.workers.scheduler.scheduler_pool import SchedulerPool
from workers.scheduler.pool import SchedulerCandidate

_SCHEMA = """
create table public.ticks (id bigint generated always as identity, run bigint);
grant select, insert on public.ticks to postgres;
"""
_COMMAND = "insert into public.ticks (run) select max(runid) from cron.job_run_details where job_pid = pg_backend_pid()"


class Interrupted:
    """A connection on which something happens behind its first statement."""

    def __init__(
        self, connection: asyncpg.Connection, happen: Callable[[], Awaitable[object]], *, in_snapshot: bool
    ) -> None:
        self._connection, self._happen, self._in_snapshot = connection, happen, in_snapshot
        self._count = 0

    def transaction(self, **settings: object) -> contextlib.AbstractAsyncContextManager[object]:
        if self._in_snapshot:
            return self._connection.transaction(**settings)
        return contextlib.nullcontext()

    async def fetch(self, query: str) -> list[asyncpg.Record]:
        rows = await self._connection.fetch(query)
        if not self._count:
            await self._happen()
        self._count += 1
        return list(rows)


@pytest.mark.parametrize("in_snapshot", [True, False])
async def test_a_run_between_two_readings_looks_doubled_unless_they_are_of_one_moment(
    scheduler_pool: SchedulerPool,
    project: asyncpg.Connection,
    begin: Callable[..., SchedulerCandidate],
    in_snapshot: bool,
):
    await scheduler_pool.admin.execute(_SCHEMA)
    begin()
    job = await project.fetchval("select cron.schedule('tick', '1 seconds', $1)", _COMMAND)
    await scheduler_pool.until("select from public.ticks having count(*) > 1")
    await project.execute("select cron.alter_job($1, active := false)", job)
    await scheduler_pool.until(
        "select where not exists (select from cron.job_run_details where end_time is null)"
    )

    async def run_once() -> None:
        last = await scheduler_pool.admin.fetchval("select max(id) from public.ticks")
        await project.execute("select cron.alter_job($1, active := true)", job)
        await scheduler_pool.until("select from public.ticks where id > $1", last)
        await project.execute("select cron.alter_job($1, active := false)", job)

    async with connected(scheduler_pool.server.url(database=scheduler_pool.name)) as counting:
        runs, ticks = await read_runs(Interrupted(counting, run_once, in_snapshot=in_snapshot))  # type: ignore[arg-type]  # has what is used

    lost, doubled = compare_runs(runs, ticks)
    assert lost == set()
    assert bool(doubled) is not in_snapshot


async def test_the_statement_of_a_run_finds_its_own_row(
    scheduler_pool: SchedulerPool, project: asyncpg.Connection, begin: Callable[..., SchedulerCandidate]
):
    await scheduler_pool.admin.execute(_SCHEMA)
    begin()

    await project.execute("select cron.schedule('tick', '1 seconds', $1)", _COMMAND)

    run = await scheduler_pool.run_of("tick")
    seen = await scheduler_pool.admin.fetchval("select run from public.ticks order by id limit 1")
    assert seen == run["runid"]
