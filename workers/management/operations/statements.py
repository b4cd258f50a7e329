"""Operations on the statistics of statements (pg_stat_statements): the slowest, the plan of one, reset."""

import dataclasses
from typing import Literal

import msgspec
from msgspec import Struct

from workers.database.errors import DatabaseError
from workers.database.transactions.interactive import statement
from workers.management.areas.sql.errors import SqlFailed
from workers.management.areas.sql.explain import ExplainedStatement
from workers.management.areas.sql.explain_run import explain_generic
from workers.management.areas.sql.run import split_text
from workers.management.areas.sql.sessions import open_session, session_spec
from workers.management.areas.statistics.reading import (
    SESSION_SETTINGS,
    SQL,
    check_name,
    read_statistics,
    read_text,
)
from workers.management.areas.statistics.texts import is_query, without_constants
from workers.management.interface.argument_limits import PageLimit
from workers.management.interface.errors import ManagementError, invalid_arguments, not_found
from workers.management.interface.identity.store import decode_rows
from workers.management.interface.operation import Operation, OperationContext
from workers.management.interface.rights import Right
from workers.management.operations.account import NoArguments
from workers.sql.compose import quoted

_MOST_TEXT, MOST_PLANNED = 4000, 1_000_000
"""Characters of a text in a list, and of one that is planned."""
MOST_PLAN = 8 * 1024 * 1024
_MOST_PATH = 20


class StatementQuery(Struct, frozen=True, forbid_unknown_fields=True):
    """Statements of one role or of all, by what they cost."""

    order: Literal["total_time", "mean_time", "calls", "rows", "blocks"] = "total_time"
    role: str | None = None
    limit: PageLimit = 50


class StatementStatistics(Struct, frozen=True):
    """A statement with parameters in place of its constants, and what its runs cost. Blocks have 8 KiB."""

    id: str
    role: str | None
    text: str
    calls: int
    total_ms: float
    mean_ms: float
    min_ms: float
    max_ms: float
    rows: int
    blocks_hit: int
    blocks_read: int
    blocks_written: int
    temp_blocks: int
    share: float | None = None
    """Share of the time of all statements in this list's database and role."""


class StatementPlanQuery(Struct, frozen=True, forbid_unknown_fields=True):
    """A statement by its id. `search_path`: the schemas in which names of the statement without a schema are looked up."""

    id: str
    search_path: tuple[str, ...] = ("public", "extensions")


class StatementPlan(Struct, frozen=True):
    """The text of a statement and its plan for any values of its parameters."""

    text: str
    explained: ExplainedStatement


class StatementReset(Struct, frozen=True):
    """The statistics count from now."""

    done: bool


class StatementsFunction(Struct, frozen=True):
    """The function that returns the statistics, and the name of the one beside it that resets them."""

    schema: str
    name: str
    reset: str | None = None


async def slowest(context: OperationContext, arguments: StatementQuery) -> list[StatementStatistics]:
    """Return statements of this database, the costliest first, without the constants that may be left in their texts."""
    if not 1 <= arguments.limit <= context.settings.max_rows:
        raise invalid_arguments(f"`limit` must be 1 to {context.settings.max_rows}")
    check_name(arguments.role, "role")
    values = (arguments.order, arguments.role, arguments.limit, None, _MOST_TEXT)
    rows = await recorded_statements(context, *values)
    return [msgspec.structs.replace(row, text=without_constants(row.text)) for row in rows]


async def explain(context: OperationContext, arguments: StatementPlanQuery) -> StatementPlan:
    """Return the plan of a statement, which is not run."""
    for name in arguments.search_path:
        check_name(name, "search_path")
    if len(arguments.search_path) > _MOST_PATH:
        raise invalid_arguments(f"`search_path` may have {_MOST_PATH} names")
    rows = await recorded_statements(context, "total_time", None, 1, arguments.id, MOST_PLANNED)
    if not rows:
        raise not_found("statement of this id; statistics.statements lists them")
    text = rows[0].text
    if not is_query(text):
        raise ManagementError(409, "no_plan", "This statement is no query, so it has no plan")
    if without_constants(text) != text and not context.actor.rights.includes(Right.DEVELOPER):
        raise ManagementError(
            403,
            "no_right",
            "The recorded text of this statement has constants or comments, so its plan needs the rights of developer",
        )
    return StatementPlan(text, await _planned(context, text, arguments.search_path))


