"""Relations in filters and orders: the related rows, and how many relations may be followed. Pure. Source: docs/graphql.md."""

from workers.graphql.errors import GraphQLFailure
from workers.graphql.model import Entity, RelationField, RoleSchema
from workers.graphql.plan.conditions import RelatedRows

MOST_RELATIONS = 10
"""Relations that one filter or order may follow in a chain."""


def related_rows(relation: RelationField) -> RelatedRows:
    """Return the rows of a relation's target that are related to a row."""
    return RelatedRows(relation.target, tuple((theirs, ours) for ours, theirs in relation.columns))


def find_relation(schema: RoleSchema, entity: Entity, name: str) -> "tuple[RelationField, Entity] | None":
    """Return the relation with a name and its target entity; None if the entity does not have it."""
    relation = entity.relations.get(name)
    return None if relation is None else (relation, schema.entities[relation.target])


def check_distance(distance: int) -> None:
    """Check the length of a chain of relations. Raises: GraphQLFailure beyond `MOST_RELATIONS`."""
    if distance > MOST_RELATIONS:
        raise GraphQLFailure(f"A filter or order reaches at most {MOST_RELATIONS} relations far")
