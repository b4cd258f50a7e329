"""Nested inserts as SQL: one statement for each table, sent together in one transaction. Pure.

Later rows refer to keys that the database generates for earlier ones, and a statement cannot see what another part of
itself has written. So each insert writes the keys it generated into a setting of the transaction,
`headwater.made_<number>`: a JSON array with an object for each row, in the order of the rows. Later statements read the
setting and pick a key by row number and column:

    with "@made0" as materialized (select pg_catalog.current_setting('headwater.made_0')::jsonb as made),
    "@written" as (insert into "book" ("writer_id", "title")
      select ("@made0".made -> "@new"."@0" ->> 'id')::bigint, "@new"."@1"
      from (values (0, 0, $1::text), ...) as "@new" ("@n", "@0", "@1"), "@made0" order by "@new"."@n"
      returning "id")
    select case when (select count(*) from "@written") = <rows> then pg_catalog.set_config('headwater.made_1', ...) ...

The last statement reads the field's own rows again by their primary key, so that the answer shows what is related to
them. Source: docs/graphql.md, "Nested inserts".
"""

from workers.graphql.plan.conditions import Operand
from workers.graphql.plan.tree import InsertedValue, NestedInsertPlan, NewRows
from workers.graphql.query.scope import Aliases, cast
from workers.graphql.query.template import template
from workers.graphql.query.values import operand
from workers.graphql.query.writes import WRITTEN_COUNT, WRITTEN_ROWS, raise_error, response_parts
from workers.sql.compose import Sql, concat, ident, join, literal, number, qualified, raw

_ROWS_MISSING = "a trigger or rule kept back rows that others refer to"


def nested_insert(plan: NestedInsertPlan, aliases: Aliases) -> list[Sql]:
    """Return the statements in their order; the last one answers."""
    inserts = [_insert(rows, index) for index, rows in enumerate(plan.inserts)]
    return [*inserts, _answer(plan, aliases)]


def _insert(plan: NewRows, index: int) -> Sql:
    """Return insert number `index`, which fails when the database did not insert every row."""
    sources = sorted({value.insert for row in plan.rows for value in row if isinstance(value, InsertedValue)})
    returned = [ident(name) for name in plan.returned_columns] or [raw("1")]
    return template(
        "with {keys}{written} as (insert into {table} ({columns}) {rows} returning {returned})"
        " select case when {count} = {expected} then {store_keys} else {error}::text end",
        keys=concat(*(_read_keys(source) for source in sources)),
        written=WRITTEN_ROWS,
        table=qualified(*plan.table),
        columns=join(", ", [ident(name) for name in plan.columns]),
        rows=_joined_rows(plan)
        or template("values {rows}", rows=join(", ", [_row(row) for row in plan.rows])),
        returned=join(", ", returned),
        count=WRITTEN_COUNT,
        expected=number(len(plan.rows)),
        store_keys=_store_keys(index),
        error=raise_error(_ROWS_MISSING, WRITTEN_COUNT),
    )


def _read_keys(index: int) -> Sql:
    """Return a `with` item for the keys that insert number `index` generated."""
    return template(
        "{name} as materialized (select {keys} as made), ",
        name=_keys_alias(index),
        keys=_setting_value(index),
    )


def _store_keys(index: int) -> Sql:
    """Return the expression that writes the returned columns into the setting of insert number `index`."""
    return template(
        "pg_catalog.set_config({setting}, coalesce((select json_agg({rows})::text from {rows}), '[]'), true)",
        setting=literal(_setting_name(index)),
        rows=WRITTEN_ROWS,
    )


def _joined_rows(plan: NewRows) -> Sql | None:
    """Return the rows as a join of values with earlier keys, which reads each setting once for all rows.

    None where a row takes a default, or a column holds a value in one row and a key in another.
    """
    first_row = plan.rows[0]
    kinds = [_kind(value) for value in first_row]
    for row in plan.rows:
        for value, kind in zip(row, kinds, strict=True):
            if value is None or _kind(value) != kind:
                return None
    names = [ident(f"@{column}") for column in range(len(first_row))]
    sources = sorted({value.insert for value in first_row if isinstance(value, InsertedValue)})
    return template(
        'select {columns} from (values {rows}) as "@new" ("@n", {names}){sources} order by "@new"."@n"',
        columns=join(", ", [_column(value, name) for value, name in zip(first_row, names, strict=True)]),
        rows=join(", ", [_numbered_row(row_number, row) for row_number, row in enumerate(plan.rows)]),
        names=join(", ", names),
        sources=concat(*(template(", {keys}", keys=_keys_alias(source)) for source in sources)),
    )


def _kind(value: Operand | InsertedValue | None) -> tuple[type, int]:
    return type(value), value.insert if isinstance(value, InsertedValue) else 0


def _numbered_row(row_number: int, row: tuple[Operand | InsertedValue | None, ...]) -> Sql:
    """Return a row of the values to join: its number, then for each column a value, or the number of the row with the key."""
    values = [number(value.row) if isinstance(value, InsertedValue) else _value(value) for value in row]
    return template("({values})", values=join(", ", [number(row_number), *values]))


def _column(value: Operand | InsertedValue | None, name: Sql) -> Sql:
    """Return a column of the join: a value as it is, or an earlier key."""
    column = template('"@new".{name}', name=name)
    if not isinstance(value, InsertedValue):
        return column
    key = template(
        "({keys}.made -> {row} ->> {column})",
        keys=_keys_alias(value.insert),
        row=column,
        column=literal(value.column),
    )
    return cast(key, value.type)


def _row(row: tuple[Operand | InsertedValue | None, ...]) -> Sql:
    return template("({values})", values=join(", ", [_value(value) for value in row]))


def _value(value: Operand | InsertedValue | None) -> Sql:
    match value:
        case None:
            return raw("default")
        case Operand():
            return operand(value)
    key = template(
        "((select made from {keys}) -> {row} ->> {column})",
        keys=_keys_alias(value.insert),
        row=number(value.row),
        column=literal(value.column),
    )
    return cast(key, value.type)


def _answer(plan: NestedInsertPlan, aliases: Aliases) -> Sql:
    """Return the statement that reads the field's own rows by the keys of the root insert."""
    target, answer, returned = response_parts(plan.fields, aliases)
    matches = [
        template(
            "{column} = {key}",
            column=qualified(target, name),
            key=cast(template('("@key"."@row" ->> {name})', name=literal(name)), type_),
        )
        for name, type_ in plan.key
    ]
    return template(
        "with {written} as (select {returned} from jsonb_array_elements({keys})"
        ' with ordinality as "@key" ("@row", "@n") join {table} as {target} on {matches}'
        ' order by "@key"."@n") select {answer}',
        written=WRITTEN_ROWS,
        returned=returned,
        keys=_setting_value(plan.root),
        table=qualified(*plan.table),
        target=ident(target),
        matches=join(" and ", matches),
        answer=answer,
    )


def _keys_alias(index: int) -> Sql:
    return ident(f"@made{index}")


def _setting_value(index: int) -> Sql:
    return template("pg_catalog.current_setting({name})::jsonb", name=literal(_setting_name(index)))


def _setting_name(index: int) -> str:
    return f"headwater.made_{index}"
