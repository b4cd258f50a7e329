"""Operations on log lines: search, all lines of a request, new lines as they arrive, values to filter by."""

import asyncio
import sqlite3
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Annotated, Any, TypeVar

from msgspec import Struct

from broker.logs import search
from broker.logs.lines import StoredLine
from broker.logs.query import InvalidLogQuery, LogFilter
from broker.logs.store import FOLDER
from broker.processes.data_folder import data_folder
from workers.management.areas.logs.line_texts import line_id, time_text
from workers.management.areas.logs.query_process import query_lines
from workers.management.interface import argument_limits as limits
from workers.management.interface.argument_limits import PageLimit
from workers.management.interface.errors import ManagementError, invalid_arguments
from workers.management.interface.operation import Operation, OperationContext
from workers.management.interface.rights import Right
from workers.management.operations.account import NoArguments

_LONGEST_SEARCH_S = 3.0
_LONGEST_WAIT_S = 25.0
_POLL_S = 0.3
_MOST_SEARCHES = 2
_MOST_WAITING = 16
_LONGEST_FILTER = 500
_LONGEST_SQL, _MOST_SQL_LINES, _MOST_SQL_BYTES = 10_000, 50_000, 2 * 1024 * 1024
_SEARCHES = ThreadPoolExecutor(_MOST_SEARCHES, "search of logs")
_waiting: set[object] = set()
T = TypeVar("T")


