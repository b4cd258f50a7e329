"""The clock of the machine is set back under a running scheduler, and before one starts."""

import time

import asyncpg
import pytest

from broker.nats.connection import NatsConnection
from broker.requests.call import Calls
from schemas.settings.tree import Settings
from tests.workers.scheduler.scheduler_pool import SchedulerPool
from tests.workers.scheduler.test_takeover import runs
from workers.scheduler.pool import SchedulerCandidate
from workers.scheduler.statements import JOBS

_HOURS_S = 7200.0


class Clock:
    """A clock that runs on with the machine's, ahead of it by so many seconds."""

    ahead_s = 0.0

    def __call__(self) -> float:
        return time.time() + self.ahead_s


@pytest.fixture
async def clock(scheduler_pool: SchedulerPool, connection: NatsConnection) -> Clock:
    """The clock of a running scheduler."""
    one = Clock()
    scheduler = SchedulerCandidate(
        scheduler_pool.url("headwater_scheduler"), connection, Calls(connection), Settings(), one
    )
    scheduler_pool.schedulers.append(scheduler)
    scheduler.begin()
    return one


async def test_jobs_go_on_when_the_clock_is_set_back(
    scheduler_pool: SchedulerPool, project: asyncpg.Connection, clock: Clock
):
    clock.ahead_s = _HOURS_S
    await project.execute("create table ran (at timestamptz default clock_timestamp())")
    await project.fetchval("select cron.schedule('tick', '1 seconds', 'insert into ran default values')")
    await scheduler_pool.until("select from ran offset 1")

    clock.ahead_s = 0.0

    seen = await scheduler_pool.admin.fetchval("select count(*) from ran")
    await scheduler_pool.until("select from ran offset $1", seen + 2)
    await project.execute("select cron.unschedule('tick')")
    await scheduler_pool.until(
        "select where not exists (select from cron.job_run_details where end_time is null)"
    )
    assert await runs(scheduler_pool) == await scheduler_pool.admin.fetchval("select count(*) from ran")


async def test_a_run_that_a_wrong_clock_began_in_the_future_stops_no_job(
    scheduler_pool: SchedulerPool, project: asyncpg.Connection, clock: Clock
):
    job = await project.fetchval("select cron.schedule('tick', '1 seconds', 'select 1')")
    ahead = time.time() + 10 * 365 * 86400
    await scheduler_pool.admin.fetch(JOBS["begin"], job, ahead, ahead + 60)

    await scheduler_pool.until("select from cron.job_run_details where status = 'succeeded' offset 1")


async def test_a_time_of_day_that_was_run_is_not_run_again_when_the_clock_is_set_back(
    scheduler_pool: SchedulerPool, project: asyncpg.Connection
):
    job = await project.fetchval("select cron.schedule('night', '0 3 * * *', 'select 1')")
    at_three, again_s = 3 * 3600.0, 3 * 3600.0

    begun = [
        len(await scheduler_pool.admin.fetch(JOBS["begin"], job, moment, moment + again_s))
        for moment in (at_three, at_three, at_three - 3600, at_three - 4 * 3600)
    ]

    assert begun == [1, 0, 0, 1]
