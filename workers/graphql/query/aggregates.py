"""Aggregates over the rows of all pages. Pure. Source: reference page "graphql", section 8."""

from workers.graphql.plan.tree import AffectedCount, ColumnValue, Fields, Fold, TypeName
from workers.graphql.query.related import folded
from workers.graphql.query.scope import Scope, called
from workers.graphql.query.values import json_object
from workers.sql.compose import Sql, concat, ident, join, literal, raw


def aggregate(fields: Fields, scope: Scope, figures: Scope, rows: Sql) -> Sql:
    """Give an object of figures over `rows`, which begins with `from` and stands under `scope`."""
    found: list[Sql] = []

    def figure(expression: Sql) -> Sql:
        name = f"@{len(found)}"
        found.append(called(expression, name))
        return figures.column(name)

    items: list[tuple[str, Sql]] = []
    for key, each in fields:
        match each:
            case TypeName(name):
                items.append((key, concat(literal(name), raw("::text"))))
            case AffectedCount():
                items.append((key, figure(raw("count(*)"))))
            case Fold(operator, columns):
                items.append((key, json_object([
                    (name, figure(folded(operator, scope.column(one.column), is_boolean=one.type.scalar == "Boolean")))
                    if isinstance(one, ColumnValue)
                    else (name, concat(literal(one.name), raw("::text")))
                    for name, one in columns
                    if isinstance(one, ColumnValue | TypeName)
                ])))  # fmt: skip
    source = concat(
        raw("from (select "),
        join(", ", found) if found else raw("1"),
        raw(" "),
        rows,
        raw(") "),
        ident(figures.alias),
    )
    return json_object(items, source)
