"""Plan `groups`: the rows of a connection grouped by columns, with aggregates over each group. Pure.

Keys and aggregates get aliases (`@k0`, `@f0`), so that `having` and `orderBy` refer to them like columns.
Source: docs/graphql.md, "Groups".
"""

from dataclasses import dataclass, field

from workers.graphql.errors import GraphQLFailure
from workers.graphql.model import Entity, EntityColumn, ValueType
from workers.graphql.plan.aggregate_functions import COLUMN_AGGREGATES, NUMERIC_RESULTS
from workers.graphql.plan.aggregates import aggregated_columns
from workers.graphql.plan.conditions import Condition, SortTerm
from workers.graphql.plan.filters import column_conditions, conjunction
from workers.graphql.plan.inputs import ABSENT_ARGUMENT, ArgumentValue, InputKind
from workers.graphql.plan.order import is_orderable, read_aggregates, read_direction
from workers.graphql.plan.paging import plan_plain_page
from workers.graphql.plan.selection import (
    TYPE_NAME,
    PlanContext,
    SelectedField,
    arguments,
    quoted,
    required,
    select,
)
from workers.graphql.plan.tree import (
    ColumnAggregate,
    ColumnValue,
    FieldPlan,
    FieldPlans,
    GroupAggregate,
    GroupCount,
    GroupKey,
    GroupsPlan,
    TypeName,
)
from workers.graphql.plan.values import extra_keys, invalid_input

ARGUMENTS = ("groupBy", "having", "orderBy", "first", "offset")
_COUNT = ValueType("Int", "int8")
_NUMBER = ValueType("Float", "numeric")


@dataclass(slots=True)
class _Names:
    """Aliases of the keys and aggregates in use."""

    keys: dict[str, str]
    """By column in the database."""
    aggregates: dict[GroupAggregate, str] = field(default_factory=dict)

    def aggregate_name(self, operator: str, column: str, *, is_boolean: bool = False) -> str:
        """Return the alias of an aggregate; a new one if it was not in use."""
        aggregate = GroupAggregate(operator, column, is_boolean)
        return self.aggregates.setdefault(aggregate, f"@f{len(self.aggregates)}")


def plan_groups(planning: PlanContext, selected: SelectedField, entity: Entity) -> GroupsPlan:
    """Plan `groups` of a connection. Raises: GraphQLFailure."""
    values = arguments(planning, selected.node, ARGUMENTS)
    columns = _key_columns(entity, required(values, "groupBy"))
    names = _Names({column.sql: f"@k{index}" for index, column in enumerate(columns)})
    limit, offset, expected = plan_plain_page(planning, entity, values)
    planning.add_cost(expected)
    condition = _plan_having(planning, entity, names, values.get("having", ABSENT_ARGUMENT))
    order = _plan_order(entity, names, values.get("orderBy", ABSENT_ARGUMENT))
    fields = _plan_fields(planning, selected, entity, names)
    by_key = [SortTerm(names.keys[column.sql], column.type.sql) for column in columns]
    return GroupsPlan(
        keys=tuple((name, column) for column, name in names.keys.items()),
        aggregates=tuple((name, aggregate) for aggregate, name in names.aggregates.items()),
        fields=fields,
        order=(*order, *by_key),
        limit=limit,
        condition=condition,
        offset=offset,
    )


def _key_columns(entity: Entity, value: ArgumentValue) -> list[EntityColumn]:
    columns: dict[str, EntityColumn] = {}
    for element in value.as_list():
        name = element.steering_value()
        column = entity.columns.get(name) if isinstance(name, str) else None
        if column is None or not is_orderable(column):
            raise invalid_input(f"{entity.name}GroupColumn")
        columns[column.sql] = column
    if not columns:
        raise GraphQLFailure("groupBy must name at least one column")
    return list(columns.values())


def _plan_having(
    planning: PlanContext, entity: Entity, names: _Names, having: ArgumentValue
) -> Condition | None:
    if having.is_missing:
        return None
    parts: list[Condition] = []
    for operator, column, sql_type, value in read_aggregates(entity, having, f"{entity.name}GroupHaving"):
        name = names.aggregate_name(operator, column, is_boolean=sql_type == "boolean")
        if operator == "count":
            value_type = _COUNT
        elif operator in NUMERIC_RESULTS:
            value_type = _NUMBER
        else:
            value_type = next(
                candidate.type for candidate in entity.columns.values() if candidate.sql == column
            )
        parts += column_conditions(planning, EntityColumn(name, name, value_type, is_nullable=True), value)
    return conjunction(parts)


