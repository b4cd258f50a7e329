"""The fields of a row: columns, its id, related rows, functions. Pure. Source: reference page "graphql", sections 7, 12, 13."""

from collections.abc import Iterable

from graphql.language import SelectionSetNode

from workers.graphql.errors import GraphQLFailure
from workers.graphql.model import Entity, Function, Relation, Shape
from workers.graphql.plan import calls
from workers.graphql.plan.connection import plan_connection
from workers.graphql.plan.related import join_of
from workers.graphql.plan.selection import TYPE_NAME, Planning, Selected, arguments, select
from workers.graphql.plan.tree import (
    ColumnValue,
    ComputedValue,
    Field,
    Fields,
    NodeId,
    Row,
    TypeName,
)


def row_fields(
    planning: Planning,
    sets: Iterable[SelectionSetNode],
    entity: Entity,
    *,
    is_abstract: bool = False,
    quote: str = "'",
) -> Fields:
    """Plan what is asked of a row. `quote` stands around names when a field is unknown. Raises: GraphQLFailure."""
    found = [
        (one.key, row_field(planning, one, entity, quote))
        for one in select(planning, sets, entity.name, is_abstract=is_abstract)
    ]
    return tuple(found)


def row_field(planning: Planning, selected: Selected, entity: Entity, quote: str = "'") -> Field:
    """Plan one field of a row. Raises: GraphQLFailure."""
    name = selected.name
    column = entity.columns.get(name)
    function = entity.functions.get(name)
    relation = entity.relations.get(name)
    if function is not None:
        return _function(planning, selected, function)
    if relation is not None:
        return _relation(planning, selected, relation)
    if column is not None and column.is_selectable:
        arguments(planning, selected.node, ())
        return ColumnValue(column.sql, column.type)
    if name == TYPE_NAME:
        return TypeName(entity.name)
    if name == "nodeId" and entity.has_node_id:
        arguments(planning, selected.node, ())
        return NodeId(entity.sql, tuple(one.sql for one in entity.key_columns))
    if quote == "'":
        raise GraphQLFailure(f"Unknown field '{name}' on type '{entity.name}'")
    raise GraphQLFailure(f'Unknown field "{name}" on type {entity.name}')


def _relation(planning: Planning, selected: Selected, relation: Relation) -> Field:
    target = planning.schema.entities[relation.target]
    source = join_of(relation)
    if relation.is_many:
        return plan_connection(planning, selected, target, source, row_fields)
    arguments(planning, selected.node, ())
    return Row(source, row_fields(planning, selected.sets, target))


def _function(planning: Planning, selected: Selected, function: Function) -> Field:
    given = calls.arguments_of(planning, selected, function)
    call = calls.call_of(planning, function, given, takes_row=True)
    if function.shape is Shape.VALUE:
        assert function.type is not None
        return ComputedValue(call, function.type)
    assert function.target is not None
    target = planning.schema.entities[function.target]
    if function.shape is Shape.ROWS:
        return plan_connection(planning, selected, target, call, row_fields, given)
    return Row(call, row_fields(planning, selected.sets, target))
