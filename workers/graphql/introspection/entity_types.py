"""Build the types of one table or view: row, connection, edge, inputs, responses, aggregates. Pure.

Source: docs/reference/graphql.md, sections 4, 8, 9, 10, 13 and 14.
"""

from collections.abc import Iterable, Iterator

from workers.graphql.introspection.additions import (
    addition_types,
    filter_members,
    groups_field,
    insert_members,
    order_members,
)
from workers.graphql.introspection.fields import EntityDescription, VisibleEntities, function_field, value_ref
from workers.graphql.introspection.types import (
    FieldDefinition,
    InputValue,
    TypeDefinition,
    TypeKind,
    TypeRef,
    list_of,
    required,
)
from workers.graphql.model import EntityColumn, RelationField
from workers.graphql.reflect.names import is_valid

_SUMMED = ("Int", "BigInt", "Float", "BigFloat")
_RANGED = (*_SUMMED, "String", "Date", "Time", "Datetime", "Boolean")


def entity_types(described: EntityDescription, scope: VisibleEntities) -> Iterator[TypeDefinition]:
    """Yield the types of an entity, as far as the role may read and write it."""
    entity, name = described.entity, described.entity.name
    yield _row(described, scope)
    yield _connection(described)
    edge = (FieldDefinition("cursor", required("String")), FieldDefinition("node", required(name)))
    yield TypeDefinition(TypeKind.OBJECT, f"{name}Edge", None, edge)
    yield _filter(described, scope)
    orders = (
        *(InputValue(column.name, "OrderByDirection") for column in described.orders),
        *_without_columns(order_members(described, scope), described),
    )
    if orders:
        yield TypeDefinition(TypeKind.INPUT_OBJECT, f"{name}OrderBy", None, orders)
    if entity.is_insertable:
        inserted = [column for column in entity.columns.values() if column.is_insertable]
        yield _input(f"{name}InsertInput", inserted, tuple(insert_members(described, scope)))
        yield _response(f"{name}InsertResponse", name)
    if entity.is_updatable:
        updated = [column for column in entity.columns.values() if column.is_updatable]
        yield _input(f"{name}UpdateInput", updated)
        yield _response(f"{name}UpdateResponse", name)
    if entity.is_deletable:
        yield _response(f"{name}DeleteResponse", name)
    if entity.has_aggregate:
        yield from _aggregates(described)
    yield from addition_types(described, scope)


def _without_columns(members: Iterable[InputValue], described: EntityDescription) -> Iterator[InputValue]:
    """Return the members that do not have the name of a column; columns take precedence."""
    return (member for member in members if member.name not in described.entity.columns)


def _row(described: EntityDescription, scope: VisibleEntities) -> TypeDefinition:
    """Return the row type. Of fields with one name the later one is used, as in `Entity.field`."""
    entity = described.entity
    fields: dict[str, FieldDefinition] = {}
    if entity.has_node_id:
        fields["nodeId"] = FieldDefinition("nodeId", required("ID"), "Globally Unique Record Identifier")
    for column, type_ref in described.columns:
        type_ref = type_ref if column.is_nullable else required(type_ref)
        fields[column.name] = FieldDefinition(column.name, type_ref, column.description)
    for relation in entity.relations.values():
        target = scope.get(relation.target)
        if target is not None:
            fields[relation.name] = _relation(relation, target)
    for function in entity.functions.values():
        field = function_field(function, scope)
        if field is not None:
            fields[field.name] = field
    interfaces = ("Node",) if entity.has_node_id else ()
    return TypeDefinition(
        TypeKind.OBJECT, entity.name, entity.description, tuple(fields.values()), interfaces
    )


def _relation(relation: RelationField, target: EntityDescription) -> FieldDefinition:
    name = target.entity.name
    if relation.is_many:
        return FieldDefinition(relation.name, f"{name}Connection", None, target.args)
    type_ref: TypeRef = name if relation.is_nullable else required(name)
    return FieldDefinition(relation.name, type_ref)


