"""Answers requests below `/pg`: the secret key, then the endpoint of method and path, then an audit row for what may have changed.

GET    /<kind>            objects of a kind                 lists.py
GET    /<kind>/<id>       one object                        lists.py
POST   /<kind>, PATCH and DELETE /<kind>/<id>               writes.py
POST, DELETE /table-privileges, /column-privileges          privileges.py
POST   /query, /query/format, /query/parse, /query/deparse  query.py
GET    /generators/<language>                               generators.py
"""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, cast
from urllib.parse import unquote

import msgspec

from schemas.caller import Caller, RejectedCaller, ServiceCaller, UserCaller
from schemas.errors import ApiError
from schemas.http import Headers, Response
from workers.database.errors import DatabaseError, Disconnected, PoolBusy, PoolTimeout
from workers.management.spellings.schema_metadata import generators, lists, privileges, query, writes
from workers.management.spellings.schema_metadata.errors import MetadataError
from workers.management.spellings.schema_metadata.query import QueryRunner
from workers.management.spellings.schema_metadata.reads import CatalogSession
from workers.management.spellings.schema_metadata.request import MetadataRequest
from workers.management.spellings.schema_metadata.writes import ObjectChange

VERSION = "0.99.0"
"""The version of the interface that is answered."""
MAX_ANSWER_BYTES = 64 * 1024 * 1024
_JSON = "application/json; charset=utf-8"
_TEXT = "text/plain; charset=utf-8"

Audit = Callable[[str, dict[str, object], ObjectChange, str], Awaitable[None]]
"""Stores an audit row: operation, arguments, the object before and after, outcome."""


@dataclass(frozen=True, slots=True)
class SchemaMetadata:
    """The interface: a session for the catalog, and a runner of queries."""

    catalog: CatalogSession
    queries: QueryRunner

    async def answer(self, request: MetadataRequest, audit: Audit) -> Response:
        """Answer one request of the secret key. Raises: MetadataError."""
        try:
            return await self._route(request, audit)
        except DatabaseError as error:
            raise MetadataError(500 if request.method == "GET" else 400, error.message) from None
        except Disconnected:
            raise MetadataError(503, "The database does not answer") from None
        except PoolBusy as error:
            raise MetadataError(503, str(error)) from None
        except PoolTimeout as error:
            raise MetadataError(504, str(error)) from None

    async def _route(self, request: MetadataRequest, audit: Audit) -> Response:
        kind, _, id = request.path.strip("/").partition("/")
        id = unquote(id)
        if "\0" in id:
            raise MetadataError(404, "Not found")
        match request.method, kind:
            case "GET", "":
                return json_response(msgspec.json.encode(_described()))
            case "GET", "health":
                return json_response(msgspec.json.encode({"date": datetime.now(UTC)}))
            case "GET", "config" if id == "version":
                return json_response(await lists.version(self.catalog))
            case "GET", "generators":
                return text_response(await generators.generate(self.catalog, id, request))
            case "POST", "query":
                return await self._query(id, request, audit)
        if kind not in lists.KINDS:
            raise MetadataError(404, "Not found")
        if request.method == "GET":
            if id:
                return json_response(await lists.retrieve(self.catalog, kind, id))
            return json_response(await lists.list_objects(self.catalog, kind, request))
        return json_response(await self._write(kind, id, request, audit))

    async def _write(self, kind: str, id: str, request: MetadataRequest, audit: Audit) -> bytes:
        """Carry out a change and return the object. A change that fails leaves an audit row as well."""
        verb = {"POST": "create", "PATCH": "change", "DELETE": "remove"}.get(request.method, "")
        change = self._change_of(kind, id, verb, request)
        recorded, outcome = ObjectChange(), "failed"
        arguments: dict[str, object] = {"id": id} if id else {}
        if isinstance(request.body, (dict, list)):
            arguments["body"] = _without_secrets(kind, request.body)
        try:
            await change(recorded)
            outcome = "done"
        except ApiError as error:
            outcome = str(error.status)
            raise
        except DatabaseError as error:
            outcome = error.code
            raise
        finally:
            await asyncio.shield(audit(f"pg.{kind}.{verb}", arguments, recorded, outcome))
        return recorded.result

    def _change_of(
        self, kind: str, id: str, verb: str, request: MetadataRequest
    ) -> Callable[[ObjectChange], Awaitable[None]]:
        """Return the function that carries out a change. Raises: MetadataError (404) if the kind cannot be changed so."""
        catalog, body = self.catalog, request.body
        match kind, verb, bool(id):
            case "table-privileges", "create" | "remove", False:
                return lambda recorded: privileges.change_table_rights(
                    catalog, body, recorded, grants=verb == "create"
                )
            case "column-privileges", "create" | "remove", False:
                return lambda recorded: privileges.change_column_rights(
                    catalog, body, recorded, grants=verb == "create"
                )
        if kind in writes.WRITABLE:
            match verb, bool(id):
                case "create", False:
                    return lambda recorded: writes.create(catalog, kind, body, recorded)
                case "change", True:
                    return lambda recorded: writes.change(catalog, kind, id, body, recorded)
                case "remove", True:
                    cascade = request.query.get("cascade") == "true"
                    return lambda recorded: writes.remove(catalog, kind, id, cascade, recorded)
        raise MetadataError(404, "Not found")

    async def _query(self, step: str, request: MetadataRequest, audit: Audit) -> Response:
        match step:
            case "":
                return json_response(await self._run(request, audit))
            case "format":
                return text_response(await asyncio.to_thread(query.formatted, request))
            case "parse":
                return json_response(await query.parsed(request))
            case "deparse":
                return text_response(await query.deparsed(request))
        raise MetadataError(404, "Not found")

    async def _run(self, request: MetadataRequest, audit: Audit) -> bytes:
        text, outcome = query.query_text(request.body), "failed"
        try:
            rows = await self.queries.run(request)
            outcome = "done"
        except MetadataError as error:
            outcome = str(error.body().get("code", error.status))
            raise
        finally:
            arguments: dict[str, object] = {"query": query.audited_text(text)}
            await asyncio.shield(audit("pg.query", arguments, ObjectChange(), outcome))
        return rows


