"""Answers requests of administrators: sign-in, the description of the interface, operations, and their other spellings.

POST /sign-in ...          sessions: `sign_in_endpoints.py`
POST /operations/<name>    the arguments as JSON -> the result as JSON, or as a stream
POST /operations/<name>?arguments=<JSON>    for an operation that takes a body: a file to import
GET  /openapi.json         all operations as OpenAPI 3.1
/v1/..., /v2/...           what the official command line asks of its Management API: `project_api/`
POST /mcp                  operations as tools for agents: `mcp/`
POST /assistant            a turn of a conversation with the operator's language model: `assistant/`
/oauth/..., /.well-known/oauth-...    sign-in of agents: `interface/oauth/`
/pg/...                    the schema metadata interface, for the secret key: `schema_metadata/`
/pg/metrics                figures of the server, for the gateway's metrics: `operations/server_figures.py`
"""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import parse_qs

import msgspec

from broker.requests.handler import RequestBody, StreamedResponse
from schemas.database_logins import MANAGEMENT, login_passwords
from schemas.errors import ApiError
from schemas.http import SERVER_ORIGIN, Request, Response, header
from schemas.server_figures import SERVER_FIGURES_PATH
from schemas.settings.tree import Settings
from workers.database.errors import DatabaseError, Disconnected, PoolBusy, PoolTimeout
from workers.management.interface.backends.database import ManagementDatabase
from workers.management.interface.backends.platform_pools import PlatformPools
from workers.management.interface.errors import ManagementError, SqlRejected, not_found
from workers.management.interface.identity.authenticate import authenticate
from workers.management.interface.identity.model import Actor
from workers.management.interface.identity.secrets import PasswordHashing, factor_secrets
from workers.management.interface.oauth.endpoints import OAuthEndpoints
from workers.management.interface.openapi import openapi_body
from workers.management.interface.operation import StreamedResult, operation_settings
from workers.management.interface.operation_runner import OperationRunner
from workers.management.interface.respond import json_response, stream_response
from workers.management.interface.sign_in_endpoints import SIGN_IN_PATHS, SignInEndpoints
from workers.management.operations import operation_table
from workers.management.operations.server_figures import read_server_figures
from workers.management.spellings.assistant.endpoint import ASSISTANT_PATH, AssistantEndpoint
from workers.management.spellings.mcp.endpoint import MCP_PATH, McpEndpoint
from workers.management.spellings.project_api.answer import ProjectApi
from workers.management.spellings.schema_metadata.interface import SchemaMetadata, check_caller
from workers.management.spellings.schema_metadata.query import QueryRunner
from workers.management.spellings.schema_metadata.reads import CatalogSession
from workers.management.spellings.schema_metadata.requests_of_keys import (
    SECRET_KEY,
    answer_metadata,
    is_metadata_path,
)
from workers.settings.live_settings import LiveSettings, fixed_settings

MAX_BODY_BYTES = 1024 * 1024
_OPERATIONS = "/operations/"