def _plan_order(entity: Entity, names: _Names, value: ArgumentValue) -> list[SortTerm]:
    if value.is_missing:
        return []
    type_name = f"{entity.name}GroupOrderBy"
    terms: list[SortTerm] = []
    for element in value.as_list():
        if element.is_missing:
            continue
        if element.kind is not InputKind.OBJECT:
            raise invalid_input(type_name)
        entries = dict(element.entries())
        by_key = entries.pop("key", ABSENT_ARGUMENT)
        if not by_key.is_missing:
            terms += _plan_key_order(entity, names, by_key)
        for operator, column, sql_type, direction in read_aggregates(
            entity, ArgumentValue(entries), type_name
        ):
            name = names.aggregate_name(operator, column, is_boolean=sql_type == "boolean")
            terms.append(SortTerm(name, sql_type, *read_direction(direction)))
    return terms


def _plan_key_order(entity: Entity, names: _Names, value: ArgumentValue) -> list[SortTerm]:
    type_name = f"{entity.name}GroupKeyOrderBy"
    if value.kind is not InputKind.OBJECT:
        raise invalid_input(type_name)
    terms: list[SortTerm] = []
    for name, direction in value.entries().items():
        column = entity.columns.get(name)
        if column is None or not column.is_selectable:
            raise extra_keys(type_name, [name])
        if not direction.is_missing:
            terms.append(SortTerm(_key(names, column), column.type.sql, *read_direction(direction)))
    return terms


def _key(names: _Names, column: EntityColumn) -> str:
    name = names.keys.get(column.sql)
    if name is None:
        raise GraphQLFailure(f"{quoted(column.name)} is not among the columns of groupBy")
    return name


# --- selected fields -----------------------------------------------------------------------------------------


def _plan_fields(planning: PlanContext, selected: SelectedField, entity: Entity, names: _Names) -> FieldPlans:
    type_name = f"{entity.name}Group"
    plans: list[tuple[str, FieldPlan]] = []
    for child in select(planning, selected.sets, type_name):
        arguments(planning, child.node, ())
        if child.name == "key":
            plans.append((child.key, GroupKey(_plan_key_fields(planning, child, entity, names))))
        elif child.name == "count":
            plans.append((child.key, GroupCount(names.aggregate_name("count", ""))))
        elif child.name in COLUMN_AGGREGATES:
            plans.append(
                (child.key, ColumnAggregate(child.name, _plan_aggregates(planning, child, entity, names)))
            )
        elif child.name == TYPE_NAME:
            plans.append((child.key, TypeName(type_name)))
        else:
            raise GraphQLFailure(f"Unknown field {quoted(child.name)} on type {type_name}")
    return tuple(plans)


def _plan_key_fields(
    planning: PlanContext, selected: SelectedField, entity: Entity, names: _Names
) -> FieldPlans:
    type_name = f"{entity.name}GroupKey"
    plans: list[tuple[str, FieldPlan]] = []
    for child in select(planning, selected.sets, type_name):
        arguments(planning, child.node, ())
        column = entity.columns.get(child.name)
        if child.name == TYPE_NAME:
            plans.append((child.key, TypeName(type_name)))
        elif column is None or not column.is_selectable:
            raise GraphQLFailure(f"Unknown field {quoted(child.name)} on type {type_name}")
        else:
            plans.append((child.key, ColumnValue(_key(names, column), column.type)))
    return tuple(plans)


def _plan_aggregates(
    planning: PlanContext, selected: SelectedField, entity: Entity, names: _Names
) -> FieldPlans:
    plans: list[tuple[str, FieldPlan]] = []
    for key, plan in aggregated_columns(planning, selected, entity):
        if isinstance(plan, ColumnValue):
            name = names.aggregate_name(selected.name, plan.column, is_boolean=plan.type.scalar == "Boolean")
            plans.append((key, ColumnValue(name, plan.type)))
        else:
            plans.append((key, plan))
    return tuple(plans)
