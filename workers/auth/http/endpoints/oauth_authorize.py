"""GET /oauth/authorize, and what the page of the project asks and answers for its user.

    client -> GET /oauth/authorize -> the project's page (`site_url` + `oauth_server.authorization_url_path`)
    page   -> GET /oauth/authorizations/{id}            what is asked, or at once where to go on
    page   -> POST /oauth/authorizations/{id}/consent   yes or no, and where to go on: back to the client

Source: reference page "auth", section 15; RFC 6749, 4.1; RFC 9207.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta

import msgspec

from schemas.http import Response
from workers.auth.accounts.codes.limits import oauth_limit, take
from workers.auth.accounts.users.shown import Shown
from workers.auth.context import Accounts
from workers.auth.delivery.email.landing import redirect
from workers.auth.federation.oauth_server import authorizations, clients
from workers.auth.federation.oauth_server.asking import (
    BadQuestion,
    client_id_of,
    parse_fields,
    parse_question,
    redirect_uri_of,
)
from workers.auth.federation.oauth_server.authorizations import Authorization
from workers.auth.federation.oauth_server.clients import Client, client_of_user
from workers.auth.federation.oauth_server.documents import issuer_of
from workers.auth.federation.oauth_server.scopes import covers
from workers.auth.flows.redirects import with_query
from workers.auth.http.endpoints.oauth_access import refuse_foreign_origin, refuse_unless_on
from workers.auth.http.endpoints.present import present
from workers.auth.model import rejections
from workers.auth.model.error_codes import Code
from workers.auth.model.errors import AuthError
from workers.auth.model.request import Asked, answer
from workers.auth.model.rows import User
from workers.database.interactive import Transaction


class Decision(msgspec.Struct):
    """What the user says."""

    action: str = ""


@dataclass(frozen=True, slots=True)
class _Put:
    """A question that waits for its user, and who puts it."""

    asked: Authorization
    client: Client
    user: User


async def authorize(accounts: Accounts, asked: Asked) -> Response:
    """Send a browser to the page that asks its user, or back to the client with what is wrong.

    Raises: AuthError (400) for a client or an address that is not known: nothing is sent there.
    """
    refuse_unless_on(accounts)
    own = accounts.settings
    await take(accounts.database, oauth_limit(own.rate_limit, "authorize"), asked.device.address)
    fields = parse_fields(asked.request.query)
    id = client_id_of(fields)
    async with accounts.transaction() as transaction:
        client = await clients.find(transaction, id)
        if client is None:
            raise rejections.CLIENT_NOT_FOUND(status=400)
        try:
            new = parse_question(fields, client, own.oauth_server.default_scope)
        except BadQuestion as error:
            told = {"error": error.error, "error_description": error.description}
            address = _back(accounts, redirect_uri_of(fields, client), fields.get("state", ""), told)
            return redirect(address, 302)
        lasts = timedelta(seconds=float(own.oauth_server.authorization_ttl))
        asked_id = await authorizations.begin(transaction, new, lasts, accounts.now())
    page = f"{own.site_url.rstrip('/')}/{own.oauth_server.authorization_url_path.lstrip('/')}"
    return redirect(with_query(page, {"authorization_id": asked_id}), 302)


async def details(accounts: Accounts, asked: Asked) -> Response:
    """Tell a user what a client asks of him, or where to go on if he allowed it all before. Raises: AuthError."""
    refuse_unless_on(accounts)
    refuse_foreign_origin(accounts, asked)
    async with accounts.transaction() as transaction:
        put = await _put(accounts, asked, transaction)
        allowed = await authorizations.consent_of(transaction, put.user.id, put.client.id)
        if allowed and covers(allowed, put.asked.scopes):
            return answer({"redirect_url": await _approved(accounts, transaction, put)})
    return answer(_shown(put))


async def consent(accounts: Accounts, asked: Asked) -> Response:
    """Take the user's yes or no, and tell where to go on. Raises: AuthError."""
    refuse_unless_on(accounts)
    refuse_foreign_origin(accounts, asked)
    action = asked.read(Decision).action
    if action not in ("approve", "deny"):
        raise AuthError(Code.VALIDATION_FAILED, "action must be approve or deny")
    async with accounts.transaction() as transaction:
        put = await _put(accounts, asked, transaction)
        if action == "approve":
            await authorizations.keep_consent(transaction, put.user.id, put.client.id, put.asked.scopes)
            return answer({"redirect_url": await _approved(accounts, transaction, put)})
        await authorizations.deny(transaction, put.asked)
    told = {"error": "access_denied", "error_description": "The user denied the request"}
    return answer({"redirect_url": _back(accounts, put.asked.redirect_uri, put.asked.state or "", told)})


async def _put(accounts: Accounts, asked: Asked, transaction: Transaction) -> _Put:
    """Find the question that a user is asked, locked. Raises: AuthError (400, 401, 403, 404)."""
    caller = await present(accounts, asked, transaction)
    found = await authorizations.find(transaction, asked.parameters["id"])
    if found is None or accounts.now() >= found.expires_at:
        raise rejections.AUTHORIZATION_NOT_FOUND()
    client = await clients.find(transaction, found.client_id)
    if client is None or not await authorizations.claim(transaction, found, caller.user.id):
        raise rejections.AUTHORIZATION_NOT_FOUND()
    if found.status != "pending":
        raise AuthError(Code.VALIDATION_FAILED, "authorization request cannot be processed")
    return _Put(found, client, caller.user)


async def _approved(accounts: Accounts, transaction: Transaction, put: _Put) -> str:
    """Say yes, and give the address of the client with the code."""
    code = await authorizations.approve(transaction, put.asked, accounts.now())
    return _back(accounts, put.asked.redirect_uri, put.asked.state or "", {"code": code})


def _back(accounts: Accounts, redirect_uri: str, state: str, told: Mapping[str, str]) -> str:
    """Give the address of the client with an answer, which names who answers (RFC 9207)."""
    fields = {**told, "iss": issuer_of(accounts.settings)}
    return with_query(redirect_uri, {**fields, "state": state} if state else fields)


def _shown(put: _Put) -> Shown:
    client = put.client
    return {
        "authorization_id": put.asked.authorization_id,
        "redirect_uri": put.asked.redirect_uri,
        "client": client_of_user(client.id, client.client_name, client.client_uri, client.logo_uri),
        "user": {"id": str(put.user.id), "email": put.user.email or ""},
        "scope": put.asked.scope,
    }
