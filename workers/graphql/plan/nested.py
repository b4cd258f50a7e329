"""Nested inserts: objects with the objects related to them, taken apart into one insert a table and relation. Pure.

Rows that are referred to come first: rows that a to-one relation gives, the row itself, then those that refer to it.
Each insert keeps the keys it makes, in the order of its rows, and later ones refer to them by number. They are several
statements of one transaction, sent together: within one statement no policy, and no related row in the answer, would
see what another part of it has written. Source: docs/graphql.md, "Nested inserts".
"""

from dataclasses import dataclass, field

from workers.graphql.errors import GraphQLFailure
from workers.graphql.model import Column, Entity, Relation, Schema
from workers.graphql.plan.inputs import Given, Kind
from workers.graphql.plan.related import FARTHEST
from workers.graphql.plan.selection import Planning, quoted
from workers.graphql.plan.tree import Made, NewRows, Operand
from workers.graphql.plan.values import column_operand, extra_keys, invalid

MOST_PARAMETERS = 60_000
"""Parameters of one statement; the protocol counts them in 16 bits."""
_Row = dict[str, Operand | Made]
"""New values by column in the database."""
_Placed = list[tuple[int, Given]]
"""What is given for a relation, with the place of the row it is given for."""


@dataclass(slots=True, eq=False)
class _Draft:
    """An insert being put together; `number` is its place among all, known when it is its turn."""

    entity: Entity
    rows: list[_Row]
    keeps: dict[str, None] = field(default_factory=dict)
    number: int = -1


def nested_target(schema: Schema, relation: Relation) -> Entity | None:
    """Give the entity into which rows can be inserted through a relation; None where the role may not do that."""
    target = schema.entities[relation.target]
    return target if target.is_insertable else None


def has_nested(schema: Schema, entity: Entity, objects: Given) -> bool:
    """Tell whether some object of an insert has related objects in it."""
    known = [
        name
        for name, relation in entity.relations.items()
        if not _is_own(entity, name) and nested_target(schema, relation) is not None
    ]
    if not known:
        return False
    values = objects.value if isinstance(objects.value, list) else [objects.value]
    return any(name in _keys(value) for value in values for name in known)


def plan_rows(planning: Planning, entity: Entity, objects: Given) -> tuple[tuple[NewRows, ...], int]:
    """Give the inserts in their order, and which of them is that of the field. Raises: GraphQLFailure."""
    building = _Building(planning)
    given = objects.as_list()
    if not given:
        raise GraphQLFailure("At least one record must be provided to objects")
    root = building.insert(entity, given, [{} for _ in given], 0)
    root.keeps |= dict.fromkeys(entity.primary_key)
    return tuple(_finished(each) for each in building.order), root.number


def _keys(value: object) -> dict[str, object]:
    if isinstance(value, Given):
        value = value.value
    return value if isinstance(value, dict) else {}


def _is_own(entity: Entity, name: str) -> bool:
    column = entity.columns.get(name)
    return column is not None and column.is_insertable


