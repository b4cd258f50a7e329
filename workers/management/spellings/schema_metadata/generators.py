"""GET /generators/<language>: types of the database in a programming language.

TypeScript is that of `headwater gen types typescript` (workers/project/types); the others are those of the interface (`types/`).
"""

import asyncio

import msgspec

from schemas.database_logins import DEVELOPER
from workers.database.transactions.model import Statement
from workers.management.spellings.schema_metadata.errors import MetadataError, bad_request
from workers.management.spellings.schema_metadata.reads import (
    SYSTEM_SCHEMAS,
    CatalogSession,
    Filter,
    decoded,
    list_statement,
)
from workers.management.spellings.schema_metadata.request import (
    MetadataRequest,
    query_boolean,
    query_names,
    text_array,
)
from workers.management.spellings.schema_metadata.types.go import go
from workers.management.spellings.schema_metadata.types.model import (
    GeneratorInput,
    Object,
    by_column_name,
    by_name,
)
from workers.management.spellings.schema_metadata.types.python import python
from workers.management.spellings.schema_metadata.types.swift import swift
from workers.project.project_connection import OWNER, open_connection
from workers.project.types.name_order import sort_key
from workers.project.types.read_catalog import VIEW_STATEMENTS, read_database, view_columns
from workers.project.types.typescript import typescript
from workers.sql import compose

_ACCESS = ("internal", "public", "private", "package")
_ROWS = b"{c,r,v,m,p,f}"
_KINDS = ("schemas", "tables", "foreign_tables", "views", "materialized_views", "columns", "types")


async def generate(session: CatalogSession, language: str, request: MetadataRequest) -> str:
    """Return the types as a text. Raises: MetadataError, DatabaseError."""
    access = request.query.get("access_control", "internal")
    if access not in _ACCESS:
        raise bad_request(f"querystring/access_control must be one of {', '.join(_ACCESS)}")
    match language:  # in a thread: the text of thousands of functions takes a second
        case "typescript":
            return await _typescript(session, request)
        case "go":
            return await asyncio.to_thread(go, await read_input(session, request))
        case "swift":
            return await asyncio.to_thread(swift, await read_input(session, request), access)
        case "python":
            return await asyncio.to_thread(python, await read_input(session, request))
    raise MetadataError(404, "Not found")


async def read_input(session: CatalogSession, request: MetadataRequest) -> GeneratorInput:
    """Read what the generators need of the schemas that a request names, by default all but the system's."""
    chosen, plain = _filters(request)
    filters = dict.fromkeys(_KINDS, chosen) | {
        "schemas": Filter(included=chosen.included, excluded=chosen.excluded, system=b"false"),
        "foreign_tables": plain,
        "materialized_views": plain,
        "types": Filter(arrays=b"true", rows=_ROWS),
    }
    results = await session.run(*[list_statement(kind, filters[kind]) for kind in _KINDS])
    objects: dict[str, list[Object]] = {
        kind: [decoded(row[1] or b"{}") for row in rows] for kind, rows in zip(_KINDS, results, strict=True)
    }
    sorted_objects: dict[str, list[Object]] = {
        kind: by_name(objects[kind]) for kind in _KINDS if kind not in ("schemas", "columns")
    }
    if query_boolean(request, "follow_views"):
        objects["columns"] = await _followed(session, objects["columns"])
    return GeneratorInput(
        sorted((schema["name"] for schema in objects["schemas"]), key=sort_key),
        columns=by_column_name(objects["columns"]),
        **sorted_objects,
    )


async def _followed(session: CatalogSession, columns: list[Object]) -> list[Object]:
    """Return the columns with those of views that are never null as such."""
    results = await session.run(*[Statement(text, []) for text in VIEW_STATEMENTS])
    rules, filled = (rows[0][0] for rows in results)
    known = await asyncio.to_thread(view_columns, rules, filled)
    return [
        {**column, "is_nullable": False}
        if known.is_filled(column["table_id"], column["ordinal_position"])
        else column
        for column in columns
    ]


async def _typescript(session: CatalogSession, request: MetadataRequest) -> str:
    chosen, _ = _filters(request)
    filter = Filter(included=chosen.included, excluded=chosen.excluded, system=b"false")
    schemas = [str(decoded(schema)["name"]) for schema in await session.list("schemas", filter)]
    database = session.database
    async with database.place(), open_connection(await database.session_url(DEVELOPER)) as connection:
        await connection.execute(f"set role {compose.quoted(OWNER)}")
        types = await read_database(
            connection, schemas, follows_views=bool(query_boolean(request, "follow_views"))
        )
    if not query_boolean(request, "detect_one_to_one_relationships"):
        links = [msgspec.structs.replace(link, is_one_to_one=None) for link in types.links]
        types = msgspec.structs.replace(types, links=links)
    version = request.query.get("postgrest_version", "")
    return await asyncio.to_thread(typescript, types, version=version, with_computed=False)


def _filters(request: MetadataRequest) -> tuple[Filter, Filter]:
    """Return two filters: the first leaves out the schemas of the system, the second does not."""
    included = [name.strip() for name in query_names(request, "included_schemas") or []]
    excluded = [name.strip() for name in query_names(request, "excluded_schemas") or []]
    if included:
        both = Filter(included=text_array(included))
        return both, both
    plain = Filter(excluded=text_array(excluded)) if excluded else Filter()
    return Filter(excluded=text_array([*SYSTEM_SCHEMAS, *excluded])), plain
