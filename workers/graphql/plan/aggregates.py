"""Aggregates: which figures over which columns are asked for. Pure. Source: reference page "graphql", section 8."""

from workers.graphql.errors import GraphQLFailure
from workers.graphql.model import Entity
from workers.graphql.plan.figures import FOLDED, is_folded
from workers.graphql.plan.selection import TYPE_NAME, Planning, Selected, arguments, quoted, select
from workers.graphql.plan.tree import AffectedCount, ColumnValue, Field, Fields, Fold, TypeName


def aggregate_fields(planning: Planning, selected: Selected, entity: Entity) -> Fields:
    """Plan `aggregate` of a connection. Raises: GraphQLFailure."""
    type_name = f"{entity.name}Aggregate"
    found: list[tuple[str, Field]] = []
    for one in select(planning, selected.sets, type_name):
        arguments(planning, one.node, ())
        if one.name == "count":
            field: Field = AffectedCount()
        elif one.name == TYPE_NAME:
            field = TypeName(type_name)
        elif one.name in FOLDED:
            field = Fold(one.name, folded_fields(planning, one, entity))
        else:
            raise _unknown_aggregate(one.name, type_name)
        found.append((one.key, field))
    return tuple(found)


def folded_fields(planning: Planning, selected: Selected, entity: Entity) -> Fields:
    """Plan the columns that `sum`, `avg`, `min` or `max` is asked of. Raises: GraphQLFailure."""
    type_name = f"{entity.name}{selected.name.capitalize()}AggregateResult"
    found: list[tuple[str, Field]] = []
    for one in select(planning, selected.sets, type_name):
        arguments(planning, one.node, ())
        column = entity.columns.get(one.name)
        if one.name == TYPE_NAME:
            found.append((one.key, TypeName(type_name)))
        elif (
            column is None
            or not column.is_selectable
            or not is_folded(selected.name, column.type.scalar, column.type.is_list)
        ):
            raise _unknown_aggregate(one.name, type_name)
        else:
            found.append((one.key, ColumnValue(column.sql, column.type)))
    return tuple(found)


def _unknown_aggregate(name: str, type_name: str) -> GraphQLFailure:
    return GraphQLFailure(f"Unknown or invalid field {quoted(name)} selected on type {quoted(type_name)}")
