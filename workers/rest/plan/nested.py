"""Nested inserts: one body with rows and the rows they refer to, taken apart into one insert a relation. Pure.

Rows that are referred to come first: parents, the row itself, children, junctions. Each insert remembers the keys it
made, in the order of its rows, so that later ones can refer to them by number. All of it is one transaction, each
statement on its own, so policies and constraints see what was written before them.
Source: docs/rest-additions.md, "Nested inserts".
"""

from dataclasses import dataclass, field, replace

import msgspec
from msgspec import Raw

from workers.database.catalog import Cardinality, Catalog, ComputedRelationship, Relation, Relationship
from workers.rest.errors import BadBody, NoColumn
from workers.rest.model import (
    ApiRequest,
    Embed,
    Field,
    NestedInsert,
    NestedTie,
    Options,
    PlannedColumn,
    PlannedField,
    PlannedOrder,
    Read,
    WriteColumn,
)
from workers.rest.plan.embed import find_relationship
from workers.rest.plan.fields import Scope, planned

NUMBER = "hw_number"
"""Column of an inserted row that holds its place in the body."""
MOST_LEVELS = 10
"""Relations inside one another."""

_value = msgspec.json.Decoder(list[dict[str, Raw]] | dict[str, Raw] | None)
_Row = dict[str, Raw]


@dataclass(slots=True, eq=False)
class _Draft:
    """An insert being put together. `of` says, for each row and tie, the number of the row it refers to."""

    relation: Relation
    rows: list[_Row] = field(default_factory=list)
    ties: "list[tuple[_Draft, tuple[tuple[str, str], ...]]]" = field(default_factory=list)
    of: list[list[int | None]] = field(default_factory=list)
    keeps: dict[str, None] = field(default_factory=dict)

    def tie(self, to: "_Draft", pairs: tuple[tuple[str, str], ...], numbers: list[int | None]) -> None:
        """Let rows refer to rows of another insert; pairs are (own column, their column)."""
        self.ties.append((to, pairs))
        to.keeps |= dict.fromkeys(theirs for _, theirs in pairs)
        for of, number in zip(self.of, numbers, strict=True):
            of.append(number)


def plan_nested(
    asked: ApiRequest,
    body: bytes,
    relation: Relation,
    catalog: Catalog,
    options: Options,
    keeps: tuple[str, ...],
) -> tuple[tuple[NestedInsert, ...], int]:
    """Give the inserts in their order, and which of them is that of the root. `keeps` are columns to remember of it.

    Raises: BadBody, NoColumn, NoRelationship, AmbiguousRelationship.
    """
    _check(asked)
    try:
        rows = _value.decode(body)
    except msgspec.ValidationError:
        raise BadBody("The body of a nested insert is an object or an array of objects") from None
    except (msgspec.DecodeError, RecursionError, UnicodeDecodeError):
        raise BadBody("Empty or invalid json") from None
    order: list[_Draft] = []
    building = _Building(catalog, options, order)
    root = building.insert(relation, [rows] if isinstance(rows, dict) else rows or [], 0)
    root.keeps |= dict.fromkeys(keeps)
    shown = catalog.representations.from_json
    return tuple(_finished(each, order, shown) for each in order), order.index(root)


def numbered(read: Read, scope: Scope, relation: Relation) -> Read:
    """Show inserted rows in the order in which they came, unless another one is asked for.

    The rows carry their number beside their columns, so `*` is written out, and a whole row put together.
    """
    items: list[PlannedColumn | Embed] = []
    for item in read.items:
        if isinstance(item, PlannedColumn) and item.field.name == "*" and not item.aggregate:
            items += [PlannedColumn(planned(scope, Field(name))) for name in relation.columns]
        else:
            items.append(item)
    order = read.order or (PlannedOrder(PlannedField(NUMBER), None, None),)
    return replace(read, items=tuple(items), order=order, row_columns=tuple(relation.columns))


def _check(asked: ApiRequest) -> None:
    if asked.content_type != "application/json":
        raise BadBody("A nested insert takes JSON")
    if asked.query.columns is not None or asked.query.on_conflict is not None or asked.preferences.resolution:
        raise BadBody("A nested insert takes no columns, on_conflict or resolution: it only inserts")


