"""The lists of objects and the single objects: GET of each kind.

A kind is a row of `KINDS`: its path, its statement in reads.sql, how errors name one, and what narrows its list.
"""

import re
from dataclasses import dataclass

import msgspec

from workers.management.spellings.schema_metadata.errors import MetadataError, not_there
from workers.management.spellings.schema_metadata.reads import (
    CatalogSession,
    Filter,
    by_id,
    by_name,
    json_list,
    listed,
)
from workers.management.spellings.schema_metadata.request import (
    MetadataRequest,
    oid_of,
    query_boolean,
    text_array,
)

_DIGITS = re.compile(r"\d+", re.ASCII)
_COLUMN = re.compile(r"(\d+)\.(\d+)", re.ASCII)


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind of object. `columns`: whether its lists have columns unless the request says otherwise; None for no relation."""

    statement: str
    noun: str
    """As in "Cannot find a table with ID 1"; empty if single objects have no path."""
    hides_system: bool = True
    columns: bool | None = None
    zero_is_no_limit: bool = False
    """`limit=0` does not narrow, as a missing one."""
    lists_system: bool = True
    """Single objects of the system are shown."""


KINDS = {
    "schemas": Kind("schemas", "a schema", zero_is_no_limit=True, lists_system=False),
    "tables": Kind("tables", "a table", columns=True, zero_is_no_limit=True),
    "columns": Kind("columns", "", zero_is_no_limit=True),
    "views": Kind("views", "a view", columns=True, zero_is_no_limit=True),
    "materialized-views": Kind(
        "materialized_views", "a materialized view", hides_system=False, columns=False, zero_is_no_limit=True
    ),
    "foreign-tables": Kind(
        "foreign_tables", "a foreign table", hides_system=False, columns=True, zero_is_no_limit=True
    ),
    "functions": Kind("functions", "a function"),
    "types": Kind("types", ""),
    "triggers": Kind("triggers", "a trigger"),
    "policies": Kind("policies", "a policy"),
    "indexes": Kind("indexes", "a index"),
    "publications": Kind("publications", "a publication", hides_system=False),
    "roles": Kind("roles", "a role", hides_system=False, lists_system=False),
    "extensions": Kind("extensions", "", hides_system=False),
    "config": Kind("config", "", hides_system=False),
    "table-privileges": Kind("table_privileges", "", zero_is_no_limit=True),
    "column-privileges": Kind("column_privileges", "", zero_is_no_limit=True),
}
"""The kinds by their paths."""


async def list_objects(session: CatalogSession, path: str, request: MetadataRequest) -> bytes:
    """Return the objects of a kind as a JSON array. Raises: MetadataError, DatabaseError."""
    kind = KINDS[path]
    filter = listed(request, hides_system=kind.hides_system)
    changes: dict[str, object] = {}
    if kind.zero_is_no_limit and filter.limit is not None and not filter.limit.strip(b"0"):
        changes["limit"] = None
    if path == "schemas":
        changes["system"] = b"true" if query_boolean(request, "include_system_schemas") else b"false"
    if path == "roles":
        changes["system"] = b"true" if query_boolean(request, "include_default_roles") else b"false"
    if path == "types":
        changes["arrays"] = b"true" if query_boolean(request, "include_array_types") else b"false"
    filter = msgspec.structs.replace(filter, **changes)
    has_columns = kind.columns is not None and _or(query_boolean(request, "include_columns"), kind.columns)
    return json_list(await session.list(kind.statement, filter, has_columns=has_columns))


async def retrieve(session: CatalogSession, path: str, id: str) -> bytes:
    """Return one object by its id as JSON. Raises: MetadataError (404), DatabaseError."""
    if path == "columns":
        return await retrieve_column(session, id)
    if path == "extensions":
        return await _first_or_404(session, "extensions", by_name(id), f"an extension named {id}")
    kind = KINDS[path]
    if not kind.noun or not _DIGITS.fullmatch(id):
        raise MetadataError(404, "Not found")
    what, oid = f"{kind.noun} with ID {id}", oid_of(id)
    if oid is None:
        raise not_there(what)
    filter = by_id(oid)
    if not kind.lists_system:
        filter = msgspec.structs.replace(filter, system=b"false")
    return await _first_or_404(session, kind.statement, filter, what, has_columns=kind.columns is not None)


async def retrieve_column(session: CatalogSession, id: str) -> bytes:
    """Return a column by its id `<table>.<place>`; by `<table>` alone the first of the table. Raises: as `retrieve`."""
    if parts := _COLUMN.fullmatch(id):
        oid, place = oid_of(parts[1]), oid_of(parts[2])
        return await _first_or_404(
            session, "columns", Filter(column_ids=text_array([f"{oid}.{place}"])), f"a column with ID {id}"
        )
    if _DIGITS.fullmatch(id) and (oid := oid_of(id)) is not None:
        filter = msgspec.structs.replace(by_id(oid), limit=b"1")
        return await _first_or_404(session, "columns", filter, f"a column of a table with ID {id}")
    raise MetadataError(404, "Not found")


async def version(session: CatalogSession) -> bytes:
    """Return the version of the server and its connections as JSON. Raises: DatabaseError."""
    return await _first_or_404(session, "version", Filter(), "the version")


async def _first_or_404(
    session: CatalogSession, statement: str, filter: Filter, what: str, *, has_columns: bool = False
) -> bytes:
    object = await session.first(statement, filter, has_columns=has_columns)
    if object is None:
        raise not_there(what)
    return object


def _or(value: bool | None, default: bool) -> bool:
    return default if value is None else value
