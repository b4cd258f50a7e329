"""Evaluates expressions of policies over rows, as the caller, in a transaction that only reads and is rolled back.

The row is fetched by a role that sees every row, as the text of a composite value, which every type can read back. Postgres makes rows of
it under the table's own name, so that an expression finds columns, the whole row (`f(notes)`) and references from sub-selects:

    select (<expression>), ... from pg_catalog.unnest($1::"public"."notes"[]) as "notes"

Rights are those of a policy: columns of the table itself need no grant, sub-selects are under the caller's grants and policies.
"""

from collections.abc import Sequence
from typing import Any

from msgspec import Struct

from workers.database.errors import DatabaseError
from workers.database.protocol.rows import Rows
from workers.database.transactions.interactive import encoded
from workers.database.transactions.model import Statement
from workers.management.areas.policies.facts import TableFacts
from workers.management.interface.errors import ManagementError, invalid_arguments, not_found
from workers.management.interface.operation import OperationContext
from workers.management.interface.rights import Right
from workers.sql import compose
from workers.sql.compose import Sql

MOST_ROW_BYTES = 4 * 1024 * 1024
_MOST_KEYS = 32


class ExpressionResult(Struct, frozen=True):
    """Whether an expression holds (null counts as no), or the error that it raises."""

    holds: bool | None
    error: str | None = None


class CallerSession(Struct, frozen=True):
    """The settings with which statements run as the caller."""

    settings: list[tuple[str, str]]


async def fetch_row(context: OperationContext, facts: TableFacts, key: dict[str, Any], path: str) -> str:
    """Return a row as the text of a composite value, read as `read_whole_rows` does.

    Raises: ManagementError (400, 404, 413 for more than 4 MiB); DatabaseError for values that the columns cannot have, and for
    columns that a reader may not read.
    """
    condition = key_condition(facts, key)
    sql = compose.concat(
        compose.raw("select (row_.*)::pg_catalog.text from "),
        compose.qualified(facts.schema, facts.table),
        compose.raw(" as row_ where "),
        condition,
        compose.raw(" limit 2"),
    )
    rows = await read_whole_rows(context, sql, path)
    if not rows:
        raise not_found(f"row in {facts.schema}.{facts.table} with this key, for any role")
    if len(rows) > 1:
        raise invalid_arguments("`key` names more than one row; name all columns of the primary key")
    text = rows[0][0] or b""
    if len(text) > MOST_ROW_BYTES:
        raise ManagementError(413, "too_large", f"The row has more than {MOST_ROW_BYTES} bytes")
    return text.decode()


async def read_whole_rows(context: OperationContext, sql: Sql, path: str) -> Rows:
    """Run a query of whole rows of a table: for developers as role `postgres`, for readers as their own role.

    Both see every row. A reader's session refuses a table with a column that readers may not read (42501), for what a policy says of a
    row, and whether a key finds it, tells its values by and by. Raises: DatabaseError, Disconnected, PoolTimeout.
    """
    database = context.database
    read = database.read if context.actor.rights is Right.READER else database.read_as_developer
    _, rows = await read(
        _path_statement(path), as_statement(sql), timeout_s=context.settings.statement_timeout_s
    )
    return rows


def key_condition(facts: TableFacts, key: dict[str, Any]) -> Sql:
    """Return the condition that selects the row of a key. Raises: ManagementError (400)."""
    column_names = {column.name for column in facts.columns}
    if not 1 <= len(key) <= _MOST_KEYS or set(key) - column_names:
        wrong = ", ".join(sorted(set(key) - column_names))
        raise invalid_arguments(
            f"`key` must name columns of the row with their values: {wrong or 'it is empty'}"
        )
    parts = []
    for name, value in key.items():
        if value is None:
            parts.append(compose.concat(compose.ident(name), compose.raw(" is null")))
        elif isinstance(value, str | int | float | bool):
            operand = compose.param(encoded(str(value) if isinstance(value, float) else value))
            parts.append(compose.concat(compose.ident(name), compose.raw(" = "), operand))
        else:
            raise invalid_arguments(f"`key`: the value of {name} must be a text, a number, a boolean or null")
    return compose.join(" and ", parts)


async def evaluate(
    context: OperationContext,
    session: CallerSession,
    facts: TableFacts,
    expressions: Sequence[str],
    rows: Sequence[str],
) -> list[list[ExpressionResult]]:
    """Return, for each row, the result of each expression. An expression that fails for one row is an error for all of them.

    Raises: Disconnected, PoolTimeout.
    """
    if not expressions or not rows:
        return [[] for _ in rows]
    try:
        results = await _evaluate(context, session, facts, expressions, rows)
        return [[ExpressionResult(value == b"t") for value in row] for row in results]
    except DatabaseError:
        columns = [await _column(context, session, facts, expression, rows) for expression in expressions]
        return [[column[place] for column in columns] for place in range(len(rows))]


async def _column(
    context: OperationContext, session: CallerSession, facts: TableFacts, expression: str, rows: Sequence[str]
) -> list[ExpressionResult]:
    """Return the results of one expression, or its error for each row."""
    try:
        results = await _evaluate(context, session, facts, [expression], rows)
        return [ExpressionResult(row[0] == b"t") for row in results]
    except DatabaseError as error:
        return [ExpressionResult(None, describe(error))] * len(rows)


async def _evaluate(
    context: OperationContext,
    session: CallerSession,
    facts: TableFacts,
    expressions: Sequence[str],
    rows: Sequence[str],
) -> Rows:
    values = compose.join(", ", [parenthesized(expression) for expression in expressions])
    sql = compose.concat(compose.raw("select "), values, compose.raw(" from "), row_source(facts, rows))
    [results] = await run_as_caller(context, session, as_statement(sql))
    return results


async def run_as_caller(
    context: OperationContext, session: CallerSession, *statements: Statement
) -> list[Rows]:
    """Run statements as the caller, read only and rolled back. Raises: DatabaseError, Disconnected, PoolTimeout."""
    return await context.database.try_as(
        session.settings, *statements, timeout_s=context.settings.statement_timeout_s
    )


def row_source(facts: TableFacts, rows: Sequence[str]) -> Sql:
    """Return rows of the table's type under the table's name, in the order of their texts."""
    array = "{" + ",".join(f'"{_escaped(row)}"' for row in rows) + "}"
    return compose.concat(
        compose.raw("pg_catalog.unnest("),
        compose.param(array),
        compose.raw("::"),
        compose.qualified(facts.schema, facts.table),
        compose.raw("[]) as "),
        compose.ident(facts.table),
    )


def parenthesized(expression: str) -> Sql:
    """Return an expression of the catalog in parentheses."""
    return compose.concat(compose.raw("("), compose.catalog_text(expression), compose.raw(")"))


def as_statement(sql: Sql) -> Statement:
    """Return a fragment as a statement."""
    text, params = compose.render(sql)
    return Statement(text, [value for value in params if not isinstance(value, compose.ParameterSlot)])


def describe(error: DatabaseError) -> str:
    """Return message and SQLSTATE of an error of an expression."""
    hint = "; it writes, so it is not tried here" if error.code == "25006" else ""
    return f"{error.message} ({error.code}){hint}"


def _path_statement(path: str) -> Statement:
    return Statement("select pg_catalog.set_config('search_path', $1, true)", [path.encode()])


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"')
