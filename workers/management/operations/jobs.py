"""Operations on jobs of pg_cron: list, create, change, remove, run now, runs with errors.

A job is created as role `postgres` and belongs to it. Its command runs where all jobs run, never in a session of this pool.
"""

import time
from typing import Annotated

import msgspec
from msgspec import Struct

from schemas.schedules import InvalidSchedule, Schedule, next_times, parse_schedule, schedule_in_words
from workers.database.transactions.interactive import statement
from workers.management.areas.requested_runs import request_run
from workers.management.interface import argument_limits as limits
from workers.management.interface.argument_limits import PageLimit
from workers.management.interface.backends.typed_rows import needs_extension, read_rows, run_all, write_row
from workers.management.interface.errors import ManagementError, invalid_arguments, not_found
from workers.management.interface.operation import Operation, OperationContext
from workers.management.interface.page_cursor import check_limit, check_text
from workers.management.interface.rights import Right
from workers.management.operations.account import Done
from workers.sql.files import read_statements

SQL = read_statements("workers.management.operations", "jobs.sql")
_CRON = ("pg_cron", "Jobs")
_LONGEST_COMMAND = 512 * 1024
_STATUSES = ("starting", "running", "succeeded", "failed")
_SHOWN_RUNS = 5
_LONGEST_ZONE = 100
MOST_ID = 2**63 - 1


class JobsQuery(Struct, frozen=True, forbid_unknown_fields=True):
    """Jobs after a number (the last of the page before)."""

    after: int = 0
    limit: PageLimit = 100


class Job(Struct, frozen=True):
    """A job and its last run. `next_run_at` in seconds since 1970, null while it is not active or its schedule cannot be read.

    `words`: its schedule in words, empty if it cannot be read.
    """

    id: int
    schedule: str
    command: str
    database: str
    owner: str
    is_active: bool
    name: str | None = None
    last_status: str | None = None
    last_message: str | None = None
    last_started_at: str | None = None
    last_ended_at: str | None = None
    next_run_at: float | None = None
    words: str = ""


class JobPage(Struct, frozen=True):
    """Jobs by number; `next` is `after` of the next page, null at the end."""

    rows: list[Job]
    next: int | None


class NewJob(Struct, frozen=True, forbid_unknown_fields=True):
    """A job to create: five fields of cron, a name such as `@daily`, or `30 seconds`; and SQL."""

    name: Annotated[str, limits.text(200)]
    schedule: str
    command: Annotated[str, limits.text(_LONGEST_COMMAND)]


class JobChange(Struct, frozen=True, forbid_unknown_fields=True):
    """Changes of a job; null leaves a value."""

    id: int
    schedule: str | None = None
    command: str | None = None
    is_active: bool | None = None


class JobReference(Struct, frozen=True, forbid_unknown_fields=True):
    """A job by its number."""

    id: int


class ScheduleText(Struct, frozen=True, forbid_unknown_fields=True):
    """A schedule of a job or a function. Without `timezone` the one of jobs (`scheduler.timezone`)."""

    schedule: str
    timezone: Annotated[str, limits.text(_LONGEST_ZONE)] | None = None


class ScheduleDescription(Struct, frozen=True):
    """A schedule in words, and the next moments at which it is due in seconds since 1970, at most five."""

    words: str
    timezone: str
    next_runs: list[float]


class CreatedJob(Struct, frozen=True):
    """The number of a new job."""

    id: int


class RunsQuery(Struct, frozen=True, forbid_unknown_fields=True):
    """Runs before a number, of a job or all. `status` is starting, running, succeeded or failed."""

    job_id: int | None = None
    status: Annotated[str, limits.choice(*_STATUSES)] | None = None
    before: int | None = None
    limit: PageLimit = 100


class JobRunRow(Struct, frozen=True):
    """A run of a job. `message` is the error, or what the command answered."""

    id: int
    job_id: int | None = None
    status: str | None = None
    message: str | None = None
    command: str | None = None
    owner: str | None = None
    pid: int | None = None
    started_at: str | None = None
    ended_at: str | None = None


class RunPage(Struct, frozen=True):
    """Runs, the newest first; `next` is `before` of the next page, null at the end."""

    rows: list[JobRunRow]
    next: int | None


async def list_jobs(context: OperationContext, arguments: JobsQuery) -> JobPage:
    """Return a page of the jobs of all owners, with the last run of each."""
    limit = check_limit(arguments.limit, context.settings.max_rows)
    rows = await _jobs(context, check_id(arguments.after), limit)
    return JobPage(rows, rows[-1].id if len(rows) == limit else None)


async def create(context: OperationContext, arguments: NewJob) -> CreatedJob:
    """Create a job of role `postgres`."""
    name = check_text("name", arguments.name, longest=200)
    command = check_text("command", arguments.command, longest=_LONGEST_COMMAND)
    _check_schedule(arguments.schedule, context.configuration.scheduler.timezone)
    with needs_extension(*_CRON):
        if await read_rows(context, CreatedJob, SQL["job_named"], name):
            raise ManagementError(
                409, "exists", f"There is a job {name} already", hint="jobs.change changes it."
            )
        created = await write_row(context, CreatedJob, SQL["create_job"], name, arguments.schedule, command)
    context.after = created
    return created


