"""Classify a subscription: a live query or the changes of a table. Pure.

A subscription has exactly one root field. If Query has that field, the subscription is a live query; otherwise the field
must be `<table>Changes`.
Source: docs/graphql-subscriptions.md; GraphQL specification, 5.2.3 ("Subscription Operation Definitions").
"""

from collections.abc import Mapping
from dataclasses import dataclass

from graphql import OperationType
from graphql.language import OperationDefinitionNode, SelectionSetNode

from workers.graphql.errors import GraphQLFailure
from workers.graphql.model import Entity, RoleSchema
from workers.graphql.parse.document import Document
from workers.graphql.parse.limits import OperationLimits
from workers.graphql.plan.inputs import Inputs, PlanDependencies
from workers.graphql.plan.selection import PlanContext, SelectedField, quoted, select
from workers.graphql.reflect.change_fields import change_entities


@dataclass(frozen=True, slots=True)
class LiveQuery:
    """A query that is run again when a table that it reads changes."""

    operation: OperationDefinitionNode


@dataclass(frozen=True, slots=True)
class TableChanges:
    """A subscription to the changes of a table, with the fields selected of each change."""

    entity: Entity
    selected: SelectedField
    planning: PlanContext


def classify_subscription(
    document: Document,
    operation: OperationDefinitionNode,
    schema: RoleSchema,
    variables: Mapping[str, object],
    limits: OperationLimits,
) -> LiveQuery | TableChanges:
    """Return the query or the table changes that a subscription requests. Raises: GraphQLFailure if it is neither."""
    defaults = {
        root_field.variable.name.value: root_field.default_value
        for root_field in operation.variable_definitions or ()
    }
    inputs = Inputs(variables, defaults, PlanDependencies())
    planning = PlanContext(schema, document.fragments, inputs, limits)
    selected = select(planning, [operation.selection_set], "Subscription")
    if len(selected) != 1:
        raise GraphQLFailure("A subscription must have exactly one field on its first level")
    root_field = selected[0]
    if root_field.name.startswith("__"):
        raise GraphQLFailure("The field of a subscription must not be about types")
    if root_field.name in schema.query:
        return LiveQuery(_as_query(operation, root_field))
    entity = _table_of_changes(schema, root_field.name)
    if entity is None:
        raise GraphQLFailure(f"Unknown field {quoted(root_field.name)} on type Subscription")
    return TableChanges(entity, root_field, planning)


def _as_query(operation: OperationDefinitionNode, selected: SelectedField) -> OperationDefinitionNode:
    return OperationDefinitionNode(
        operation=OperationType.QUERY,
        name=operation.name,
        variable_definitions=operation.variable_definitions,
        directives=(),
        selection_set=SelectionSetNode(selections=tuple(selected.nodes)),
    )


def _table_of_changes(schema: RoleSchema, name: str) -> Entity | None:
    return next((entity for field_name, entity in change_entities(schema) if field_name == name), None)
