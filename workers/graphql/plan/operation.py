"""Plan a whole operation. Each root field is planned separately, so that an error in one does not fail the others. Pure.

Source: docs/reference/graphql.md, sections 2, 7 and 17.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from graphql.language import FieldNode, OperationDefinitionNode

from workers.graphql.errors import GraphQLFailure, QueryTooComplex
from workers.graphql.model import Entity, RoleSchema, RootField, RootKind
from workers.graphql.parse.document import Document, is_mutation
from workers.graphql.parse.limits import OperationLimits
from workers.graphql.plan import ids
from workers.graphql.plan.conditions import ColumnComparison, Conjunction
from workers.graphql.plan.connection import plan_connection
from workers.graphql.plan.filters import single_operand
from workers.graphql.plan.inputs import ABSENT_ARGUMENT, Inputs, PlanDependencies, SlotReader
from workers.graphql.plan.rows import plan_call_result, row_fields
from workers.graphql.plan.selection import (
    TYPE_NAME,
    PlanContext,
    SelectedField,
    arguments,
    quoted,
    required,
    select,
)
from workers.graphql.plan.tree import FieldPlans, RootPlan, RowPlan, TableRows
from workers.graphql.plan.writes import plan_delete, plan_insert, plan_update

INTROSPECTION = ("__schema", "__type")


@dataclass(frozen=True, slots=True)
class IntrospectionQuery:
    """A root field `__schema` or `__type`, with all its selections; it is answered without the database."""

    nodes: tuple[FieldNode, ...]


@dataclass(frozen=True, slots=True)
class RootFieldPlan:
    """The plan of a root field, or the failure of planning it."""

    key: str
    work: RootPlan | IntrospectionQuery | str | GraphQLFailure
    """A `str` is the name of the root type (`__typename`)."""
    readers: tuple[SlotReader, ...] = ()
    """How its slots are filled from the variables."""


@dataclass(frozen=True, slots=True)
class OperationPlan:
    """A planned operation. A mutation in which any field failed is not executed at all."""

    is_mutation: bool
    fields: tuple[RootFieldPlan, ...]


def plan_operation(
    document: Document,
    operation: OperationDefinitionNode,
    schema: RoleSchema,
    variables: Mapping[str, object],
    limits: OperationLimits,
    dependencies: PlanDependencies,
) -> OperationPlan:
    """Plan an operation for the schema of a role and the variables of a request.

    Whatever the plan depends on in the variables, apart from their shape, is recorded in `dependencies`.
    Raises: GraphQLFailure for an error of the whole operation.
    """
    is_write = is_mutation(operation)
    defaults = {
        selected_field.variable.name.value: selected_field.default_value
        for selected_field in operation.variable_definitions or ()
    }
    fields = schema.mutation if is_write else schema.query
    type_name = "Mutation" if is_write else "Query"
    if is_write and not fields:
        raise GraphQLFailure("Unknown type Mutation")
    planning = PlanContext(schema, document.fragments, Inputs(variables, defaults, dependencies), limits)
    selected = select(planning, [operation.selection_set], type_name)
    if not selected:  # @skip left no field; the original answers with this error
        raise GraphQLFailure("Selection set must not be empty")
    if len(selected) > limits.root_fields:
        raise QueryTooComplex(
            f"The operation has more than {limits.root_fields} root fields", "max_root_fields"
        )
    plans = []
    for selected_field in selected:
        inputs = planning.inputs = Inputs(variables, defaults, dependencies)
        work = _plan_field(planning, selected_field, fields, type_name)
        plans.append(RootFieldPlan(selected_field.key, work, tuple(inputs.readers)))
    return OperationPlan(is_write, tuple(plans))


def _plan_field(
    planning: PlanContext, selected: SelectedField, fields: Mapping[str, RootField], type_name: str
) -> RootPlan | IntrospectionQuery | str | GraphQLFailure:
    name = selected.name
    try:
        if name == TYPE_NAME:
            return type_name
        if name in INTROSPECTION and type_name == "Query" and planning.schema.has_introspection:
            return IntrospectionQuery(tuple(selected.nodes))
        field = fields.get(name)
        if field is None or (
            field.is_alias and field.kind is RootKind.BY_KEY and not selected.node.arguments
        ):
            raise GraphQLFailure(f"Unknown field {quoted(name)} on type {type_name}")
        return _plan_root(planning, selected, field)
    except GraphQLFailure as failure:
        return failure


def _plan_root(planning: PlanContext, selected: SelectedField, field: RootField) -> RootPlan:
    if field.kind is RootKind.CALL:
        return _plan_call(planning, selected, field)
    if field.kind is RootKind.NODE:
        return _plan_node(planning, selected)
    assert field.entity is not None
    entity = planning.schema.entities[field.entity]
    match field.kind:
        case RootKind.BY_KEY:
            return _plan_by_key(planning, selected, entity)
        case RootKind.INSERT:
            return plan_insert(planning, selected, entity)
        case RootKind.UPDATE:
            return plan_update(planning, selected, entity)
        case RootKind.DELETE:
            return plan_delete(planning, selected, entity)
    return plan_connection(planning, selected, entity, TableRows(entity.sql), row_fields)


def _plan_by_key(planning: PlanContext, selected: SelectedField, entity: Entity) -> RowPlan:
    columns = entity.key_columns
    values = arguments(planning, selected.node, [column.name for column in columns])
    missing = [column.sql for column in columns if values.get(column.name, ABSENT_ARGUMENT).is_missing]
    if missing:
        raise GraphQLFailure(f"Missing primary key column(s): {', '.join(missing)}")
    parts = [
        ColumnComparison(column.sql, "=", single_operand(planning, values[column.name], column))
        for column in columns
    ]
    fields = row_fields(planning, selected.sets, entity, quote='"')
    return RowPlan(TableRows(entity.sql), fields, Conjunction(tuple(parts)))


def _plan_node(planning: PlanContext, selected: SelectedField) -> RowPlan:
    node_id = required(arguments(planning, selected.node, ("nodeId",)), "nodeId")
    entity = planning.schema.entities.get(node_id.evaluate(ids.id_table))
    if entity is None or not entity.has_node_id:
        raise GraphQLFailure("Collection referenced by nodeId did not match any known collection")
    condition = ids.key_condition(planning.inputs, entity, node_id)
    fields: FieldPlans = row_fields(planning, selected.sets, entity, is_abstract=True)
    return RowPlan(TableRows(entity.sql), fields, condition)


def _plan_call(planning: PlanContext, selected: SelectedField, field: RootField) -> RootPlan:
    function = field.function
    assert function is not None
    return plan_call_result(planning, selected, function)
