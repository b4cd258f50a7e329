"""Plan `filter`: conditions on the rows of an entity. Pure.

An operator with an absent value is dropped; one with null compares with null. Several columns and several operators are
combined with `and`. Source: docs/reference/graphql.md, section 9.
"""

from collections.abc import Iterable
from dataclasses import replace

from workers.graphql.errors import GraphQLFailure
from workers.graphql.model import Entity, EntityColumn, RelationField
from workers.graphql.plan.conditions import (
    ColumnComparison,
    Condition,
    Conjunction,
    Disjunction,
    Negation,
    NotTrue,
    NullTest,
    Operand,
    RelatedRowExists,
)
from workers.graphql.plan.ids import id_table, key_condition
from workers.graphql.plan.inputs import SIMPLE, ArgumentValue, EnumLiteral, InputKind
from workers.graphql.plan.related import check_distance, find_relation, related_rows
from workers.graphql.plan.selection import PlanContext
from workers.graphql.plan.values import array_operand, extra_keys, invalid_input, operand, operand_list

_COMPARISONS = {"eq": "=", "neq": "<>", "lt": "<", "lte": "<=", "gt": ">", "gte": ">="}
_TEXTS = {"startsWith": "^@", "like": "~~", "ilike": "~~*", "regex": "~", "iregex": "~*"}
_ARRAYS = {"contains": "@>", "containedBy": "<@", "overlaps": "&&", "eq": "="}
_ORDERED = ("eq", "neq", "lt", "lte", "gt", "gte", "in", "is")

OPERATORS: dict[str, tuple[str, ...]] = {
    **{name: _ORDERED for name in ("Int", "Float", "BigInt", "BigFloat", "Date", "Time", "Datetime")},
    "String": (*_ORDERED, *_TEXTS),
    "UUID": ("eq", "neq", "in", "is"),
    "Boolean": ("eq", "is"),
    "Opaque": ("eq", "is"),
}
"""Operators by scalar. Enums have the operators of UUID."""
_ONE_BYTE = '"char"'
LIST_OPERATORS = (*_ARRAYS, "is")
_LOGIC = ("and", "or", "not")
MOST_OBJECTS = 10_000
"""Objects in one filter, each about a condition."""
QUANTIFIERS = ("some", "none", "every")
"""Quantifiers of a filter on a to-many relation."""


def plan_filter(planning: PlanContext, entity: Entity, value: ArgumentValue) -> Condition | None:
    """Return the condition of a filter; None for a filter that every row passes. Raises: GraphQLFailure."""
    if value.is_missing:
        return None
    if _count_objects(value) > MOST_OBJECTS:
        raise GraphQLFailure(
            f"A filter has at most {MOST_OBJECTS} objects; compare with a list by `in` instead"
        )
    return _object_condition(planning, entity, value, 0)


def _count_objects(filter_value: ArgumentValue) -> int:
    """Count the objects of a filter. Those in variables are in no limit of documents. The depth of variables is checked before."""
    count = 0
    pending: list[object] = [filter_value.value]
    while pending:
        value = pending.pop()
        if isinstance(value, ArgumentValue):
            pending.append(value.value)
        elif isinstance(value, dict):
            count += 1
            pending += value.values()
        elif isinstance(value, list):
            pending += [element for element in value if type(element) not in SIMPLE]
    return count


def _object_condition(
    planning: PlanContext, entity: Entity, value: ArgumentValue, distance: int
) -> Condition | None:
    type_name = f"{entity.name}Filter"
    if value.kind is not InputKind.OBJECT:
        raise invalid_input(type_name)
    entries = value.entries()
    parts: list[Condition] = []
    unknown: list[str] = []
    for name, entry in entries.items():
        column = entity.columns.get(name)
        if column is not None and column.is_selectable and column.type.filter_type is not None:
            parts += column_conditions(planning, column, entry)
        elif name == "nodeId" and entity.has_node_id:
            parts += _node_id_conditions(planning, entity, entry)
        elif name in _LOGIC:
            parts += _logical_conditions(planning, entity, name, entry, distance)
        elif (related := find_relation(planning.schema, entity, name)) is not None:
            parts += _relation_conditions(planning, *related, entry, distance + 1)
        else:
            unknown.append(name)
    if unknown:
        raise extra_keys(type_name, unknown)
    return conjunction(parts)


def _logical_conditions(
    planning: PlanContext, entity: Entity, name: str, value: ArgumentValue, distance: int
) -> Iterable[Condition]:
    if value.is_missing:
        return
    if name == "not":
        inner = _object_condition(planning, entity, value, distance)
        if inner is not None:
            yield Negation(inner)
        return
    inner_parts = [
        part
        for element in value.as_list()
        if not element.is_missing
        and (part := _object_condition(planning, entity, element, distance)) is not None
    ]
    if inner_parts:
        yield (
            (Conjunction if name == "and" else Disjunction)(tuple(inner_parts))
            if len(inner_parts) > 1
            else inner_parts[0]
        )


