"""Values of related rows, by which the rows of a page are ordered. Pure. Source: docs/graphql.md, "Order by related rows"."""

from workers.graphql.plan.tree import Join, Order, RelatedValue
from workers.graphql.query.scope import Scope
from workers.sql.compose import Sql, catalog_text, concat, ident, join, qualified, raw

_OF_BOOLEANS = {"min": "bool_and", "max": "bool_or"}
"""Postgres has no least and greatest boolean; these are the same."""


def belongs(what: Join, there: Scope, here: Scope) -> Sql:
    """Give the condition that a row there belongs to the row here."""
    pairs = [concat(there.column(theirs), raw(" = "), here.column(own)) for theirs, own in what.columns]
    return join(" and ", pairs)


def order_value(one: Order, scope: Scope) -> Sql:
    """Give what an order compares: a column of the row, or a value of rows related to it."""
    related = one.related
    if related is None:
        return scope.column(one.column)
    return scope.computed(one.column, lambda rows: _related(related, 0, rows))


def folded(operator: str, column: Sql, *, is_boolean: bool) -> Sql:
    """Give `sum`, `avg`, `min` or `max` of a column."""
    if operator == "avg":
        column = concat(column, raw("::numeric"))
    if is_boolean:
        operator = _OF_BOOLEANS[operator]
    return concat(catalog_text(operator), raw("("), column, raw(")"))


def _related(value: RelatedValue, place: int, scope: Scope) -> Sql:
    """Give the sub-select over the joins from a place on."""
    there, through = scope.inner(), value.joins[place]
    is_last = place == len(value.joins) - 1
    return concat(
        raw("(select "),
        _last(value, there) if is_last else _related(value, place + 1, there),
        raw(" from "),
        qualified(*through.table),
        raw(" as "),
        ident(there.alias),
        raw(" where "),
        belongs(through, there, scope),
        raw("") if is_last and value.operator else raw(" limit 1"),
        raw(")"),
    )


def _last(value: RelatedValue, there: Scope) -> Sql:
    if not value.operator:
        return there.column(value.column)
    if value.operator == "count":
        return raw("count(*)")
    figure = folded(value.operator, there.column(value.column), is_boolean=value.is_boolean)
    return concat(figure, raw("::numeric")) if value.operator in ("sum", "avg") else figure
