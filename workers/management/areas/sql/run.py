"""Runs the statements of a text one after the other and gathers their results within limits.

    text -> statements (workers/project/sql_splitter.py) -> [begin] statement... [commit] -> results

Without transaction commands of its own, a text of several statements is one transaction: all of it happens, or nothing. A text
that begins or ends transactions itself is run as psql runs it. A single statement is sent alone, so it may be VACUUM or
CREATE INDEX CONCURRENTLY. The first error stops the run.

Rows beyond a limit are not stored. A reading statement is stopped at the limit; one that may write runs to its end, because
half of `select f(id) from items` would be a surprise.
"""

import asyncio
import time
from collections.abc import Sequence
from dataclasses import dataclass, field

from msgspec import Struct

from workers.database.errors import DatabaseError, Disconnected
from workers.database.protocol.backend_reader import IDLE
from workers.management.areas.sql.cells import cell_text
from workers.management.areas.sql.errors import SqlFailed, cannot_split
from workers.management.areas.sql.messages import (
    CommandTag,
    CopyBegun,
    PortalSuspended,
    ResultColumn,
    ResultColumns,
    ResultEvent,
    RowBatch,
    ServerFailure,
    ServerNotice,
    ValueRow,
)
from workers.management.areas.sql.session import SqlSession
from workers.management.interface.errors import ManagementError, invalid_arguments
from workers.project.sql_splitter import ScriptStatement, SplitError, split

MAX_STATEMENTS = 1000
MAX_SQL_BYTES = 4 * 1024 * 1024
_MAX_NOTICES = 100
_LONGEST_NOTICE = 4096
_ENDS_TRANSACTION = frozenset({"begin", "start", "commit", "end", "abort"})
_GRACE_S = 1.0
"""Seconds beyond the time limit for the server to report the timeout by itself."""


class RunLimits(Struct, frozen=True):
    """Limits of one run: rows and bytes of a result, characters of a cell."""

    max_rows: int
    max_bytes: int
    max_cell: int
    timeout_s: float


class ColumnOfResult(Struct):
    """A column of a result. `type` as SQL writes it, `type_id` as the catalog numbers it (pg_type.oid)."""

    name: str
    type: str = ""
    type_id: int = 0


class ShortenedCell(Struct, frozen=True):
    """A cell that was shortened: its place in `rows`, and the bytes of its value (-1: unknown)."""

    row: int
    column: int
    bytes: int


class NoticeOfStatement(Struct, frozen=True):
    """A notice or warning of the server."""

    severity: str
    code: str
    message: str
    details: str | None = None
    hint: str | None = None


class StatementResult(Struct):
    """The result of a statement. `rows` have the values as text; `is_truncated`: there were more rows than are here."""

    statement: int
    line: int
    tag: str = ""
    columns: list[ColumnOfResult] = []
    rows: list[list[str | None]] = []
    is_truncated: bool = False
    shortened: list[ShortenedCell] = []
    notices: list[NoticeOfStatement] = []
    duration_ms: float = 0.0


@dataclass(slots=True)
class RunOutcome:
    """The results of a run, the types of their columns (oid and modifier, result by result), and how the transaction ended."""

    results: list[StatementResult] = field(default_factory=list)
    types: list[list[ResultColumn]] = field(default_factory=list)
    transaction: str = "committed"


def split_text(text: str) -> list[ScriptStatement]:
    """Return the statements of a text. Raises: ManagementError (400, 413)."""
    if len(text.encode(errors="replace")) > MAX_SQL_BYTES:
        raise ManagementError(413, "too_large", f"The SQL is longer than {MAX_SQL_BYTES} bytes")
    if "\0" in text:
        raise invalid_arguments("`sql` has a NUL in it")
    try:
        statements = split(text)
    except SplitError as error:
        raise cannot_split(error, text) from None
    if not statements:
        raise invalid_arguments("`sql` has no statement")
    if len(statements) > MAX_STATEMENTS:
        raise invalid_arguments(
            f"`sql` has {len(statements)} statements; at most {MAX_STATEMENTS} run at once"
        )
    return statements


def controls_transaction(script: ScriptStatement) -> bool:
    """Return whether a statement begins or ends a transaction."""
    first, second = (*script.words[:2], "", "")[:2]
    if first == "prepare":
        return second == "transaction"
    if first == "rollback":  # `rollback to savepoint` stays inside
        return "to" not in script.words[:4]
    return first in _ENDS_TRANSACTION


