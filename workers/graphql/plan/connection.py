"""Plan connections: pages of rows with their arguments, edges, page info, counts and aggregates. Pure.

Source: docs/reference/graphql.md, section 8.
"""

from collections.abc import Iterable, Mapping
from typing import Protocol

from graphql.language import SelectionSetNode

from workers.graphql.errors import GraphQLFailure
from workers.graphql.model import Entity
from workers.graphql.plan.aggregates import aggregate_fields
from workers.graphql.plan.filters import plan_filter
from workers.graphql.plan.groups import plan_groups
from workers.graphql.plan.inputs import ABSENT_ARGUMENT, ArgumentValue
from workers.graphql.plan.paging import ARGUMENTS, plan_page
from workers.graphql.plan.selection import TYPE_NAME, PlanContext, SelectedField, arguments, select
from workers.graphql.plan.tree import (
    Aggregate,
    ConnectionPlan,
    EdgeCursor,
    EdgeList,
    EdgeNode,
    FieldPlan,
    FieldPlans,
    PageInfo,
    PageInfoField,
    RowSource,
    TotalCount,
    TypeName,
)

_PAGE_INFO_FIELDS = {field.value: field for field in PageInfoField}


class PlanRow(Protocol):
    """Type of `rows.row_fields`, which is passed as an argument because rows and connections contain one another."""

    def __call__(
        self, planning: PlanContext, sets: Iterable[SelectionSetNode], entity: Entity
    ) -> FieldPlans: ...


def plan_connection(
    planning: PlanContext,
    selected: SelectedField,
    entity: Entity,
    source: RowSource,
    plan_row: PlanRow,
    values: Mapping[str, ArgumentValue] | None = None,
) -> ConnectionPlan:
    """Plan a connection of an entity. `values`: its arguments, if the caller has read them already. Raises: GraphQLFailure."""
    if values is None:
        values = arguments(planning, selected.node, ARGUMENTS)
    page = plan_page(planning, entity, values)
    outer_rows = planning.rows
    planning.add_cost(page.expected)
    planning.rows = outer_rows * max(1, page.expected)
    connection = ConnectionPlan(
        source=source,
        primary_key=tuple(column.sql for column in entity.key_columns),
        order=page.order,
        limit=page.limit,
        condition=plan_filter(planning, entity, values.get("filter", ABSENT_ARGUMENT)),
        offset=page.offset,
        cursor=page.cursor,
        is_backward=page.is_backward,
        row_bound=page.row_bound,
        fields=_plan_fields(planning, selected, entity, plan_row),
    )
    planning.rows = outer_rows
    return connection


def _plan_fields(
    planning: PlanContext, selected: SelectedField, entity: Entity, plan_row: PlanRow
) -> FieldPlans:
    type_name = f"{entity.name}Connection"
    plans: list[tuple[str, FieldPlan]] = []
    for child in select(planning, selected.sets, type_name):
        if child.name != "groups":
            arguments(planning, child.node, ())
        match child.name:
            case "edges":
                plan: FieldPlan = EdgeList(_plan_edge_fields(planning, child, entity, plan_row))
            case "pageInfo":
                plan = PageInfo(_plan_page_info(planning, child))
            case "totalCount" if entity.has_total_count:
                plan = TotalCount()
            case "aggregate":
                if not entity.has_aggregate:
                    raise GraphQLFailure("enable the aggregate directive to use aggregates")
                plan = Aggregate(aggregate_fields(planning, child, entity))
            case "groups":
                if not entity.has_aggregate:
                    raise GraphQLFailure("enable the aggregate directive to use aggregates")
                plan = plan_groups(planning, child, entity)
            case name if name == TYPE_NAME:
                plan = TypeName(type_name)
            case _:
                raise GraphQLFailure("unknown field in connection")
        plans.append((child.key, plan))
    return tuple(plans)


def _plan_edge_fields(
    planning: PlanContext, selected: SelectedField, entity: Entity, plan_row: PlanRow
) -> FieldPlans:
    plans: list[tuple[str, FieldPlan]] = []
    for child in select(planning, selected.sets, f"{entity.name}Edge"):
        arguments(planning, child.node, ())
        match child.name:
            case "cursor":
                plan: FieldPlan = EdgeCursor()
            case "node":
                plan = EdgeNode(plan_row(planning, child.sets, entity))
            case name if name == TYPE_NAME:
                plan = TypeName(f"{entity.name}Edge")
            case _:
                raise GraphQLFailure("unknown field in edge")
        plans.append((child.key, plan))
    return tuple(plans)


def _plan_page_info(planning: PlanContext, selected: SelectedField) -> FieldPlans:
    plans: list[tuple[str, FieldPlan]] = []
    for child in select(planning, selected.sets, "PageInfo"):
        arguments(planning, child.node, ())
        plan = TypeName("PageInfo") if child.name == TYPE_NAME else _PAGE_INFO_FIELDS.get(child.name)
        if plan is None:
            raise GraphQLFailure("unknown field in pageInfo")
        plans.append((child.key, plan))
    return tuple(plans)