def _relation_conditions(
    planning: PlanContext, relation: RelationField, target: Entity, value: ArgumentValue, distance: int
) -> Iterable[Condition]:
    """Yield the conditions on related rows: on the one row, or on some, none or every one of several.

    `every` is `not exists (a related row for which the filter is not true)`. `is not true` includes unknown, so a row for
    which the filter is unknown makes `every` false.
    """
    check_distance(distance)
    if value.is_missing:
        return
    join = related_rows(relation)
    if not relation.is_many:
        inner = _object_condition(planning, target, value, distance)
        if inner is not None:
            yield RelatedRowExists(join, inner)
        return
    type_name = f"{target.name}ManyFilter"
    if value.kind is not InputKind.OBJECT:
        raise invalid_input(type_name)
    entries = value.entries()
    unknown = [name for name in entries if name not in QUANTIFIERS]
    if unknown:
        raise extra_keys(type_name, unknown)
    for name, entry in entries.items():
        if entry.is_missing:
            continue
        inner = _object_condition(planning, target, entry, distance)
        if name == "some":
            yield RelatedRowExists(join, inner)
        elif name == "none":
            yield Negation(RelatedRowExists(join, inner))
        elif inner is not None:
            yield Negation(RelatedRowExists(join, NotTrue(inner)))


def column_conditions(
    planning: PlanContext, column: EntityColumn, value: ArgumentValue
) -> Iterable[Condition]:
    """Yield the conditions of a filter on one column, one for each operator. Raises: GraphQLFailure."""
    if value.is_missing:
        return
    if value.kind is not InputKind.OBJECT:
        raise invalid_input(column.type.filter_type or "")
    entries = value.entries()
    operators = column_operators(column)
    unknown = [name for name in entries if name not in operators]
    if unknown:
        raise extra_keys(column.type.filter_type or "", unknown)
    for name, entry in entries.items():
        if entry.kind is not InputKind.ABSENT:
            yield _operator_condition(planning, column, name, entry)


def column_operators(column: EntityColumn) -> tuple[str, ...]:
    """Return the operators of filters on a column."""
    if column.type.is_list:
        return LIST_OPERATORS
    return OPERATORS["UUID"] if column.type.enum is not None else OPERATORS[column.type.scalar]


def _operator_condition(
    planning: PlanContext, column: EntityColumn, name: str, value: ArgumentValue
) -> Condition:
    if name == "is":
        return NullTest(column.sql, _is_null(value))
    inputs, type_ = planning.inputs, column.type
    if type_.is_list:
        return ColumnComparison(column.sql, _ARRAYS[name], array_operand(inputs, value, type_))
    if name == "in":
        return ColumnComparison(column.sql, "=", operand_list(inputs, value, type_), is_any=True)
    if name in _TEXTS:
        return ColumnComparison(
            column.sql, _TEXTS[name], single_operand(planning, value, _pattern_column(column))
        )
    return ColumnComparison(column.sql, _COMPARISONS[name], single_operand(planning, value, column))


def _pattern_column(column: EntityColumn) -> EntityColumn:
    """Return a column with the type of its patterns: a pattern is text and may be longer than the column's values."""
    if column.type.max_length is None and column.type.sql != _ONE_BYTE:
        return column
    return replace(column, type=replace(column.type, sql="text", max_length=None))


def single_operand(planning: PlanContext, value: ArgumentValue, column: EntityColumn) -> Operand:
    """Return the operand to compare a column with. Raises: GraphQLFailure for a value of the wrong type."""
    if value.kind in (InputKind.LIST, InputKind.OBJECT) and column.type.scalar != "Opaque":
        raise invalid_input(column.type.scalar)
    return operand(planning.inputs, value, column.type)


def _is_null(argument: ArgumentValue) -> bool:
    """Read `is`: NULL or NOT_NULL, as a name or a string; null is NULL."""
    value = argument.steering_value()
    if value is None or (isinstance(value, str) and value == "NULL"):
        return True
    if isinstance(value, str) and value == "NOT_NULL":
        return False
    raise invalid_input("FilterIs")


def _node_id_conditions(planning: PlanContext, entity: Entity, value: ArgumentValue) -> Iterable[Condition]:
    if value.is_missing:
        return
    if value.kind is not InputKind.OBJECT:
        raise invalid_input("IDFilter")
    entries = value.entries()
    unknown = [name for name in entries if name != "eq"]
    if unknown:
        raise extra_keys("IDFilter", unknown)
    node_id = entries.get("eq")
    if node_id is None or node_id.kind is InputKind.ABSENT:
        return
    if node_id.kind not in (InputKind.SCALAR, InputKind.NULL) or isinstance(node_id.value, EnumLiteral):
        raise invalid_input("ID")
    if node_id.evaluate(id_table) != entity.sql:
        raise GraphQLFailure("nodeId belongs to a different collection")
    yield key_condition(planning.inputs, entity, node_id)


def conjunction(parts: list[Condition]) -> Condition | None:
    """Return the conjunction of all parts; None without parts."""
    if len(parts) > 1:
        return Conjunction(tuple(parts))
    return parts[0] if parts else None
