"""Nested inserts: one body with rows and the rows they refer to, taken apart into one insert a relation. Pure.

Rows that are referred to come first: parents, the row itself, children, junctions. Each insert remembers the keys it
made, in the order of its rows, so that later ones can refer to them by number. All of it is one transaction, each
statement on its own, so policies and constraints see what was written before them.
Source: docs/rest-additions.md, "Nested inserts".
"""

from collections.abc import Iterator
from dataclasses import dataclass, field

import msgspec
from msgspec import Raw
from msgspec.structs import replace

from workers.database.schema_cache.catalog import (
    Cardinality,
    Catalog,
    CatalogRelation,
    ComputedRelationship,
    Relationship,
)
from workers.rest.errors.parse import BadBody
from workers.rest.errors.plan import NoColumn
from workers.rest.model import (
    ApiRequest,
    Embed,
    FieldPath,
    NestedTie,
    PlannedColumn,
    PlannedField,
    PlannedOrder,
    RelationInsert,
    RelationRead,
    RestOptions,
    WriteColumn,
)
from workers.rest.plan.embed import find_relationship
from workers.rest.plan.fields import FieldScope, resolve_field

NUMBER = "hw_number"
"""Column of an inserted row that holds its place in the body."""
MOST_LEVELS = 10
"""Relations inside one another."""
MOST_INSERTS = 100
"""Relations of one body, each a statement: with several names for one relationship their number grows by a power at every level."""

_value = msgspec.json.Decoder(list[dict[str, Raw]] | dict[str, Raw] | None)
_Row = dict[str, Raw]


@dataclass(slots=True, eq=False)
class _InsertDraft:
    """An insert being put together. `of` says, for each row and tie, the number of the row it refers to."""

    relation: CatalogRelation
    rows: list[_Row] = field(default_factory=list)
    ties: "list[tuple[_InsertDraft, tuple[tuple[str, str], ...]]]" = field(default_factory=list)
    of: list[list[int | None]] = field(default_factory=list)
    keeps: dict[str, None] = field(default_factory=dict)

    def tie(self, to: "_InsertDraft", pairs: tuple[tuple[str, str], ...], numbers: list[int | None]) -> None:
        """Make rows refer to rows of another insert; pairs are (own column, their column)."""
        self.ties.append((to, pairs))
        to.keeps |= dict.fromkeys(theirs for _, theirs in pairs)
        for of, number in zip(self.of, numbers, strict=True):
            of.append(number)


def plan_nested(
    request: ApiRequest,
    body: bytes,
    relation: CatalogRelation,
    catalog: Catalog,
    options: RestOptions,
    keeps: tuple[str, ...],
) -> tuple[tuple[RelationInsert, ...], int]:
    """Return the inserts in their order, and the index of the root's insert among them. `keeps` are the columns of the root to store for later.

    Raises: BadBody, NoColumn, NoRelationship, AmbiguousRelationship.
    """
    _check(request)
    try:
        rows = _value.decode(body)
    except msgspec.ValidationError:
        raise BadBody("The body of a nested insert is an object or an array of objects") from None
    except (msgspec.DecodeError, RecursionError, UnicodeDecodeError):
        raise BadBody("Empty or invalid json") from None
    order: list[_InsertDraft] = []
    building = _Building(catalog, options, order)
    root = building.insert(relation, [rows] if isinstance(rows, dict) else rows or [], 0)
    root.keeps |= dict.fromkeys(keeps)
    from_json = catalog.representations.from_json
    return tuple(_finished(draft, order, from_json) for draft in order), order.index(root)


def numbered(read: RelationRead, scope: FieldScope, relation: CatalogRelation) -> RelationRead:
    """Show inserted rows in the order in which they came, unless another one is asked for.

    The rows carry their number beside their columns, so `*` is written out, and a whole row put together.
    """
    items: list[PlannedColumn | Embed] = []
    for item in read.items:
        if isinstance(item, PlannedColumn) and item.field.name == "*" and not item.aggregate:
            items += [PlannedColumn(resolve_field(scope, FieldPath(name))) for name in relation.columns]
        else:
            items.append(item)
    order = read.order or (PlannedOrder(PlannedField(NUMBER), None, None),)
    return replace(read, items=tuple(items), order=order, row_columns=tuple(relation.columns))


def _check(request: ApiRequest) -> None:
    if request.content_type != "application/json":
        raise BadBody("A nested insert takes JSON")
    if (
        request.query.columns is not None
        or request.query.on_conflict is not None
        or request.preferences.resolution
    ):
        raise BadBody("A nested insert takes no columns, on_conflict or resolution: it only inserts")


