"""Reads objects of the catalog as the interface shows them: each is the bytes of a JSON object, which Postgres builds.

Everything runs as role `postgres`, so it lists what that role may see.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import msgspec
from msgspec import Struct

from workers.database.protocol.rows import Rows
from workers.database.transactions.model import Statement
from workers.management.interface.backends.database import ManagementDatabase
from workers.management.spellings.schema_metadata.request import (
    MetadataRequest,
    query_boolean,
    query_names,
    query_number,
    text_array,
)
from workers.sql.files import read_statements

SQL = read_statements("workers.management.spellings.schema_metadata", "reads.sql")
SYSTEM_SCHEMAS = ("information_schema", "pg_catalog", "pg_toast")
SESSION = (("search_path", '"$user", public, extensions'),)
"""Settings of a session as role `postgres` has them: the catalog prints names by the search path."""
_RELATION_RIGHTS = b"SELECT, INSERT, UPDATE, DELETE, TRUNCATE, REFERENCES, TRIGGER"
_BETWEEN = ("included", "excluded", "ids")
_PAGE = ("limit", "offset")
PARAMETERS: Mapping[str, tuple[str, ...]] = {
    "schemas": (*_BETWEEN, "name", "system", *_PAGE),
    "tables": (*_BETWEEN, "name", *_PAGE),
    "columns": (*_BETWEEN, "column_ids", "name", *_PAGE, "kinds"),
    "views": (*_BETWEEN, *_PAGE),
    "materialized_views": (*_BETWEEN, *_PAGE),
    "foreign_tables": (*_BETWEEN, *_PAGE),
    "functions": (*_BETWEEN, *_PAGE),
    "types": ("included", "excluded", "arrays", "rows", *_PAGE),
    "triggers": (*_BETWEEN, "name", "table", *_PAGE),
    "policies": (*_BETWEEN, "name", "table", *_PAGE),
    "indexes": (*_BETWEEN, *_PAGE),
    "publications": ("ids", "name", *_PAGE),
    "roles": ("ids", "name", "system", *_PAGE),
    "extensions": ("name", *_PAGE),
    "config": _PAGE,
    "version": (),
    "table_privileges": (*_BETWEEN, *_PAGE, "rights"),
    "column_privileges": ("included", "excluded", "column_ids", *_PAGE),
}
"""The parameters of each statement of reads.sql that lists objects, in order."""

RELATION_KINDS = {"tables": b"{r,p}", "views": b"{v}", "materialized_views": b"{m}", "foreign_tables": b"{f}"}
"""The kinds of relations (`relkind`) that each list of relations has."""


class Filter(Struct, frozen=True):
    """Which objects of a kind: each field is a parameter in Postgres' text format; None does not narrow."""

    included: bytes | None = None
    excluded: bytes | None = None
    ids: bytes | None = None
    column_ids: bytes | None = None
    name: bytes | None = None
    table: bytes | None = None
    limit: bytes | None = None
    offset: bytes | None = None
    system: bytes = b"true"
    """Whether schemas and roles of the system are listed."""
    arrays: bytes = b"false"
    rows: bytes = b"{c}"
    """Kinds of relations whose row types are listed."""
    rights: bytes = _RELATION_RIGHTS
    kinds: bytes = b"{r,p,v,m,f}"
    """Kinds of relations (`relkind`) whose columns are listed."""


def listed(request: MetadataRequest, *, hides_system: bool) -> Filter:
    """Return what a request for a list narrows it to. Names that it includes count more than those it leaves out.

    `hides_system`: schemas of the system are left out unless the request asks for them. Raises: MetadataError.
    """
    included, excluded = (
        query_names(request, "included_schemas"),
        query_names(request, "excluded_schemas") or [],
    )
    if hides_system and not query_boolean(request, "include_system_schemas"):
        excluded = [*SYSTEM_SCHEMAS, *excluded]
    return Filter(
        included=text_array(included) if included else None,
        excluded=text_array(excluded) if excluded and not included else None,
        limit=query_number(request, "limit"),
        offset=query_number(request, "offset"),
    )


def by_id(id: str) -> Filter:
    """Return the filter for one object."""
    return Filter(ids=text_array([id]))


def by_name(name: str, *, schema: str | None = None, table: str | None = None) -> Filter:
    """Return the filter for an object by its name in its schema, and on its table."""
    return Filter(
        included=None if schema is None else text_array([schema]),
        name=name.encode(errors="surrogatepass"),
        table=None if table is None else table.encode(errors="surrogatepass"),
    )


def list_statement(kind: str, filter: Filter) -> Statement:
    """Return the statement that lists objects."""
    return Statement(SQL[kind], [getattr(filter, name) for name in PARAMETERS[kind]])


@dataclass(frozen=True, slots=True)
class CatalogSession:
    """Runs statements as role `postgres`, each call in a transaction of its own."""

    database: ManagementDatabase
    timeout_s: float

    async def run(self, *statements: Statement) -> list[Rows]:
        """Run statements in one transaction. Raises: DatabaseError, Disconnected, PoolTimeout."""
        return await self.database.write(*statements, timeout_s=self.timeout_s, settings=SESSION)

    async def list(self, kind: str, filter: Filter, *, has_columns: bool = False) -> Sequence[bytes]:
        """Return objects, each as JSON; with `has_columns` relations have their columns. Raises: as `run`."""
        statements = [list_statement(kind, filter)]
        if has_columns:
            columns = Filter(
                included=filter.included, excluded=filter.excluded, ids=filter.ids, kinds=RELATION_KINDS[kind]
            )
            statements.append(list_statement("columns", columns))
        rows, *more = await self.run(*statements)
        if has_columns:
            return _with_columns(rows, more[0])
        return [row[1] or b"null" for row in rows]

    async def first(self, kind: str, filter: Filter, *, has_columns: bool = False) -> bytes | None:
        """Return the first of the objects as JSON, None without one. Raises: as `run`."""
        objects = await self.list(kind, filter, has_columns=has_columns)
        return objects[0] if objects else None


def decoded(object: bytes) -> dict[str, Any]:
    """Return an object of the catalog as a dictionary."""
    return msgspec.json.decode(object, type=dict[str, Any])


def json_list(objects: Sequence[bytes]) -> bytes:
    """Return the JSON of an array of objects."""
    return b"[" + b",".join(objects) + b"]"


def _with_columns(relations: Rows, columns: Rows) -> list[bytes]:
    """Return relations with the member `columns`; the first value of both rows is the id of the relation."""
    of_relation: dict[bytes | None, list[bytes]] = {}
    for id, column in columns:
        of_relation.setdefault(id, []).append(column or b"null")
    return [
        (relation or b"{}").removesuffix(b"}") + b',"columns":' + json_list(of_relation.get(id, [])) + b"}"
        for id, relation in relations
    ]
