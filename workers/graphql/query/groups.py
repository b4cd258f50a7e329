"""Groups of rows with aggregates over each. Pure. Source: docs/graphql.md, "Groups".

Keys and aggregates are columns of a sub-select, so conditions and order on them are written like those on a table's columns.
"""

from workers.graphql.plan.conditions import Operand
from workers.graphql.plan.tree import (
    ColumnAggregate,
    ColumnValue,
    GroupAggregate,
    GroupCount,
    GroupKey,
    GroupsPlan,
    TypeName,
)
from workers.graphql.query.conditions import condition, ordering
from workers.graphql.query.related import aggregated
from workers.graphql.query.scope import RowScope, aliased
from workers.graphql.query.template import optional, template
from workers.graphql.query.values import json_object, json_value, operand, text_constant
from workers.sql.compose import Sql, ident, join, number, raw


def groups(field: GroupsPlan, scope: RowScope, group: RowScope, rows: Sql) -> Sql:
    """Return the list of groups of `rows`, which begins with `from` and has the alias of `scope`.

    `group` is the scope of one group. Keys come first in the select list, so `group by` names them by their number.
    """
    items = [aliased(scope.column(column), name) for name, column in field.keys]
    items += [aliased(_aggregate(aggregate, scope), name) for name, aggregate in field.aggregates]
    return template(
        "(select coalesce(json_agg({group}), '[]'::json)"
        " from (select {alias}.* from (select {items} {rows} group by {keys}) {alias}"
        "{where}{order} limit {limit}{offset}) {alias})",
        group=_group(field, group),
        alias=ident(group.alias),
        items=join(", ", items),
        rows=rows,
        keys=join(", ", [number(position) for position in range(1, len(field.keys) + 1)]),
        where=optional(
            " where {value}", None if field.condition is None else condition(field.condition, group)
        ),
        order=ordering(field.order, group),
        limit=operand(field.limit) if isinstance(field.limit, Operand) else number(field.limit),
        offset=optional(" offset {value}", None if field.offset is None else operand(field.offset)),
    )


def _aggregate(aggregate: GroupAggregate, scope: RowScope) -> Sql:
    if aggregate.operator == "count":
        return raw("count(*)")
    return aggregated(aggregate.operator, scope.column(aggregate.column), is_boolean=aggregate.is_boolean)


def _group(field: GroupsPlan, group: RowScope) -> Sql:
    items: list[tuple[str, Sql]] = []
    for key, child in field.fields:
        match child:
            case TypeName(name):
                items.append((key, text_constant(name)))
            case GroupCount(name):
                items.append((key, group.column(name)))
            case GroupKey(fields):
                items.append((key, json_object([
                    (name, json_value(group.column(value.column), value.type))
                    if isinstance(value, ColumnValue)
                    else (name, text_constant(value.name))
                    for name, value in fields
                    if isinstance(value, ColumnValue | TypeName)
                ])))  # fmt: skip
            case ColumnAggregate(_, fields):
                items.append((key, json_object([
                    (name, group.column(value.column))
                    if isinstance(value, ColumnValue)
                    else (name, text_constant(value.name))
                    for name, value in fields
                    if isinstance(value, ColumnValue | TypeName)
                ])))  # fmt: skip
    return json_object(items)
