"""What a description of the interface covers, whatever its format: relations and functions, title, address. Pure.

What a role may not use is left out; which that is, the database says (`VISIBLE_SQL`, run as the caller).
Source: docs/reference/rest.md, section 17.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace

import msgspec

from workers.database.schema_cache.catalog import (
    Catalog,
    CatalogFunction,
    CatalogRelation,
    ComputedRelationship,
    Name,
    Relationship,
)

Object = dict[str, object]

VISIBLE_SQL = """
select pg_catalog.json_build_object(
  'relations', (
    select coalesce(pg_catalog.json_object_agg(class.relname, (
      select coalesce(pg_catalog.json_agg(own.attname), '[]')
      from pg_catalog.pg_attribute own
      where own.attrelid = class.oid and own.attnum > 0 and not own.attisdropped
        and pg_catalog.has_column_privilege(class.oid, own.attnum, 'SELECT, INSERT, UPDATE, REFERENCES')
    )), '{}')
    from pg_catalog.pg_class class
    where class.relnamespace = space.oid and class.relkind in ('r', 'v', 'm', 'f', 'p')
      and (
        pg_catalog.has_table_privilege(class.oid, 'SELECT, INSERT, UPDATE, DELETE, TRUNCATE, REFERENCES, TRIGGER')
        or pg_catalog.has_any_column_privilege(class.oid, 'SELECT, INSERT, UPDATE, REFERENCES')
      )
  ),
  'functions', (
    select coalesce(pg_catalog.json_agg(pg_catalog.json_build_array(proc.proname, (
      select coalesce(pg_catalog.json_agg(pg_catalog.format_type(argument.oid, null) order by argument.position), '[]')
      from pg_catalog.unnest(proc.proargtypes::oid[]) with ordinality as argument(oid, position)
    ))), '[]')
    from pg_catalog.pg_proc proc
    where proc.pronamespace = space.oid and pg_catalog.has_function_privilege(proc.oid, 'EXECUTE')
  )
)::text
from pg_catalog.pg_namespace space
where space.nspname = $1
"""
"""One row: what the current role may use of a schema ($1); no row if the schema does not exist. Types are named as the
catalog names them under an empty search path."""


class VisibleObjects(msgspec.Struct, frozen=True):
    """What a role may use of a schema."""

    relations: dict[str, frozenset[str]] = {}
    """Columns by the name of their relation."""
    functions: frozenset[tuple[str, tuple[str, ...]]] = frozenset()
    """Names with the types of their arguments."""

    def may_call(self, function: CatalogFunction) -> bool:
        """Return whether the role may call this overload of a function."""
        return (function.name, tuple(argument.type for argument in function.arguments)) in self.functions


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
class DescribedScope:
    """What is described of a schema: relations and overloads of functions, sorted by name."""

    schema: str
    relations: list[CatalogRelation]
    functions: list[tuple[CatalogFunction, ...]]


def visible_from(data: bytes) -> VisibleObjects:
    """Read the answer of `VISIBLE_SQL`."""
    return msgspec.json.decode(data, type=VisibleObjects)


def scope_of(catalog: Catalog, schema: str, visible: VisibleObjects | None) -> DescribedScope:
    """Return what a role may use of a schema (`visible` None: everything in it)."""
    relations = [relation for (space, _), relation in sorted(catalog.relations.items()) if space == schema]
    functions = [overloads for (space, _), overloads in sorted(catalog.functions.items()) if space == schema]
    if visible is not None:
        relations = [_narrowed(item, visible) for item in relations if item.name in visible.relations]
        functions = [tuple(filter(visible.may_call, overloads)) for overloads in functions]
    return DescribedScope(schema, relations, [overloads for overloads in functions if overloads])


def described(catalog: Catalog, scope: DescribedScope) -> Catalog:
    """Return a catalog whose relations and relationships are those of a scope: what else there is stays unsaid."""
    relations = {(relation.schema, relation.name): relation for relation in scope.relations}
    relationships = {
        name: tuple(
            relationship
            for relationship in catalog.relationships.get(name, ())
            if _is_seen(relationship, relations)
        )
        for name in relations
    }
    return replace(catalog, relations=relations, relationships=relationships)


def _narrowed(relation: CatalogRelation, visible: VisibleObjects) -> CatalogRelation:
    """Return a relation with the columns that the role has some right to."""
    names = visible.relations[relation.name]
    if names >= relation.columns.keys():
        return relation
    columns = {name: column for name, column in relation.columns.items() if name in names}
    key = relation.primary_key if names.issuperset(relation.primary_key) else ()
    return replace(relation, columns=columns, primary_key=key)


def _is_seen(each: Relationship | ComputedRelationship, relations: Mapping[Name, CatalogRelation]) -> bool:
    target = relations.get(each.target)
    if target is None or not isinstance(each, Relationship):
        return target is not None
    return all(theirs in target.columns for _, theirs in each.columns)


def summary_of(comment: str | None) -> dict[str, str]:
    """Split a comment: its first line is the summary, the rest the description."""
    if not comment:
        return {}
    first, _, rest = comment.partition("\n")
    rest = rest.lstrip("\n")
    return {"summary": first, **({"description": rest} if rest else {})}
