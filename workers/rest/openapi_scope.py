"""What a description of the interface covers, whatever its format: relations and functions, title, address. Pure.

What a role may not use is left out; which that is, the database says (`VISIBLE_SQL`, run as the caller).
Source: reference page "rest", section 17.
"""

from dataclasses import dataclass

import msgspec

from workers.database.catalog import Catalog, Function, Relation

Object = dict[str, object]

VISIBLE_SQL = """
select pg_catalog.json_build_object(
  'relations', (
    select coalesce(pg_catalog.json_agg(class.relname), '[]')
    from pg_catalog.pg_class class
    where class.relnamespace = space.oid and class.relkind in ('r', 'v', 'm', 'f', 'p')
      and (
        pg_catalog.has_table_privilege(class.oid, 'SELECT, INSERT, UPDATE, DELETE, TRUNCATE, REFERENCES, TRIGGER')
        or pg_catalog.has_any_column_privilege(class.oid, 'SELECT, INSERT, UPDATE, REFERENCES')
      )
  ),
  'functions', (
    select coalesce(pg_catalog.json_agg(distinct proc.proname), '[]')
    from pg_catalog.pg_proc proc
    where proc.pronamespace = space.oid and pg_catalog.has_function_privilege(proc.oid, 'EXECUTE')
  )
)::text
from pg_catalog.pg_namespace space
where space.nspname = $1
"""
"""One row: what the current role may use of a schema ($1); no row when there is no such schema."""


class Visible(msgspec.Struct, frozen=True):
    """What a role may use of a schema, by name."""

    relations: frozenset[str] = frozenset()
    functions: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class OpenApiOptions:
    """Where the interface is reached, and what else of the settings the description tells."""

    proxy_uri: str | None
    host: str
    security_active: bool
    version: str = "1"
    schemas: tuple[str, ...] = ()
    """Exposed schemas, the default first."""
    errors_are_minimal: bool = False
    """Error bodies hold only code and message."""


@dataclass(frozen=True, slots=True)
class Scope:
    """What is described of a schema: relations and overloads of functions, sorted by name."""

    schema: str
    relations: list[Relation]
    functions: list[tuple[Function, ...]]


def visible_from(data: bytes) -> Visible:
    """Read the answer of `VISIBLE_SQL`."""
    return msgspec.json.decode(data, type=Visible)


def scope_of(catalog: Catalog, schema: str, visible: Visible | None) -> Scope:
    """Give what a role may use of a schema (`visible` None: everything in it)."""
    relations = [
        relation
        for (space, name), relation in sorted(catalog.relations.items())
        if space == schema and (visible is None or name in visible.relations)
    ]
    functions = [
        overloads
        for (space, name), overloads in sorted(catalog.functions.items())
        if space == schema and (visible is None or name in visible.functions)
    ]
    return Scope(schema, relations, functions)


def summary_of(comment: str | None) -> dict[str, str]:
    """Split a comment: its first line is the summary, the rest the description."""
    if not comment:
        return {}
    first, _, rest = comment.partition("\n")
    rest = rest.lstrip("\n")
    return {"summary": first, **({"description": rest} if rest else {})}
