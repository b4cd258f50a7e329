"""The OAuth endpoints of `/mcp`: metadata, registration, authorization, tokens, revocation.

    GET  /.well-known/...    what clients learn first (`metadata.py`)
    POST /oauth/register     a registration as JSON -> the client's id
    GET  /oauth/authorize    a request -> the page of the dashboard that asks the administrator, or back to the client with an error
    POST /oauth/token        a code, or a refresh token -> tokens
    POST /oauth/revoke       a token -> its consent ends

None of them reads a cookie: the consent itself is an operation (`operations/connections.py`), which demands a session, its origin, and a
password proved lately.
"""

import re
from dataclasses import dataclass
from html import escape
from urllib.parse import parse_qsl, urlencode

import msgspec

from broker.requests.handler import RequestBody
from schemas.http import SERVER_ORIGIN, Headers, Request, Response, header
from schemas.settings.tree import Settings
from workers.management.interface.audit import write_event
from workers.management.interface.backends.database import ManagementDatabase
from workers.management.interface.errors import ManagementError, not_found
from workers.management.interface.identity import attempts, grants
from workers.management.interface.identity.grants import ACCESS_S, IssuedTokens
from workers.management.interface.identity.own_pool import OwnPool
from workers.management.interface.identity.secrets import Sealer
from workers.management.interface.oauth import clients
from workers.management.interface.oauth.authorization_request import (
    PARAMETERS,
    fault_of,
    is_resource,
    read_request,
)
from workers.management.interface.oauth.client_documents import document_host, is_document
from workers.management.interface.oauth.errors import OAuthRejected
from workers.management.interface.oauth.metadata import METADATA_PATHS, metadata, resource_of
from workers.management.interface.respond import json_response

CONSENT_PAGE = "/_/connect"
_MOST_BODY_BYTES = 32 * 1024
_MOST_FIELDS = 20
_VERIFIER = re.compile(r"[A-Za-z0-9._~-]{43,128}")
_PAGE_HEADERS: Headers = [
    ("content-type", "text/html; charset=utf-8"),
    ("cache-control", "no-store"),
    ("content-security-policy", "default-src 'none'; frame-ancestors 'none'"),
    ("x-content-type-options", "nosniff"),
    ("referrer-policy", "no-referrer"),
]


def public_url(configuration: Settings, request: Request) -> str:
    """Return the address of the platform for clients: the configured one, else that of the request."""
    return (configuration.api.external_url or header(request.headers, SERVER_ORIGIN) or "").rstrip("/")