class TextRun:
    """One run of a text in a session."""

    def __init__(
        self,
        session: SqlSession,
        text: str,
        statements: Sequence[ScriptStatement],
        limits: RunLimits,
        *,
        is_read_only: bool,
        parameters: Sequence[str | None] = (),
        in_one_transaction: bool = True,
    ) -> None:
        self._session, self._text, self._statements = session, text, statements
        self._limits, self._is_read_only = limits, is_read_only
        self._parameters = [None if value is None else value.encode() for value in parameters]
        has_own = any(controls_transaction(script) for script in statements)
        self._is_wrapped = in_one_transaction and len(statements) > 1 and not is_read_only and not has_own
        self._outcome = RunOutcome()
        self._notices = 0

    async def run(self) -> RunOutcome:
        """Run all statements. Raises: SqlFailed; ManagementError (504) if the time is over."""
        index = 0
        try:
            async with asyncio.timeout(self._limits.timeout_s + _GRACE_S):
                if self._is_wrapped:
                    await self._session.command("begin")
                for index, script in enumerate(self._statements):
                    self._check_transaction(script, index)
                    await self._statement(script, index)
                    self._check_still_reading(script, index)
                if self._is_wrapped:
                    await self._session.command("commit")
        except DatabaseError as error:
            raise self._failed(error, index) from None
        except Disconnected as error:
            raise self._failed(DatabaseError("08006", f"The session ended: {error}"), index) from None
        except TimeoutError:
            seconds = f"{self._limits.timeout_s:g}"
            raise ManagementError(
                504,
                "timeout",
                f"The text took longer than {seconds} seconds; its session was terminated",
                hint="`timeout_s` is the limit. What a statement committed before stays.",
            ) from None
        self._outcome.transaction = self._end_of_transaction()
        return self._outcome

    def _end_of_transaction(self) -> str:
        if self._is_read_only:
            return "read only"
        return "committed" if self._session.status == IDLE else "rolled back: the text left it open"

    def _check_transaction(self, script: ScriptStatement, index: int) -> None:
        if self._is_read_only and controls_transaction(script):
            error = DatabaseError(
                "25001",
                f"{script.words[0].upper()} cannot be used in a run that only reads: it is one transaction",
                hint="Run it with `read_only` off.",
            )
            raise self._failed(error, index)

    def _check_still_reading(self, script: ScriptStatement, index: int) -> None:
        """Stop a reading run whose transaction was ended by a statement: the next one would not be held to reading."""
        del script
        if self._is_read_only and self._session.status == IDLE:
            raise self._failed(DatabaseError("25001", "The statement ended the read-only transaction"), index)

    def _failed(self, error: DatabaseError, index: int) -> SqlFailed:
        outcome = "read only" if self._is_read_only else "rolled back" if self._is_wrapped else ""
        script = self._statements[index]
        results = self._outcome.results[:index]
        return SqlFailed(error, self._text, script, index, results, outcome)

    async def _statement(self, script: ScriptStatement, index: int) -> None:
        result = StatementResult(index, script.line, columns=[], rows=[], shortened=[], notices=[])
        self._outcome.results.append(result)
        self._outcome.types.append([])
        gathering = _RowCollector(result, self._limits)
        started = time.perf_counter()
        most = self._limits.max_rows + 1 if self._is_read_only else 0
        failure: DatabaseError | None = None
        async for event in self._session.execute(
            script.text, self._parameters, max_rows=most, copy_rows=script.rows
        ):
            if isinstance(event, ServerFailure):
                failure = event.error
                if failure.severity == "FATAL":
                    break  # the session ends; no further message comes
            else:
                self._take(event, gathering)
        if failure is not None:
            raise failure
        result.duration_ms = round((time.perf_counter() - started) * 1000, 3)

    def _take(self, event: ResultEvent, gathering: "_RowCollector") -> None:
        result = gathering.result
        match event:
            case ResultColumns(columns):
                self._outcome.types[-1] = columns
                result.columns = [ColumnOfResult(column.name) for column in columns]
            case RowBatch(rows):
                gathering.add(rows)
            case CommandTag(tag):
                result.tag = tag
            case PortalSuspended():
                result.tag, result.is_truncated = f"SELECT {len(result.rows)}", True
            case CopyBegun(is_input=False):
                result.columns = [ColumnOfResult("copy", "text")]
            case ServerNotice(fields) if self._notices < _MAX_NOTICES:
                self._notices += 1
                result.notices.append(_notice(fields))


@dataclass(slots=True)
class _RowCollector:
    """Stores the rows of one result, up to the limits."""

    result: StatementResult
    limits: RunLimits
    size: int = 0

    def add(self, rows: list[ValueRow]) -> None:
        result, limits = self.result, self.limits
        for row in rows:
            if len(result.rows) >= limits.max_rows or self.size >= limits.max_bytes:
                result.is_truncated = True
                return
            cells: list[str | None] = []
            for column, value in enumerate(row):
                text, cut = cell_text(value, limits.max_cell)
                if cut is not None:
                    result.shortened.append(ShortenedCell(len(result.rows), column, cut))
                self.size += len(text or "")
                cells.append(text)
            self.size += 8 * len(cells)
            result.rows.append(cells)


def _notice(fields: dict[str, str]) -> NoticeOfStatement:
    short = {name: value[:_LONGEST_NOTICE] for name, value in fields.items()}
    return NoticeOfStatement(
        short.get("V") or short.get("S", "NOTICE"),
        short.get("C", ""),
        short.get("M", ""),
        short.get("D"),
        short.get("H"),
    )
