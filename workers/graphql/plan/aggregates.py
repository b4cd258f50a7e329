"""Plan `aggregate` of a connection: counts, and sums, averages, minima and maxima of columns. Pure. Source: docs/reference/graphql.md, section 8."""

from workers.graphql.errors import GraphQLFailure
from workers.graphql.model import Entity
from workers.graphql.plan.aggregate_functions import COLUMN_AGGREGATES, takes_column
from workers.graphql.plan.selection import TYPE_NAME, PlanContext, SelectedField, arguments, quoted, select
from workers.graphql.plan.tree import (
    AffectedCount,
    ColumnAggregate,
    ColumnValue,
    FieldPlan,
    FieldPlans,
    TypeName,
)


def aggregate_fields(planning: PlanContext, selected: SelectedField, entity: Entity) -> FieldPlans:
    """Plan `aggregate` of a connection. Raises: GraphQLFailure."""
    type_name = f"{entity.name}Aggregate"
    plans: list[tuple[str, FieldPlan]] = []
    for child in select(planning, selected.sets, type_name):
        arguments(planning, child.node, ())
        if child.name == "count":
            plan: FieldPlan = AffectedCount()
        elif child.name == TYPE_NAME:
            plan = TypeName(type_name)
        elif child.name in COLUMN_AGGREGATES:
            plan = ColumnAggregate(child.name, aggregated_columns(planning, child, entity))
        else:
            raise _unknown_aggregate(child.name, type_name)
        plans.append((child.key, plan))
    return tuple(plans)


def aggregated_columns(planning: PlanContext, selected: SelectedField, entity: Entity) -> FieldPlans:
    """Plan the columns selected under `sum`, `avg`, `min` or `max`. Raises: GraphQLFailure."""
    type_name = f"{entity.name}{selected.name.capitalize()}AggregateResult"
    plans: list[tuple[str, FieldPlan]] = []
    for child in select(planning, selected.sets, type_name):
        arguments(planning, child.node, ())
        column = entity.columns.get(child.name)
        if child.name == TYPE_NAME:
            plans.append((child.key, TypeName(type_name)))
        elif (
            column is None
            or not column.is_selectable
            or not takes_column(selected.name, column.type.scalar, column.type.is_list)
        ):
            raise _unknown_aggregate(child.name, type_name)
        else:
            plans.append((child.key, ColumnValue(column.sql, column.type)))
    return tuple(plans)


def _unknown_aggregate(name: str, type_name: str) -> GraphQLFailure:
    return GraphQLFailure(f"Unknown or invalid field {quoted(name)} selected on type {quoted(type_name)}")