async def _planned(context: OperationContext, text: str, path: tuple[str, ...]) -> ExplainedStatement:
    """Plan a text that a person wrote, in a session of its own that only reads. Raises: ManagementError (409)."""
    spec = await session_spec(
        context, view_as=None, is_read_only=True, timeout_s=context.settings.statement_timeout_s / 2
    )
    search_path = "search_path", ", ".join(quoted(name) for name in path)
    spec = dataclasses.replace(spec, settings=[*spec.settings, search_path], longest_message=MOST_PLAN)
    try:
        [script] = split_text(text)
        async with open_session(context.database, spec) as session:
            return await explain_generic(session, text, script, spec)
    except ValueError:
        message = "its recorded text is not one statement"
    except SqlFailed as error:
        message = str(error)
    raise ManagementError(
        409,
        "no_plan",
        f"The server cannot plan this statement: {message}",
        hint="It needs rights on the tables, and names along `search_path`. Some constants, as in `interval '1 day'`, cannot"
        " be parameters: run sql.explain with the statement as you wrote it.",
    )


async def reset(context: OperationContext, arguments: NoArguments) -> StatementReset:
    """Reset the statistics of the statements of this database, for all roles."""
    del arguments
    function = await _function(context)
    if function.reset is None:
        raise _missing()
    try:
        await context.database.write(
            SESSION_SETTINGS,
            statement(SQL["reset"].replace("{function}", _qualified(function.schema, function.reset))),
            timeout_s=context.settings.statement_timeout_s,
        )
    except DatabaseError as error:
        if error.code != "42501":
            raise
        raise ManagementError(
            409,
            "no_right_of_postgres",
            "Role postgres may not reset the statistics of statements",
            hint=f"A superuser runs: grant execute on function {quoted(function.schema)}.{quoted(function.reset)} to postgres",
        ) from None
    return StatementReset(done=True)


async def recorded_statements(
    context: OperationContext, order: str, role: str | None, limit: int, statement_id: str | None, length: int
) -> list[StatementStatistics]:
    """Return statements of this database with the first `length` characters of their recorded texts. Raises: ManagementError (409)."""
    function = await _function(context)
    text = SQL["statements"].replace("{function}", _qualified(function.schema, function.name))
    rows = await read_text(context, text, order, role, limit, statement_id, length)
    return decode_rows(rows, StatementStatistics)


async def _function(context: OperationContext) -> StatementsFunction:
    functions = await read_statistics(context, "statements_function", StatementsFunction)
    if not functions:
        raise _missing()
    return functions[0]


def _qualified(schema: str, name: str) -> str:
    return f"{quoted(schema)}.{quoted(name)}"


def _missing() -> ManagementError:
    return ManagementError(
        409,
        "no_statement_statistics",
        "Extension pg_stat_statements is not there",
        hint="create extension pg_stat_statements schema extensions; the server must load it (shared_preload_libraries).",
    )


def operations() -> list[Operation]:
    """Return the operations of this module."""
    return [
        Operation(
            "statistics.statements", "List the slowest statements", StatementQuery, list[StatementStatistics], Right.READER, slowest
        ),
        Operation("statistics.plan", "Explain a statement", StatementPlanQuery, StatementPlan, Right.READER, explain),
        Operation(
            "statistics.reset", "Reset the statistics of statements", NoArguments, StatementReset, Right.DEVELOPER, reset,
            changes=True, is_confirmed=True,
        ),
    ]  # fmt: skip
