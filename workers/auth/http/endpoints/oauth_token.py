"""POST /oauth/token: tokens for a client.

`redirect_uri` is optional here, because the code verifier proves that the code belongs to this client (OAuth 2.1, 10.2). If it is
present it must equal the one of the authorization request, and so must `resource` (RFC 8707, 2.2).
Source: docs/reference/auth.md, sections 8.3.8 and 15; RFC 6749, 4.1.3, 5 and 6.
"""

import dataclasses
from datetime import datetime
from urllib.parse import parse_qsl

import msgspec

from schemas.http import Response, header
from schemas.keys.secret_record import SecretRecord
from workers.auth.accounts import audit
from workers.auth.accounts.audit import AuditAction
from workers.auth.accounts.sessions import sessions
from workers.auth.accounts.users import users
from workers.auth.federation.oauth_server import authorizations
from workers.auth.federation.oauth_server.authorizations import Authorization
from workers.auth.federation.oauth_server.client_auth import authenticate, read_credentials
from workers.auth.federation.oauth_server.clients import OAuthClient
from workers.auth.federation.oauth_server.id_token import id_token
from workers.auth.federation.oauth_server.scopes import BadScope, narrow
from workers.auth.federation.oauth_server.server_metadata import issuer_of
from workers.auth.http.context import EndpointContext
from workers.auth.http.endpoints.oauth_access import refuse_unless_on
from workers.auth.http.grants.refresh import renew
from workers.auth.model.claims import SignInMethod
from workers.auth.model.errors import AuthError, OAuthError
from workers.auth.model.rate_limits import count_request, oauth_limit
from workers.auth.model.request import AuthRequest, json_response
from workers.auth.model.rows import AuthSession, AuthUser
from workers.auth.model.user_json import JsonObject
from workers.database.transactions.interactive import Transaction

_PROVIDER = "oauth_server"
_PASSING = (409, 429)
"""Statuses after which a retry may succeed: a concurrent refresh, too many requests."""


class OAuthTokenBody(SecretRecord, msgspec.Struct):
    """The form of a token request."""

    grant_type: str = ""
    code: str = ""
    redirect_uri: str = ""
    code_verifier: str = ""
    resource: str = ""
    refresh_token: str = ""
    scope: str = ""
    client_id: str = ""
    client_secret: str = ""


async def token(context: EndpointContext, request: AuthRequest) -> Response:
    """Exchange a code or a refresh token for tokens.

    Raises: OAuthError (400); AuthError (404) while the server is off, (429), and errors of the server (5xx).
    """
    refuse_unless_on(context)
    limit = oauth_limit(context.settings.rate_limit, "token")
    await count_request(context.database, limit, request.device.address)
    body = _read(request)
    credentials = read_credentials(
        header(request.http.headers, "authorization"), body.client_id, body.client_secret
    )
    async with context.transaction() as transaction:
        client = await authenticate(transaction, credentials)
    if body.grant_type not in ("authorization_code", "refresh_token"):
        raise OAuthError("unsupported_grant_type", "grant_type must be authorization_code or refresh_token")
    if body.grant_type not in client.grant_types:
        raise OAuthError("unauthorized_client", "The client is not registered for this grant_type")
    try:
        if body.grant_type == "refresh_token":
            return json_response(await _refreshed(context, request, client, body))
        return json_response(await _exchanged(context, request, client, body))
    except AuthError as error:
        if error.status in _PASSING or error.status >= 500 or error.code.startswith("hook_"):
            raise  # not an error of the token: a client throws it away after `invalid_grant`
        raise OAuthError("invalid_grant", error.message) from None


def _read(request: AuthRequest) -> OAuthTokenBody:
    try:
        body = request.read(OAuthTokenBody)
    except AuthError as error:
        raise OAuthError("invalid_request", error.message) from None
    if any("\0" in getattr(body, name) for name in body.__struct_fields__):
        raise OAuthError("invalid_request", "a parameter cannot hold a NUL character")
    kind = header(request.http.headers, "content-type") or ""
    if kind.partition(";")[0].strip().lower() == "application/x-www-form-urlencoded":
        pairs = parse_qsl(request.body.decode("utf-8", "replace"), keep_blank_values=True)
        if len(dict(pairs)) < len(pairs):
            raise OAuthError("invalid_request", "a parameter is there more than once")
    return body


