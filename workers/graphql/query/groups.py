"""Groups of rows with figures over each. Pure. Source: docs/graphql.md, "Groups".

Keys and figures are columns of a sub-select, so conditions and order on them are written like those on a table's.
"""

from workers.graphql.plan.tree import (
    ColumnValue,
    Figure,
    Fold,
    GroupCount,
    GroupKey,
    Groups,
    Operand,
    TypeName,
)
from workers.graphql.query.conditions import condition, ordering
from workers.graphql.query.related import folded
from workers.graphql.query.scope import Scope, called
from workers.graphql.query.values import json_object, operand, shown
from workers.sql.compose import EMPTY, Sql, concat, ident, join, literal, number, raw


def groups(field: Groups, scope: Scope, each: Scope, rows: Sql) -> Sql:
    """Give the list of groups of `rows`, which begins with `from` and stands under `scope`; `each` is for one group."""
    items = [called(scope.column(column), name) for name, column in field.keys]
    items += [called(_figure(figure, scope), name) for name, figure in field.figures]
    alias = ident(each.alias)
    return concat(
        raw("(select coalesce(json_agg("),
        _group(field, each),
        raw("), '[]'::json) from (select "),
        alias,
        raw(".* from (select "),
        join(", ", items),
        raw(" "),
        rows,
        raw(" group by "),
        join(", ", [number(place) for place in range(1, len(field.keys) + 1)]),
        raw(") "),
        alias,
        EMPTY if field.condition is None else concat(raw(" where "), condition(field.condition, each)),
        ordering(field.order, each),
        raw(" limit "),
        operand(field.limit) if isinstance(field.limit, Operand) else number(field.limit),
        EMPTY if field.offset is None else concat(raw(" offset "), operand(field.offset)),
        raw(") "),
        alias,
        raw(")"),
    )


def _figure(figure: Figure, scope: Scope) -> Sql:
    if figure.operator == "count":
        return raw("count(*)")
    return folded(figure.operator, scope.column(figure.column), is_boolean=figure.is_boolean)


def _group(field: Groups, each: Scope) -> Sql:
    items: list[tuple[str, Sql]] = []
    for key, one in field.fields:
        match one:
            case TypeName(name):
                items.append((key, _type_name(name)))
            case GroupCount(name):
                items.append((key, each.column(name)))
            case GroupKey(fields):
                items.append((key, json_object([
                    (name, shown(each.column(value.column), value.type))
                    if isinstance(value, ColumnValue)
                    else (name, _type_name(value.name))
                    for name, value in fields
                    if isinstance(value, ColumnValue | TypeName)
                ])))  # fmt: skip
            case Fold(_, fields):
                items.append((key, json_object([
                    (name, each.column(value.column))
                    if isinstance(value, ColumnValue)
                    else (name, _type_name(value.name))
                    for name, value in fields
                    if isinstance(value, ColumnValue | TypeName)
                ])))  # fmt: skip
    return json_object(items)


def _type_name(name: str) -> Sql:
    return concat(literal(name), raw("::text"))
