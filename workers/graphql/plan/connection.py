"""Connections: pages of rows with their arguments, edges, page info, counts and aggregates. Pure.

Source: reference page "graphql", section 8.
"""

from collections.abc import Iterable, Mapping
from typing import Protocol

from graphql.language import SelectionSetNode

from workers.graphql.errors import GraphQLFailure
from workers.graphql.model import Entity
from workers.graphql.plan.aggregates import aggregate_fields
from workers.graphql.plan.filters import condition_of
from workers.graphql.plan.groups import plan_groups
from workers.graphql.plan.inputs import NOTHING, Given
from workers.graphql.plan.paging import ARGUMENTS, page_of
from workers.graphql.plan.selection import TYPE_NAME, Planning, Selected, arguments, select
from workers.graphql.plan.tree import (
    Aggregate,
    Connection,
    Cursor,
    Edges,
    Field,
    Fields,
    PageFact,
    PageInfo,
    RowOfEdge,
    Source,
    TotalCount,
    TypeName,
)

_PAGE_FACTS = {fact.value: fact for fact in PageFact}


class PlanRow(Protocol):
    """Plans the fields of a row: connections and rows lie inside one another."""

    def __call__(self, planning: Planning, sets: Iterable[SelectionSetNode], entity: Entity) -> Fields: ...


def plan_connection(
    planning: Planning,
    selected: Selected,
    entity: Entity,
    source: Source,
    plan_row: PlanRow,
    given: Mapping[str, Given] | None = None,
) -> Connection:
    """Plan a connection of an entity. `given`: its arguments, when they were read with others. Raises: GraphQLFailure."""
    if given is None:
        given = arguments(planning, selected.node, ARGUMENTS)
    page = page_of(planning, entity, given)
    around = planning.rows
    planning.spend(page.expected)
    planning.rows = around * max(1, page.expected)
    connection = Connection(
        source=source,
        primary_key=tuple(column.sql for column in entity.key_columns),
        order=page.order,
        limit=page.limit,
        condition=condition_of(planning, entity, given.get("filter", NOTHING)),
        offset=page.offset,
        cursor=page.cursor,
        is_backward=page.is_backward,
        reach=page.reach,
        fields=_fields(planning, selected, entity, plan_row),
    )
    planning.rows = around
    return connection


def _fields(planning: Planning, selected: Selected, entity: Entity, plan_row: PlanRow) -> Fields:
    type_name = f"{entity.name}Connection"
    found: list[tuple[str, Field]] = []
    for one in select(planning, selected.sets, type_name):
        if one.name != "groups":
            arguments(planning, one.node, ())
        match one.name:
            case "edges":
                field: Field = Edges(_edge_fields(planning, one, entity, plan_row))
            case "pageInfo":
                field = PageInfo(_page_facts(planning, one))
            case "totalCount" if entity.has_total_count:
                field = TotalCount()
            case "aggregate":
                if not entity.has_aggregate:
                    raise GraphQLFailure("enable the aggregate directive to use aggregates")
                field = Aggregate(aggregate_fields(planning, one, entity))
            case "groups":
                if not entity.has_aggregate:
                    raise GraphQLFailure("enable the aggregate directive to use aggregates")
                field = plan_groups(planning, one, entity)
            case name if name == TYPE_NAME:
                field = TypeName(type_name)
            case _:
                raise GraphQLFailure("unknown field in connection")
        found.append((one.key, field))
    return tuple(found)


def _edge_fields(planning: Planning, selected: Selected, entity: Entity, plan_row: PlanRow) -> Fields:
    found: list[tuple[str, Field]] = []
    for one in select(planning, selected.sets, f"{entity.name}Edge"):
        arguments(planning, one.node, ())
        match one.name:
            case "cursor":
                field: Field = Cursor()
            case "node":
                field = RowOfEdge(plan_row(planning, one.sets, entity))
            case name if name == TYPE_NAME:
                field = TypeName(f"{entity.name}Edge")
            case _:
                raise GraphQLFailure("unknown field in edge")
        found.append((one.key, field))
    return tuple(found)


def _page_facts(planning: Planning, selected: Selected) -> Fields:
    found: list[tuple[str, Field]] = []
    for one in select(planning, selected.sets, "PageInfo"):
        arguments(planning, one.node, ())
        field = TypeName("PageInfo") if one.name == TYPE_NAME else _PAGE_FACTS.get(one.name)
        if field is None:
            raise GraphQLFailure("unknown field in pageInfo")
        found.append((one.key, field))
    return tuple(found)
