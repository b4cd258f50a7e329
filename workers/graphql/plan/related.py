"""What a filter or an order may reach from a row: the rows that relations lead to. Pure. Source: docs/graphql.md."""

from workers.graphql.errors import GraphQLFailure
from workers.graphql.model import Entity, Relation, Schema
from workers.graphql.plan.tree import Join

FARTHEST = 10
"""Relations that one filter or order may go along, one behind the other."""


def join_of(relation: Relation) -> Join:
    """Give the rows that a relation leads to."""
    return Join(relation.target, tuple((there, here) for here, there in relation.columns))


def way_of(schema: Schema, entity: Entity, name: str) -> "tuple[Relation, Entity] | None":
    """Give the relation of a name and the entity it leads to; None where there is none."""
    relation = entity.relations.get(name)
    return None if relation is None else (relation, schema.entities[relation.target])


def check_distance(distance: int) -> None:
    """Raises: GraphQLFailure for a way along too many relations."""
    if distance > FARTHEST:
        raise GraphQLFailure(f"A filter or order reaches at most {FARTHEST} relations far")
