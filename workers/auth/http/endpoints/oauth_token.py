"""POST /oauth/token: tokens for a client.

The address need not come again, for it is the verifier that shows whose code it is (OAuth 2.1, 10.2); one that comes must
be that of the question, as must the service that the token is for (RFC 8707, 2.2).
Source: reference page "auth", sections 8.3.8 and 15; RFC 6749, 4.1.3, 5 and 6.
"""

import dataclasses
from datetime import datetime
from urllib.parse import parse_qsl

import msgspec

from schemas.http import Response, header
from workers.auth import audit
from workers.auth.accounts.codes.limits import oauth_limit, take
from workers.auth.accounts.sessions import sessions
from workers.auth.accounts.sessions.claims import Method
from workers.auth.accounts.users import users
from workers.auth.accounts.users.shown import Shown
from workers.auth.audit import Action
from workers.auth.context import Accounts
from workers.auth.federation.oauth_server import authorizations
from workers.auth.federation.oauth_server.authorizations import Authorization
from workers.auth.federation.oauth_server.client_auth import authenticate, presented
from workers.auth.federation.oauth_server.clients import Client
from workers.auth.federation.oauth_server.documents import issuer_of
from workers.auth.federation.oauth_server.id_token import id_token
from workers.auth.federation.oauth_server.scopes import BadScope, narrowed
from workers.auth.http.endpoints.oauth_access import refuse_unless_on
from workers.auth.http.grants.refresh import renew
from workers.auth.model.errors import AuthError, OAuthError
from workers.auth.model.request import Asked, answer
from workers.auth.model.rows import Session, User
from workers.database.interactive import Transaction

_PROVIDER = "oauth_server"
_PASSING = (409, 429)
"""A refresh beside another one; too many requests."""


class Body(msgspec.Struct):
    """What a client sends."""

    grant_type: str = ""
    code: str = ""
    redirect_uri: str = ""
    code_verifier: str = ""
    resource: str = ""
    refresh_token: str = ""
    scope: str = ""
    client_id: str = ""
    client_secret: str = ""


async def token(accounts: Accounts, asked: Asked) -> Response:
    """Give a client tokens for a code or a refresh token.

    Raises: OAuthError (400); AuthError (404) while the server is off, (429), and what is no fault of the client (5xx).
    """
    refuse_unless_on(accounts)
    limit = oauth_limit(accounts.settings.rate_limit, "token")
    await take(accounts.database, limit, asked.device.address)
    body = _read(asked)
    shown = presented(header(asked.request.headers, "authorization"), body.client_id, body.client_secret)
    async with accounts.transaction() as transaction:
        client = await authenticate(transaction, shown)
    if body.grant_type not in ("authorization_code", "refresh_token"):
        raise OAuthError("unsupported_grant_type", "grant_type must be authorization_code or refresh_token")
    if body.grant_type not in client.grant_types:
        raise OAuthError("unauthorized_client", "The client is not registered for this grant_type")
    try:
        if body.grant_type == "refresh_token":
            return answer(await _refreshed(accounts, asked, client, body))
        return answer(await _exchanged(accounts, asked, client, body))
    except AuthError as error:
        if error.status in _PASSING or error.status >= 500 or error.code.startswith("hook_"):
            raise  # no fault of the token: a client that is told `invalid_grant` throws it away
        raise OAuthError("invalid_grant", error.message) from None


def _read(asked: Asked) -> Body:
    try:
        body = asked.read(Body)
    except AuthError as error:
        raise OAuthError("invalid_request", error.message) from None
    if any("\0" in getattr(body, name) for name in body.__struct_fields__):
        raise OAuthError("invalid_request", "a parameter cannot hold a NUL character")
    kind = header(asked.request.headers, "content-type") or ""
    if kind.partition(";")[0].strip().lower() == "application/x-www-form-urlencoded":
        pairs = parse_qsl(asked.body.decode("utf-8", "replace"), keep_blank_values=True)
        if len(dict(pairs)) < len(pairs):
            raise OAuthError("invalid_request", "a parameter is there more than once")
    return body


