"""Plan nested inserts: objects with related objects inside become one insert for each table and relation. Pure.

The inserts are ordered so that a row is inserted before the rows that refer to it: first the rows of to-one relations,
then the row itself, then the rows of relations that refer to it. Each insert stores the keys it generated, in the order
of its rows; a later insert refers to them by insert number, row number and column (`InsertedValue`).

They are several statements of one transaction, sent together. One statement with several `with` parts would not do:
neither policies nor the answer would see what another part of the same statement has written.
Source: docs/graphql.md, "Nested inserts".
"""

from dataclasses import dataclass, field

from workers.graphql.errors import GraphQLFailure
from workers.graphql.model import Entity, EntityColumn, RelationField, RoleSchema
from workers.graphql.plan.conditions import Operand
from workers.graphql.plan.inputs import ArgumentValue, InputKind
from workers.graphql.plan.related import MOST_RELATIONS
from workers.graphql.plan.selection import PlanContext, quoted
from workers.graphql.plan.tree import InsertedValue, NewRows
from workers.graphql.plan.values import column_operand, extra_keys, invalid_input

MOST_INSERTS = 100
"""Inserts of one field: each is a statement. Variables are not counted by the limits of documents."""
MOST_ROWS = 10_000
"""Rows of one field with related objects, of all tables together."""
MOST_PARAMETERS = 60_000
"""Parameters of one statement; the protocol counts them in 16 bits."""
_Row = dict[str, Operand | InsertedValue]
"""New values by column in the database."""
_PlacedValues = list[tuple[int, ArgumentValue]]
"""Values of a relation's field, each with the index of the row that it belongs to."""


@dataclass(slots=True, eq=False)
class _InsertDraft:
    """An insert while it is planned. `number`: its index among all inserts, -1 until it is placed in the order."""

    entity: Entity
    rows: list[_Row]
    returned_columns: dict[str, None] = field(default_factory=dict)
    number: int = -1


def nested_target(schema: RoleSchema, relation: RelationField) -> Entity | None:
    """Return the entity into which a relation inserts rows; None where the role may not insert into it."""
    target = schema.entities[relation.target]
    return target if target.is_insertable else None


def has_nested(schema: RoleSchema, entity: Entity, objects: ArgumentValue) -> bool:
    """Return whether any object of an insert has related objects in it."""
    relations = [
        name
        for name, relation in entity.relations.items()
        if not _is_insertable_column(entity, name) and nested_target(schema, relation) is not None
    ]
    if not relations:
        return False
    values = objects.value if isinstance(objects.value, list) else [objects.value]
    return any(name in _object_entries(value) for value in values for name in relations)


def plan_rows(
    planning: PlanContext, entity: Entity, objects: ArgumentValue
) -> tuple[tuple[NewRows, ...], int]:
    """Return the inserts in their order, and the index of the field's own insert. Raises: GraphQLFailure."""
    planner = _InsertPlanner(planning)
    values = objects.as_list()
    if not values:
        raise GraphQLFailure("At least one record must be provided to objects")
    root = planner.insert(entity, values, [{} for _ in values], 0)
    root.returned_columns |= dict.fromkeys(entity.primary_key)
    return tuple(_planned_rows(draft) for draft in planner.order), root.number


def _object_entries(value: object) -> dict[str, object]:
    if isinstance(value, ArgumentValue):
        value = value.value
    return value if isinstance(value, dict) else {}


def _is_insertable_column(entity: Entity, name: str) -> bool:
    column = entity.columns.get(name)
    return column is not None and column.is_insertable


