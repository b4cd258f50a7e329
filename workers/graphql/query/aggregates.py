"""Aggregates over the rows of all pages of a connection. Pure. Source: docs/reference/graphql.md, section 8."""

from workers.graphql.plan.tree import AffectedCount, ColumnAggregate, ColumnValue, FieldPlans, TypeName
from workers.graphql.query.related import aggregated
from workers.graphql.query.scope import RowScope, aliased
from workers.graphql.query.template import template
from workers.graphql.query.values import json_object, text_constant
from workers.sql.compose import Sql, ident, join, raw


def aggregate(fields: FieldPlans, scope: RowScope, results: RowScope, rows: Sql) -> Sql:
    """Return an object of aggregates over `rows`, which begins with `from` and has the alias of `scope`.

    A sub-select under the alias of `results` computes them, so that the object around it is built of plain columns.
    """
    computed: list[Sql] = []

    def result(expression: Sql) -> Sql:
        name = f"@{len(computed)}"
        computed.append(aliased(expression, name))
        return results.column(name)

    items: list[tuple[str, Sql]] = []
    for key, field in fields:
        match field:
            case TypeName(name):
                items.append((key, text_constant(name)))
            case AffectedCount():
                items.append((key, result(raw("count(*)"))))
            case ColumnAggregate(operator, columns):
                items.append((key, json_object([
                    (name, result(aggregated(operator, scope.column(value.column), is_boolean=value.type.scalar == "Boolean")))
                    if isinstance(value, ColumnValue)
                    else (name, text_constant(value.name))
                    for name, value in columns
                    if isinstance(value, ColumnValue | TypeName)
                ])))  # fmt: skip
    source = template(
        "from (select {computed} {rows}) {alias}",
        computed=join(", ", computed) if computed else raw("1"),
        rows=rows,
        alias=ident(results.alias),
    )
    return json_object(items, source)