@dataclass(slots=True)
class ManagementWorker(OperationRunner):
    """Answers requests by operations; `answer` is the handler of the pool."""

    sign_in: SignInEndpoints = field(init=False)
    metadata: SchemaMetadata = field(init=False)
    project_api: ProjectApi = field(init=False)
    mcp: McpEndpoint = field(init=False)
    assistant: AssistantEndpoint = field(init=False)
    oauth: OAuthEndpoints = field(init=False)

    def __post_init__(self) -> None:
        """Make what answers the other paths."""
        database, timeout_s = self.database, self.settings.statement_timeout_s
        self.sign_in = SignInEndpoints(
            database, self.hashing, self.factor_secrets, self.settings.session_idle_s
        )
        self.metadata = SchemaMetadata(CatalogSession(database, timeout_s), QueryRunner(database, timeout_s))
        self.project_api = ProjectApi(self.operate)
        self.mcp = McpEndpoint(self)
        self.assistant = AssistantEndpoint(self)
        self.oauth = OAuthEndpoints(database, self.factor_secrets.sealer, self.configuration)

    @classmethod
    def create(
        cls,
        database: ManagementDatabase,
        configuration: Settings,
        pools: PlatformPools,
        live: LiveSettings | None = None,
        project_folder: Path | None = None,
    ) -> "ManagementWorker":
        """Return a worker with all operations; without `live` no setting is read from the database."""
        secret = login_passwords(configuration)[MANAGEMENT]
        return cls(
            database,
            operation_settings(configuration.management, project_folder),
            operation_table(),
            PasswordHashing(secret),
            configuration,
            pools,
            live or fixed_settings(configuration),
            factor_secrets(secret),
        )

    async def answer(self, request: Request, body: RequestBody) -> Response | StreamedResponse:
        """Answer one request. Raises: ManagementError, which is sent as an answer too; anything else is a defect."""
        if request.path != SERVER_FIGURES_PATH and is_metadata_path(request.path):
            context = self.context(SECRET_KEY, request.id, request.client)
            return await answer_metadata(self.metadata, context, request, body)
        try:
            if request.path == SERVER_FIGURES_PATH:
                check_caller(request.caller)
                return json_response(
                    await read_server_figures(self.context(SECRET_KEY, request.id, request.client))
                )
            if self.project_api.serves(request.path):
                return await self.project_api.answer(request, await self._actor(request), body)
            return await self._route(request, body)
        except DatabaseError as error:
            raise SqlRejected(error) from None
        except Disconnected:
            raise _unavailable("The database does not answer") from None
        except PoolBusy as error:
            raise _unavailable(str(error), error.retry_after_s) from None
        except PoolTimeout as error:
            raise ManagementError(504, "timeout", str(error)) from None

    async def _route(self, request: Request, body: RequestBody) -> Response | StreamedResponse:
        path, method = request.path, request.method
        if path.startswith(_OPERATIONS):
            _check_method(method, "POST")
            return await self._operation(request, body, path.removeprefix(_OPERATIONS))
        if path in SIGN_IN_PATHS:
            _check_method(method, "POST")
            return await self.sign_in.answer(request, await body.read(MAX_BODY_BYTES))
        if self.oauth.serves(path):
            return await self.oauth.answer(request, body)
        if path == MCP_PATH:
            return await self.mcp.answer(request, body)
        if path == ASSISTANT_PATH:
            return await self.assistant.answer(request, await self._actor(request), body)
        if path == "/openapi.json":
            _check_method(method, "GET")
            document = await asyncio.to_thread(openapi_body, tuple(self.operations.all()))
            return json_response(msgspec.Raw(document))
        raise not_found(f"path {path} below /management/v1")

    async def _operation(self, request: Request, body: RequestBody, name: str) -> Response | StreamedResponse:
        """Run the operation that the path names; an operation that takes a body has its arguments in the query."""
        actor = await self._actor(request)
        operation = self.operations.find(name)
        upload: AsyncIterator[bytes] | None = None
        if operation is not None and operation.takes_body:
            arguments = parse_qs(request.query).get("arguments", ["{}"])[0].encode(errors="replace")
            upload = aiter(body)
        else:
            arguments = await body.read(MAX_BODY_BYTES if operation is None else operation.max_body_bytes)
        origin = header(request.headers, SERVER_ORIGIN) or ""
        result = await self.operate(
            actor, name, arguments, request.id, request.client, origin=origin, upload=upload
        )
        return stream_response(result) if isinstance(result, StreamedResult) else json_response(result)

    async def _actor(self, request: Request) -> Actor:
        return await authenticate(await self.database.own(), request, self.settings.session_idle_s)


def _check_method(method: str, allowed: str) -> None:
    if method != allowed:
        raise ManagementError(
            405, "method_not_allowed", f"This path takes {allowed}", headers=[("allow", allowed)]
        )


def _unavailable(message: str, retry_after_s: int = 1) -> ApiError:
    return ManagementError(503, "unavailable", message, headers=[("retry-after", str(retry_after_s))])
