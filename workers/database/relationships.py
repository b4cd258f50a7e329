"""How relations are joined: foreign keys, their copies on views, both directions, junctions. Pure.

Source: reference page "rest", section 22.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import permutations

from workers.database.catalog import Cardinality, ComputedRelationship, Junction, Name, Relation, Relationship
from workers.database.catalog_rows import ComputedRow, ConstraintRow
from workers.database.keys import Keys

AnyRelationship = Relationship | ComputedRelationship

_RANK = {
    Cardinality.ONE_TO_MANY: 0,
    Cardinality.MANY_TO_ONE: 1,
    Cardinality.ONE_TO_ONE: 2,
    Cardinality.MANY_TO_MANY: 3,
}


def find_relationships(
    constraints: Sequence[ConstraintRow],
    computed: Iterable[ComputedRow],
    keys: Keys,
    relations: Mapping[int, Relation],
    schemas: Iterable[str],
) -> dict[Name, tuple[AnyRelationship, ...]]:
    """Give all relationships by origin, in a fixed order: computed ones first, then by target and kind.

    A computed relationship replaces the detected ones that lead to a relation of its own name.
    """
    forward = list(_forward(constraints, keys, relations))
    detected = [*forward, *map(_inverse, forward), *_through_junctions(forward, relations)]
    found: dict[Name, list[AnyRelationship]] = defaultdict(list)
    overridden: dict[Name, set[Name]] = defaultdict(set)
    exposed = {(relation.schema, relation.name) for relation in relations.values()}
    for each in _computed(computed, exposed, frozenset(schemas)):
        found[each.origin].append(each)
        overridden[each.origin].add(each.function)
    for relationship in sorted(detected, key=_order):
        if relationship.target not in overridden.get(relationship.origin, ()):
            found[relationship.origin].append(relationship)
    return {origin: tuple(each) for origin, each in found.items()}


def _forward(
    constraints: Sequence[ConstraintRow], keys: Keys, relations: Mapping[int, Relation]
) -> Iterator[Relationship]:
    """Give the relationships seen from the side that holds the foreign key: tables and views, in every pairing."""
    unique: dict[int, set[frozenset[int]]] = defaultdict(set)
    for each in constraints:
        if each.kind != "f":
            unique[each.relation].add(frozenset(each.columns))
    for each in constraints:
        if each.kind != "f" or each.target_columns is None:
            continue
        targets = list(keys.showings(each.target, each.target_columns))
        if not targets:
            continue
        is_unique = frozenset(each.columns) in unique[each.relation]
        cardinality = Cardinality.ONE_TO_ONE if is_unique else Cardinality.MANY_TO_ONE
        for origin in keys.showings(each.relation, each.columns):
            for target in targets:
                yield Relationship(
                    origin=_name(relations[origin.relation]),
                    target=_name(relations[target.relation]),
                    cardinality=cardinality,
                    constraint=each.name,
                    columns=tuple(zip(origin.columns, target.columns, strict=True)),
                    is_self=origin.relation == target.relation,
                    origin_is_view=origin.is_view,
                    target_is_view=target.is_view,
                )


def _name(relation: Relation) -> Name:
    return relation.schema, relation.name


def _inverse(forward: Relationship) -> Relationship:
    is_one = forward.cardinality is Cardinality.ONE_TO_ONE
    return Relationship(
        origin=forward.target,
        target=forward.origin,
        cardinality=Cardinality.ONE_TO_ONE if is_one else Cardinality.ONE_TO_MANY,
        constraint=forward.constraint,
        columns=tuple((theirs, ours) for ours, theirs in forward.columns),
        is_self=forward.is_self,
        origin_is_view=forward.target_is_view,
        target_is_view=forward.origin_is_view,
        is_parent=is_one,
    )


def _through_junctions(
    forward: Iterable[Relationship], relations: Mapping[int, Relation]
) -> Iterator[Relationship]:
    """Give a many-to-many relationship for each two foreign keys that lie within one relation's primary key."""
    primary = {_name(each): frozenset(each.primary_key) for each in relations.values()}
    held: dict[Name, list[Relationship]] = defaultdict(list)
    for each in forward:
        own = {column for column, _ in each.columns}
        if each.cardinality is Cardinality.MANY_TO_ONE and own <= primary[each.origin]:
            held[each.origin].append(each)
    for junction, legs in held.items():
        for first, second in permutations(legs, 2):
            if first.constraint != second.constraint:
                yield _many_to_many(junction, first, second)


def _many_to_many(junction: Name, first: Relationship, second: Relationship) -> Relationship:
    return Relationship(
        origin=first.target,
        target=second.target,
        cardinality=Cardinality.MANY_TO_MANY,
        constraint="",
        junction=Junction(
            relation=junction,
            constraint1=first.constraint,
            constraint2=second.constraint,
            columns1=tuple((theirs, ours) for ours, theirs in first.columns),
            columns2=tuple((theirs, ours) for ours, theirs in second.columns),
        ),
        is_self=first.target == second.target,
        origin_is_view=first.target_is_view,
        target_is_view=second.target_is_view,
    )


def _computed(
    rows: Iterable[ComputedRow], exposed: set[Name], schemas: frozenset[str]
) -> Iterator[ComputedRelationship]:
    for row in rows:
        if row.target_schema is None or row.target_name is None or row.schema not in schemas:
            continue
        origin, target = (row.origin_schema, row.origin_name), (row.target_schema, row.target_name)
        if target in exposed:
            yield ComputedRelationship(
                function=(row.schema, row.name),
                origin=origin,
                target=target,
                is_to_one=not row.returns_set or row.returns_one,
                is_self=origin == target,
            )


def _order(each: Relationship) -> tuple[object, ...]:
    junction = each.junction
    between = (
        (junction.relation, junction.constraint1, junction.constraint2, junction.columns1, junction.columns2)
        if junction
        else ()
    )
    rank = _RANK[each.cardinality]
    return each.target, each.is_self, rank, each.constraint, each.columns, each.is_parent, between
