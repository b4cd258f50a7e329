"""Relationships between relations: foreign keys of tables and views, both directions, junctions. Pure.

Source: docs/reference/rest.md, section 22.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import permutations

from workers.database.schema_cache.catalog import (
    Cardinality,
    CatalogRelation,
    ComputedRelationship,
    Junction,
    Name,
    Relationship,
)
from workers.database.schema_cache.catalog_rows import ComputedRow, ConstraintRow
from workers.database.schema_cache.relation_keys import RelationKeys

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
    keys: RelationKeys,
    relations: Mapping[int, CatalogRelation],
    schemas: Iterable[str],
) -> dict[Name, tuple[AnyRelationship, ...]]:
    """Return all relationships by origin, in a fixed order: computed ones first, then by target and kind.

    A computed relationship replaces the detected ones that lead to a relation of its own name.
    """
    forward = list(_forward(constraints, keys, relations))
    detected = [*forward, *map(_inverse, forward), *_through_junctions(forward, relations)]
    by_origin: dict[Name, list[AnyRelationship]] = defaultdict(list)
    overridden: dict[Name, set[Name]] = defaultdict(set)
    exposed = {(relation.schema, relation.name) for relation in relations.values()}
    for relationship in _computed(computed, exposed, frozenset(schemas)):
        by_origin[relationship.origin].append(relationship)
        overridden[relationship.origin].add(relationship.function)
    for candidate in sorted(detected, key=_order):
        if candidate.target not in overridden.get(candidate.origin, ()):
            by_origin[candidate.origin].append(candidate)
    return {origin: tuple(relationships) for origin, relationships in by_origin.items()}


def _forward(
    constraints: Sequence[ConstraintRow], keys: RelationKeys, relations: Mapping[int, CatalogRelation]
) -> Iterator[Relationship]:
    """Yield the relationships seen from the side that has the foreign key: tables and views, in every combination."""
    unique: dict[int, set[frozenset[int]]] = defaultdict(set)
    for constraint in constraints:
        if constraint.kind != "f":
            unique[constraint.relation].add(frozenset(constraint.columns))
    for constraint in constraints:
        if constraint.kind != "f" or constraint.target_columns is None:
            continue
        targets = list(keys.in_relations(constraint.target, constraint.target_columns))
        if not targets:
            continue
        is_unique = frozenset(constraint.columns) in unique[constraint.relation]
        cardinality = Cardinality.ONE_TO_ONE if is_unique else Cardinality.MANY_TO_ONE
        for origin in keys.in_relations(constraint.relation, constraint.columns):
            for target in targets:
                yield Relationship(
                    origin=_name(relations[origin.relation]),
                    target=_name(relations[target.relation]),
                    cardinality=cardinality,
                    constraint=constraint.name,
                    columns=tuple(zip(origin.columns, target.columns, strict=True)),
                    is_self=origin.relation == target.relation,
                    origin_is_view=origin.is_view,
                    target_is_view=target.is_view,
                )


def _name(relation: CatalogRelation) -> Name:
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
    forward: Iterable[Relationship], relations: Mapping[int, CatalogRelation]
) -> Iterator[Relationship]:
    """Yield a many-to-many relationship for each two foreign keys whose columns are part of one relation's primary key."""
    primary = {_name(relation): frozenset(relation.primary_key) for relation in relations.values()}
    by_junction: dict[Name, list[Relationship]] = defaultdict(list)
    for relationship in forward:
        columns = {column for column, _ in relationship.columns}
        if relationship.cardinality is Cardinality.MANY_TO_ONE and columns <= primary[relationship.origin]:
            by_junction[relationship.origin].append(relationship)
    for junction, legs in by_junction.items():
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


def _order(relationship: Relationship) -> tuple[object, ...]:
    junction = relationship.junction
    between = (
        (junction.relation, junction.constraint1, junction.constraint2, junction.columns1, junction.columns2)
        if junction
        else ()
    )
    rank = _RANK[relationship.cardinality]
    return (
        relationship.target,
        relationship.is_self,
        rank,
        relationship.constraint,
        relationship.columns,
        relationship.is_parent,
        between,
    )
