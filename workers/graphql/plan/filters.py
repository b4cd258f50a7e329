"""`filter`: conditions on the rows of an entity. Pure.

Source: reference page "graphql", section 9. Absent values drop their operator, null ones are literals; several operators
and columns hold together.
"""

from collections.abc import Iterable
from dataclasses import replace

from workers.graphql.errors import GraphQLFailure
from workers.graphql.model import Column, Entity, Relation
from workers.graphql.plan.ids import key_condition, table_of
from workers.graphql.plan.inputs import Given, Kind, Word
from workers.graphql.plan.related import check_distance, join_of, way_of
from workers.graphql.plan.selection import Planning
from workers.graphql.plan.tree import All, Any, Compare, Condition, Exists, IsNull, Not, Operand, Untrue
from workers.graphql.plan.values import array_operand, extra_keys, invalid, operand, operand_list

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
"""Operators by scalar; an enum has those of UUID."""
_ONE_BYTE = '"char"'
LIST_OPERATORS = (*_ARRAYS, "is")
_LOGIC = ("and", "or", "not")
QUANTIFIERS = ("some", "none", "every")
"""How many of several related rows meet a filter."""


def condition_of(planning: Planning, entity: Entity, given: Given) -> Condition | None:
    """Give the condition of a filter; None for one that lets every row pass. Raises: GraphQLFailure."""
    if given.is_nothing:
        return None
    return _of_object(planning, entity, given, 0)


def _of_object(planning: Planning, entity: Entity, given: Given, distance: int) -> Condition | None:
    type_name = f"{entity.name}Filter"
    if given.kind is not Kind.OBJECT:
        raise invalid(type_name)
    entries = given.entries()
    parts: list[Condition] = []
    extra: list[str] = []
    for name, value in entries.items():
        column = entity.columns.get(name)
        if column is not None and column.is_selectable and column.type.filter_type is not None:
            parts += of_column(planning, column, value)
        elif name == "nodeId" and entity.has_node_id:
            parts += _of_node_id(planning, entity, value)
        elif name in _LOGIC:
            parts += _logic(planning, entity, name, value, distance)
        elif (way := way_of(planning.schema, entity, name)) is not None:
            parts += _of_relation(planning, *way, value, distance + 1)
        else:
            extra.append(name)
    if extra:
        raise extra_keys(type_name, extra)
    return together(parts)


def _logic(planning: Planning, entity: Entity, name: str, given: Given, distance: int) -> Iterable[Condition]:
    if given.is_nothing:
        return
    if name == "not":
        inner = _of_object(planning, entity, given, distance)
        if inner is not None:
            yield Not(inner)
        return
    inner_parts = [
        part
        for one in given.as_list()
        if not one.is_nothing and (part := _of_object(planning, entity, one, distance)) is not None
    ]
    if inner_parts:
        yield (All if name == "and" else Any)(tuple(inner_parts)) if len(inner_parts) > 1 else inner_parts[0]


def _of_relation(
    planning: Planning, relation: Relation, target: Entity, given: Given, distance: int
) -> Iterable[Condition]:
    """Give what must hold of related rows: of the one there is, or of some, none or every one of them."""
    check_distance(distance)
    if given.is_nothing:
        return
    join = join_of(relation)
    if not relation.is_many:
        inner = _of_object(planning, target, given, distance)
        if inner is not None:
            yield Exists(join, inner)
        return
    type_name = f"{target.name}ManyFilter"
    if given.kind is not Kind.OBJECT:
        raise invalid(type_name)
    entries = given.entries()
    extra = [name for name in entries if name not in QUANTIFIERS]
    if extra:
        raise extra_keys(type_name, extra)
    for name, value in entries.items():
        if value.is_nothing:
            continue
        inner = _of_object(planning, target, value, distance)
        if name == "some":
            yield Exists(join, inner)
        elif name == "none":
            yield Not(Exists(join, inner))
        elif inner is not None:
            yield Not(Exists(join, Untrue(inner)))


def of_column(planning: Planning, column: Column, given: Given) -> Iterable[Condition]:
    """Give the conditions of a filter on one column, operator by operator. Raises: GraphQLFailure."""
    if given.is_nothing:
        return
    if given.kind is not Kind.OBJECT:
        raise invalid(column.type.filter_type or "")
    entries = given.entries()
    known = operators_of(column)
    extra = [name for name in entries if name not in known]
    if extra:
        raise extra_keys(column.type.filter_type or "", extra)
    for name, value in entries.items():
        if value.kind is not Kind.ABSENT:
            yield _of_operator(planning, column, name, value)


def operators_of(column: Column) -> tuple[str, ...]:
    """Give the operators that a filter on a column has."""
    if column.type.is_list:
        return LIST_OPERATORS
    return OPERATORS["UUID"] if column.type.enum is not None else OPERATORS[column.type.scalar]


def _of_operator(planning: Planning, column: Column, name: str, given: Given) -> Condition:
    if name == "is":
        return IsNull(column.sql, _is_null(given))
    inputs, type_ = planning.inputs, column.type
    if type_.is_list:
        return Compare(column.sql, _ARRAYS[name], array_operand(inputs, given, type_))
    if name == "in":
        return Compare(column.sql, "=", operand_list(inputs, given, type_), is_any=True)
    if name in _TEXTS:
        return Compare(column.sql, _TEXTS[name], single_operand(planning, given, _patterned(column)))
    return Compare(column.sql, _COMPARISONS[name], single_operand(planning, given, column))


def _patterned(column: Column) -> Column:
    """Give a column as its patterns are read: these are no values of it, and may be longer."""
    if column.type.max_length is None and column.type.sql != _ONE_BYTE:
        return column
    return replace(column, type=replace(column.type, sql="text", max_length=None))


def single_operand(planning: Planning, given: Given, column: Column) -> Operand:
    """Make the operand to compare a column with. Raises: GraphQLFailure for a value of the wrong type."""
    if given.kind in (Kind.LIST, Kind.OBJECT) and column.type.scalar != "Opaque":
        raise invalid(column.type.scalar)
    return operand(planning.inputs, given, column.type)


def _is_null(given: Given) -> bool:
    """Read `is`: NULL or NOT_NULL, as a name or a string; null is NULL."""
    value = given.look()
    if value is None or (isinstance(value, str) and value == "NULL"):
        return True
    if isinstance(value, str) and value == "NOT_NULL":
        return False
    raise invalid("FilterIs")


def _of_node_id(planning: Planning, entity: Entity, given: Given) -> Iterable[Condition]:
    if given.is_nothing:
        return
    if given.kind is not Kind.OBJECT:
        raise invalid("IDFilter")
    entries = given.entries()
    extra = [name for name in entries if name != "eq"]
    if extra:
        raise extra_keys("IDFilter", extra)
    wanted = entries.get("eq")
    if wanted is None or wanted.kind is Kind.ABSENT:
        return
    if wanted.kind not in (Kind.SCALAR, Kind.NULL) or isinstance(wanted.value, Word):
        raise invalid("ID")
    if wanted.ask(table_of) != entity.sql:
        raise GraphQLFailure("nodeId belongs to a different collection")
    yield key_condition(planning.inputs, entity, wanted)


def together(parts: list[Condition]) -> Condition | None:
    """Give the condition that all parts hold; None for no part."""
    if len(parts) > 1:
        return All(tuple(parts))
    return parts[0] if parts else None
