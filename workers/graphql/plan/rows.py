"""Plan the fields of a row: columns, its id, related rows, functions. Pure. Source: docs/reference/graphql.md, sections 7, 12, 13."""

from collections.abc import Iterable

from graphql.language import SelectionSetNode

from workers.graphql.errors import GraphQLFailure
from workers.graphql.model import Entity, FunctionField, RelationField, ResultShape
from workers.graphql.plan import calls
from workers.graphql.plan.connection import plan_connection
from workers.graphql.plan.related import related_rows
from workers.graphql.plan.selection import TYPE_NAME, PlanContext, SelectedField, arguments, select
from workers.graphql.plan.tree import (
    ColumnValue,
    ComputedValue,
    ConnectionPlan,
    FieldPlan,
    FieldPlans,
    NodeId,
    RowPlan,
    TypeName,
)


def row_fields(
    planning: PlanContext,
    sets: Iterable[SelectionSetNode],
    entity: Entity,
    *,
    is_abstract: bool = False,
    quote: str = "'",
) -> FieldPlans:
    """Plan the selected fields of a row. `quote`: quotation mark in the message for an unknown field. Raises: GraphQLFailure."""
    plans = [
        (child.key, row_field(planning, child, entity, quote))
        for child in select(planning, sets, entity.name, is_abstract=is_abstract)
    ]
    return tuple(plans)


def row_field(planning: PlanContext, selected: SelectedField, entity: Entity, quote: str = "'") -> FieldPlan:
    """Plan one field of a row. Raises: GraphQLFailure."""
    name = selected.name
    column = entity.columns.get(name)
    function = entity.functions.get(name)
    relation = entity.relations.get(name)
    if function is not None:
        return plan_call_result(planning, selected, function, takes_row=True)
    if relation is not None:
        return _plan_relation(planning, selected, relation)
    if column is not None and column.is_selectable:
        arguments(planning, selected.node, ())
        return ColumnValue(column.sql, column.type)
    if name == TYPE_NAME:
        return TypeName(entity.name)
    if name == "nodeId" and entity.has_node_id:
        arguments(planning, selected.node, ())
        return NodeId(entity.sql, tuple(key_column.sql for key_column in entity.key_columns))
    if quote == "'":
        raise GraphQLFailure(f"Unknown field '{name}' on type '{entity.name}'")
    raise GraphQLFailure(f'Unknown field "{name}" on type {entity.name}')


def _plan_relation(planning: PlanContext, selected: SelectedField, relation: RelationField) -> FieldPlan:
    target = planning.schema.entities[relation.target]
    source = related_rows(relation)
    if relation.is_many:
        return plan_connection(planning, selected, target, source, row_fields)
    arguments(planning, selected.node, ())
    return RowPlan(source, row_fields(planning, selected.sets, target))


def plan_call_result(
    planning: PlanContext, selected: SelectedField, function: FunctionField, *, takes_row: bool = False
) -> ComputedValue | ConnectionPlan | RowPlan:
    """Plan a call and what is selected of its result: a value, a row, or a connection of rows. Raises: GraphQLFailure."""
    values = calls.function_arguments(planning, selected, function)
    call = calls.plan_call(planning, function, values, takes_row=takes_row)
    if function.shape is ResultShape.VALUE:
        assert function.type is not None
        return ComputedValue(call, function.type)
    assert function.target is not None
    target = planning.schema.entities[function.target]
    if function.shape is ResultShape.ROWS:
        return plan_connection(planning, selected, target, call, row_fields, values)
    return RowPlan(call, row_fields(planning, selected.sets, target))