@dataclass(frozen=True, slots=True)
class _Building:
    planning: Planning
    order: list[_Draft] = field(default_factory=list)

    def insert(self, entity: Entity, objects: list[Given], rows: list[_Row], level: int) -> _Draft:
        """Take objects apart; `rows` hold what is known of each already."""
        if level > FARTHEST:
            raise GraphQLFailure(f"At most {FARTHEST} relations inside one another can be inserted")
        draft = _Draft(entity, rows)
        nested: dict[str, _Placed] = {}
        for place, one in enumerate(objects):
            for name, value in self._own(draft, place, one):
                nested.setdefault(name, []).append((place, value))
        ways = {name: entity.relations[name] for name in nested}
        for name, relation in ways.items():
            if relation.is_outgoing:
                self._referred(draft, relation, nested[name], level)
        draft.number = len(self.order)
        self.order.append(draft)
        for name, relation in ways.items():
            if not relation.is_outgoing:
                self._referring(draft, relation, nested[name], level)
        return draft

    def _own(self, draft: _Draft, place: int, given: Given) -> list[tuple[str, Given]]:
        """Put the values of an object's own columns into its row, and give what is for relations."""
        entity, schema = draft.entity, self.planning.schema
        type_name = f"{entity.name}InsertInput"
        if given.kind is not Kind.OBJECT:
            raise invalid(type_name)
        nested: list[tuple[str, Given]] = []
        extra: list[str] = []
        for name, value in given.entries().items():
            column, relation = entity.columns.get(name), entity.relations.get(name)
            if column is not None and column.is_insertable:
                if value.kind is not Kind.ABSENT:
                    _set(draft, place, column.sql, column_operand(self.planning.inputs, value, column))
            elif relation is None or nested_target(schema, relation) is None:
                extra.append(name)
            elif not value.is_nothing:
                nested.append((name, value))
        if extra:
            raise extra_keys(type_name, extra)
        return nested

    def _referred(self, draft: _Draft, relation: Relation, given: _Placed, level: int) -> None:
        """Insert the rows to which rows of the draft refer."""
        for _, value in given:
            _check_single(relation, value)
        objects = [value for _, one in given for value in one.as_list()]
        places = [place for place, one in given for _ in one.as_list()]
        if not objects:
            return
        target = self.planning.schema.entities[relation.target]
        made = self.insert(target, objects, [{} for _ in objects], level + 1)
        for number, place in enumerate(places):
            for own, theirs in relation.columns:
                column = _writable(draft.entity, own, relation)
                made.keeps[theirs] = None
                _set(draft, place, own, Made(made.number, number, theirs, column.type.sql))

    def _referring(self, draft: _Draft, relation: Relation, given: _Placed, level: int) -> None:
        """Insert rows that refer to rows of the draft."""
        if not relation.is_many:
            for _, value in given:
                _check_single(relation, value)
        target = self.planning.schema.entities[relation.target]
        objects: list[Given] = []
        rows: list[_Row] = []
        for place, one in given:
            for value in one.as_list():
                row: _Row = {}
                for own, theirs in relation.columns:
                    column = _writable(target, theirs, relation)
                    row[theirs] = Made(draft.number, place, own, column.type.sql)
                objects.append(value)
                rows.append(row)
        if objects:
            draft.keeps |= dict.fromkeys(own for own, _ in relation.columns)
            self.insert(target, objects, rows, level + 1)


def _set(draft: _Draft, place: int, column: str, value: Operand | Made) -> None:
    row = draft.rows[place]
    if column in row:
        told = f"{quoted(column)} of {draft.entity.name}"
        raise GraphQLFailure(f"{told} is given twice: as a value and by a related object")
    row[column] = value


def _check_single(relation: Relation, given: Given) -> None:
    if given.kind is Kind.LIST and len(given.elements()) > 1:
        raise GraphQLFailure(f"{quoted(relation.name)} is one object, not a list of several")


def _writable(entity: Entity, sql: str, relation: Relation) -> Column:
    """Give the column that holds the key, if the role may write it. Raises: GraphQLFailure."""
    for column in entity.columns.values():
        if column.sql == sql and column.is_insertable:
            return column
    raise GraphQLFailure(f"{quoted(relation.name)} cannot be inserted: {quoted(sql)} may not be written")


def _finished(draft: _Draft) -> NewRows:
    """Give the insert; columns that a row does not name take their default."""
    entity = draft.entity
    named = {name for row in draft.rows for name in row}
    writable = [column.sql for column in entity.columns.values() if column.is_insertable]
    columns = tuple(name for name in writable if name in named) or tuple(writable[:1])
    if len(draft.rows) * len(columns) > MOST_PARAMETERS:
        raise GraphQLFailure("Too many values for one insert")
    rows = tuple(tuple(row.get(name) for name in columns) for row in draft.rows)
    return NewRows(entity.sql, columns, rows, tuple(draft.keeps))
