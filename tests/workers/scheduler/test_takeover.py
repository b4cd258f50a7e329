"""Two schedulers in processes of their own; the leader is killed, stopped, or loses its session."""

import asyncio
import contextlib
import sys
from asyncio.subprocess import DEVNULL, PIPE, Process, create_subprocess_exec
from collections.abc import AsyncIterator, Awaitable, Callable

import asyncpg
import pytest
from msgspec import Struct

from tests.workers.scheduler.scheduler_pool import SchedulerPool
from workers.scheduler.observations import SchedulerLost
from workers.scheduler.pool import SchedulerCandidate
from workers.scheduler.statements import JOBS

Spawn = Callable[[], Awaitable[Process]]


@pytest.fixture
async def spawn(scheduler_pool: SchedulerPool) -> AsyncIterator[Spawn]:
    """Start schedulers, and kill them after the test."""
    async with contextlib.AsyncExitStack() as stack:

        async def start() -> Process:
            process = await create_subprocess_exec(
                sys.executable, "-m", "tests.workers.scheduler.worker", scheduler_pool.url("headwater_scheduler"), scheduler_pool.nats_url,
                stdout=PIPE, stderr=DEVNULL,
            )  # fmt: skip

            async def end() -> None:
                if process.returncode is None:
                    process.kill()
                    await process.communicate()

            stack.push_async_callback(end)
            return process

        yield start


async def leads(process: Process) -> None:
    """Wait until a process leads."""
    assert process.stdout is not None
    async with asyncio.timeout(40):
        while b"leads" not in await process.stdout.readline():
            assert process.returncode is None


async def runs(scheduler_pool: SchedulerPool) -> int:
    return int(
        await scheduler_pool.admin.fetchval(
            "select count(*) from cron.job_run_details where status = 'succeeded'"
        )
    )


async def more_runs(scheduler_pool: SchedulerPool, count: int) -> None:
    """Wait for so many further runs."""
    wanted = await runs(scheduler_pool) + count
    await scheduler_pool.until(
        "select from cron.job_run_details where status = 'succeeded' offset $1", wanted - 1
    )


async def test_another_takes_over_and_no_moment_is_run_twice(
    scheduler_pool: SchedulerPool, project: asyncpg.Connection, spawn: Spawn
):
    await project.execute("create table ran (at timestamptz default clock_timestamp())")
    await project.fetchval("select cron.schedule('tick', '1 seconds', 'insert into ran default values')")
    first = await spawn()
    await leads(first)
    second = await spawn()
    await more_runs(scheduler_pool, 2)

    first.kill()
    await leads(second)
    await more_runs(scheduler_pool, 2)

    gaps = await project.fetch(
        "select at - lag(at) over (order by at) > interval '0.5 s' as apart from ran order by at"
    )
    assert all(row["apart"] for row in gaps[1:])
    assert await project.fetchval("select count(*) from ran") - await runs(scheduler_pool) in (0, 1)


async def test_what_a_killed_scheduler_left_running_is_ended_and_has_failed(
    scheduler_pool: SchedulerPool, project: asyncpg.Connection, spawn: Spawn
):
    first = await spawn()
    await leads(first)
    await project.fetchval("select cron.schedule('endless', '1 seconds', 'select pg_sleep(600)')")
    (running,) = await scheduler_pool.until(
        "select runid, job_pid from cron.job_run_details where status = 'running'"
    )
    await project.execute("select cron.alter_job(jobid, active := false) from cron.job")

    first.kill()
    await leads(await spawn())
    (run,) = await scheduler_pool.until(
        "select return_message from cron.job_run_details where runid = $1 and status = 'failed'",
        running["runid"],
    )

    assert run["return_message"] == "the scheduler was restarted"
    await scheduler_pool.until(
        "select where $1::int not in (select pid from pg_stat_activity)", running["job_pid"]
    )


async def test_a_moment_that_was_begun_is_not_begun_again(
    scheduler_pool: SchedulerPool, project: asyncpg.Connection
):
    job = await project.fetchval("select cron.schedule('once', '0 0 1 1 *', 'select 1')")
    begun = [
        len(await scheduler_pool.admin.fetch(JOBS["begin"], job, moment, moment + 200.0))
        for moment in (1000.0, 1000.0, 900.0, 1060.0)
    ]

    assert begun == [1, 0, 0, 1]


async def test_the_lead_is_lost_with_its_session_and_won_again(
    scheduler_pool: SchedulerPool,
    project: asyncpg.Connection,
    begin: Callable[[], SchedulerCandidate],
    seen: list[Struct],
):
    scheduler = begin()
    await project.fetchval("select cron.schedule('tick', '1 seconds', 'select 1')")
    await more_runs(scheduler_pool, 1)

    await scheduler_pool.admin.execute(
        "select pg_terminate_backend(pid) from pg_stat_activity where application_name = 'headwater scheduler'"
    )
    await more_runs(scheduler_pool, 2)

    assert scheduler.is_leader
    assert any(isinstance(each, SchedulerLost) for each in seen)


async def test_a_silent_database_costs_nothing(
    scheduler_pool: SchedulerPool, project: asyncpg.Connection, begin: Callable[[], SchedulerCandidate]
):
    begin()
    await scheduler_pool.until(
        "select from pg_stat_activity where application_name = 'headwater scheduler' and state = 'idle'"
        " and state_change < clock_timestamp() - interval '1.5 seconds'"
    )
