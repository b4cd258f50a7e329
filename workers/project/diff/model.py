"""The objects of a schema as data (pure)."""

from msgspec import Struct

NOT_COMPARED = (
    "roles and their settings, default privileges, owners, event triggers, casts, operators, aggregates, rules, "
    "foreign servers, privileges on columns, statistics, text search, storage parameters, rows"
)
"""Kinds of objects that are not compared."""


class SchemaObject(Struct, frozen=True):
    """One object: its kind, its name in SQL, the SQL that creates and drops it.

    `parent` is the table that it is dropped with; `detail` decides whether it can be changed in place.
    """

    kind: str
    name: str
    create: str
    drop: str
    parent: str = ""
    detail: str = ""


Snapshot = dict[tuple[str, str], SchemaObject]
"""All objects of a database by kind and name, in the order in which they were created."""
