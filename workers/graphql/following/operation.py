"""A subscription: which of the two kinds it is, and the query that it stands for. Pure.

The one field of a subscription is a field of Query, which makes it a live query, or `<table>Changes`.
Source: docs/graphql-subscriptions.md; GraphQL specification, 5.2.3 ("Subscription Operation Definitions").
"""

from collections.abc import Mapping
from dataclasses import dataclass

from graphql import OperationType
from graphql.language import OperationDefinitionNode, SelectionSetNode

from workers.graphql.errors import GraphQLFailure
from workers.graphql.model import Entity, Schema
from workers.graphql.parse.document import Document
from workers.graphql.parse.limits import Limits
from workers.graphql.plan.inputs import Inputs, Lessons
from workers.graphql.plan.selection import Planning, Selected, quoted, select
from workers.graphql.reflect.names import lower_first

_CHANGES = "Changes"
_TABLES = frozenset("rp")


@dataclass(frozen=True, slots=True)
class LiveQuery:
    """The query that is run again and again."""

    operation: OperationDefinitionNode


@dataclass(frozen=True, slots=True)
class TableChanges:
    """The changes of a table, with what is asked of each."""

    entity: Entity
    selected: Selected
    planning: Planning


def subscription_of(
    document: Document,
    operation: OperationDefinitionNode,
    schema: Schema,
    variables: Mapping[str, object],
    limits: Limits,
) -> LiveQuery | TableChanges:
    """Tell what a subscription asks for. Raises: GraphQLFailure for what is none."""
    defaults = {one.variable.name.value: one.default_value for one in operation.variable_definitions or ()}
    inputs = Inputs(variables, defaults, Lessons())
    planning = Planning(schema, document.fragments, inputs, limits)
    selected = select(planning, [operation.selection_set], "Subscription")
    if len(selected) != 1:
        raise GraphQLFailure("A subscription must have exactly one field on its first level")
    one = selected[0]
    if one.name.startswith("__"):
        raise GraphQLFailure("The field of a subscription must not be about types")
    if one.name in schema.query:
        return LiveQuery(_as_query(operation, one))
    entity = _changing(schema, one.name)
    if entity is None:
        raise GraphQLFailure(f"Unknown field {quoted(one.name)} on type Subscription")
    return TableChanges(entity, one, planning)


def _as_query(operation: OperationDefinitionNode, selected: Selected) -> OperationDefinitionNode:
    return OperationDefinitionNode(
        operation=OperationType.QUERY,
        name=operation.name,
        variable_definitions=operation.variable_definitions,
        directives=(),
        selection_set=SelectionSetNode(selections=tuple(selected.nodes)),
    )


def _changing(schema: Schema, name: str) -> Entity | None:
    """Give the table whose changes a field gives. Views have none: the log knows only tables."""
    if not name.endswith(_CHANGES):
        return None
    own = name.removesuffix(_CHANGES)
    for entity in schema.entities.values():
        if entity.kind in _TABLES and lower_first(entity.name) == own:
            return entity
    return None
