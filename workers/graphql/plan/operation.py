"""The whole operation: each root field planned by itself, so that one that fails does not spoil the others. Pure.

Source: reference page "graphql", sections 2, 7 and 17.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from graphql.language import FieldNode, OperationDefinitionNode

from workers.graphql.errors import GraphQLFailure, TooMuch
from workers.graphql.model import Entity, RootField, RootKind, Schema, Shape
from workers.graphql.parse.document import Document, is_mutation
from workers.graphql.parse.limits import Limits
from workers.graphql.plan import calls, ids
from workers.graphql.plan.connection import plan_connection
from workers.graphql.plan.filters import single_operand
from workers.graphql.plan.inputs import NOTHING, Inputs, Lessons, Reader
from workers.graphql.plan.rows import row_fields
from workers.graphql.plan.selection import (
    TYPE_NAME,
    Planning,
    Selected,
    arguments,
    quoted,
    required,
    select,
)
from workers.graphql.plan.tree import All, Compare, ComputedValue, Fields, Root, Row, Table
from workers.graphql.plan.writes import plan_delete, plan_insert, plan_update

INTROSPECTION = ("__schema", "__type")


@dataclass(frozen=True, slots=True)
class Introspect:
    """A question about the types, with all its selections; answered without the database."""

    nodes: tuple[FieldNode, ...]


@dataclass(frozen=True, slots=True)
class Planned:
    """A root field: what is to be done for it, or why it cannot be."""

    key: str
    work: Root | Introspect | str | GraphQLFailure
    """A text: the name of the type it lies on."""
    readers: tuple[Reader, ...] = ()
    """Where the values of its slots come from."""


@dataclass(frozen=True, slots=True)
class Operation:
    """A planned operation. A mutation with a failure in it is done not at all."""

    is_mutation: bool
    fields: tuple[Planned, ...]


def plan_operation(
    document: Document,
    operation: OperationDefinitionNode,
    schema: Schema,
    variables: Mapping[str, object],
    limits: Limits,
    lessons: Lessons,
) -> Operation:
    """Plan an operation for a role and its variables; `lessons` is told what of their values the plan depends on.

    Raises: GraphQLFailure for what concerns the whole operation.
    """
    writes = is_mutation(operation)
    defaults = {one.variable.name.value: one.default_value for one in operation.variable_definitions or ()}
    fields = schema.mutation if writes else schema.query
    type_name = "Mutation" if writes else "Query"
    if writes and not fields:
        raise GraphQLFailure("Unknown type Mutation")
    planning = Planning(schema, document.fragments, Inputs(variables, defaults, lessons), limits)
    selected = select(planning, [operation.selection_set], type_name)
    if not selected:  # all of it skipped; the original answers that and nothing else
        raise GraphQLFailure("Selection set must not be empty")
    if len(selected) > limits.root_fields:
        raise TooMuch(f"The operation has more than {limits.root_fields} root fields", "max_root_fields")
    found = []
    for one in selected:
        inputs = planning.inputs = Inputs(variables, defaults, lessons)
        work = _planned(planning, one, fields, type_name)
        found.append(Planned(one.key, work, tuple(inputs.readers)))
    return Operation(writes, tuple(found))


def _planned(
    planning: Planning, selected: Selected, fields: Mapping[str, RootField], type_name: str
) -> Root | Introspect | str | GraphQLFailure:
    name = selected.name
    try:
        if name == TYPE_NAME:
            return type_name
        if name in INTROSPECTION and type_name == "Query" and planning.schema.has_introspection:
            return Introspect(tuple(selected.nodes))
        field = fields.get(name)
        if field is None or (
            field.is_alias and field.kind is RootKind.BY_KEY and not selected.node.arguments
        ):
            raise GraphQLFailure(f"Unknown field {quoted(name)} on type {type_name}")
        return _root(planning, selected, field)
    except GraphQLFailure as failure:
        return failure


def _root(planning: Planning, selected: Selected, field: RootField) -> Root:
    if field.kind is RootKind.CALL:
        return _call(planning, selected, field)
    if field.kind is RootKind.NODE:
        return _node(planning, selected)
    assert field.entity is not None
    entity = planning.schema.entities[field.entity]
    match field.kind:
        case RootKind.BY_KEY:
            return _by_key(planning, selected, entity)
        case RootKind.INSERT:
            return plan_insert(planning, selected, entity)
        case RootKind.UPDATE:
            return plan_update(planning, selected, entity)
        case RootKind.DELETE:
            return plan_delete(planning, selected, entity)
    return plan_connection(planning, selected, entity, Table(entity.sql), row_fields)


def _by_key(planning: Planning, selected: Selected, entity: Entity) -> Row:
    columns = entity.key_columns
    given = arguments(planning, selected.node, [column.name for column in columns])
    missing = [column.sql for column in columns if given.get(column.name, NOTHING).is_nothing]
    if missing:
        raise GraphQLFailure(f"Missing primary key column(s): {', '.join(missing)}")
    parts = [
        Compare(column.sql, "=", single_operand(planning, given[column.name], column)) for column in columns
    ]
    fields = row_fields(planning, selected.sets, entity, quote='"')
    return Row(Table(entity.sql), fields, All(tuple(parts)))


def _node(planning: Planning, selected: Selected) -> Row:
    given = required(arguments(planning, selected.node, ("nodeId",)), "nodeId")
    entity = planning.schema.entities.get(given.ask(ids.table_of))
    if entity is None or not entity.has_node_id:
        raise GraphQLFailure("Collection referenced by nodeId did not match any known collection")
    condition = ids.key_condition(planning.inputs, entity, given)
    fields: Fields = row_fields(planning, selected.sets, entity, is_abstract=True)
    return Row(Table(entity.sql), fields, condition)


def _call(planning: Planning, selected: Selected, field: RootField) -> Root:
    function = field.function
    assert function is not None
    given = calls.arguments_of(planning, selected, function)
    call = calls.call_of(planning, function, given)
    if function.shape is Shape.VALUE:
        assert function.type is not None
        return ComputedValue(call, function.type)
    assert function.target is not None
    target = planning.schema.entities[function.target]
    if function.shape is Shape.ROWS:
        return plan_connection(planning, selected, target, call, row_fields, given)
    return Row(call, row_fields(planning, selected.sets, target))
