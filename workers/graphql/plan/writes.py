"""Plan inserts, updates and deletes. Pure. Source: docs/reference/graphql.md, section 14."""

from collections.abc import Mapping

import msgspec

from workers.graphql.errors import GraphQLFailure
from workers.graphql.model import Entity, EntityColumn
from workers.graphql.plan.conditions import Operand
from workers.graphql.plan.conflict import plan_conflict
from workers.graphql.plan.filters import plan_filter
from workers.graphql.plan.inputs import ABSENT_ARGUMENT, ArgumentValue, Convert, InputKind
from workers.graphql.plan.nested import MOST_PARAMETERS, has_nested, plan_rows
from workers.graphql.plan.rows import row_fields
from workers.graphql.plan.selection import TYPE_NAME, PlanContext, SelectedField, arguments, required, select
from workers.graphql.plan.tree import (
    AffectedCount,
    DeletePlan,
    FieldPlan,
    FieldPlans,
    InsertPlan,
    NestedInsertPlan,
    Records,
    TypeName,
    UpdatePlan,
)
from workers.graphql.plan.values import (
    INT,
    column_operand,
    extra_keys,
    invalid_input,
    list_converter,
    value_converter,
)


def plan_insert(
    planning: PlanContext, selected: SelectedField, entity: Entity
) -> InsertPlan | NestedInsertPlan:
    """Plan `insertInto...Collection`. Raises: GraphQLFailure."""
    values = arguments(planning, selected.node, ("objects", "onConflict"))
    objects = required(values, "objects")
    conflict = plan_conflict(planning, entity, values.get("onConflict", ABSENT_ARGUMENT))
    if has_nested(planning.schema, entity, objects):
        if conflict is not None:
            raise GraphQLFailure("onConflict and related objects cannot be given together")
        return _plan_nested(planning, selected, entity, objects)
    packing = _pack_rows(planning, entity, objects)
    packed_rows: Operand | None = None
    rows: tuple[tuple[Operand | None, ...], ...] = ()
    if packing is not None:
        columns, packed_rows = packing
    else:
        columns, rows = _plan_rows_singly(planning, entity, objects)
    response = _plan_response(planning, selected, entity, "Insert")
    return InsertPlan(
        entity.sql, _with_types(columns), response, _visible_column(entity), rows, packed_rows, conflict
    )


def _plan_nested(
    planning: PlanContext, selected: SelectedField, entity: Entity, objects: ArgumentValue
) -> NestedInsertPlan:
    """Plan an insert of rows with related rows."""
    key = entity.key_columns
    if len(key) != len(entity.primary_key):
        raise GraphQLFailure(f"The key of {entity.name} is not visible: insert related objects one by one")
    inserts, root = plan_rows(planning, entity, objects)
    return NestedInsertPlan(
        entity.sql,
        inserts,
        root,
        _with_types(list(key)),
        _plan_response(planning, selected, entity, "Insert"),
    )


def plan_update(planning: PlanContext, selected: SelectedField, entity: Entity) -> UpdatePlan:
    """Plan `update...Collection`. Raises: GraphQLFailure."""
    values = arguments(planning, selected.node, ("set", "filter", "atMost"))
    new_values = required(values, "set")
    entries = _writable_entries(new_values, entity, f"{entity.name}UpdateInput", is_insert=False)
    assignments = tuple(
        (entity.columns[name].sql, column_operand(planning.inputs, value, entity.columns[name]))
        for name, value in entries.items()
    )
    if not assignments:
        raise GraphQLFailure("At least one mapping must be provided to set argument")
    return UpdatePlan(
        entity.sql,
        assignments,
        plan_filter(planning, entity, values.get("filter", ABSENT_ARGUMENT)),
        _at_most(planning, values),
        _plan_response(planning, selected, entity, "Update"),
        _visible_column(entity),
    )


def plan_delete(planning: PlanContext, selected: SelectedField, entity: Entity) -> DeletePlan:
    """Plan `deleteFrom...Collection`. Raises: GraphQLFailure."""
    values = arguments(planning, selected.node, ("filter", "atMost"))
    return DeletePlan(
        entity.sql,
        plan_filter(planning, entity, values.get("filter", ABSENT_ARGUMENT)),
        _at_most(planning, values),
        _plan_response(planning, selected, entity, "Delete"),
        _visible_column(entity),
    )


def _with_types(columns: list[EntityColumn]) -> tuple[tuple[str, str], ...]:
    return tuple((column.sql, column.type.sql) for column in columns)


