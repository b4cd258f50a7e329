"""Nested inserts as SQL: a statement for each table, which leaves the keys it made in a setting of the transaction. Pure.

The setting holds a JSON array with an object for each row, in the order of the rows; later statements refer to places in
it. The last statement reads the field's own rows again by their key, so that the answer shows what is related to them.
Source: docs/graphql.md, "Nested inserts".
"""

from workers.graphql.plan.tree import Made, NestedInsert, NewRows, Operand
from workers.graphql.query.scope import Aliases, cast
from workers.graphql.query.values import operand
from workers.graphql.query.writes import WRITTEN, alarm, parts
from workers.sql.compose import Sql, concat, ident, join, literal, number, qualified, raw

_KEPT_BACK = "a trigger or rule kept back rows that others refer to"


def nested_insert(plan: NestedInsert, aliases: Aliases) -> list[Sql]:
    """Give the statements in their order; the last one answers."""
    inserts = [_insert(one, place) for place, one in enumerate(plan.inserts)]
    return [*inserts, _answer(plan, aliases)]


def _insert(plan: NewRows, place: int) -> Sql:
    before = sorted({value.insert for row in plan.rows for value in row if isinstance(value, Made)})
    kept = join(", ", [ident(name) for name in plan.keeps]) if plan.keeps else raw("1")
    count = concat(raw("(select count(*) from "), WRITTEN, raw(")"))
    keys = concat(
        raw("pg_catalog.set_config("),
        literal(_setting(place)),
        raw(", coalesce((select json_agg("),
        WRITTEN,
        raw(")::text from "),
        WRITTEN,
        raw("), '[]'), true)"),
    )
    return concat(
        raw("with "),
        *(
            concat(_before(each), raw(" as materialized (select "), _made(each), raw(" as made), "))
            for each in before
        ),
        WRITTEN,
        raw(" as (insert into "),
        qualified(*plan.table),
        raw(" ("),
        join(", ", [ident(name) for name in plan.columns]),
        raw(") "),
        _joined(plan) or concat(raw("values "), join(", ", [_row(row) for row in plan.rows])),
        raw(" returning "),
        kept,
        raw(") select case when "),
        count,
        raw(" = "),
        number(len(plan.rows)),
        raw(" then "),
        keys,
        raw(" else "),
        alarm(_KEPT_BACK, count),
        raw("::text end"),
    )


def _joined(plan: NewRows) -> Sql | None:
    """Give the rows as a join of values with the keys made before: one look at these for all rows.

    None where a row takes a default, or a column holds a value in one row and a key in another.
    """
    firsts = plan.rows[0]
    kinds = [(type(one), one.insert) if isinstance(one, Made) else (type(one), 0) for one in firsts]
    for row in plan.rows:
        for one, kind in zip(row, kinds, strict=True):
            if one is None or ((type(one), one.insert) if isinstance(one, Made) else (type(one), 0)) != kind:
                return None
    rows = [
        concat(raw("("), number(place), *[concat(raw(", "), _place_or_value(one)) for one in row], raw(")"))
        for place, row in enumerate(plan.rows)
    ]
    names = [ident(f"@{place}") for place in range(len(firsts))]
    before = sorted({one.insert for one in firsts if isinstance(one, Made)})
    return concat(
        raw("select "),
        join(", ", [_column(one, name) for one, name in zip(firsts, names, strict=True)]),
        raw(" from (values "),
        join(", ", rows),
        raw(') as "@new" ("@n", '),
        join(", ", names),
        raw(")"),
        *(concat(raw(", "), _before(each)) for each in before),
        raw(' order by "@new"."@n"'),
    )


def _place_or_value(value: Operand | Made | None) -> Sql:
    return number(value.row) if isinstance(value, Made) else _value(value)


def _column(value: Operand | Made | None, name: Sql) -> Sql:
    """Give a column of the join: a value as it is, a key from those made before."""
    column = concat(raw('"@new".'), name)
    if not isinstance(value, Made):
        return column
    made = concat(
        raw("("), _before(value.insert), raw(".made -> "), column, raw(" ->> "), literal(value.column)
    )
    return cast(concat(made, raw(")")), value.type)


def _row(row: tuple[Operand | Made | None, ...]) -> Sql:
    return concat(raw("("), join(", ", [_value(one) for one in row]), raw(")"))


def _value(value: Operand | Made | None) -> Sql:
    match value:
        case None:
            return raw("default")
        case Operand():
            return operand(value)
    made = concat(raw("((select made from "), _before(value.insert), raw(") -> "), number(value.row))
    return cast(concat(made, raw(" ->> "), literal(value.column), raw(")")), value.type)


def _answer(plan: NestedInsert, aliases: Aliases) -> Sql:
    target, answer, returned = parts(plan.fields, aliases)
    ties = [
        concat(
            ident(target),
            raw("."),
            ident(name),
            raw(" = "),
            cast(concat(raw('("@key"."@row" ->> '), literal(name), raw(")")), type_),
        )
        for name, type_ in plan.key
    ]
    return concat(
        raw("with "),
        WRITTEN,
        raw(" as (select "),
        returned,
        raw(" from jsonb_array_elements("),
        _made(plan.root),
        raw(') with ordinality as "@key" ("@row", "@n") join '),
        qualified(*plan.table),
        raw(" as "),
        ident(target),
        raw(" on "),
        join(" and ", ties),
        raw(' order by "@key"."@n") select '),
        answer,
    )


def _before(place: int) -> Sql:
    return ident(f"@made{place}")


def _made(place: int) -> Sql:
    return concat(raw("pg_catalog.current_setting("), literal(_setting(place)), raw(")::jsonb"))


def _setting(place: int) -> str:
    return f"headwater.made_{place}"
