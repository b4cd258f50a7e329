"""Related rows in SQL: join conditions, and values of related rows by which a page is ordered. Pure.

Source: docs/graphql.md, "Order by related rows".
"""

from workers.graphql.plan.conditions import RelatedRows, RelatedValue, SortTerm
from workers.graphql.query.scope import RowScope, cast
from workers.graphql.query.template import template
from workers.sql.compose import EMPTY, Sql, catalog_text, ident, join, qualified, raw

_BOOLEAN_AGGREGATES = {"min": "bool_and", "max": "bool_or"}
"""Postgres cannot compute min and max of booleans; these functions return the same."""


def join_condition(relation: RelatedRows, related: RowScope, scope: RowScope) -> Sql:
    """Return the condition that a related row belongs to the row of `scope`."""
    pairs = [
        template("{theirs} = {ours}", theirs=related.column(theirs), ours=scope.column(ours))
        for theirs, ours in relation.columns
    ]
    return join(" and ", pairs)


def order_value(term: SortTerm, scope: RowScope) -> Sql:
    """Return what rows are ordered by: a column of the row, or a value of rows related to it."""
    related = term.related
    if related is None:
        return scope.column(term.column)
    return scope.computed(term.column, lambda rows: _related_value(related, 0, rows))


def aggregated(operator: str, column: Sql, *, is_boolean: bool) -> Sql:
    """Return `sum`, `avg`, `min` or `max` of a column."""
    if operator == "avg":
        column = cast(column, "numeric")
    if is_boolean:
        operator = _BOOLEAN_AGGREGATES[operator]
    return template("{function}({column})", function=catalog_text(operator), column=column)


def _related_value(value: RelatedValue, depth: int, scope: RowScope) -> Sql:
    """Return the sub-select over the joins from `depth` on, one sub-select inside another."""
    related, relation = scope.related_scope(), value.joins[depth]
    is_last = depth == len(value.joins) - 1
    return template(
        "(select {value} from {table} as {alias} where {condition}{limit})",
        value=_last_value(value, related) if is_last else _related_value(value, depth + 1, related),
        table=qualified(*relation.table),
        alias=ident(related.alias),
        condition=join_condition(relation, related, scope),
        limit=EMPTY if is_last and value.operator else raw(" limit 1"),
    )


def _last_value(value: RelatedValue, related: RowScope) -> Sql:
    if not value.operator:
        return related.column(value.column)
    if value.operator == "count":
        return raw("count(*)")
    result = aggregated(value.operator, related.column(value.column), is_boolean=value.is_boolean)
    return cast(result, "numeric") if value.operator in ("sum", "avg") else result
