"""GET /oauth/authorize, and the two requests of the project's consent page.

    client -> GET /oauth/authorize -> the project's page (`site_url` + `oauth_server.authorization_url_path`)
    page   -> GET /oauth/authorizations/{id}            the request, or a redirect at once if it was granted before
    page   -> POST /oauth/authorizations/{id}/consent   approve or deny; the response has the client's URL

Source: docs/reference/auth.md, section 15; RFC 6749, 4.1; RFC 9207.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta

import msgspec

from schemas.http import Response
from workers.auth.federation.oauth_server import authorizations, clients
from workers.auth.federation.oauth_server.authorization_request import (
    BadAuthorizationRequest,
    client_id_of,
    parse_authorization_request,
    parse_fields,
    redirect_uri_of,
)
from workers.auth.federation.oauth_server.authorizations import Authorization
from workers.auth.federation.oauth_server.clients import OAuthClient, client_for_user
from workers.auth.federation.oauth_server.scopes import covers
from workers.auth.federation.oauth_server.server_metadata import issuer_of
from workers.auth.http.caller import find_caller
from workers.auth.http.context import EndpointContext
from workers.auth.http.endpoints.oauth_access import refuse_foreign_origin, refuse_unless_on
from workers.auth.http.landing import redirect
from workers.auth.model import rejections
from workers.auth.model.error_codes import ErrorCode
from workers.auth.model.errors import AuthError
from workers.auth.model.rate_limits import count_request, oauth_limit
from workers.auth.model.redirects.allow_list import with_query
from workers.auth.model.request import AuthRequest, json_response
from workers.auth.model.rows import AuthUser
from workers.auth.model.user_json import JsonObject
from workers.database.transactions.interactive import Transaction


class ConsentBody(msgspec.Struct):
    """The body of a decision: `approve` or `deny`."""

    action: str = ""


@dataclass(frozen=True, slots=True)
class _PendingAuthorization:
    """A pending authorization with its client and its user."""

    authorization: Authorization
    client: OAuthClient
    user: AuthUser


async def authorize(context: EndpointContext, request: AuthRequest) -> Response:
    """Send a browser to the consent page, or back to the client with an error.

    Raises: AuthError (400) for an unknown client or redirect URI: the browser is not redirected there; (500) if the settings
    name no consent page.
    """
    refuse_unless_on(context)
    settings = context.settings
    await count_request(
        context.database, oauth_limit(settings.rate_limit, "authorize"), request.device.address
    )
    fields = parse_fields(request.http.query)
    id = client_id_of(fields)
    async with context.transaction() as transaction:
        client = await clients.find(transaction, id)
        if client is None:
            raise rejections.CLIENT_NOT_FOUND(status=400)
        try:
            new = parse_authorization_request(fields, client, settings.oauth_server.default_scope)
        except BadAuthorizationRequest as error:
            error_fields = {"error": error.error, "error_description": error.description}
            address = _client_url(
                context, redirect_uri_of(fields, client), fields.get("state", ""), error_fields
            )
            return redirect(address, 302)
        if not settings.oauth_server.authorization_url_path:
            raise rejections.OAUTH_SERVER_WITHOUT_PAGE()
        lasts = timedelta(seconds=float(settings.oauth_server.authorization_ttl))
        authorization_id = await authorizations.begin(transaction, new, lasts, context.now())
    page = f"{settings.site_url.rstrip('/')}/{settings.oauth_server.authorization_url_path.lstrip('/')}"
    return redirect(with_query(page, {"authorization_id": authorization_id}), 302)


async def details(context: EndpointContext, request: AuthRequest) -> Response:
    """Return what a client requests of the user, or the client's URL if he granted all of it before. Raises: AuthError."""
    refuse_unless_on(context)
    refuse_foreign_origin(context, request)
    async with context.transaction() as transaction:
        pending = await _find_pending(context, request, transaction)
        allowed = await authorizations.consent_of(transaction, pending.user.id, pending.client.id)
        if allowed and covers(allowed, pending.authorization.scopes):
            return json_response({"redirect_url": await _approved(context, transaction, pending)})
    return json_response(_shown(pending))


async def consent(context: EndpointContext, request: AuthRequest) -> Response:
    """Apply the user's decision, and return the client's URL. Raises: AuthError."""
    refuse_unless_on(context)
    refuse_foreign_origin(context, request)
    action = request.read(ConsentBody).action
    if action not in ("approve", "deny"):
        raise AuthError(ErrorCode.VALIDATION_FAILED, "action must be approve or deny")
    async with context.transaction() as transaction:
        pending = await _find_pending(context, request, transaction)
        if action == "approve":
            await authorizations.add_consent(
                transaction, pending.user.id, pending.client.id, pending.authorization.scopes
            )
            return json_response({"redirect_url": await _approved(context, transaction, pending)})
        await authorizations.deny(transaction, pending.authorization)
    fields = {"error": "access_denied", "error_description": "The user denied the request"}
    return json_response(
        {
            "redirect_url": _client_url(
                context, pending.authorization.redirect_uri, pending.authorization.state or "", fields
            )
        }
    )


async def _find_pending(
    context: EndpointContext, request: AuthRequest, transaction: Transaction
) -> _PendingAuthorization:
    """Find the pending authorization of a request, and lock it. Raises: AuthError (400, 401, 403, 404)."""
    caller = await find_caller(context, request, transaction)
    authorization = await authorizations.find(transaction, request.parameters["id"])
    if authorization is None or context.now() >= authorization.expires_at:
        raise rejections.AUTHORIZATION_NOT_FOUND()
    client = await clients.find(transaction, authorization.client_id)
    if client is None or not await authorizations.claim(transaction, authorization, caller.user.id):
        raise rejections.AUTHORIZATION_NOT_FOUND()
    if authorization.status != "pending":
        raise AuthError(ErrorCode.VALIDATION_FAILED, "authorization request cannot be processed")
    return _PendingAuthorization(authorization, client, caller.user)


async def _approved(
    context: EndpointContext, transaction: Transaction, pending: _PendingAuthorization
) -> str:
    """Approve, and return the client's URL with the code."""
    code = await authorizations.approve(transaction, pending.authorization, context.now())
    return _client_url(
        context, pending.authorization.redirect_uri, pending.authorization.state or "", {"code": code}
    )


def _client_url(context: EndpointContext, redirect_uri: str, state: str, members: Mapping[str, str]) -> str:
    """Return the client's URL with the response, including our issuer (RFC 9207)."""
    fields = {**members, "iss": issuer_of(context.settings)}
    return with_query(redirect_uri, {**fields, "state": state} if state else fields)


def _shown(pending: _PendingAuthorization) -> JsonObject:
    client = pending.client
    return {
        "authorization_id": pending.authorization.authorization_id,
        "redirect_uri": pending.authorization.redirect_uri,
        "client": client_for_user(client.id, client.client_name, client.client_uri, client.logo_uri),
        "user": {"id": str(pending.user.id), "email": pending.user.email or ""},
        "scope": pending.authorization.scope,
    }