def check_caller(caller: Caller) -> None:
    """Refuse every caller but the secret key. Raises: MetadataError (401 for a bad token, 403)."""
    match caller:
        case ServiceCaller():
            return
        case UserCaller() if caller.decoded().get("role") == "service_role":
            return
        case RejectedCaller():
            raise MetadataError(401, caller.message)
    raise MetadataError(403, "This interface needs the secret key (service_role)")


def json_response(body: bytes) -> Response:
    """Return JSON that nothing may store. Raises: MetadataError if it is too long."""
    if len(body) > MAX_ANSWER_BYTES:
        raise MetadataError(
            400, f"The answer is longer than {MAX_ANSWER_BYTES} bytes: narrow it with limit and offset"
        )
    return Response(200, _headers(_JSON), body)


def text_response(text: str) -> Response:
    """Return a text that nothing may store."""
    return Response(200, _headers(_TEXT), text.encode(errors="replace"))


def _headers(content_type: str) -> Headers:
    return [
        ("content-type", content_type),
        ("cache-control", "no-store"),
        ("x-content-type-options", "nosniff"),
    ]


def _described() -> dict[str, object]:
    return {
        "status": 200,
        "name": "headwater schema metadata",
        "version": VERSION,
        "documentation": "docs/reference/schema-metadata.md",
    }


def _without_secrets(kind: str, body: Any) -> object:
    """Return a body as the audit row holds it."""
    if kind not in writes.WRITABLE or not isinstance(body, dict):
        return body
    secrets = writes.WRITABLE[kind].secrets
    members = cast("dict[str, object]", body)
    return {name: "(not stored)" if name in secrets else value for name, value in members.items()}
