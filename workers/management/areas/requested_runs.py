"""Runs on request: the scheduler starts a job or a function now, once, and records it as any other run.

The request is a row of our own table, written by the pool's login; the command of the job runs where all jobs run, in a session
of its owner (workers/scheduler).
"""

import time

from msgspec import Struct

from schemas.schedules import InvalidSchedule, parse_schedule
from workers.database.transactions.interactive import statement
from workers.database.transactions.model import TransactionSpec
from workers.management.interface.errors import ManagementError
from workers.management.interface.identity.store import decode_rows
from workers.management.interface.operation import OperationContext
from workers.sql.files import read_statements

SQL = read_statements("workers.management.operations", "functions.sql")


class _SchedulerServes(Struct, frozen=True):
    jobs: bool
    requests: bool


class _LastRun(Struct, frozen=True):
    schedule: str
    at: float


async def request_run(context: OperationContext, schedule: str, *, is_job: bool) -> None:
    """Request that the scheduler starts `job <id>` or `function <name>` now. Raises: ManagementError (409) if no scheduler of ours does."""
    if not context.configuration.scheduler.enabled:
        raise ManagementError(409, "scheduler_off", "The scheduler is switched off (scheduler.enabled)")
    database = await context.database.own()
    if is_job:
        [rows] = await database.run(TransactionSpec((), [statement(SQL["serves"])]))
        if not decode_rows(rows, _SchedulerServes)[0].jobs:
            raise ManagementError(
                409,
                "outside_scheduler",
                "This database runs its jobs itself; the platform cannot start one",
                hint="Run the job's command with sql.run.",
            )
    await database.run(TransactionSpec((), [statement(SQL["request_run"], schedule)]))


async def last_runs(context: OperationContext) -> dict[str, float]:
    """Return when each schedule was begun last, in seconds since 1970."""
    database = await context.database.own()
    [rows] = await database.run(TransactionSpec((), [statement(SQL["last_runs"])]))
    return {run.schedule: run.at for run in decode_rows(rows, _LastRun)}


def next_run(schedule: str, timezone: str) -> float | None:
    """Return when a schedule is due next, in seconds since 1970; None if never, or if it cannot be read."""
    try:
        return parse_schedule(schedule, timezone).next_due(time.time())
    except InvalidSchedule:
        return None
