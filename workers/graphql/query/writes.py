"""Writes: the statement in a `with`, and the answer read from the rows it returns. Pure.

Source: reference page "graphql", section 14. Too many rows raise inside the statement, which undoes the transaction.
"""

import re

from workers.graphql.plan.tree import (
    AffectedCount,
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

ALARM = re.compile(r'"headwater: ((?:update|delete) impacts too many records): \d+"$')
"""What the error of a write of too many rows says: a text that is no number, and not known before rows are counted."""
_WRITTEN = raw('"@written"')


def insert(plan: Insert, aliases: Aliases) -> Sql:
    """Give an insert."""
    columns = join(", ", [ident(name) for name, _ in plan.columns])
    target, answer, returned = _parts(plan.fields, aliases)
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
    )
    return _answered(written, returned, answer)


def update(plan: Update, aliases: Aliases) -> Sql:
    """Give an update."""
    target, answer, returned = _parts(plan.fields, aliases)
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
    target, answer, returned = _parts(plan.fields, aliases)
    written = concat(
        raw("delete from "), qualified(*plan.table), raw(" as "), ident(target), _where(plan, target)
    )
    return _answered(written, returned, _guarded(answer, plan.at_most, "delete"))


def _parts(fields: Fields, aliases: Aliases) -> tuple[str, Sql, Sql]:
    """Give the alias of the table, the answer, and what the statement has to return for it."""
    target = aliases.next()
    scope = Scope(aliases.next(), is_derived=True)
    items: list[tuple[str, Sql]] = []
    for key, field in fields:
        match field:
            case TypeName(name):
                items.append((key, type_name(name)))
            case AffectedCount():
                items.append((key, concat(raw("(select count(*) from "), _WRITTEN, raw(")"))))
            case Records(inner):
                record = json_object(row_items(inner, scope, aliases))
                items.append((key, concat(
                    raw("(select coalesce(json_agg("), record, raw("), '[]'::json) from "), _WRITTEN,
                    raw(" as "), ident(scope.alias), raw(")"),
                )))  # fmt: skip
    return target, json_object(items), scope.given_by(target)


def _answered(written: Sql, returned: Sql, answer: Sql) -> Sql:
    return concat(
        raw("with "), _WRITTEN, raw(" as ("), written, raw(" returning "), returned, raw(") select "), answer
    )


def _guarded(answer: Sql, at_most: Operand, verb: str) -> Sql:
    """Give an answer only for as many rows as the caller reckoned with."""
    count = concat(raw("(select count(*) from "), _WRITTEN, raw(")"))
    alarm = concat(
        raw("("),
        literal(f"headwater: {verb} impacts too many records: "),
        raw(" || "),
        count,
        raw(")::int4::text::json"),
    )
    return concat(
        raw("case when "),
        count,
        raw(" > "),
        operand(at_most),
        raw(" then "),
        alarm,
        raw(" else "),
        answer,
        raw(" end"),
    )


def _values(row: tuple[Operand | None, ...]) -> Sql:
    return concat(
        raw("("), join(", ", [raw("default") if one is None else operand(one) for one in row]), raw(")")
    )


def _where(plan: Update | Delete, target: str) -> Sql:
    if plan.condition is None:
        return EMPTY
    return concat(raw(" where "), condition(plan.condition, Scope(target)))