async def _exchanged(
    context: EndpointContext, request: AuthRequest, client: OAuthClient, body: OAuthTokenBody
) -> JsonObject:
    """Start a session for a code. A code that is used a second time ends the session that it was exchanged for."""
    for name in ("code", "code_verifier"):
        if not getattr(body, name):
            raise OAuthError("invalid_request", f"{name} is required")
    async with context.transaction() as transaction:
        authorization = await authorizations.find_by_code(transaction, body.code)
        if authorization is None or authorization.client_id != client.id:
            raise _bad_code()
        if authorization.status == "approved":
            user = await _allowed(context, transaction, authorization, body)
            new = sessions.OAuthSession(client.id, authorization.scope, authorization.id)
            more = audit.login(
                context, request, user, _PROVIDER, SignInMethod.OAUTH_CODE, client_id=str(client.id)
            )
            granted = await context.start_session(
                transaction, user, SignInMethod.OAUTH_CODE, request.device, client=new, more=more
            )
            await authorizations.use_up(transaction, authorization)
        else:
            granted = None
            await _end(context, request, transaction, authorization)
    if granted is None:  # raised after the commit: the session must end although the request fails
        raise _bad_code()
    auth_time = user.last_sign_in_at or user.created_at
    return await _tokens(context, client, user, granted, auth_time=auth_time, nonce=authorization.nonce or "")


async def _end(
    context: EndpointContext, request: AuthRequest, transaction: Transaction, found: Authorization
) -> None:
    """End the session of a code that was used twice: the code was stolen, and maybe the tokens too (RFC 6749, 10.5)."""
    session = await sessions.find(transaction, found.id)
    user = None if session is None else await users.find_by_id(transaction, session.user_id)
    if session is not None and user is not None:
        traits = {"session_id": str(session.id), "client_id": str(found.client_id), "reason": "code_reuse"}
        more = audit.entry(context, request, AuditAction.TOKEN_REVOKED, user, traits)
        await sessions.end_one(transaction, session.id, more)


async def _allowed(
    context: EndpointContext, transaction: Transaction, found: Authorization, body: OAuthTokenBody
) -> AuthUser:
    """Return the user of an unused code. Raises: OAuthError (400) if the code was not issued for this request."""
    now = context.now()
    if now >= found.expires_at or body.redirect_uri not in ("", found.redirect_uri):
        raise _bad_code()
    if body.resource not in ("", found.resource or ""):
        raise OAuthError("invalid_target", "resource is not the one that the user was asked for")
    if not found.is_met_by(body.code_verifier):
        raise OAuthError("invalid_grant", "code_verifier does not match the code_challenge")
    user = await users.find_by_id(transaction, found.user_id) if found.user_id else None
    if user is None or user.deleted_at is not None or user.is_banned(now):
        raise _bad_code()
    return user


async def _refreshed(
    context: EndpointContext, request: AuthRequest, client: OAuthClient, body: OAuthTokenBody
) -> JsonObject:
    """Refresh a session of the client. A narrower scope applies to the new access token only."""
    if not body.refresh_token:
        raise OAuthError("invalid_request", "refresh_token is required")

    def accept(session: AuthSession) -> None:
        sessions.reject_other_client(session, client.id)
        _narrowed(session, body.scope)

    renewed = await renew(context, request, body.refresh_token, accept)
    session = renewed.grant.session
    session = msgspec.structs.replace(session, scopes=_narrowed(session, body.scope))
    granted = dataclasses.replace(renewed.grant, session=session)
    return await _tokens(context, client, renewed.user, granted)


def _narrowed(session: AuthSession, wanted: str) -> str:
    try:
        return narrow(session.scopes, wanted)
    except BadScope as error:
        raise OAuthError("invalid_scope", str(error)) from None


async def _tokens(
    context: EndpointContext,
    client: OAuthClient,
    user: AuthUser,
    granted: sessions.SessionGrant,
    *,
    auth_time: datetime | None = None,
    nonce: str = "",
) -> JsonObject:
    session = await context.session_json(user, granted)
    scope = granted.session.scopes or ""
    members: JsonObject = {name: session[name] for name in ("access_token", "token_type", "expires_in")}
    if "refresh_token" in client.grant_types:
        members["refresh_token"] = session["refresh_token"]
    members["scope"] = scope
    signed = id_token(
        user,
        client.id,
        scope.split(),
        context.key,
        issuer=issuer_of(context.settings),
        issued_at=int(context.clock()),
        auth_time=auth_time,
        nonce=nonce,
    )
    return {**members, "id_token": signed} if signed else members


def _bad_code() -> OAuthError:
    return OAuthError("invalid_grant", "Invalid authorization code")