@dataclass(frozen=True, slots=True)
class OAuthEndpoints:
    """Answers the requests of clients."""

    database: ManagementDatabase
    sealer: Sealer
    configuration: Settings

    def serves(self, path: str) -> bool:
        """Return whether a path is one of these."""
        return path.startswith("/oauth/") or path in METADATA_PATHS

    async def answer(self, request: Request, body: RequestBody) -> Response:
        """Answer a request. Raises: OAuthRejected, ManagementError (404, 405, 429), DatabaseError, Disconnected."""
        address = public_url(self.configuration, request)
        if request.path in METADATA_PATHS:
            _check_method(request, "GET")
            return json_response(metadata(request.path, address))
        match request.path:
            case "/oauth/authorize":
                _check_method(request, "GET")
                return self._authorize(request, address)
            case "/oauth/register":
                _check_method(request, "POST")
                registered = clients.register(self.sealer, await body.read(_MOST_BODY_BYTES))
                return Response(201, json_response({}).headers, msgspec.json.encode(registered))
            case "/oauth/token":
                _check_method(request, "POST")
                return await self._token(request, _form(await body.read(_MOST_BODY_BYTES)), address)
            case "/oauth/revoke":
                _check_method(request, "POST")
                return await self._revoke(request, _form(await body.read(_MOST_BODY_BYTES)))
        raise not_found(f"path {request.path} below /management/v1")

    def _authorize(self, request: Request, address: str) -> Response:
        """Send the browser to the page that asks, or back to the client with an error. What cannot go back is a page."""
        try:
            values = _fields(request.query)
            if is_document(values.get("client_id", "")):
                self._check_unread(values, address)
                return _to_consent_page(values)
            asked = read_request(clients.client_of(self.sealer, values.get("client_id", "")), values, address)
        except OAuthRejected as error:
            text = f"<!doctype html><title>Not connected</title><h1>This program cannot be connected</h1><p>{escape(str(error))}</p>"
            return Response(error.status, _PAGE_HEADERS, text.encode())
        if asked.fault is not None:
            code, message = asked.fault
            return _redirect(asked.answer(error=code, error_description=message))
        if not self.configuration.dashboard.enabled:
            return _redirect(
                asked.answer(error="access_denied", error_description="The dashboard is switched off")
            )
        return _to_consent_page(values)

    def _check_unread(self, values: dict[str, str], address: str) -> None:
        """Check a request of a client whose document is not read yet, so that nothing can be sent back to it. Raises: OAuthRejected."""
        document_host(values["client_id"])
        if (fault := fault_of(values, address)) is not None:
            raise OAuthRejected(*fault)
        if not self.configuration.dashboard.enabled:
            raise OAuthRejected("access_denied", "The dashboard is switched off")

    def _client_name(self, client_id: str) -> str:
        """Return what the audit log calls a client. Raises: OAuthRejected (400, 401)."""
        return (
            document_host(client_id)
            if is_document(client_id)
            else clients.client_of(self.sealer, client_id).name
        )

    async def _token(self, request: Request, values: dict[str, str], address: str) -> Response:
        if not is_resource(values.get("resource", ""), resource_of(address)):
            raise OAuthRejected("invalid_target", f"`resource` must be {resource_of(address)}")
        client_id = values.get("client_id", "")
        client = self._client_name(client_id)
        pool = await self.database.own()
        await attempts.count_network(pool, request.client)
        kind = values.get("grant_type", "")
        match kind:
            case "authorization_code":
                verifier = values.get("code_verifier", "")
                if not _VERIFIER.fullmatch(verifier):
                    raise OAuthRejected(
                        "invalid_request", "`code_verifier` must have 43 to 128 unreserved characters"
                    )
                issued = await grants.redeem(
                    pool, values.get("code", ""), client_id, values.get("redirect_uri", ""), verifier
                )
            case "refresh_token":
                issued = await grants.renew(pool, values.get("refresh_token", ""), client_id)
            case _:
                raise OAuthRejected(
                    "unsupported_grant_type", "`grant_type` must be authorization_code or refresh_token"
                )
        await self._note(pool, request, client, kind, issued)
        if issued is None:
            raise OAuthRejected(
                "invalid_grant", "The code or token is wrong, was used, or its time is over: sign in again"
            )
        await attempts.forgive_network(pool, request.client)
        answer = {
            "access_token": issued.access,
            "token_type": "Bearer",
            "expires_in": ACCESS_S,
            "refresh_token": issued.refresh,
        }
        return json_response(answer, [("pragma", "no-cache")])

    async def _revoke(self, request: Request, values: dict[str, str]) -> Response:
        client_id = values.get("client_id", "")
        self._client_name(client_id)
        await grants.revoke(await self.database.own(), values.get("token", ""), client_id)
        return json_response({})

    async def _note(
        self, pool: OwnPool, request: Request, client: str, kind: str, issued: IssuedTokens | None
    ) -> None:
        """Leave an audit row of a consent that becomes tokens, and of what was refused; renewals leave none."""
        if issued is not None and kind == "refresh_token":
            return
        await write_event(
            pool,
            "connections.token",
            "invalid_grant" if issued is None else "done",
            actor=f"({client})",
            administrator_id=None,
            request_id=request.id,
            address=request.client,
            details={"grant_type": kind},
        )


def _to_consent_page(values: dict[str, str]) -> Response:
    return _redirect(
        f"{CONSENT_PAGE}?{urlencode({name: values[name] for name in PARAMETERS if name in values})}"
    )


def _redirect(address: str) -> Response:
    return Response(
        302, [("location", address), ("cache-control", "no-store"), ("referrer-policy", "no-referrer")], b""
    )


def _form(body: bytes) -> dict[str, str]:
    return _fields(body.decode(errors="replace"))


def _fields(text: str) -> dict[str, str]:
    """Return the parameters by name. Raises: OAuthRejected if there are many, or one comes twice (OAuth 2.1, 3.1)."""
    try:
        pairs = parse_qsl(text, keep_blank_values=True, max_num_fields=_MOST_FIELDS)
    except ValueError:
        raise OAuthRejected("invalid_request", f"There are more than {_MOST_FIELDS} parameters") from None
    values = dict(pairs)
    if len(values) < len(pairs):
        raise OAuthRejected("invalid_request", "A parameter comes twice")
    return values


def _check_method(request: Request, allowed: str) -> None:
    if request.method != allowed and not (allowed == "GET" and request.method == "HEAD"):
        raise ManagementError(
            405, "method_not_allowed", f"This path takes {allowed}", headers=[("allow", allowed)]
        )
