"""Operations on durable jobs: which there are, their runs and steps, start, cancel, run again, send an event (docs/queues-and-jobs.md).

The rules are those of the functions of schema headwater_jobs, which the pool's login calls; what they refuse is refused here in their words.
"""

import uuid
from typing import Annotated, Any, Literal, TypeVar

import msgspec
from msgspec import Struct

from workers.database.errors import DatabaseError
from workers.database.transactions.interactive import statement
from workers.database.transactions.model import TransactionSpec
from workers.management.interface import argument_limits as limits
from workers.management.interface.argument_limits import PageLimit
from workers.management.interface.errors import ManagementError, SqlRejected, invalid_arguments, not_found
from workers.management.interface.identity.store import decode_rows
from workers.management.interface.operation import Operation, OperationContext
from workers.management.interface.page_cursor import check_limit, check_text, cursor_of, read_cursor
from workers.management.interface.rights import Right
from workers.management.operations.account import NoArguments
from workers.sql.files import read_statements

SQL = read_statements("workers.management.operations", "durable_jobs.sql")
_LONGEST_NAME = 200
_LONGEST_DATA = 262_144
_STATES = ("queued", "running", "sleeping", "done", "failed", "cancelled")
RunStatus = Literal["queued", "running", "sleeping", "done", "failed", "cancelled"]
T = TypeVar("T")


class DurableJob(Struct, frozen=True):
    """A job. `waiting`: runs that have not ended and are not worked on; `failed`: runs of the last day. Counts are 100,001 for more.

    `is_function`: the function of that name works on its runs, else programs by SQL. `is_defined`: it can be started.
    """

    name: str
    is_function: bool
    is_defined: bool
    events: list[str]
    retries: int
    backoff_s: float
    waiting: int
    running: int
    failed: int


class DurableRun(Struct, frozen=True, kw_only=True):
    """A run. `due_at`: when it goes on, or the end of its runner's lease; null once it has ended. `steps`: how many there are."""

    id: str
    job: str
    status: RunStatus
    attempt: int
    failures: int
    steps: int
    created_at: str
    key: str | None = None
    owner: str | None = None
    error: str | None = None
    started_at: str | None = None
    ended_at: str | None = None
    due_at: str | None = None


class DurableStep(Struct, frozen=True, kw_only=True):
    """A step. `result` is null above 16 KiB, see `bytes`. `due_at`: when a sleep or wait is over, or a step is tried again."""

    name: str
    kind: Literal["step", "sleep", "wait"]
    status: Literal["done", "failed", "retry", "open"]
    failures: int
    began_at: str
    result: Any = None
    bytes: int | None = None
    error: str | None = None
    event: str | None = None
    match: Any = None
    ended_at: str | None = None
    due_at: str | None = None


class DurableRunDetails(DurableRun, frozen=True, kw_only=True):
    """A run with its input, output and steps in their order. `event`: the event that started it; `rerun_of`: the run that it repeats."""

    input: Any
    output: Any = None
    event: str | None = None
    rerun_of: str | None = None
    all_steps: list[DurableStep] = []


class DurableRunsQuery(Struct, frozen=True, forbid_unknown_fields=True):
    """Runs of a job or all, in one state or all; `after` is `next` of the page before."""

    job: Annotated[str, limits.text(_LONGEST_NAME, least=0)] = ""
    status: Annotated[str, limits.choice(*_STATES)] | None = None
    after: str = ""
    limit: PageLimit = 100


class DurableRunPage(Struct, frozen=True):
    """Runs, the newest first; `next` is null at the end."""

    rows: list[DurableRun]
    next: str | None


class DurableRunReference(Struct, frozen=True):
    """A run by its id."""

    id: str


class DurableRunToFind(Struct, frozen=True, forbid_unknown_fields=True):
    """A run by its id."""

    id: str


class DurableRunToStart(Struct, frozen=True, forbid_unknown_fields=True):
    """A run to start. With a `key` at most one of that job and key; `run_at`: a moment in RFC 3339, within a year."""

    job: Annotated[str, limits.text(_LONGEST_NAME)]
    input: Any = msgspec.field(default_factory=dict)
    key: Annotated[str, limits.text(_LONGEST_NAME)] | None = None
    run_at: str | None = None


class DurableRunToRepeat(Struct, frozen=True, forbid_unknown_fields=True):
    """A run that has ended, and the step from which it is done again; without one all of it."""

    id: str
    from_step: Annotated[str, limits.text(_LONGEST_NAME)] | None = None


class CancelledDurableRun(Struct, frozen=True):
    """Whether the run was cancelled; false if it had ended."""

    is_cancelled: bool


class EventToSend(Struct, frozen=True, forbid_unknown_fields=True):
    """An event that starts runs and ends waits; with a `key` it is sent once for as long as events are kept."""

    name: Annotated[str, limits.text(_LONGEST_NAME)]
    data: Any = msgspec.field(default_factory=dict)
    key: Annotated[str, limits.text(_LONGEST_NAME)] | None = None


class SentEvent(Struct, frozen=True):
    """An event by its id."""

    id: str