def _at_most(planning: PlanContext, values: Mapping[str, ArgumentValue]) -> Operand:
    value = values.get("atMost", ABSENT_ARGUMENT)
    if value.kind is InputKind.ABSENT:
        return Operand(b"1", "int8")
    if value.kind is not InputKind.SCALAR:
        raise invalid_input("NonNull" if value.kind is InputKind.NULL else "Int")
    return Operand(planning.inputs.parameter(value, INT), "int8")


def _writable_entries(
    value: ArgumentValue, entity: Entity, type_name: str, *, is_insert: bool
) -> dict[str, ArgumentValue]:
    """Return the entries of an object of new values. Raises: GraphQLFailure for a column that the role may not write."""
    if value.kind is not InputKind.OBJECT:
        raise invalid_input("NonNull" if value.is_missing else type_name)
    entries = value.entries()
    unknown = [name for name in entries if not _is_writable(entity.columns.get(name), is_insert=is_insert)]
    if unknown:
        raise extra_keys(type_name, unknown)
    return {name: entry for name, entry in entries.items() if entry.kind is not InputKind.ABSENT}


def _is_writable(column: EntityColumn | None, *, is_insert: bool) -> bool:
    return column is not None and (column.is_insertable if is_insert else column.is_updatable)


# --- the rows of an insert -----------------------------------------------------------------------------------


def _pack_rows(
    planning: PlanContext, entity: Entity, value: ArgumentValue
) -> "tuple[list[EntityColumn], Operand] | None":
    """Return columns and one JSON parameter for rows of a variable that all set the same columns; None for other rows.

    One plan then serves any number of rows.
    """
    if value.path is None or not isinstance(value.value, list) or not _have_same_keys(value.value):
        return None
    names = _writable_entries(
        ArgumentValue(value.value[0], value.path), entity, f"{entity.name}InsertInput", is_insert=True
    )
    columns = [column for name, column in entity.columns.items() if name in names]
    if not columns:
        return None
    return columns, Operand(planning.inputs.parameter(value, _row_packer(columns)), "jsonb")


def _have_same_keys(values: list[object]) -> bool:
    keys = {tuple(sorted(value)) if isinstance(value, dict) else None for value in values}
    return len(keys) == 1 and None not in keys


def _row_packer(columns: list[EntityColumn]) -> Convert:
    """Return the function that converts objects to a JSON array of arrays of texts, in the order of the columns."""
    specs = [
        (column.name, list_converter(column.type) if column.type.is_list else value_converter(column.type))
        for column in columns
    ]

    def pack(value: object) -> str:
        assert isinstance(value, list)
        rows = [
            [None if (item := row[name]) is None else convert(item) for name, convert in specs]
            for row in value
        ]
        return msgspec.json.encode(rows).decode()

    return pack


def _plan_rows_singly(
    planning: PlanContext, entity: Entity, value: ArgumentValue
) -> tuple[list[EntityColumn], tuple[tuple[Operand | None, ...], ...]]:
    """Return columns and operands for rows that are planned separately; a column that a row does not set takes its default."""
    type_name = f"{entity.name}InsertInput"
    rows = [_writable_entries(column, entity, type_name, is_insert=True) for column in value.as_list()]
    if not rows:
        raise GraphQLFailure("At least one record must be provided to objects")
    named = {name for row in rows for name in row}
    columns = [column for name, column in entity.columns.items() if name in named]
    if not columns:  # all values are defaults: SQL requires at least one column all the same
        columns = [column for column in entity.columns.values() if column.is_insertable][:1]
    if len(rows) * len(columns) > MOST_PARAMETERS:
        raise GraphQLFailure("Too many values for one insert")
    operands = tuple(
        tuple(
            column_operand(planning.inputs, row[column.name], column) if column.name in row else None
            for column in columns
        )
        for row in rows
    )
    return columns, operands


def _visible_column(entity: Entity) -> str:
    """Return the name of a column that the role may select, preferably of the key."""
    candidates = (*entity.key_columns, *entity.columns.values())
    return next(column.sql for column in candidates if column.is_selectable)


# --- selected fields of the response ---------------------------------------------------------------------------


def _plan_response(planning: PlanContext, selected: SelectedField, entity: Entity, verb: str) -> FieldPlans:
    type_name = f"{entity.name}{verb}Response"
    plans: list[tuple[str, FieldPlan]] = []
    for child in select(planning, selected.sets, type_name):
        arguments(planning, child.node, ())
        match child.name:
            case "affectedCount":
                plan: FieldPlan = AffectedCount()
            case "records":
                plan = Records(row_fields(planning, child.sets, entity))
            case name if name == TYPE_NAME:
                plan = TypeName(type_name)
            case _:
                raise GraphQLFailure(f"unknown field in {verb.lower()}")
        plans.append((child.key, plan))
    return tuple(plans)
