"""The statements of a root field: text with parameters. The last one returns one row with the finished JSON, or null. Pure."""

from dataclasses import replace
from typing import assert_never

from workers.graphql.plan.tree import (
    ComputedValue,
    ConnectionPlan,
    DeletePlan,
    InsertPlan,
    MaterializedCall,
    NestedInsertPlan,
    RootPlan,
    RowPlan,
    SqlFunctionCall,
    UpdatePlan,
)
from workers.graphql.query.fields import MATERIALIZED_CALL, connection, function_call, row
from workers.graphql.query.nested import nested_insert
from workers.graphql.query.scope import ROW, Aliases
from workers.graphql.query.template import template
from workers.graphql.query.values import json_value
from workers.graphql.query.writes import delete, insert, update
from workers.sql.compose import Param, Sql, ident, render

SingleStatementRoot = ComputedValue | ConnectionPlan | DeletePlan | InsertPlan | RowPlan | UpdatePlan
RenderedStatement = tuple[str, tuple[Param, ...]]
"""Text and parameters, slots among them."""


def render_statements(root: RootPlan) -> list[RenderedStatement]:
    """Return the statements of a root field in their order. The last one answers; only nested inserts have several."""
    if isinstance(root, NestedInsertPlan):
        return [render(statement) for statement in nested_insert(root, Aliases())]
    return [render_statement(root)]


def render_statement(root: SingleStatementRoot) -> RenderedStatement:
    """Return the statement of a root field that has one only."""
    return render(_compose(root, Aliases()))


def _compose(root: SingleStatementRoot, aliases: Aliases) -> Sql:
    match root:
        case ConnectionPlan(source=SqlFunctionCall(is_volatile=True) as call):
            return _materialized_connection(root, call, aliases)
        case ConnectionPlan():
            return template("select {connection}", connection=connection(root, None, aliases))
        case RowPlan():
            return template("select {row}", row=row(root, None, aliases))
        case ComputedValue(call, type_):
            return template("select to_json({value})", value=json_value(function_call(call, None), type_))
        case InsertPlan():
            return insert(root, aliases)
        case UpdatePlan():
            return update(root, aliases)
        case DeletePlan():
            return delete(root, aliases)
    assert_never(root)


def _materialized_connection(root: ConnectionPlan, call: SqlFunctionCall, aliases: Aliases) -> Sql:
    """Return a connection over the rows of a volatile function.

    A connection reads its rows several times (page, total count, `hasPreviousPage`). `as materialized` makes Postgres
    call the function once all the same.
    """
    alias = ident(aliases.next())
    return template(
        "with {rows} as materialized (select {alias} as {row} from {call} as {alias}) select {connection}",
        rows=MATERIALIZED_CALL,
        alias=alias,
        row=ident(ROW),
        call=function_call(call, None),
        connection=connection(replace(root, source=MaterializedCall()), None, aliases),
    )