async def list_jobs(context: OperationContext, arguments: NoArguments) -> list[DurableJob]:
    """Return the durable jobs."""
    return await _rows(context, DurableJob, "jobs")


async def list_runs(context: OperationContext, arguments: DurableRunsQuery) -> DurableRunPage:
    """Return a page of runs. Raises: ManagementError."""
    limit = check_limit(arguments.limit, context.settings.max_rows)
    if arguments.status and arguments.status not in _STATES:
        raise invalid_arguments(f"`status` must be one of {', '.join(_STATES)}")
    created_at, id = read_cursor(arguments.after, tuple[str, str]) if arguments.after else (None, None)
    job = check_text("job", arguments.job, longest=_LONGEST_NAME, least=0)
    rows = await _rows(
        context, DurableRun, "runs", job, arguments.status or "", created_at, id and _id(id), limit
    )
    last = cursor_of((rows[-1].created_at, rows[-1].id)) if len(rows) == limit else None
    return DurableRunPage(rows, last)


async def show(context: OperationContext, arguments: DurableRunToFind) -> DurableRunDetails:
    """Return a run with its steps. Raises: ManagementError."""
    id = _id(arguments.id)
    rows = await _rows(context, DurableRunDetails, "run", id)
    if not rows:
        raise not_found(f"run {id}")
    return msgspec.structs.replace(rows[0], all_steps=await _rows(context, DurableStep, "steps", id))


async def start(context: OperationContext, arguments: DurableRunToStart) -> DurableRunReference:
    """Start a run. Raises: ManagementError."""
    job = check_text("job", arguments.job, longest=_LONGEST_NAME)
    key = _key(arguments.key)
    run_at = arguments.run_at and check_text("run_at", arguments.run_at, longest=40)
    [started] = await _rows(
        context, DurableRunReference, "start", job, _document("input", arguments.input), key, run_at
    )
    context.after = started
    return started


async def cancel(context: OperationContext, arguments: DurableRunToFind) -> CancelledDurableRun:
    """Cancel a run that has not ended. Raises: ManagementError."""
    [cancelled] = await _rows(context, CancelledDurableRun, "cancel", _id(arguments.id))
    return cancelled


async def rerun(context: OperationContext, arguments: DurableRunToRepeat) -> DurableRunReference:
    """Start a run like one that has ended, from a step on. Raises: ManagementError."""
    step = arguments.from_step
    if step is not None:
        check_text("from_step", step, longest=_LONGEST_NAME)
    [started] = await _rows(context, DurableRunReference, "rerun", _id(arguments.id), step)
    context.after = started
    return started


async def send_event(context: OperationContext, arguments: EventToSend) -> SentEvent:
    """Send an event. Raises: ManagementError."""
    name = check_text("name", arguments.name, longest=_LONGEST_NAME)
    values = (name, _document("data", arguments.data), _key(arguments.key))
    [sent] = await _rows(context, SentEvent, "send_event", *values)
    return sent


def _id(text: str) -> str:
    try:
        return str(uuid.UUID(text))
    except ValueError:
        raise invalid_arguments("`id` must be the id of a run, a UUID") from None


def _key(key: str | None) -> str | None:
    return None if key is None else check_text("key", key, longest=_LONGEST_NAME)


def _document(name: str, value: object) -> str:
    text = msgspec.json.encode(value)
    if len(text) > _LONGEST_DATA:
        raise ManagementError(
            413, "too_large", f"`{name}` has {len(text)} bytes; at most {_LONGEST_DATA} are stored"
        )
    return text.decode()


async def _rows(context: OperationContext, kind: type[T], name: str, *values: Any) -> list[T]:
    """Run a statement as the pool's login. Raises: ManagementError with the database's words."""
    database = await context.database.own()
    try:
        [rows] = await database.run(TransactionSpec((), [statement(SQL[name], *values)]))
    except DatabaseError as error:
        if error.code == "P0002":
            raise not_found("run") from None
        raise SqlRejected(error) from None
    return decode_rows(rows, kind)


def operations() -> list[Operation]:
    """Return the operations of this module."""
    reader, developer = Right.READER, Right.DEVELOPER
    return [
        Operation("durable_jobs.list", "List durable jobs", NoArguments, list[DurableJob], reader, list_jobs),
        Operation("durable_jobs.runs", "List runs of durable jobs", DurableRunsQuery, DurableRunPage, reader, list_runs),
        Operation("durable_jobs.show", "Look into a run", DurableRunToFind, DurableRunDetails, reader, show),
        Operation("durable_jobs.start", "Start a run", DurableRunToStart, DurableRunReference, developer, start, changes=True, secrets=frozenset({"input"})),
        Operation("durable_jobs.cancel", "Cancel a run", DurableRunToFind, CancelledDurableRun, developer, cancel, changes=True),
        Operation("durable_jobs.rerun", "Run again, from a step on", DurableRunToRepeat, DurableRunReference, developer, rerun, changes=True),
        Operation("durable_jobs.send_event", "Send an event", EventToSend, SentEvent, developer, send_event, changes=True, secrets=frozenset({"data"})),
    ]  # fmt: skip
