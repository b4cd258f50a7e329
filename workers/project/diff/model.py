"""The objects of a schema as data (pure)."""

from msgspec import Struct

CANNOT_SEE = (
    "roles and their settings, default privileges, owners, event triggers, casts, operators, aggregates, rules, "
    "foreign servers, privileges on columns, statistics, text search, storage parameters, rows"
)
"""What a comparison does not look at."""


class Thing(Struct, frozen=True):
    """One object: what it is, how SQL names it, how it is made and removed.

    `parent` is the table it goes away with; `detail` is what tells whether it can be changed in place.
    """

    kind: str
    name: str
    create: str
    drop: str
    parent: str = ""
    detail: str = ""


Snapshot = dict[tuple[str, str], Thing]
"""All objects of a database by kind and name, in the order in which they were made."""