@dataclass(frozen=True, slots=True)
class _Building:
    catalog: Catalog
    options: RestOptions
    order: list[_InsertDraft]
    numbers: Iterator[int] = field(default_factory=lambda: iter(range(1, MOST_INSERTS + 1)))

    def count(self) -> None:
        """Count an insert. Raises: BadBody for one that is too many."""
        if next(self.numbers, None) is None:
            raise BadBody(f"At most {MOST_INSERTS} relations in one nested insert")

    def insert(self, relation: CatalogRelation, objects: list[_Row], level: int) -> _InsertDraft:
        """Take objects apart: own columns, the rows they need first, and those that need them."""
        if level >= MOST_LEVELS:
            raise BadBody(f"At most {MOST_LEVELS} relations inside one another")
        self.count()
        draft = _InsertDraft(relation)
        nested: dict[str, list[tuple[int, Raw]]] = {}
        for number, row in enumerate(objects):
            draft.rows.append({key: value for key, value in row.items() if key in relation.columns})
            draft.of.append([])
            for key, value in row.items():
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

    def _way(self, relation: CatalogRelation, name: str) -> Relationship:
        target, _, hint = name.partition("!")
        if not self.catalog.relationships.get((relation.schema, relation.name)):
            raise NoColumn(name, relation.name)
        resolved = find_relationship(
            self.catalog, self.options, relation.schema, relation.name, target, hint or None
        )
        if isinstance(resolved, ComputedRelationship):
            raise BadBody(f"{name} is a computed relationship: nothing can be inserted through it")
        return resolved

    def _relation(self, name: tuple[str, str]) -> CatalogRelation:
        resolved = self.catalog.relations.get(name)
        if resolved is None:
            raise BadBody(f"{name[1]} is not among the exposed relations")
        return resolved

    def _parents(
        self, draft: _InsertDraft, name: str, way: Relationship, values: list[tuple[int, Raw]], level: int
    ) -> None:
        numbers: list[int | None] = [None] * len(draft.rows)
        objects: list[_Row] = []
        for number, raw in values:
            resolved = _objects(name, raw)
            if len(resolved) > 1:
                raise BadBody(f"{name} is one row, not {len(resolved)}")
            if resolved:
                numbers[number] = len(objects)
                objects += resolved
        if objects:
            parent = self.insert(self._relation(way.target), objects, level + 1)
            draft.tie(parent, way.columns, numbers)

    def _children(
        self, draft: _InsertDraft, name: str, way: Relationship, values: list[tuple[int, Raw]], level: int
    ) -> None:
        objects, owners = _listed(name, values)
        if not objects:
            return
        if way.is_to_one and len(set(owners)) < len(owners):
            raise BadBody(f"{name} is one row for each row of {draft.relation.name}")
        child = self.insert(self._relation(way.target), objects, level + 1)
        child.tie(draft, tuple((theirs, own_column) for own_column, theirs in way.columns), list(owners))

    def _through(
        self, draft: _InsertDraft, name: str, way: Relationship, values: list[tuple[int, Raw]], level: int
    ) -> None:
        objects, owners = _listed(name, values)
        junction = way.junction
        if not objects or junction is None:
            return
        target = self.insert(self._relation(way.target), objects, level + 1)
        self.count()
        middle = _InsertDraft(
            self._relation(junction.relation), [{} for _ in objects], of=[[] for _ in objects]
        )
        middle.tie(draft, tuple((via, own_column) for own_column, via in junction.columns1), list(owners))
        middle.tie(
            target,
            tuple((via, own_column) for own_column, via in junction.columns2),
            list(range(len(objects))),
        )
        self.order.append(middle)


def _is_parent(way: Relationship) -> bool:
    """Return whether the foreign key lies on the origin, so that the target's row must be there first."""
    return way.cardinality is Cardinality.MANY_TO_ONE or (
        way.cardinality is Cardinality.ONE_TO_ONE and not way.is_parent
    )


def _objects(name: str, raw: Raw) -> list[_Row]:
    try:
        value = _value.decode(raw)
    except msgspec.ValidationError:
        raise BadBody(f"{name} names related rows: an object or an array of objects is expected") from None
    except (
        msgspec.DecodeError,
        UnicodeDecodeError,
    ):  # a value that was left undecoded is not checked for UTF-8
        raise BadBody("Empty or invalid json") from None
    return [value] if isinstance(value, dict) else value or []


def _listed(name: str, values: list[tuple[int, Raw]]) -> tuple[list[_Row], list[int]]:
    objects: list[_Row] = []
    owners: list[int] = []
    for number, raw in values:
        resolved = _objects(name, raw)
        objects += resolved
        owners += [number] * len(resolved)
    return objects, owners


def _finished(
    draft: _InsertDraft, order: list[_InsertDraft], from_json: dict[str, tuple[str, str]]
) -> RelationInsert:
    """Check that the rows are alike, and give the insert."""
    relation = draft.relation
    names = [_names(draft, number) for number in range(len(draft.rows))]
    if any(names_of_row != names[0] for names_of_row in names):
        raise BadBody("All object keys must match", f"Rows of {relation.name} have different columns")
    columns = []
    for name in sorted(names[0]) if names else ():
        column = relation.columns[name]
        columns.append(WriteColumn(name, column.full_type, column.default, from_json.get(column.type)))
    rows = [{"row": row, "of": of} for row, of in zip(draft.rows, draft.of, strict=True)]
    ties = tuple(NestedTie(order.index(to), pairs) for to, pairs in draft.ties)
    return RelationInsert(
        relation, tuple(columns), ties, msgspec.json.encode(rows), len(rows), tuple(draft.keeps)
    )


def _names(draft: _InsertDraft, number: int) -> set[str]:
    """Return the columns of one row. Raises: BadBody for one that is given twice."""
    names = set(draft.rows[number])
    for (_, pairs), of in zip(draft.ties, draft.of[number], strict=True):
        if of is None:
            continue
        for own_column, _ in pairs:
            if own_column in names:
                raise BadBody(
                    f"{own_column} of {draft.relation.name} is given twice: as a value and by a related row"
                )
            if own_column not in draft.relation.columns:
                raise NoColumn(own_column, draft.relation.name)
            names.add(own_column)
    return names
