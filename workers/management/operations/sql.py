"""Operations that run SQL of a person: run, cancel, explain, stream. What protects others: workers/management/areas/sql/sessions.py."""

from typing import Annotated, Any

from msgspec import Struct

from workers.database.errors import DatabaseError
from workers.database.transactions.interactive import statement
from workers.management.areas.sql.cells import NdjsonRows
from workers.management.areas.sql.errors import SqlFailed
from workers.management.areas.sql.explain import ExplainedStatement
from workers.management.areas.sql.explain_run import explain_statement
from workers.management.areas.sql.messages import ResultColumn
from workers.management.areas.sql.run import (
    RunLimits,
    StatementResult,
    TextRun,
    controls_transaction,
    split_text,
)
from workers.management.areas.sql.sessions import cancel_run, hold_session, open_session, session_spec
from workers.management.areas.sql.stream import RowStream
from workers.management.interface import argument_limits as limits
from workers.management.interface.caller import ViewAs
from workers.management.interface.errors import ManagementError, invalid_arguments
from workers.management.interface.operation import Operation, OperationContext, StreamedResult
from workers.management.interface.rights import Right
from workers.sql.files import read_statements
from workers.sql.operators import array_literal

SQL = read_statements("workers.management.operations", "sql.sql")
MOST_RESULT_BYTES = 8 * 1024 * 1024
"""Most bytes of a result, and most characters of a value."""
_LONGEST_ID = 200
_ROW_MARGIN = 1024 * 1024
"""Bytes of a row beside its longest value."""
_LONGEST_ROW = 64 * 1024 * 1024
_MARGIN_S = 3.0
"""Seconds between the limit of a text and the limit of the operation, so that the error of the text comes first."""


class SqlText(Struct, frozen=True, forbid_unknown_fields=True):
    """A text of statements and how to run it.

    `read_only`: in a read-only transaction. `view_as`: as a caller of the interfaces. `as_reader`: as the role of readers, whatever
    one's own rights. `id`: a name that `sql.cancel` takes.
    `parameters` are values of $1, $2... of a single statement. `single_transaction`: several statements are one transaction.
    `timeout_s`, `max_rows`, `max_bytes` (of a result), `max_cell` (characters of a value): null for the most.
    """

    sql: str
    read_only: bool = True
    view_as: ViewAs | None = None
    as_reader: bool = False
    id: Annotated[str, limits.text(_LONGEST_ID, least=0)] = ""
    parameters: list[str | None] = []
    single_transaction: bool = True
    timeout_s: float | None = None
    max_rows: int | None = None
    max_bytes: Annotated[int, limits.number(0, MOST_RESULT_BYTES)] = 1024 * 1024
    max_cell: Annotated[int, limits.number(1, MOST_RESULT_BYTES)] = 16 * 1024


class SqlResults(Struct, frozen=True):
    """The results of the statements in order. `transaction`: `committed`, `read only` or `rolled back...`."""

    results: list[StatementResult]
    transaction: str
    duration_ms: float


class SqlRunReference(Struct, frozen=True, forbid_unknown_fields=True):
    """A run by the id that its caller gave it."""

    id: str


class CanceledRuns(Struct, frozen=True):
    """How many sessions were asked to stop; 0 if the run has ended."""

    sessions: int


class SqlExplanation(Struct, frozen=True, forbid_unknown_fields=True):
    """A statement to explain. `analyze` executes it and rolls back; `read_only` off lets it write meanwhile."""

    sql: str
    analyze: bool = False
    read_only: bool = True
    view_as: ViewAs | None = None
    id: str = ""
    parameters: list[str | None] = []
    timeout_s: float | None = None


class SqlStream(Struct, frozen=True, forbid_unknown_fields=True):
    """A statement whose rows are streamed, in a read-only transaction."""

    sql: str
    view_as: ViewAs | None = None
    id: str = ""
    parameters: list[str | None] = []
    timeout_s: float | None = None


async def run(context: OperationContext, arguments: SqlText) -> SqlResults:
    """Run the statements of a text and return their results.

    A developer's text runs as `postgres`, a reader's as a role that only reads, in a session of its own that ends with it. It only
    reads unless `read_only` is off. The first error stops it; the error has the statement, line and column, and the results before.
    """
    limits = _run_limits(context, arguments)
    statements = split_text(arguments.sql)
    if arguments.parameters and len(statements) > 1:
        raise invalid_arguments("`parameters` are for a text of one statement")
    spec = await session_spec(
        context,
        view_as=arguments.view_as,
        is_read_only=arguments.read_only,
        as_reader=arguments.as_reader,
        timeout_s=limits.timeout_s,
        run_id=_run_id(arguments.id),
        longest_message=arguments.max_cell + _ROW_MARGIN,
    )
    async with open_session(context.database, spec) as session:
        running = TextRun(
            session,
            arguments.sql,
            statements,
            limits,
            is_read_only=spec.is_read_only,
            parameters=arguments.parameters,
            in_one_transaction=arguments.single_transaction,
        )
        outcome = await running.run()
    await _name_types(context, outcome.results, outcome.types)
    context.after = [{"tag": result.tag} for result in outcome.results]
    duration = round(sum(result.duration_ms for result in outcome.results), 3)
    return SqlResults(outcome.results, outcome.transaction, duration)


async def cancel(context: OperationContext, arguments: SqlRunReference) -> CanceledRuns:
    """Cancel one's own run, from whichever process runs it. The run fails with code 57014."""
    if not arguments.id:
        raise invalid_arguments("`id` is the id that the run was started with")
    return CanceledRuns(await cancel_run(context, _run_id(arguments.id)))


