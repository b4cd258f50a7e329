"""Name the fields `<table>Changes` of subscriptions, and their events. Pure. Source: docs/graphql-subscriptions.md."""

from collections.abc import Iterator

from workers.graphql.model import Entity, RoleSchema
from workers.graphql.reflect.names import lower_first

EVENTS = ("INSERT", "UPDATE", "DELETE")
_TABLES = frozenset("rp")


def change_entities(schema: RoleSchema) -> Iterator[tuple[str, Entity]]:
    """Yield the tables of a role, each with the name of its field; no views, because the log contains only tables."""
    names: set[str] = set()
    for entity in schema.entities.values():
        name = f"{lower_first(entity.name)}Changes"
        if entity.kind in _TABLES and name not in names:
            names.add(name)
            yield name, entity
