"""Answers `POST /mcp`: one message a request, one JSON answer (streamable HTTP without streams).

Steps: method, origin, token, what it may do, media types, revision and message, result. Faults before the message is read are errors of
HTTP (401, 403, 405, 406, 415), later ones errors of JSON-RPC. `GET` is 405: the server sends nothing by itself. A client that closes its
connection stops the call; one of a revision with handshake can send `notifications/cancelled` too, which stops SQL by the id that
`initialize` returned as `Mcp-Session-Id`. Nothing is stored under that id.

Only tokens are taken, never cookies, so a page that a browser shows cannot act here. The origin is checked all the same, as the protocol
demands: a page behind a name that an attacker points to this machine has that name as its origin and as its host.
Source: MCP 2026-07-28 and 2025-11-25, basic/transports/streamable-http.
"""

import ipaddress
import json
import re
import secrets
from collections.abc import Sequence
from dataclasses import dataclass
from urllib.parse import urlsplit

from broker.requests.handler import RequestBody
from schemas.http import SERVER_ORIGIN, Headers, Request, Response, header
from workers.management.interface.errors import ManagementError
from workers.management.interface.identity.authenticate import authenticate
from workers.management.interface.oauth.endpoints import public_url
from workers.management.interface.oauth.metadata import challenge, resource_of
from workers.management.interface.operation_runner import OperationRunner
from workers.management.spellings.mcp.access import AgentAccess, agent_access
from workers.management.spellings.mcp.messages import (
    INVALID_PARAMS,
    METHOD_NOT_FOUND,
    RpcError,
    RpcMessage,
    error_message,
    parse_message,
    result_message,
)
from workers.management.spellings.mcp.methods import AgentRequest, answer_method
from workers.management.spellings.mcp.versions import WITHOUT_HANDSHAKE, check_envelope, version_of

MCP_PATH = "/mcp"
MOST_BODY_BYTES = 4 * 1024 * 1024
_SESSION = "mcp-session-id"
_SESSION_ID = re.compile(r"[A-Za-z0-9_-]{16,64}", re.ASCII)
_JSON = "application/json"
_HEADERS: Headers = [
    ("content-type", _JSON),
    ("cache-control", "no-store"),
    ("x-content-type-options", "nosniff"),
]
_STATUS_OF_CODE = {METHOD_NOT_FOUND: 404, INVALID_PARAMS: 400}
"""HTTP status of an error in revisions without handshake; those before answer 200."""


@dataclass(slots=True)
class McpEndpoint:
    """Answers agents by the operations of `runner`."""

    runner: OperationRunner

    async def answer(self, request: Request, body: RequestBody) -> Response:
        """Answer one request. Raises: ManagementError (400, 401, 403, 405, 406, 415), DatabaseError, Disconnected."""
        if request.method != "POST":
            raise ManagementError(
                405, "method_not_allowed", "/mcp takes POST: it sends no stream", headers=[("allow", "POST")]
            )
        configuration = self.runner.configuration
        check_origin(request, configuration.api.external_url, configuration.management.mcp_origins)
        access = await self._access(request)
        _check_media_types(request.headers)
        message_id: str | int | None = None
        is_stateless = False
        try:
            version = version_of(request.headers)
            is_stateless = version in WITHOUT_HANDSHAKE
            message = parse_message(await body.read(MOST_BODY_BYTES))
            if not isinstance(message.id, str | int):
                await self._notified(request, access, message)
                return Response(202, [("cache-control", "no-store")])
            message_id = message.id
            if is_stateless:
                check_envelope(message, request.headers)
            run_id = "" if is_stateless else _run_id(request.headers, message_id)
            agent = AgentRequest(self.runner, request, access, version, run_id)
            result = await answer_method(agent, message)
        except RpcError as error:
            status = error.status
            if is_stateless and status == 200:
                status = _STATUS_OF_CODE.get(error.code, 200)
            return Response(status, _HEADERS, error_message(message_id, error))
        session = [(_SESSION, secrets.token_urlsafe(24))] if message.method == "initialize" else []
        return Response(200, [*_HEADERS, *session], result_message(message_id, result))

    async def _access(self, request: Request) -> AgentAccess:
        """Return what the token of a request may do. Raises: ManagementError (400, 401)."""
        address = public_url(self.runner.configuration, request)
        has_token = header(request.headers, "authorization") is not None
        if not has_token:
            raise _sign_in(address, has_token=False)
        database = await self.runner.database.own()
        try:
            actor = await authenticate(
                database, request, self.runner.settings.session_idle_s, resource=resource_of(address)
            )
        except ManagementError as error:
            if error.status != 401:
                raise
            raise _sign_in(address, has_token=True) from None
        if actor.token_id is None:
            raise _sign_in(address, has_token=False)
        return agent_access(actor, request.query)

    async def _notified(self, request: Request, access: AgentAccess, message: RpcMessage) -> None:
        """Stop the SQL of a request that the client has given up; other notifications change nothing."""
        if message.method != "notifications/cancelled":
            return
        message_id = (message.params or {}).get("requestId")
        run_id = _run_id(request.headers, message_id) if isinstance(message_id, str | int) else ""
        if run_id and self.runner.operations.find("sql.cancel") is not None:
            arguments = json.dumps({"id": run_id}).encode()
            await self.runner.operate(access.actor, "sql.cancel", arguments, request.id, request.client)