def _connection(described: EntityDescription) -> TypeDefinition:
    entity = described.entity
    fields = [
        FieldDefinition("edges", required(list_of(required(f"{entity.name}Edge")))),
        FieldDefinition("pageInfo", required("PageInfo")),
    ]
    if entity.has_total_count:
        description = "The number of records that match the `filter`, whatever the page"
        fields.append(FieldDefinition("totalCount", required("Int"), description))
    if entity.has_aggregate:
        description = f"Aggregates over the matching `{entity.name}` records, whatever the page"
        fields.append(FieldDefinition("aggregate", f"{entity.name}Aggregate", description))
    fields += groups_field(described)
    return TypeDefinition(TypeKind.OBJECT, f"{entity.name}Connection", None, tuple(fields))


def _filter(described: EntityDescription, scope: VisibleEntities) -> TypeDefinition:
    filter_name = f"{described.entity.name}Filter"
    fields: dict[str, InputValue] = {}
    for column, _ in described.columns:
        if column.type.filter_type is not None:
            fields[column.name] = InputValue(column.name, column.type.filter_type)
    fixed_members = [
        InputValue("and", list_of(required(filter_name)), "Holds when all of these hold"),
        InputValue("or", list_of(required(filter_name)), "Holds when one of these holds"),
        InputValue("not", filter_name, "Holds when this does not"),
    ]
    if described.entity.has_node_id:
        fixed_members.insert(0, InputValue("nodeId", "IDFilter"))
    for member in (*fixed_members, *filter_members(described, scope)):
        fields.setdefault(member.name, member)
    return TypeDefinition(TypeKind.INPUT_OBJECT, filter_name, None, tuple(fields.values()))


def _input(name: str, columns: list[EntityColumn], additions: tuple[InputValue, ...] = ()) -> TypeDefinition:
    members = []
    for column in columns:
        type_ref = value_ref(column.type)
        if type_ref is not None and is_valid(column.name):
            members.append(InputValue(column.name, type_ref, column.description))
    column_names = {member.name for member in members}
    members += [member for member in additions if member.name not in column_names]
    return TypeDefinition(TypeKind.INPUT_OBJECT, name, None, tuple(members))


def _response(name: str, record_type: str) -> TypeDefinition:
    fields = (
        FieldDefinition("affectedCount", required("Int"), "How many records were changed"),
        FieldDefinition("records", required(list_of(required(record_type))), "The records that were changed"),
    )
    return TypeDefinition(TypeKind.OBJECT, name, None, fields)


def _aggregates(described: EntityDescription) -> Iterator[TypeDefinition]:
    """Yield `TAggregate` and the result types of its functions; a function that takes none of the columns is left out."""
    entity = described.entity
    scalar_columns = [column for column, _ in described.columns if not column.type.is_list]
    summed = [column for column in scalar_columns if column.type.scalar in _SUMMED]
    ranged = [column for column in scalar_columns if column.type.scalar in _RANGED]
    results = {
        "sum": ((column, "BigInt" if column.type.scalar == "Int" else "BigFloat") for column in summed),
        "avg": ((column, "BigFloat") for column in summed),
        "min": ((column, column.type.scalar) for column in ranged),
        "max": ((column, column.type.scalar) for column in ranged),
    }
    fields = [FieldDefinition("count", required("Int"), "How many records match")]
    for function, columns in results.items():
        members = tuple(FieldDefinition(column.name, result_type) for column, result_type in columns)
        if members:
            name = f"{entity.name}{function.capitalize()}AggregateResult"
            description = f"Result of `{function}` over `{entity.name}` records"
            yield TypeDefinition(TypeKind.OBJECT, name, description, members)
            fields.append(FieldDefinition(function, name, f"`{function}` of each column"))
    description = f"Aggregates over `{entity.name}` records"
    yield TypeDefinition(TypeKind.OBJECT, f"{entity.name}Aggregate", description, tuple(fields))