async def change(context: OperationContext, arguments: JobChange) -> Done:
    """Change the schedule or the command of a job, or switch it on or off. Only its owner, role `postgres`, may."""
    context.before = await _job(context, arguments.id)
    if arguments.schedule is not None:
        _check_schedule(arguments.schedule, context.configuration.scheduler.timezone)
    if arguments.command is not None:
        check_text("command", arguments.command, longest=_LONGEST_COMMAND)
    await _run(
        context, "change_job", arguments.id, arguments.schedule, arguments.command, arguments.is_active
    )
    context.after = await _job(context, arguments.id)
    return Done()


async def remove(context: OperationContext, arguments: JobReference) -> Done:
    """Remove a job; its runs stay."""
    context.before = await _job(context, arguments.id)
    await _run(context, "remove_job", arguments.id)
    return Done()


async def run_now(context: OperationContext, arguments: JobReference) -> Done:
    """Request that the scheduler runs a job now, once, as its owner, and records the run."""
    job = await _job(context, arguments.id)
    if not job.is_active:
        raise ManagementError(
            409, "not_active", "The job is switched off", hint="jobs.change switches it on."
        )
    await request_run(context, f"job {job.id}", is_job=True)
    return Done()


async def list_runs(context: OperationContext, arguments: RunsQuery) -> RunPage:
    """Return a page of the runs of a job, or of all, with their errors."""
    limit = check_limit(arguments.limit, context.settings.max_rows)
    if arguments.status is not None and arguments.status not in _STATUSES:
        raise invalid_arguments(f"`status` must be one of {', '.join(_STATUSES)}")
    with needs_extension(*_CRON):
        rows = await read_rows(
            context,
            JobRunRow,
            SQL["runs"],
            check_id(arguments.job_id),
            arguments.status,
            check_id(arguments.before),
            limit,
        )
    return RunPage(rows, rows[-1].id if len(rows) == limit else None)


async def describe_schedule(context: OperationContext, arguments: ScheduleText) -> ScheduleDescription:
    """Return what a schedule means, before a job or a function has it."""
    if arguments.timezone is not None and not 1 <= len(arguments.timezone) <= _LONGEST_ZONE:
        raise invalid_arguments(f"`timezone` must have 1 to {_LONGEST_ZONE} characters")
    timezone = arguments.timezone or context.configuration.scheduler.timezone
    schedule = _check_schedule(arguments.schedule, timezone)
    return ScheduleDescription(
        schedule_in_words(schedule), timezone, next_times(schedule, time.time(), _SHOWN_RUNS)
    )


def check_id(id: int | None) -> int | None:
    """Return the number of a row. Raises: ManagementError (400) for one that Postgres cannot store."""
    if id is not None and not 0 <= id <= MOST_ID:
        raise invalid_arguments("A number of a row is 0 or more, and less than 2^63")
    return id


async def _jobs(context: OperationContext, after: int | None, limit: int, id: int | None = None) -> list[Job]:
    with needs_extension(*_CRON):
        rows = await read_rows(context, Job, SQL["jobs"], after, limit, id)
    timezone = context.configuration.scheduler.timezone
    return [_with_next_run(job, timezone) for job in rows]


def _with_next_run(job: Job, timezone: str) -> Job:
    try:
        schedule = parse_schedule(job.schedule, timezone)
    except InvalidSchedule:
        return job
    due = schedule.next_due(time.time()) if job.is_active else None
    return msgspec.structs.replace(job, next_run_at=due, words=schedule_in_words(schedule))


async def _job(context: OperationContext, id: int) -> Job:
    """Return a job. Raises: ManagementError (404)."""
    jobs = await _jobs(context, 0, 1, check_id(id))
    if not jobs:
        raise not_found(f"job {id}")
    return jobs[0]


async def _run(context: OperationContext, name: str, *values: int | str | bool | None) -> None:
    with needs_extension(*_CRON):
        await run_all(context, [statement(SQL[name], *values)])


def _check_schedule(schedule: str, timezone: str) -> Schedule:
    """Return a schedule. Raises: ManagementError (400)."""
    try:
        return parse_schedule(schedule, timezone)
    except InvalidSchedule as error:
        raise invalid_arguments(str(error)) from None


def operations() -> list[Operation]:
    """Return the operations of this module."""
    reader, developer = Right.READER, Right.DEVELOPER
    return [
        Operation("jobs.list", "List jobs", JobsQuery, JobPage, reader, list_jobs),
        Operation("jobs.runs", "List runs of jobs", RunsQuery, RunPage, reader, list_runs),
        Operation("jobs.describe_schedule", "Say what a schedule means", ScheduleText, ScheduleDescription, reader, describe_schedule),
        Operation("jobs.create", "Create a job", NewJob, CreatedJob, developer, create, changes=True),
        Operation("jobs.change", "Change a job", JobChange, Done, developer, change, changes=True),
        Operation("jobs.remove", "Remove a job", JobReference, Done, developer, remove, changes=True, is_confirmed=True),
        Operation("jobs.run_now", "Run a job now", JobReference, Done, developer, run_now, changes=True),
    ]  # fmt: skip
