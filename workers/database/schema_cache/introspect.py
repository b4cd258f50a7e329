"""Reads the schema cache: twelve statements in one snapshot, then pure steps from rows to a `Catalog`.

The statements (`introspect.sql`) run as the login role, which is not a superuser: they read only the system catalogs, which
every role may read. Building the catalog takes tens of milliseconds for large schemas, so it runs in a thread while the event
loop serves requests. Source: docs/reference/rest.md, sections 21 and 22.
"""

import asyncio
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import asyncpg

from workers.database.schema_cache.catalog import Catalog, CatalogColumn, CatalogRelation, Role
from workers.database.schema_cache.catalog_rows import (
    CatalogColumnRow,
    CatalogRelationRow,
    CatalogRows,
    RoleRow,
    ViewRow,
    decode_rows,
)
from workers.database.schema_cache.functions import (
    ISOLATION,
    find_computed_fields,
    find_functions,
    find_media_handlers,
    find_representations,
)
from workers.database.schema_cache.relation_keys import RelationKeys
from workers.database.schema_cache.relationships import find_relationships
from workers.database.schema_cache.view_columns import trace_views
from workers.sql.files import read_statements

_STATEMENTS = read_statements("workers.database.schema_cache", "introspect.sql")
_STATEMENT_S = 60.0
_INSERT, _UPDATE, _DELETE = 8, 4, 16


@dataclass(frozen=True, slots=True)
class IntrospectOptions:
    """Exposed schemas (the first is the default), and further schemas whose functions and views are read."""

    schemas: tuple[str, ...]
    extra_search_path: tuple[str, ...] = ()


async def introspect(connection: asyncpg.Connection, options: IntrospectOptions, version: int) -> Catalog:
    """Read the system catalogs in one snapshot and return them as a catalog with the given version.

    Raises: asyncpg.PostgresError, TimeoutError, OSError; asyncpg.LockNotAvailableError after 500 ms if a migration locks a catalog.
    """
    documents, views = await _read(connection, options)
    return await asyncio.to_thread(_build, documents, views, options, version)


async def _read(
    connection: asyncpg.Connection, options: IntrospectOptions
) -> tuple[dict[str, str], list[asyncpg.Record]]:
    exposed = list(options.schemas)
    searched = list(dict.fromkeys((*options.schemas, *options.extra_search_path)))
    arguments: dict[str, tuple[list[str], ...]] = {
        "server": (exposed,),
        "relations": (exposed,),
        "columns": (exposed,),
        "enums": (),
        "constraints": (searched,),
        "functions": (exposed,),
        "computed": (searched, exposed),
        "representations": (),
        "media_handlers": (exposed,),
        "roles": (),
    }
    async with connection.transaction(isolation="repeatable_read", readonly=True):
        await connection.execute(_STATEMENTS["settings"], timeout=_STATEMENT_S)
        documents = {
            name: await connection.fetchval(_STATEMENTS[name], *values, timeout=_STATEMENT_S)
            for name, values in arguments.items()
        }
        return documents, await connection.fetch(_STATEMENTS["views"], searched, timeout=_STATEMENT_S)


def _build(
    documents: dict[str, str], views: list[asyncpg.Record], options: IntrospectOptions, version: int
) -> Catalog:
    rows = decode_rows(documents, [ViewRow(view["relation"], view["query"]) for view in views])
    return catalog_from(rows, options, version)


def catalog_from(rows: CatalogRows, options: IntrospectOptions, version: int) -> Catalog:
    """Build the schema cache from rows of the system catalogs. Pure."""
    keys = RelationKeys(rows.columns, trace_views(rows.views), (row.oid for row in rows.relations))
    primary = keys.primary_keys(rows.constraints)
    columns = _columns(rows.columns, rows.enums)
    relations = {
        row.oid: _relation(row, columns.get(row.oid, {}), primary.get(row.oid, ())) for row in rows.relations
    }
    return Catalog(
        version=version,
        relations={(relation.schema, relation.name): relation for relation in relations.values()},
        relationships=find_relationships(rows.constraints, rows.computed, keys, relations, options.schemas),
        functions=find_functions(rows.functions),
        computed_fields=find_computed_fields(rows.computed),
        representations=find_representations(rows.representations),
        media_handlers=find_media_handlers(rows.media_handlers),
        roles={row.name: _role(row) for row in rows.roles},
        schemas={name: rows.server.schemas.get(name) for name in options.schemas},
        server_version=rows.server.server_version,
    )


def _columns(
    rows: Iterable[CatalogColumnRow], enums: Mapping[int, list[str]]
) -> dict[int, dict[str, CatalogColumn]]:
    """Return the columns of each relation by its oid, in table order."""
    labels = {oid: tuple(names) for oid, names in enums.items()}
    columns: dict[int, dict[str, CatalogColumn]] = {}
    for row in rows:
        columns.setdefault(row.relation, {})[row.name] = CatalogColumn(
            name=row.name,
            type=row.type,
            full_type=row.full_type or row.type,
            nullable=row.nullable,
            max_length=row.max_length,
            default=row.default,
            enum=labels.get(row.base_oid, ()),
            comment=row.comment,
            base_type=row.domain_base or row.type,
            is_generated=row.is_generated,
            is_identity_always=row.is_identity_always,
        )
    return columns


def _relation(
    row: CatalogRelationRow, columns: dict[str, CatalogColumn], primary_key: tuple[str, ...]
) -> CatalogRelation:
    return CatalogRelation(
        schema=row.schema,
        name=row.name,
        kind=row.kind,
        columns=columns,
        primary_key=primary_key,
        insertable=bool(row.writes & _INSERT),
        updatable=bool(row.writes & _UPDATE),
        deletable=bool(row.writes & _DELETE),
        comment=row.comment,
        row_security=row.row_security,
        keeps_inserts=row.keeps_inserts,
        keeps_updates=row.keeps_updates,
    )


def _role(row: RoleRow) -> Role:
    isolation = row.settings.get(ISOLATION)
    return Role(
        name=row.name,
        settings=tuple((name, value) for name, value in row.settings.items() if name != ISOLATION),
        isolation=isolation.lower() if isolation else None,
    )
