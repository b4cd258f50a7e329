"""Writes: the statement in a `with`, and the answer read from the rows it returns. Pure.

Source: reference page "graphql", section 14. Too many rows raise inside the statement, which undoes the transaction.
"""

import re

from workers.graphql.plan.tree import (
    AffectedCount,
    Conflict,
    Delete,
    Fields,
    Insert,
    Operand,
    Records,
    TypeName,
    Update,
)
from workers.graphql.query.conditions import condition
from workers.graphql.query.fields import row_items, type_name
from workers.graphql.query.scope import Aliases, Scope, cast
from workers.graphql.query.values import json_object, operand
from workers.sql.compose import EMPTY, Sql, concat, ident, join, literal, number, qualified, raw

ALARM = re.compile(r'"headwater: ([a-z ]+): \d+"$')
"""What the error of a write of a wrong number of rows says: a text that is no number, not known before they are counted."""
WRITTEN = raw('"@written"')


def insert(plan: Insert, aliases: Aliases) -> Sql:
    """Give an insert."""
    columns = join(", ", [ident(name) for name, _ in plan.columns])
    target, answer, returned = parts(plan.fields, aliases, plan.seen)
    if plan.packed is not None:
        values = [
            cast(concat(raw('("@row" ->> '), number(place), raw(")")), type_)
            for place, (_, type_) in enumerate(plan.columns)
        ]
        rows = concat(
            raw("select "), join(", ", values), raw(" from jsonb_array_elements("), operand(plan.packed),
            raw(') with ordinality as "@rows" ("@row", "@n") order by "@n"'),
        )  # fmt: skip
    else:
        rows = concat(raw("values "), join(", ", [_values(row) for row in plan.rows]))
    written = concat(
        raw("insert into "),
        qualified(*plan.table),
        raw(" as "),
        ident(target),
        raw(" ("),
        columns,
        raw(") "),
        rows,
        EMPTY if plan.conflict is None else _on_conflict(plan.conflict, target),
    )
    return _answered(written, returned, answer)


def _on_conflict(conflict: Conflict, target: str) -> Sql:
    """Give the clause that says what becomes of rows that are there already."""
    begin = concat(raw(" on conflict on constraint "), ident(conflict.constraint))
    if not conflict.columns:
        return concat(begin, raw(" do nothing"))
    sets = [concat(ident(name), raw(" = excluded."), ident(name)) for name in conflict.columns]
    where = EMPTY
    if conflict.condition is not None:
        where = concat(raw(" where "), condition(conflict.condition, Scope(target)))
    return concat(begin, raw(" do update set "), join(", ", sets), where)


def update(plan: Update, aliases: Aliases) -> Sql:
    """Give an update."""
    target, answer, returned = parts(plan.fields, aliases, plan.seen)
    sets = [concat(ident(name), raw(" = "), operand(value)) for name, value in plan.assignments]
    where = _where(plan, target)
    written = concat(
        raw("update "),
        qualified(*plan.table),
        raw(" as "),
        ident(target),
        raw(" set "),
        join(", ", sets),
        where,
    )
    return _answered(written, returned, _guarded(answer, plan.at_most, "update"))


def delete(plan: Delete, aliases: Aliases) -> Sql:
    """Give a delete."""
    target, answer, returned = parts(plan.fields, aliases, plan.seen)
    written = concat(
        raw("delete from "), qualified(*plan.table), raw(" as "), ident(target), _where(plan, target)
    )
    return _answered(written, returned, _guarded(answer, plan.at_most, "delete"))


def parts(fields: Fields, aliases: Aliases, seen: str | None = None) -> tuple[str, Sql, Sql]:
    """Give the alias of the table, the answer read from `WRITTEN`, and what the statement has to return for it.

    `seen` is a column that is returned in any case.
    """
    target = aliases.next()
    scope = Scope(aliases.next(), is_derived=True)
    if seen is not None:
        scope.column(seen)
    items: list[tuple[str, Sql]] = []
    for key, field in fields:
        match field:
            case TypeName(name):
                items.append((key, type_name(name)))
            case AffectedCount():
                items.append((key, concat(raw("(select count(*) from "), WRITTEN, raw(")"))))
            case Records(inner):
                record = json_object(row_items(inner, scope, aliases))
                items.append((key, concat(
                    raw("(select coalesce(json_agg("), record, raw("), '[]'::json) from "), WRITTEN,
                    raw(" as "), ident(scope.alias), raw(")"),
                )))  # fmt: skip
    return target, json_object(items), scope.given_by(target)


def _answered(written: Sql, returned: Sql, answer: Sql) -> Sql:
    return concat(
        raw("with "), WRITTEN, raw(" as ("), written, raw(" returning "), returned, raw(") select "), answer
    )


def _guarded(answer: Sql, at_most: Operand, verb: str) -> Sql:
    """Give an answer only for as many rows as the caller reckoned with."""
    count = concat(raw("(select count(*) from "), WRITTEN, raw(")"))
    return concat(
        raw("case when "),
        count,
        raw(" > "),
        operand(at_most),
        raw(" then "),
        alarm(f"{verb} impacts too many records", count),
        raw("::text::json else "),
        answer,
        raw(" end"),
    )


def alarm(message: str, count: Sql) -> Sql:
    """Give an expression that raises when it is computed: the message in words of small letters."""
    return concat(raw("("), literal(f"headwater: {message}: "), raw(" || "), count, raw(")::int4"))


def _values(row: tuple[Operand | None, ...]) -> Sql:
    return concat(
        raw("("), join(", ", [raw("default") if one is None else operand(one) for one in row]), raw(")")
    )


def _where(plan: Update | Delete, target: str) -> Sql:
    if plan.condition is None:
        return EMPTY
    return concat(raw(" where "), condition(plan.condition, Scope(target)))
