"""Conditions on rows, and the order of rows, as SQL. Pure. Source: docs/reference/graphql.md, sections 8 and 9."""

from collections.abc import Sequence

from workers.graphql.plan.conditions import (
    ColumnComparison,
    Condition,
    Conjunction,
    Disjunction,
    Negation,
    NotTrue,
    NullTest,
    Operand,
    RelatedRowExists,
    SortTerm,
)
from workers.graphql.query.related import join_condition, order_value
from workers.graphql.query.scope import RowScope
from workers.graphql.query.template import optional, template
from workers.graphql.query.values import operand
from workers.sql.compose import EMPTY, Sql, catalog_text, concat, ident, join, qualified, raw


def condition(plan: Condition, scope: RowScope) -> Sql:
    """Return a condition on the rows of a scope."""
    match plan:
        case ColumnComparison():
            value = operand(plan.operand)
            if plan.is_any:
                value = template("any({value})", value=value)
            return template(
                "{column} {operator} {value}",
                column=scope.column(plan.column),
                operator=catalog_text(plan.operator),
                value=value,
            )
        case NullTest():
            return concat(scope.column(plan.column), raw(" is null" if plan.is_null else " is not null"))
        case Negation():
            return template("not ({part})", part=condition(plan.part, scope))
        case Conjunction():
            return template("({parts})", parts=join(" and ", [condition(part, scope) for part in plan.parts]))
        case Disjunction():
            return template("({parts})", parts=join(" or ", [condition(part, scope) for part in plan.parts]))
        case NotTrue():
            return template("(({part}) is not true)", part=condition(plan.part, scope))
        case RelatedRowExists():
            return _related_row_exists(plan, scope)


def _related_row_exists(plan: RelatedRowExists, scope: RowScope) -> Sql:
    related = scope.related_scope()
    return template(
        "exists (select 1 from {table} as {alias} where {join}{condition})",
        table=qualified(*plan.join.table),
        alias=ident(related.alias),
        join=join_condition(plan.join, related, scope),
        condition=optional(
            " and {value}", None if plan.condition is None else condition(plan.condition, related)
        ),
    )


def ordering(order: Sequence[SortTerm], scope: RowScope) -> Sql:
    """Return ` order by ...`; empty SQL without sort terms."""
    if not order:
        return EMPTY
    return template(" order by {terms}", terms=join(", ", [_sort_term(term, scope) for term in order]))


def after_cursor(order: Sequence[SortTerm], values: Sequence[Operand], scope: RowScope) -> Sql:
    """Return the condition that a row comes after a cursor in an order.

    For the order (a, b) and the cursor (1, 2) it is `a >= 1 and (a > 1 or (a = 1 and b > 2))`: a row comparison
    `(a, b) > (1, 2)` would not do, as each column has its own direction and place of nulls. A cursor may have fewer
    values than there are sort terms; then it stands after all rows with these values.
    """
    if not values:
        return raw("true")
    nested = _after_cursor(order, values, scope)
    first, value = order[0], values[0]
    if len(values) == 1 or first.is_nullable or value.param is None:
        return nested
    # This follows from the rest. It is there so that an index on the first column can begin at the cursor.
    return template(
        "({column}{comparison}{value} and {nested})",
        column=order_value(first, scope),
        comparison=raw(" <= " if first.is_descending else " >= "),
        value=operand(value),
        nested=nested,
    )


def _after_cursor(order: Sequence[SortTerm], values: Sequence[Operand], scope: RowScope) -> Sql:
    term, value = order[0], values[0]
    column = order_value(term, scope)
    if value.param is None:
        later = concat(column, raw(" is not null")) if term.nulls_first else raw("false")
        equal = concat(column, raw(" is null"))
    else:
        later = concat(column, raw(" < " if term.is_descending else " > "), operand(value))
        if term.is_nullable and not term.nulls_first:
            later = template("{later} or {column} is null", later=later, column=column)
        equal = template("{column} = {value}", column=column, value=operand(value))
    if len(values) == 1 or len(order) == 1:
        return template("({later})", later=later)
    rest = _after_cursor(order[1:], values[1:], scope)
    return template("({later} or ({equal} and {rest}))", later=later, equal=equal, rest=rest)


def _sort_term(term: SortTerm, scope: RowScope) -> Sql:
    return template(
        "{value}{direction}{nulls}",
        value=order_value(term, scope),
        direction=raw(" desc" if term.is_descending else " asc"),
        nulls=raw(" nulls first" if term.nulls_first else " nulls last"),
    )