async def explain(context: OperationContext, arguments: SqlExplanation) -> ExplainedStatement:
    """Return the plan of one statement as a tree. With `analyze` the statement runs, and its transaction is rolled back."""
    statements = split_text(arguments.sql)
    if len(statements) != 1:
        raise invalid_arguments(f"`sql` must be one statement, and has {len(statements)}")
    spec = await session_spec(
        context,
        view_as=arguments.view_as,
        is_read_only=arguments.read_only or not arguments.analyze,
        timeout_s=_timeout(context, arguments.timeout_s),
        run_id=_run_id(arguments.id),
        longest_message=MOST_RESULT_BYTES,
    )
    async with open_session(context.database, spec) as session:
        return await explain_statement(
            session,
            arguments.sql,
            statements[0],
            arguments.parameters,
            is_analyzed=arguments.analyze,
            spec=spec,
        )


async def stream(context: OperationContext, arguments: SqlStream) -> StreamedResult:
    """Stream the rows of one statement as JSON objects, one a line. A result that breaks off is incomplete."""
    [script, *more] = split_text(arguments.sql)
    if more or controls_transaction(script):
        raise invalid_arguments("`sql` must be one statement that returns rows")
    timeout_s = _timeout(context, arguments.timeout_s)
    spec = await session_spec(
        context,
        view_as=arguments.view_as,
        is_read_only=True,
        timeout_s=timeout_s,
        run_id=_run_id(arguments.id),
        longest_message=_LONGEST_ROW,
    )
    values = [None if value is None else value.encode() for value in arguments.parameters]
    held = await hold_session(context.database, spec)
    try:
        rows = await RowStream.open(held, script.text, values, _ndjson, timeout_s)
    except DatabaseError as error:
        raise SqlFailed(error, arguments.sql, script) from None
    except TimeoutError:
        raise ManagementError(504, "timeout", f"No row came within {timeout_s:g} seconds") from None
    return StreamedResult("application/x-ndjson", rows)


async def _name_types(
    context: OperationContext, results: list[StatementResult], types: list[list[ResultColumn]]
) -> None:
    """Fill in the names of the column types."""
    pairs = list(dict.fromkeys((column.type_oid, column.type_modifier) for row in types for column in row))
    if not pairs:
        return
    oids = array_literal([str(oid) for oid, _ in pairs])
    modifiers = array_literal([str(modifier) for _, modifier in pairs])
    [rows] = await context.database.read(
        statement(SQL["type_names"], oids, modifiers), timeout_s=context.settings.statement_timeout_s
    )
    names = dict(zip(pairs, ((row[0] or b"").decode() for row in rows), strict=True))
    for result, columns in zip(results, types, strict=True):
        for result_column, column in zip(result.columns, columns, strict=False):
            result_column.type = names[column.type_oid, column.type_modifier]
            result_column.type_id = column.type_oid


def _ndjson(columns: list[ResultColumn]) -> NdjsonRows:
    return NdjsonRows([column.name for column in columns], [column.type_oid for column in columns])


def _run_limits(context: OperationContext, arguments: SqlText) -> RunLimits:
    most_rows = context.settings.max_rows
    max_rows = most_rows if arguments.max_rows is None else arguments.max_rows
    if not 0 <= max_rows <= most_rows:
        raise invalid_arguments(f"`max_rows` must be 0 to {most_rows}; sql.stream has no limit")
    if not 0 <= arguments.max_bytes <= MOST_RESULT_BYTES or not 1 <= arguments.max_cell <= MOST_RESULT_BYTES:
        raise invalid_arguments(f"`max_bytes` and `max_cell` may be {MOST_RESULT_BYTES}")
    return RunLimits(
        max_rows, arguments.max_bytes, arguments.max_cell, _timeout(context, arguments.timeout_s)
    )


def _timeout(context: OperationContext, seconds: float | None) -> float:
    most = max(0.5, context.settings.statement_timeout_s - _MARGIN_S)
    if seconds is None:
        return most
    if not 0 < seconds <= context.settings.statement_timeout_s:
        raise invalid_arguments(
            f"`timeout_s` must be more than 0 and at most {context.settings.statement_timeout_s:g}"
        )
    return min(seconds, most)


def _run_id(text: str) -> str:
    if len(text) > _LONGEST_ID:
        raise invalid_arguments(f"`id` may have {_LONGEST_ID} characters")
    return text


def operations() -> list[Operation]:
    """Return the operations of this module."""
    return [
        Operation(
            "sql.run",
            "Run a text of SQL statements",
            SqlText,
            SqlResults,
            Right.READER,
            run,
            changes=True,
            only_reads=lambda arguments: arguments.read_only,
            write_right=Right.DEVELOPER,
            secrets=frozenset({"parameters"}),
        ),
        Operation(
            "sql.cancel", "Cancel one's own run of SQL", SqlRunReference, CanceledRuns, Right.READER, cancel
        ),
        Operation(
            "sql.explain",
            "Explain a statement as a tree",
            SqlExplanation,
            ExplainedStatement,
            Right.READER,
            explain,
            changes=True,
            only_reads=lambda arguments: arguments.read_only or not arguments.analyze,
            write_right=Right.DEVELOPER,
            secrets=frozenset({"parameters"}),
        ),
        Operation(
            "sql.stream",
            "Stream the rows of a statement",
            SqlStream,
            dict[str, Any],
            Right.READER,
            stream,
            streams=("application/x-ndjson",),
        ),
    ]
