"""Insert, update and delete. Pure. Source: reference page "graphql", section 14."""

from collections.abc import Mapping

import msgspec

from workers.graphql.errors import GraphQLFailure
from workers.graphql.model import Column, Entity
from workers.graphql.plan.conflict import conflict_of
from workers.graphql.plan.filters import condition_of
from workers.graphql.plan.inputs import NOTHING, Convert, Given, Kind
from workers.graphql.plan.nested import MOST_PARAMETERS, has_nested, plan_rows
from workers.graphql.plan.rows import row_fields
from workers.graphql.plan.selection import TYPE_NAME, Planning, Selected, arguments, required, select
from workers.graphql.plan.tree import (
    AffectedCount,
    Delete,
    Field,
    Fields,
    Insert,
    NestedInsert,
    Operand,
    Records,
    TypeName,
    Update,
)
from workers.graphql.plan.values import INT, column_operand, extra_keys, invalid, list_of, single


def plan_insert(planning: Planning, selected: Selected, entity: Entity) -> Insert | NestedInsert:
    """Plan `insertInto...Collection`. Raises: GraphQLFailure."""
    given = arguments(planning, selected.node, ("objects", "onConflict"))
    objects = required(given, "objects")
    conflict = conflict_of(planning, entity, given.get("onConflict", NOTHING))
    if has_nested(planning.schema, entity, objects):
        if conflict is not None:
            raise GraphQLFailure("onConflict and related objects cannot be given together")
        return _nested(planning, selected, entity, objects)
    even = _even_rows(planning, entity, objects)
    packed: Operand | None = None
    rows: tuple[tuple[Operand | None, ...], ...] = ()
    if even is not None:
        columns, packed = even
    else:
        columns, rows = _uneven_rows(planning, entity, objects)
    response = _response(planning, selected, entity, "Insert")
    return Insert(entity.sql, _typed(columns), response, _seen(entity), rows, packed, conflict)


def _nested(planning: Planning, selected: Selected, entity: Entity, objects: Given) -> NestedInsert:
    """Plan an insert of rows with rows related to them."""
    key = entity.key_columns
    if len(key) != len(entity.primary_key):
        raise GraphQLFailure(f"The key of {entity.name} is not visible: insert related objects one by one")
    inserts, root = plan_rows(planning, entity, objects)
    return NestedInsert(
        entity.sql, inserts, root, _typed(list(key)), _response(planning, selected, entity, "Insert")
    )


def plan_update(planning: Planning, selected: Selected, entity: Entity) -> Update:
    """Plan `update...Collection`. Raises: GraphQLFailure."""
    given = arguments(planning, selected.node, ("set", "filter", "atMost"))
    wanted = required(given, "set")
    entries = _entries(wanted, entity, f"{entity.name}UpdateInput", is_insert=False)
    assignments = tuple(
        (entity.columns[name].sql, column_operand(planning.inputs, value, entity.columns[name]))
        for name, value in entries.items()
    )
    if not assignments:
        raise GraphQLFailure("At least one mapping must be provided to set argument")
    return Update(
        entity.sql,
        assignments,
        condition_of(planning, entity, given.get("filter", NOTHING)),
        _at_most(planning, given),
        _response(planning, selected, entity, "Update"),
        _seen(entity),
    )


def plan_delete(planning: Planning, selected: Selected, entity: Entity) -> Delete:
    """Plan `deleteFrom...Collection`. Raises: GraphQLFailure."""
    given = arguments(planning, selected.node, ("filter", "atMost"))
    return Delete(
        entity.sql,
        condition_of(planning, entity, given.get("filter", NOTHING)),
        _at_most(planning, given),
        _response(planning, selected, entity, "Delete"),
        _seen(entity),
    )


def _typed(columns: list[Column]) -> tuple[tuple[str, str], ...]:
    return tuple((column.sql, column.type.sql) for column in columns)


def _at_most(planning: Planning, given: Mapping[str, Given]) -> Operand:
    value = given.get("atMost", NOTHING)
    if value.kind is Kind.ABSENT:
        return Operand(b"1", "int8")
    if value.kind is not Kind.SCALAR:
        raise invalid("NonNull" if value.kind is Kind.NULL else "Int")
    return Operand(planning.inputs.parameter(value, INT), "int8")