def _sign_in(address: str, *, has_token: bool) -> ManagementError:
    """Return the error of a request without a valid token; it names where a client learns how to get one."""
    return ManagementError(
        401,
        "not_signed_in",
        "Sign in by OAuth, or send a token of an administrator as `Authorization: Bearer ...`",
        hint="`headwater admin token` makes a token.",
        headers=[("www-authenticate", challenge(address, has_token=has_token))],
    )


def check_origin(request: Request, external_url: str, origins: Sequence[str] = ()) -> None:
    """Refuse a request of a page of another origin. Raises: ManagementError (403).

    A page's origin is that of `api.external_url`, one of `origins`, or the address under which the request came, if that is not a name of DNS.
    """
    origin = header(request.headers, "origin")
    if origin is None:
        return
    server_origin = (header(request.headers, SERVER_ORIGIN) or "").lower()
    allowed = set(origins)
    if _is_local_name(server_origin):
        allowed.add(server_origin)
    if external_url:
        parts = urlsplit(external_url)
        allowed.add(f"{parts.scheme}://{parts.netloc}".lower())
    if origin.lower() not in allowed - {""}:
        raise ManagementError(
            403,
            "cross_site",
            "This Origin may not call /mcp",
            hint="api.external_url and management.mcp_origins name those that may.",
        )


def _is_local_name(origin: str) -> bool:
    """Return whether an origin has an address or `localhost` as its host, which no DNS answer can point elsewhere."""
    host = urlsplit(origin).hostname or ""
    if host == "localhost":
        return True
    try:
        ipaddress.ip_address(host)
    except ValueError:
        return False
    return True


def _check_media_types(headers: Headers) -> None:
    """Check that the body is JSON and that the client takes JSON. Raises: ManagementError (406, 415)."""
    content_type = (header(headers, "content-type") or "").partition(";")[0].strip().lower()
    if content_type != _JSON:
        raise ManagementError(415, "unsupported_media_type", f"The body must be {_JSON}")
    accepted = {
        part.partition(";")[0].strip().lower() for part in (header(headers, "accept") or "*/*").split(",")
    }
    if not accepted & {_JSON, "application/*", "*/*"}:
        raise ManagementError(406, "not_acceptable", f"The answer is {_JSON}: send it in Accept")


def _run_id(headers: Headers, message_id: str | int) -> str:
    """Return the name of the SQL of a request within its client's session; empty without one."""
    session = header(headers, _SESSION) or ""
    whole = f"mcp {session} {json.dumps(message_id)}"
    return whole if _SESSION_ID.fullmatch(session) and len(whole) <= 150 else ""