@dataclass(frozen=True, slots=True)
class _Building:
    catalog: Catalog
    options: Options
    order: list[_Draft]

    def insert(self, relation: Relation, objects: list[_Row], level: int) -> _Draft:
        """Take objects apart: own columns, the rows they need first, and those that need them."""
        if level >= MOST_LEVELS:
            raise BadBody(f"At most {MOST_LEVELS} relations inside one another")
        draft = _Draft(relation)
        nested: dict[str, list[tuple[int, Raw]]] = {}
        for number, each in enumerate(objects):
            draft.rows.append({key: value for key, value in each.items() if key in relation.columns})
            draft.of.append([])
            for key, value in each.items():
                if key not in relation.columns:
                    nested.setdefault(key, []).append((number, value))
        ways = {name: self._way(relation, name) for name in nested}
        for name, way in ways.items():
            if _is_parent(way):
                self._parents(draft, name, way, nested[name], level)
        self.order.append(draft)
        for name, way in ways.items():
            if way.junction is not None:
                self._through(draft, name, way, nested[name], level)
            elif not _is_parent(way):
                self._children(draft, name, way, nested[name], level)
        return draft

    def _way(self, relation: Relation, name: str) -> Relationship:
        target, _, hint = name.partition("!")
        if not self.catalog.relationships.get((relation.schema, relation.name)):
            raise NoColumn(name, relation.name)
        found = find_relationship(
            self.catalog, self.options, relation.schema, relation.name, target, hint or None
        )
        if isinstance(found, ComputedRelationship):
            raise BadBody(f"{name} is a computed relationship: nothing can be inserted through it")
        return found

    def _relation(self, name: tuple[str, str]) -> Relation:
        found = self.catalog.relations.get(name)
        if found is None:
            raise BadBody(f"{name[1]} is not among the exposed relations")
        return found

    def _parents(
        self, draft: _Draft, name: str, way: Relationship, values: list[tuple[int, Raw]], level: int
    ) -> None:
        numbers: list[int | None] = [None] * len(draft.rows)
        objects: list[_Row] = []
        for number, raw in values:
            found = _objects(name, raw)
            if len(found) > 1:
                raise BadBody(f"{name} is one row, not {len(found)}")
            if found:
                numbers[number] = len(objects)
                objects += found
        if objects:
            parent = self.insert(self._relation(way.target), objects, level + 1)
            draft.tie(parent, way.columns, numbers)

    def _children(
        self, draft: _Draft, name: str, way: Relationship, values: list[tuple[int, Raw]], level: int
    ) -> None:
        objects, owners = _listed(name, values)
        if not objects:
            return
        if way.is_to_one and len(set(owners)) < len(owners):
            raise BadBody(f"{name} is one row for each row of {draft.relation.name}")
        child = self.insert(self._relation(way.target), objects, level + 1)
        child.tie(draft, tuple((theirs, own) for own, theirs in way.columns), list(owners))

    def _through(
        self, draft: _Draft, name: str, way: Relationship, values: list[tuple[int, Raw]], level: int
    ) -> None:
        objects, owners = _listed(name, values)
        junction = way.junction
        if not objects or junction is None:
            return
        target = self.insert(self._relation(way.target), objects, level + 1)
        middle = _Draft(self._relation(junction.relation), [{} for _ in objects], of=[[] for _ in objects])
        middle.tie(draft, tuple((via, own) for own, via in junction.columns1), list(owners))
        middle.tie(target, tuple((via, own) for own, via in junction.columns2), list(range(len(objects))))
        self.order.append(middle)


def _is_parent(way: Relationship) -> bool:
    """Tell whether the foreign key lies on the origin, so that the target's row must be there first."""
    return way.cardinality is Cardinality.MANY_TO_ONE or (
        way.cardinality is Cardinality.ONE_TO_ONE and not way.is_parent
    )


def _objects(name: str, raw: Raw) -> list[_Row]:
    try:
        value = _value.decode(raw)
    except msgspec.ValidationError:
        raise BadBody(f"{name} names related rows: an object or an array of objects is expected") from None
    return [value] if isinstance(value, dict) else value or []


def _listed(name: str, values: list[tuple[int, Raw]]) -> tuple[list[_Row], list[int]]:
    objects: list[_Row] = []
    owners: list[int] = []
    for number, raw in values:
        found = _objects(name, raw)
        objects += found
        owners += [number] * len(found)
    return objects, owners


def _finished(draft: _Draft, order: list[_Draft], from_json: dict[str, tuple[str, str]]) -> NestedInsert:
    """Check that the rows are alike, and give the insert."""
    relation = draft.relation
    names = [_names(draft, number) for number in range(len(draft.rows))]
    if any(each != names[0] for each in names):
        raise BadBody("All object keys must match", f"Rows of {relation.name} have different columns")
    columns = []
    for name in sorted(names[0]) if names else ():
        column = relation.columns[name]
        columns.append(WriteColumn(name, column.full_type, column.default, from_json.get(column.type)))
    rows = [{"row": row, "of": of} for row, of in zip(draft.rows, draft.of, strict=True)]
    ties = tuple(NestedTie(order.index(to), pairs) for to, pairs in draft.ties)
    return NestedInsert(
        relation, tuple(columns), ties, msgspec.json.encode(rows), len(rows), tuple(draft.keeps)
    )


def _names(draft: _Draft, number: int) -> set[str]:
    """Give the columns of one row. Raises: BadBody for one that is given twice."""
    names = set(draft.rows[number])
    for (_, pairs), of in zip(draft.ties, draft.of[number], strict=True):
        if of is None:
            continue
        for own, _ in pairs:
            if own in names:
                raise BadBody(
                    f"{own} of {draft.relation.name} is given twice: as a value and by a related row"
                )
            if own not in draft.relation.columns:
                raise NoColumn(own, draft.relation.name)
            names.add(own)
    return names