class LogFilterArguments(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Filters that all have to match; times as RFC 3339. `level` is the least one; `status` is 404 or 5xx; each word of `text` begins a word of the line."""

    since: str = ""
    until: str = ""
    level: str = ""
    area: str = ""
    status: str = ""
    user: str = ""
    function: str = ""
    process: str = ""
    kind: str = ""
    request_id: str = ""
    text: str = ""


class LogSearch(LogFilterArguments, frozen=True, kw_only=True):
    """A page of a search, the newest lines first. `histogram`: number of bars of a histogram over all matching lines, 0 for none."""

    limit: PageLimit = 100
    cursor: str = ""
    histogram: int = 0


class LogTail(LogFilterArguments, frozen=True, kw_only=True):
    """Lines that arrive after a cursor; without one only the cursor is returned. Waits up to `wait_s` seconds (at most 25) for the first."""

    cursor: str = ""
    limit: PageLimit = 500
    wait_s: Annotated[float, limits.number(0, _LONGEST_WAIT_S)] = 20.0


class LogSql(LogFilterArguments, frozen=True, kw_only=True):
    """One SELECT of SQLite over the table `lines`, which has the newest lines that match the filters, at most `lines` of them.

    Its columns: `id`, `at` (RFC 3339, UTC), `at_ms`, `level`, `process`, `kind`, `area`, `status`, `user`, `function`, `request_id`,
    `duration_ms`, `text`, `fields` (JSON). At most `limit` rows and 2 MiB are returned, and it may take 3 seconds.
    """

    sql: Annotated[str, limits.text(_LONGEST_SQL)]
    lines: Annotated[int, limits.number(1, _MOST_SQL_LINES)] = 20_000
    limit: PageLimit = 500


class LogSqlResult(Struct, frozen=True):
    """Rows of a query, and how many lines it read. Without `is_complete` more lines match; `is_cut`: it has more rows."""

    columns: list[str]
    rows: list[list[Any]]
    lines_read: int
    is_complete: bool
    is_cut: bool


class RequestReference(Struct, frozen=True, forbid_unknown_fields=True):
    """A request by its id, the header `x-request-id` of its answer."""

    id: Annotated[str, limits.text(_LONGEST_FILTER)]


class LogLineView(Struct, frozen=True, omit_defaults=True):
    """A log line. `at` is RFC 3339 in UTC; `fields` are what the line has beside the named ones."""

    id: str
    at: str
    level: str
    process: str
    kind: str
    text: str
    area: str = ""
    status: int = 0
    user: str = ""
    function: str = ""
    request_id: str = ""
    duration_ms: float = 0.0
    fields: dict[str, Any] = {}


class HistogramView(Struct, frozen=True):
    """Lines by time and level: bars of `width_s` seconds from `at` on. Without `is_complete` the time for counting was over."""

    width_s: float
    bars: list["HistogramBarView"]
    is_complete: bool


class HistogramBarView(Struct, frozen=True):
    """Number of lines of a level in a bar."""

    at: str
    level: str
    lines: int


class LogSearchResult(Struct, frozen=True):
    """Lines, and the cursor of the next page, empty at the end. Without `is_complete` the time was over before the page was full."""

    lines: list[LogLineView]
    next: str
    is_complete: bool
    histogram: HistogramView | None = None


class RequestLines(Struct, frozen=True):
    """All lines of a request in the order of time. Without `is_complete` there are more than 2,000, or the time was over."""

    lines: list[LogLineView]
    is_complete: bool


class TailResult(Struct, frozen=True):
    """Lines that arrived, and the cursor to ask with next. `is_gap`: the cursor was too old, and lines were left out; search for them."""

    lines: list[LogLineView]
    next: str
    is_gap: bool


class LogValue(Struct, frozen=True):
    """A value, and how many lines have it."""

    value: str
    lines: int


class LogFields(Struct, frozen=True):
    """Values to filter by, the most frequent first, and what the store of this machine holds."""

    fields: dict[str, list[LogValue]]
    lines: int
    bytes: int
    first: str
    last: str


async def search_logs(context: OperationContext, arguments: LogSearch) -> LogSearchResult:
    """Return a page of lines, and the histogram if one is requested."""
    folder, query = _store_folder(context), _filter_of(arguments)
    limit = _limit(arguments.limit, context.settings.max_rows)
    page = await _read(
        lambda: search.search(folder, query, limit, arguments.cursor, longest_s=_LONGEST_SEARCH_S)
    )
    histogram = None
    if arguments.histogram:
        counted = await _read(
            lambda: search.histogram(folder, query, arguments.histogram, longest_s=_LONGEST_SEARCH_S)
        )
        bars = [HistogramBarView(time_text(bar.at_ms), bar.level, bar.lines) for bar in counted.bars]
        histogram = HistogramView(counted.width_ms / 1000, bars, counted.is_complete)
    return LogSearchResult([_view(line) for line in page.lines], page.next, page.is_complete, histogram)


async def query(context: OperationContext, arguments: LogSql) -> LogSqlResult:
    """Run a SELECT over the newest lines that match."""
    folder, chosen = _store_folder(context), _filter_of(arguments)
    limit = _limit(arguments.limit, context.settings.max_rows)
    if not 1 <= arguments.lines <= _MOST_SQL_LINES:
        raise invalid_arguments(f"`lines` must be 1 to {_MOST_SQL_LINES}")
    if not arguments.sql.strip() or len(arguments.sql) > _LONGEST_SQL or "\0" in arguments.sql:
        raise invalid_arguments(f"`sql` must have 1 to {_LONGEST_SQL} characters")
    page = await _read(lambda: search.search(folder, chosen, arguments.lines, longest_s=_LONGEST_SEARCH_S))
    result = await query_lines(page.lines, arguments.sql, limit, _MOST_SQL_BYTES)
    return LogSqlResult(result.columns, result.rows, len(page.lines), not page.next, result.is_cut)


async def lines_of_request(context: OperationContext, arguments: RequestReference) -> RequestLines:
    """Return what gateway, pool, database and function logged about a request."""
    if not arguments.id or len(arguments.id) > _LONGEST_FILTER:
        raise invalid_arguments(f"`id` must have 1 to {_LONGEST_FILTER} characters")
    folder = _store_folder(context)
    page = await _read(lambda: search.lines_of_request(folder, arguments.id, longest_s=_LONGEST_SEARCH_S))
    return RequestLines([_view(line) for line in page.lines], page.is_complete and not page.next)


async def tail(context: OperationContext, arguments: LogTail) -> TailResult:
    """Return lines that arrived after the cursor; wait for the first."""
    folder, query = _store_folder(context), _filter_of(arguments)
    limit = _limit(arguments.limit, context.settings.max_rows)
    if not 0 <= arguments.wait_s <= _LONGEST_WAIT_S:
        raise invalid_arguments(f"`wait_s` must be 0 to {_LONGEST_WAIT_S:g} seconds")
    until = time.monotonic() + arguments.wait_s
    cursor, me = arguments.cursor, object()
    may_wait = bool(cursor) and len(_waiting) < _MOST_WAITING
    try:
        _waiting.add(me)
        while True:
            arrived = await _read(partial(search.new_lines, folder, query, limit, cursor))
            if arrived.lines or arrived.is_gap or not may_wait or time.monotonic() > until:
                return TailResult([_view(line) for line in arrived.lines], arrived.next, arrived.is_gap)
            cursor = arrived.next
            await asyncio.sleep(_POLL_S)
    finally:
        _waiting.discard(me)


async def fields(context: OperationContext, arguments: NoArguments) -> LogFields:
    """Return the processes, areas, kinds and functions that lines have, and the size of the store."""
    del arguments
    folder = _store_folder(context)
    values = await _read(lambda: search.field_values(folder))
    state = await _read(lambda: search.store_state(folder))
    return LogFields(
        {
            field: [LogValue(value.value, value.lines) for value in of_field]
            for field, of_field in values.items()
        },
        state.lines,
        state.bytes,
        time_text(state.first_ms) if state.lines else "",
        time_text(state.last_ms) if state.lines else "",
    )


def operations() -> list[Operation]:
    """Return the operations of this module."""
    return [
        Operation("logs.search", "Search log lines", LogSearch, LogSearchResult, Right.READER, search_logs),
        Operation(
            "logs.request",
            "List all log lines of a request, through gateway, pool, database and function",
            RequestReference,
            RequestLines,
            Right.READER,
            lines_of_request,
        ),
        Operation("logs.sql", "Run a SELECT over log lines", LogSql, LogSqlResult, Right.READER, query),
        Operation("logs.tail", "Wait for new log lines", LogTail, TailResult, Right.READER, tail),
        Operation(
            "logs.fields",
            "List the values that log lines can be filtered by",
            NoArguments,
            LogFields,
            Right.READER,
            fields,
        ),
    ]


def _store_folder(context: OperationContext) -> Path:
    """Return the folder of the store. Raises: ManagementError (501) if lines are not stored."""
    if not context.configuration.log.store.enabled:
        raise ManagementError(
            501,
            "switched_off",
            "Log lines are not stored (log.store.enabled); `headwater logs` shows the files",
        )
    return data_folder() / FOLDER


async def _read(run: Callable[[], T]) -> T:
    """Run a read of the store in a thread, two at a time. Raises: ManagementError."""
    try:
        return await asyncio.get_running_loop().run_in_executor(_SEARCHES, run)
    except InvalidLogQuery as error:
        raise invalid_arguments(str(error)) from None
    except sqlite3.Error as error:
        raise ManagementError(
            503, "unavailable", f"The store of log lines cannot be read: {error}", hint="`headwater doctor`"
        ) from None


def _filter_of(arguments: LogFilterArguments) -> LogFilter:
    """Return the filter of the arguments. Raises: ManagementError (400)."""
    names = ("level", "area", "status", "user", "function", "process", "kind", "request_id", "text")
    values = {name: str(getattr(arguments, name)) for name in names}
    for name, value in values.items():
        if len(value) > _LONGEST_FILTER:
            raise invalid_arguments(f"`{name}` must have at most {_LONGEST_FILTER} characters")
    if arguments.since:
        values["since_ms"] = _milliseconds("since", arguments.since)  # type: ignore[assignment]
    if arguments.until:
        values["until_ms"] = _milliseconds("until", arguments.until)  # type: ignore[assignment]
    try:
        return LogFilter(**values)  # type: ignore[arg-type]  # each value was checked or converted above
    except InvalidLogQuery as error:
        raise invalid_arguments(str(error)) from None


def _milliseconds(name: str, text: str) -> int:
    """Return a time as epoch milliseconds. Raises: ManagementError (400)."""
    try:
        at = datetime.fromisoformat(text)
        return round(at.replace(tzinfo=at.tzinfo or UTC).timestamp() * 1000)
    except (ValueError, OverflowError):
        raise invalid_arguments(f"`{name}` must be a time such as 2026-12-01T08:30:00Z") from None


def _limit(limit: int, most: int) -> int:
    if not 1 <= limit <= most:
        raise invalid_arguments(f"`limit` must be 1 to {most}")
    return limit


def _view(line: StoredLine) -> LogLineView:
    record = line.record
    return LogLineView(
        line_id(line),
        time_text(line.at_ms),
        record.level,
        record.process,
        record.kind,
        record.text,
        record.area,
        record.status,
        record.user,
        record.function,
        record.request_id,
        record.duration_ms,
        record.fields,
    )
