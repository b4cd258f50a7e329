"""The types that stand for one table or view: row, connection, edge, inputs, responses, aggregates. Pure.

Source: reference page "graphql", sections 4, 8, 9, 10, 13 and 14.
"""

from collections.abc import Iterable, Iterator

from workers.graphql.introspection.additions import (
    addition_types,
    filter_members,
    groups_field,
    insert_members,
    order_members,
)
from workers.graphql.introspection.fields import Scope, Told, function_field, value_ref
from workers.graphql.introspection.types import Field, InputValue, Kind, Type, TypeRef, list_of, required
from workers.graphql.model import Column, Relation
from workers.graphql.reflect.names import is_valid

_SUMMED = ("Int", "BigInt", "Float", "BigFloat")
_RANGED = (*_SUMMED, "String", "Date", "Time", "Datetime", "Boolean")


def entity_types(told: Told, scope: Scope) -> Iterator[Type]:
    """Give the types of an entity, as far as the role may read and write it."""
    entity, name = told.entity, told.entity.name
    yield _row(told, scope)
    yield _connection(told)
    edge = (Field("cursor", required("String")), Field("node", required(name)))
    yield Type(Kind.OBJECT, f"{name}Edge", None, edge)
    yield _filter(told, scope)
    orders = (
        *(InputValue(column.name, "OrderByDirection") for column in told.orders),
        *_others(order_members(told, scope), told),
    )
    if orders:
        yield Type(Kind.INPUT_OBJECT, f"{name}OrderBy", None, orders)
    if entity.is_insertable:
        inserted = [column for column in entity.columns.values() if column.is_insertable]
        yield _input(f"{name}InsertInput", inserted, tuple(insert_members(told, scope)))
        yield _response(f"{name}InsertResponse", name)
    if entity.is_updatable:
        updated = [column for column in entity.columns.values() if column.is_updatable]
        yield _input(f"{name}UpdateInput", updated)
        yield _response(f"{name}UpdateResponse", name)
    if entity.is_deletable:
        yield _response(f"{name}DeleteResponse", name)
    if entity.has_aggregate:
        yield from _aggregates(told)
    yield from addition_types(told, scope)


def _others(members: Iterable[InputValue], told: Told) -> Iterator[InputValue]:
    """Give what does not have the name of a column: columns come first."""
    return (one for one in members if one.name not in told.entity.columns)


def _row(told: Told, scope: Scope) -> Type:
    """Give the row type; of fields with one name the later one stands, as `Entity.field` has it."""
    entity = told.entity
    fields: dict[str, Field] = {}
    if entity.has_node_id:
        fields["nodeId"] = Field("nodeId", required("ID"), "Globally Unique Record Identifier")
    for column, of in told.columns:
        of = of if column.is_nullable else required(of)
        fields[column.name] = Field(column.name, of, column.description)
    for relation in entity.relations.values():
        target = scope.get(relation.target)
        if target is not None:
            fields[relation.name] = _relation(relation, target)
    for function in entity.functions.values():
        field = function_field(function, scope)
        if field is not None:
            fields[field.name] = field
    interfaces = ("Node",) if entity.has_node_id else ()
    return Type(Kind.OBJECT, entity.name, entity.description, tuple(fields.values()), interfaces)


def _relation(relation: Relation, target: Told) -> Field:
    name = target.entity.name
    if relation.is_many:
        return Field(relation.name, f"{name}Connection", None, target.args)
    of: TypeRef = name if relation.is_nullable else required(name)
    return Field(relation.name, of)


def _connection(told: Told) -> Type:
    entity = told.entity
    fields = [
        Field("edges", required(list_of(required(f"{entity.name}Edge")))),
        Field("pageInfo", required("PageInfo")),
    ]
    if entity.has_total_count:
        description = "The number of records that match the `filter`, whatever the page"
        fields.append(Field("totalCount", required("Int"), description))
    if entity.has_aggregate:
        description = f"Aggregates over the matching `{entity.name}` records, whatever the page"
        fields.append(Field("aggregate", f"{entity.name}Aggregate", description))
    fields += groups_field(told)
    return Type(Kind.OBJECT, f"{entity.name}Connection", None, tuple(fields))


def _filter(told: Told, scope: Scope) -> Type:
    own = f"{told.entity.name}Filter"
    fields: dict[str, InputValue] = {}
    for column, _ in told.columns:
        if column.type.filter_type is not None:
            fields[column.name] = InputValue(column.name, column.type.filter_type)
    given = [
        InputValue("and", list_of(required(own)), "Holds when all of these hold"),
        InputValue("or", list_of(required(own)), "Holds when one of these holds"),
        InputValue("not", own, "Holds when this does not"),
    ]
    if told.entity.has_node_id:
        given.insert(0, InputValue("nodeId", "IDFilter"))
    for each in (*given, *filter_members(told, scope)):
        fields.setdefault(each.name, each)
    return Type(Kind.INPUT_OBJECT, own, None, tuple(fields.values()))


def _input(name: str, columns: list[Column], more: tuple[InputValue, ...] = ()) -> Type:
    members = []
    for column in columns:
        of = value_ref(column.type)
        if of is not None and is_valid(column.name):
            members.append(InputValue(column.name, of, column.description))
    own = {member.name for member in members}
    members += [member for member in more if member.name not in own]
    return Type(Kind.INPUT_OBJECT, name, None, tuple(members))


def _response(name: str, of: str) -> Type:
    fields = (
        Field("affectedCount", required("Int"), "How many records were changed"),
        Field("records", required(list_of(required(of))), "The records that were changed"),
    )
    return Type(Kind.OBJECT, name, None, fields)


def _aggregates(told: Told) -> Iterator[Type]:
    """Give `TAggregate` and the results of its functions; a function without a column to work on is left out."""
    entity = told.entity
    own = [column for column, _ in told.columns if not column.type.is_list]
    summed = [column for column in own if column.type.scalar in _SUMMED]
    ranged = [column for column in own if column.type.scalar in _RANGED]
    results = {
        "sum": ((column, "BigInt" if column.type.scalar == "Int" else "BigFloat") for column in summed),
        "avg": ((column, "BigFloat") for column in summed),
        "min": ((column, column.type.scalar) for column in ranged),
        "max": ((column, column.type.scalar) for column in ranged),
    }
    fields = [Field("count", required("Int"), "How many records match")]
    for function, columns in results.items():
        members = tuple(Field(column.name, of) for column, of in columns)
        if members:
            name = f"{entity.name}{function.capitalize()}AggregateResult"
            description = f"Result of `{function}` over `{entity.name}` records"
            yield Type(Kind.OBJECT, name, description, members)
            fields.append(Field(function, name, f"`{function}` of each column"))
    description = f"Aggregates over `{entity.name}` records"
    yield Type(Kind.OBJECT, f"{entity.name}Aggregate", description, tuple(fields))