@dataclass(slots=True)
class _InsertPlanner:
    planning: PlanContext
    order: list[_InsertDraft] = field(default_factory=list)
    inserts: int = 0
    rows: int = 0

    def insert(
        self, entity: Entity, objects: list[ArgumentValue], rows: list[_Row], level: int
    ) -> _InsertDraft:
        """Plan the insert of objects and of the objects inside them. `rows`: values that are set already, such as keys."""
        if level > MOST_RELATIONS:
            raise GraphQLFailure(f"At most {MOST_RELATIONS} relations inside one another can be inserted")
        self.inserts, self.rows = self.inserts + 1, self.rows + len(objects)
        if self.inserts > MOST_INSERTS or self.rows > MOST_ROWS:
            raise GraphQLFailure(
                f"A nested insert has at most {MOST_INSERTS} relations and {MOST_ROWS} rows; insert these in several operations"
            )
        draft = _InsertDraft(entity, rows)
        nested: dict[str, _PlacedValues] = {}
        for row_index, value in enumerate(objects):
            for name, related_value in self._set_columns(draft, row_index, value):
                nested.setdefault(name, []).append((row_index, related_value))
        relations = {name: entity.relations[name] for name in nested}
        for name, relation in relations.items():
            if relation.is_outgoing:
                self._insert_referenced(draft, relation, nested[name], level)
        draft.number = len(self.order)
        self.order.append(draft)
        for name, relation in relations.items():
            if not relation.is_outgoing:
                self._insert_referring(draft, relation, nested[name], level)
        return draft

    def _set_columns(
        self, draft: _InsertDraft, row_index: int, value: ArgumentValue
    ) -> list[tuple[str, ArgumentValue]]:
        """Set the columns of an object in its row, and return the values of its relations."""
        entity, schema = draft.entity, self.planning.schema
        type_name = f"{entity.name}InsertInput"
        if value.kind is not InputKind.OBJECT:
            raise invalid_input(type_name)
        nested: list[tuple[str, ArgumentValue]] = []
        unknown: list[str] = []
        for name, entry in value.entries().items():
            column, relation = entity.columns.get(name), entity.relations.get(name)
            if column is not None and column.is_insertable:
                if entry.kind is not InputKind.ABSENT:
                    _set(draft, row_index, column.sql, column_operand(self.planning.inputs, entry, column))
            elif relation is None or nested_target(schema, relation) is None:
                unknown.append(name)
            elif not entry.is_missing:
                nested.append((name, entry))
        if unknown:
            raise extra_keys(type_name, unknown)
        return nested

    def _insert_referenced(
        self, draft: _InsertDraft, relation: RelationField, values: _PlacedValues, level: int
    ) -> None:
        """Plan the insert of the rows to which rows of the draft refer."""
        for _, value in values:
            _check_single(relation, value)
        objects = [value for _, related in values for value in related.as_list()]
        row_indexes = [row_index for row_index, related in values for _ in related.as_list()]
        if not objects:
            return
        keys = [
            (_writable(draft.entity, column_name, relation), column_name, theirs)
            for column_name, theirs in relation.columns
        ]
        target = self.planning.schema.entities[relation.target]
        inserted = self.insert(target, objects, [{} for _ in objects], level + 1)
        for number, row_index in enumerate(row_indexes):
            for column, column_name, theirs in keys:
                inserted.returned_columns[theirs] = None
                _set(
                    draft,
                    row_index,
                    column_name,
                    InsertedValue(inserted.number, number, theirs, column.type.sql),
                )

    def _insert_referring(
        self, draft: _InsertDraft, relation: RelationField, values: _PlacedValues, level: int
    ) -> None:
        """Plan the insert of the rows that refer to rows of the draft."""
        if not relation.is_many:
            for _, value in values:
                _check_single(relation, value)
        target = self.planning.schema.entities[relation.target]
        placed = [(row_index, value) for row_index, related in values for value in related.as_list()]
        if not placed:
            return
        keys = [
            (_writable(target, theirs, relation), key_column, theirs)
            for key_column, theirs in relation.columns
        ]
        rows: list[_Row] = [
            {
                theirs: InsertedValue(draft.number, row_index, key_column, column.type.sql)
                for column, key_column, theirs in keys
            }
            for row_index, _ in placed
        ]
        draft.returned_columns |= dict.fromkeys(key_column for key_column, _ in relation.columns)
        self.insert(target, [value for _, value in placed], rows, level + 1)


def _set(draft: _InsertDraft, row_index: int, column: str, value: Operand | InsertedValue) -> None:
    row = draft.rows[row_index]
    if column in row:
        described_column = f"{quoted(column)} of {draft.entity.name}"
        raise GraphQLFailure(
            f"{described_column} is set more than once: by a value, a parent or a related object"
        )
    row[column] = value


def _check_single(relation: RelationField, value: ArgumentValue) -> None:
    if value.kind is InputKind.LIST and len(value.elements()) > 1:
        raise GraphQLFailure(f"{quoted(relation.name)} is one object, not a list of several")


def _writable(entity: Entity, sql: str, relation: RelationField) -> EntityColumn:
    """Return the foreign key column. Raises: GraphQLFailure if the role may not insert it."""
    for column in entity.columns.values():
        if column.sql == sql and column.is_insertable:
            return column
    raise GraphQLFailure(f"{quoted(relation.name)} cannot be inserted: {quoted(sql)} may not be written")


def _planned_rows(draft: _InsertDraft) -> NewRows:
    """Return the planned rows of an insert; a column that a row does not set takes its default."""
    entity = draft.entity
    named = {name for row in draft.rows for name in row}
    writable = [column.sql for column in entity.columns.values() if column.is_insertable]
    columns = tuple(name for name in writable if name in named) or tuple(writable[:1])
    if len(draft.rows) * len(columns) > MOST_PARAMETERS:
        raise GraphQLFailure("Too many values for one insert")
    rows = tuple(tuple(row.get(name) for name in columns) for row in draft.rows)
    return NewRows(entity.sql, columns, rows, tuple(draft.returned_columns))