async def _exchanged(accounts: Accounts, asked: Asked, client: Client, body: Body) -> Shown:
    """Begin a session for a code. A code that comes again ends the session that it was exchanged for."""
    for name in ("code", "code_verifier"):
        if not getattr(body, name):
            raise OAuthError("invalid_request", f"{name} is required")
    async with accounts.transaction() as transaction:
        found = await authorizations.find_by_code(transaction, body.code)
        if found is None or found.client_id != client.id:
            raise _bad_code()
        if found.status == "approved":
            user = await _allowed(accounts, transaction, found, body)
            new = sessions.ForClient(client.id, found.scope, found.id)
            more = audit.login(accounts, asked, user, _PROVIDER, Method.OAUTH_CODE, client_id=str(client.id))
            granted = await accounts.begin_session(
                transaction, user, Method.OAUTH_CODE, asked.device, client=new, more=more
            )
            await authorizations.use_up(transaction, found)
        else:
            granted = None
            await _end(accounts, asked, transaction, found)
    if granted is None:  # raised behind the commit: the session has ended although the request fails
        raise _bad_code()
    auth_time = user.last_sign_in_at or user.created_at
    return await _tokens(accounts, client, user, granted, auth_time=auth_time, nonce=found.nonce or "")


async def _end(accounts: Accounts, asked: Asked, transaction: Transaction, found: Authorization) -> None:
    """End the session of a code that came again; whoever has the code may have the tokens."""
    session = await sessions.find(transaction, found.id)
    user = None if session is None else await users.find_by_id(transaction, session.user_id)
    if session is not None and user is not None:
        traits = {"session_id": str(session.id), "client_id": str(found.client_id), "reason": "code_reuse"}
        more = audit.entry(accounts, asked, Action.TOKEN_REVOKED, user, traits)
        await sessions.end_one(transaction, session.id, more)


async def _allowed(accounts: Accounts, transaction: Transaction, found: Authorization, body: Body) -> User:
    """Give the user of a code that nobody has used yet. Raises: OAuthError (400) if it is not for this request."""
    now = accounts.now()
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


async def _refreshed(accounts: Accounts, asked: Asked, client: Client, body: Body) -> Shown:
    """Refresh a session of the client. Fewer scopes than it has are for the new access token only."""
    if not body.refresh_token:
        raise OAuthError("invalid_request", "refresh_token is required")

    def accept(session: Session) -> None:
        sessions.refuse_other_client(session, client.id)
        _narrowed(session, body.scope)

    renewed = await renew(accounts, asked, body.refresh_token, accept)
    session = renewed.granted.session
    session = msgspec.structs.replace(session, scopes=_narrowed(session, body.scope))
    granted = dataclasses.replace(renewed.granted, session=session)
    return await _tokens(accounts, client, renewed.user, granted)


def _narrowed(session: Session, wanted: str) -> str:
    try:
        return narrowed(session.scopes, wanted)
    except BadScope as error:
        raise OAuthError("invalid_scope", str(error)) from None


async def _tokens(
    accounts: Accounts,
    client: Client,
    user: User,
    granted: sessions.Granted,
    *,
    auth_time: datetime | None = None,
    nonce: str = "",
) -> Shown:
    session = await accounts.session_shown(user, granted)
    scope = granted.session.scopes or ""
    shown: Shown = {name: session[name] for name in ("access_token", "token_type", "expires_in")}
    if "refresh_token" in client.grant_types:
        shown["refresh_token"] = session["refresh_token"]
    shown["scope"] = scope
    signed = id_token(
        user,
        client.id,
        scope.split(),
        accounts.key,
        issuer=issuer_of(accounts.settings),
        issued_at=int(accounts.clock()),
        auth_time=auth_time,
        nonce=nonce,
    )
    return {**shown, "id_token": signed} if signed else shown


def _bad_code() -> OAuthError:
    return OAuthError("invalid_grant", "Invalid authorization code")
