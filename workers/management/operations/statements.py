"""Operations on the statistics of statements (pg_stat_statements): the slowest, the plan of one, reset."""

from typing import Any, Literal, TypeVar

import msgspec
from msgspec import Struct

from workers.database.errors import DatabaseError
from workers.database.protocol.rows import Rows
from workers.database.transactions.interactive import statement
from workers.management.advisors.catalog import SAFE_SEARCH_PATH
from workers.management.errors import ManagementError, invalid_arguments, not_found
from workers.management.identity.store import decode_rows
from workers.management.operation import Operation, OperationContext
from workers.management.operations.account import NoArguments
from workers.management.rights import Right
from workers.management.statistics.texts import is_query, shown_text
from workers.sql.compose import quoted
from workers.sql.files import read_statements

_SQL = read_statements("workers.management.operations", "statistics.sql")
_MOST_NAME = 63
_MOST_PATH = 20
T = TypeVar("T")


class StatementQuery(Struct, frozen=True, forbid_unknown_fields=True):
    """Statements of one role or of all, by what they cost."""

    order: Literal["total_time", "mean_time", "calls", "rows", "blocks"] = "total_time"
    role: str | None = None
    limit: int = 50


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
    """The plan for any values of the parameters, as EXPLAIN (FORMAT JSON) gives it."""

    text: str
    plan: Any


class StatementReset(Struct, frozen=True):
    """The statistics count from now."""

    done: bool


class StatementsFunction(Struct, frozen=True):
    """The function that returns the statistics, and the one that resets them, by their quoted names."""

    schema: str
    name: str
    reset: dict[str, str] | None = None


async def slowest(context: OperationContext, arguments: StatementQuery) -> list[StatementStatistics]:
    """Return statements, the costliest first. Texts of statements that are no queries are not shown: they may contain secrets."""
    if not 1 <= arguments.limit <= context.settings.max_rows:
        raise invalid_arguments(f"`limit` must be 1 to {context.settings.max_rows}")
    check_name(arguments.role, "role")
    rows = await _statements(context, arguments.order, arguments.role, arguments.limit, None)
    return [msgspec.structs.replace(row, text=shown_text(row.text)) for row in rows]


async def explain(context: OperationContext, arguments: StatementPlanQuery) -> StatementPlan:
    """Return the plan of a statement, which is not run. The server must be of version 16 or later."""
    path = arguments.search_path
    if len(path) > _MOST_PATH or not all(
        1 <= len(name.encode()) <= _MOST_NAME and "\0" not in name for name in path
    ):
        raise invalid_arguments(
            f"`search_path` must have at most {_MOST_PATH} names of 1 to {_MOST_NAME} bytes"
        )
    if (
        not arguments.id.removeprefix("-").isdecimal()
        or not arguments.id.isascii()
        or len(arguments.id) > _MOST_PATH
    ):
        raise invalid_arguments("`id` must be that of a statement of statistics.statements")
    rows = await _statements(context, "total_time", None, 1, arguments.id)
    if not rows:
        raise not_found("statement of this id; statistics.statements lists them")
    text = rows[0].text
    if not is_query(text):
        raise ManagementError(409, "no_plan", "This statement is no query, so it has no plan")
    settings = statement(
        "select pg_catalog.set_config('search_path', $1, true)", ", ".join(quoted(name) for name in path)
    )
    try:
        # A person's text: it is planned in a session of the caller's right, and only planned.
        [_, plan] = await context.database.run_for(
            context.actor.rights,
            settings,
            statement(f"explain (generic_plan, format json) {text}"),
            timeout_s=context.settings.statement_timeout_s,
        )
    except DatabaseError as error:
        raise ManagementError(
            409,
            "no_plan",
            f"The server cannot plan this statement: {error.message}",
            hint="It needs Postgres 16, the statement's names along `search_path`, and rights on its tables.",
        ) from None
    return StatementPlan(text, msgspec.json.decode(plan[0][0] or b"null"))


async def reset(context: OperationContext, arguments: NoArguments) -> StatementReset:
    """Start the statistics of statements anew, for all roles."""
    del arguments
    function = await _function(context)
    if function.reset is None:
        raise _missing()
    name = f"{quoted(function.reset['schema'])}.{quoted(function.reset['name'])}"
    await context.database.write(
        SAFE_SEARCH_PATH,
        statement(f"select {name}(0::oid, 0::oid, 0::int8)"),
        timeout_s=context.settings.statement_timeout_s,
    )
    return StatementReset(done=True)


async def read(
    context: OperationContext, name: str, kind: type[T], *values: str | int | bool | None
) -> list[T]:
    """Run a statement of statistics.sql as the role that reads everything. Raises: DatabaseError, Disconnected, PoolTimeout."""
    [_, rows] = await _read(context, _SQL[name], *values)
    return decode_rows(rows, kind)


async def _read(context: OperationContext, text: str, *values: str | int | bool | None) -> list[Rows]:
    return await context.database.read(
        SAFE_SEARCH_PATH, statement(text, *values), timeout_s=context.settings.statement_timeout_s
    )


def check_name(name: str | None, field: str) -> None:
    """Check the name of a role or schema. Raises: ManagementError (400)."""
    if name is not None and (not 1 <= len(name.encode(errors="replace")) <= _MOST_NAME or "\0" in name):
        raise invalid_arguments(f"`{field}` must be a name of 1 to {_MOST_NAME} bytes")


async def _statements(
    context: OperationContext, order: str, role: str | None, limit: int, statement_id: str | None
) -> list[StatementStatistics]:
    function = await _function(context)
    name = f"{quoted(function.schema)}.{quoted(function.name)}"
    [_, rows] = await _read(
        context, _SQL["statements"].replace("{function}", name), order, role, limit, statement_id
    )
    return decode_rows(rows, StatementStatistics)


async def _function(context: OperationContext) -> StatementsFunction:
    functions = await read(context, "statements_function", StatementsFunction)
    if not functions:
        raise _missing()
    return functions[0]


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
