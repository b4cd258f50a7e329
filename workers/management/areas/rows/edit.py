"""Statements that read, insert, update and delete rows by key. Pure.

Values are parameters without a type: Postgres takes the type from the column that they are assigned to, so a text that is too long
for `varchar(3)` is an error, where a cast would cut it.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from workers.database.protocol.rows import Row
from workers.database.transactions.model import Statement
from workers.management.areas.rows.table import DescribedTable, column_sql
from workers.management.areas.rows.values import text_value
from workers.management.interface.errors import invalid_arguments
from workers.sql.compose import EMPTY, Sql, concat, ident, join, param, raw, render

Key = Mapping[str, Any]


def statement_of(sql: Sql) -> Statement:
    """Return a statement whose parameters are all constants."""
    text, params = render(sql)
    return Statement(text, [value for value in params if value is None or isinstance(value, bytes)])


def key_condition(table: DescribedTable, key: Key) -> Sql:
    """Return the condition of one row. Raises: ManagementError (400) unless exactly the columns of the key have values."""
    if set(key) != set(table.key) or any(value is None for value in key.values()):
        raise invalid_arguments(
            f"`key` must have a value for each of {', '.join(table.key)}, and nothing else"
        )
    return join(
        " and ",
        [
            column_sql(name) + raw(" = ") + param(text_value(table.column(name), key[name]))
            for name in table.key
        ],
    )


def returned_columns(table: DescribedTable) -> Sql:
    """Return the columns as text, and the version of the row."""
    cells = [column_sql(column.name) + raw("::pg_catalog.text") for column in table.columns]
    version = raw("r.xmin::pg_catalog.text") if table.has_version else raw("null::pg_catalog.text")
    return join(", ", [*cells, version])


def select_row(table: DescribedTable, key: Key, *, locks: bool = False) -> Statement:
    """Return the statement that reads a row by key, and locks it."""
    return _select(table, key_condition(table, key), _lock(table) if locks else EMPTY)


def _select(table: DescribedTable, condition: Sql, *ends: Sql) -> Statement:
    """Return a query for the rows of a condition; `ends` follow it."""
    return statement_of(
        concat(
            raw("select "),
            returned_columns(table),
            raw(" from "),
            table.sql,
            raw(" as r where "),
            condition,
            *ends,
        )
    )


def _lock(table: DescribedTable) -> Sql:
    """Return the clause that locks the rows of a query; empty for what has no rows of its own to lock."""
    return raw(" for update") if table.kind in ("table", "partitioned table") else EMPTY


def insert_row(
    table: DescribedTable, values: Mapping[str, Any], *, overrides_identity: bool = False
) -> Statement:
    """Return the statement that inserts a row; columns without a value get their default.

    `overrides_identity`: store the values of columns that are `generated always as identity` as they were sent.
    """
    if not values:
        return statement_of(
            concat(
                raw("insert into "),
                table.sql,
                raw(" as r default values returning "),
                returned_columns(table),
            )
        )
    names = join(", ", [ident(table.column(name).name) for name in values])
    operands = join(", ", [param(text_value(table.column(name), value)) for name, value in values.items()])
    return statement_of(
        concat(
            raw("insert into "),
            table.sql,
            raw(" as r ("),
            names,
            raw(") overriding system value values (" if overrides_identity else ") values ("),
            operands,
            raw(") returning "),
            returned_columns(table),
        )
    )


def update_row(
    table: DescribedTable, key: Key, values: Mapping[str, Any], defaults: Sequence[str]
) -> Statement:
    """Return the statement that changes a row. Raises: ManagementError (400)."""
    if not values and not defaults:
        raise invalid_arguments("An update needs `values` or `defaults`")
    if set(values) & set(defaults):
        raise invalid_arguments("A column is in `values` and in `defaults`")
    changes = [
        ident(table.column(name).name) + raw(" = ") + param(text_value(table.column(name), value))
        for name, value in values.items()
    ]
    changes += [ident(table.column(name).name) + raw(" = default") for name in defaults]
    return statement_of(
        concat(
            raw("update "),
            table.sql,
            raw(" as r set "),
            join(", ", changes),
            raw(" where "),
            key_condition(table, key),
            raw(" returning "),
            returned_columns(table),
        )
    )


def delete_row(table: DescribedTable, key: Key) -> Statement:
    """Return the statement that deletes a row."""
    return statement_of(
        concat(
            raw("delete from "),
            table.sql,
            raw(" as r where "),
            key_condition(table, key),
            raw(" returning 1"),
        )
    )


def delete_where(table: DescribedTable, condition: Sql) -> Statement:
    """Return the statement that deletes rows by a condition and returns their number."""
    return statement_of(
        concat(
            raw("with deleted as (delete from "),
            table.sql,
            raw(" as r where "),
            condition,
            raw(" returning 1) select pg_catalog.count(*) from deleted"),
        )
    )


def lock_where(table: DescribedTable, condition: Sql, limit: Sql) -> Statement:
    """Return the statement that reads rows by a condition, and locks them."""
    return _select(table, condition, raw(" limit "), limit, _lock(table))


def row_values(table: DescribedTable, row: Row) -> tuple[dict[str, str | None], str | None]:
    """Return the values of a returned row by column, and its version."""
    texts = [None if value is None else value.decode("utf-8", "replace") for value in row]
    return {column.name: text for column, text in zip(table.columns, texts, strict=False)}, texts[-1]
