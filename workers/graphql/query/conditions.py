"""Conditions on rows, and the order they come in. Pure. Source: reference page "graphql", sections 8 and 9."""

from collections.abc import Sequence

from workers.graphql.plan.tree import (
    All,
    Any,
    Compare,
    Condition,
    Exists,
    IsNull,
    Not,
    Operand,
    Order,
    Untrue,
)
from workers.graphql.query.related import belongs, order_value
from workers.graphql.query.scope import Scope
from workers.graphql.query.values import operand
from workers.sql.compose import EMPTY, Sql, catalog_text, concat, ident, join, qualified, raw


def condition(what: Condition, scope: Scope) -> Sql:
    """Give a condition on the rows of a place."""
    match what:
        case Compare():
            value = operand(what.operand)
            if what.is_any:
                value = concat(raw("any("), value, raw(")"))
            return concat(scope.column(what.column), raw(" "), catalog_text(what.operator), raw(" "), value)
        case IsNull():
            return concat(scope.column(what.column), raw(" is null" if what.is_null else " is not null"))
        case Not():
            return concat(raw("not ("), condition(what.part, scope), raw(")"))
        case All():
            return concat(raw("("), join(" and ", [condition(one, scope) for one in what.parts]), raw(")"))
        case Any():
            return concat(raw("("), join(" or ", [condition(one, scope) for one in what.parts]), raw(")"))

        case Untrue():
            return concat(raw("(("), condition(what.part, scope), raw(") is not true)"))
        case Exists():
            return _exists(what, scope)


def _exists(what: Exists, scope: Scope) -> Sql:
    there = scope.inner()
    return concat(
        raw("exists (select 1 from "),
        qualified(*what.join.table),
        raw(" as "),
        ident(there.alias),
        raw(" where "),
        belongs(what.join, there, scope),
        EMPTY if what.condition is None else concat(raw(" and "), condition(what.condition, there)),
        raw(")"),
    )


def ordering(order: Sequence[Order], scope: Scope) -> Sql:
    """Give `order by`, with a blank before it; nothing for no order."""
    if not order:
        return raw("")
    return concat(raw(" order by "), join(", ", [_term(one, scope) for one in order]))


def behind(order: Sequence[Order], place: Sequence[Operand], scope: Scope) -> Sql:
    """Give the condition that a row comes behind a place in an order.

    A place may name fewer values than there are columns to order by; then it stands behind all rows with those values.
    """
    if not place:
        return raw("true")
    nested = _behind(order, place, scope)
    first, value = order[0], place[0]
    if len(place) == 1 or first.is_nullable or value.param is None:
        return nested
    # What follows from the rest anyway: it lets an index on the first column begin at the place.
    bound = concat(order_value(first, scope), raw(" <= " if first.is_descending else " >= "), operand(value))
    return concat(raw("("), bound, raw(" and "), nested, raw(")"))


def _behind(order: Sequence[Order], place: Sequence[Operand], scope: Scope) -> Sql:
    one, value = order[0], place[0]
    column = order_value(one, scope)
    if value.param is None:
        later = concat(column, raw(" is not null")) if one.nulls_first else raw("false")
        same = concat(column, raw(" is null"))
    else:
        later = concat(column, raw(" < " if one.is_descending else " > "), operand(value))
        if one.is_nullable and not one.nulls_first:
            later = concat(later, raw(" or "), column, raw(" is null"))
        same = concat(column, raw(" = "), operand(value))
    if len(place) == 1 or len(order) == 1:
        return concat(raw("("), later, raw(")"))
    rest = _behind(order[1:], place[1:], scope)
    return concat(raw("("), later, raw(" or ("), same, raw(" and "), rest, raw("))"))


def _term(one: Order, scope: Scope) -> Sql:
    direction = raw(" desc" if one.is_descending else " asc")
    return concat(
        order_value(one, scope), direction, raw(" nulls first" if one.nulls_first else " nulls last")
    )