def _entries(given: Given, entity: Entity, type_name: str, *, is_insert: bool) -> dict[str, Given]:
    """Give the entries of an object of new values. Raises: GraphQLFailure for columns that cannot be written."""
    if given.kind is not Kind.OBJECT:
        raise invalid("NonNull" if given.is_nothing else type_name)
    entries = given.entries()
    extra = [name for name in entries if not _is_writable(entity.columns.get(name), is_insert=is_insert)]
    if extra:
        raise extra_keys(type_name, extra)
    return {name: value for name, value in entries.items() if value.kind is not Kind.ABSENT}


def _is_writable(column: Column | None, *, is_insert: bool) -> bool:
    return column is not None and (column.is_insertable if is_insert else column.is_updatable)


# --- the rows of an insert -----------------------------------------------------------------------------------


def _even_rows(planning: Planning, entity: Entity, given: Given) -> "tuple[list[Column], Operand] | None":
    """Pack rows of a variable that all name the same columns: one parameter and one plan for any number of them."""
    if given.path is None or not isinstance(given.value, list) or not _have_same_keys(given.value):
        return None
    names = _entries(Given(given.value[0], given.path), entity, f"{entity.name}InsertInput", is_insert=True)
    columns = [column for name, column in entity.columns.items() if name in names]
    if not columns:
        return None
    return columns, Operand(planning.inputs.parameter(given, _packing(columns)), "jsonb")


def _have_same_keys(values: list[object]) -> bool:
    keys = {tuple(sorted(one)) if isinstance(one, dict) else None for one in values}
    return len(keys) == 1 and None not in keys


def _packing(columns: list[Column]) -> Convert:
    """Give what turns objects into a JSON array of arrays of texts, in the order of the columns."""
    specs = [
        (column.name, list_of(column.type) if column.type.is_list else single(column.type))
        for column in columns
    ]

    def pack(value: object) -> str:
        assert isinstance(value, list)
        rows = [
            [None if (one := row[name]) is None else convert(one) for name, convert in specs] for row in value
        ]
        return msgspec.json.encode(rows).decode()

    return pack


def _uneven_rows(
    planning: Planning, entity: Entity, given: Given
) -> tuple[list[Column], tuple[tuple[Operand | None, ...], ...]]:
    """Plan each row by itself; a column that it does not name takes its default."""
    type_name = f"{entity.name}InsertInput"
    rows = [_entries(one, entity, type_name, is_insert=True) for one in given.as_list()]
    if not rows:
        raise GraphQLFailure("At least one record must be provided to objects")
    named = {name for row in rows for name in row}
    columns = [column for name, column in entity.columns.items() if name in named]
    if not columns:  # rows of nothing but defaults: a column has to be named all the same
        columns = [column for column in entity.columns.values() if column.is_insertable][:1]
    if len(rows) * len(columns) > MOST_PARAMETERS:
        raise GraphQLFailure("Too many values for one insert")
    operands = tuple(
        tuple(
            column_operand(planning.inputs, row[one.name], one) if one.name in row else None
            for one in columns
        )
        for row in rows
    )
    return columns, operands


def _seen(entity: Entity) -> str:
    """Give a column that the role may select, of the key if it can be."""
    every = (*entity.key_columns, *entity.columns.values())
    return next(column.sql for column in every if column.is_selectable)


# --- what is answered ----------------------------------------------------------------------------------------


def _response(planning: Planning, selected: Selected, entity: Entity, verb: str) -> Fields:
    type_name = f"{entity.name}{verb}Response"
    found: list[tuple[str, Field]] = []
    for one in select(planning, selected.sets, type_name):
        arguments(planning, one.node, ())
        match one.name:
            case "affectedCount":
                field: Field = AffectedCount()
            case "records":
                field = Records(row_fields(planning, one.sets, entity))
            case name if name == TYPE_NAME:
                field = TypeName(type_name)
            case _:
                raise GraphQLFailure(f"unknown field in {verb.lower()}")
        found.append((one.key, field))
    return tuple(found)
