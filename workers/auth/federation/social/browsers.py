"""Binds a sign-in at a provider to the browser that began it, by a cookie.

The attack: an attacker signs in at a provider as himself, keeps the callback URL, and lets a victim's browser open it. The
victim would be signed in to the attacker's account, and enter his data there (login CSRF; RFC 6749, 10.12; RFC 9700, 4.7).

    GET /authorize               sets the cookie, stores its hash with the flow, and redirects the browser to the provider
    POST /sso, linking           respond to a program, which does not share the browser's cookies: they return the URL of
    GET /authorize/continue      which does the same for the browser that opens it, once. Its ticket is not the state, so a
                                 person who has only the ticket cannot forge a callback
    GET /callback, POST /sso/saml/acs     compare the cookie with the hash

`/authorize` redirects to `/authorize/continue` too if the request has another host than the callback: cookies belong to a host.

Browsers send a `SameSite=Lax` cookie with a GET callback. A callback by POST (SAML, Apple) needs `SameSite=None`, which browsers
accept over https only. Over plain http the attribute is left out: browsers then assume `Lax`, but send a cookie by POST for
two minutes. The cookie holds a random secret and nothing else, so a second
sign-in at the same time in another tab uses the same one.
"""

import re
from dataclasses import dataclass
from datetime import datetime, timedelta
from urllib.parse import urlencode, urlsplit
from uuid import UUID

from msgspec import Struct

from schemas.http import header
from workers.auth.delivery.context import DeliveryContext
from workers.auth.model import rejections
from workers.auth.model.codes import hash_token, new_token
from workers.auth.model.request import AuthRequest
from workers.auth.model.vault import CannotOpen, SealPurpose
from workers.database.transactions.interactive import Transaction
from workers.sql.files import read_statements

OAUTH, SAML = "oauth", "saml"
CONTINUE = "/authorize/continue"

_SQL = read_statements("workers.auth.federation.social", "browsers.sql")
_NAMES = ("headwater-browser", "headwater-browser-post")
_HOST_ONLY = "__Host-"
_LEAST_S = 600
_SECRET = re.compile(r"[A-Za-z0-9_-]{43}")


@dataclass(frozen=True, slots=True)
class BrowserBinding:
    """The hash of a browser's secret, and the `Set-Cookie` header with the secret."""

    hash: str
    cookie: tuple[str, str]


class _PendingRedirect(Struct, frozen=True):
    ticket_hash: str
    flow_id: UUID
    kind: str
    destination: str
    created_at: datetime


def bind(context: DeliveryContext, request: AuthRequest, callback: str, *, by_post: bool) -> BrowserBinding:
    """Return the binding for the browser that sends a request. A secret that its cookie already has is reused.

    `callback` is the URL that it comes back to, `by_post` whether by a form.
    """
    is_https = urlsplit(callback).scheme == "https"
    name = (_HOST_ONLY if is_https else "") + _NAMES[by_post]
    secret = _cookies(request).get(name, "")
    secret = secret if _SECRET.fullmatch(secret) else new_token()
    lasts_s = max(_LEAST_S, int(_lasts(context, SAML if by_post else OAUTH).total_seconds()))
    attributes = ["Path=/", f"Max-Age={lasts_s}", "HttpOnly"]
    if is_https:
        attributes.append("Secure")
    if is_https or not by_post:
        attributes.append("SameSite=None" if by_post else "SameSite=Lax")
    return BrowserBinding(hash_token(secret), ("set-cookie", "; ".join([f"{name}={secret}", *attributes])))


def is_bound(request: AuthRequest, browser_hash: str | None) -> bool:
    """Return whether a request comes from the browser that began the sign-in. False if no browser is bound to it yet."""
    cookies = _cookies(request)
    names = [prefix + name for name in _NAMES for prefix in (_HOST_ONLY, "")]
    return browser_hash is not None and any(
        hash_token(cookies[name]) == browser_hash for name in names if name in cookies
    )


def is_on_callback_host(request: AuthRequest, callback: str) -> bool:
    """Return whether a request has the host of the callback, so that a cookie set now will be sent there."""
    host = header(request.http.headers, "host")
    return host is None or host.lower() == urlsplit(callback).netloc.lower()


async def store_destination(
    context: DeliveryContext,
    transaction: Transaction,
    kind: str,
    flow_id: UUID,
    destination: str,
    callback: str,
) -> str:
    """Store the provider URL for a browser that will come with a ticket, and return our URL with that ticket."""
    ticket = new_token()
    sealed = context.vault.seal(destination, flow_id, SealPurpose.SIGN_IN)
    await transaction.rows(
        _SQL["store_destination"], hash_token(ticket), str(flow_id), kind, sealed, context.now().isoformat()
    )
    base = callback.removesuffix("/callback")
    if base == callback:  # the settings name another callback for this provider
        base = context.outbox.external_url.rstrip("/")
    return f"{base}{CONTINUE}?{urlencode({'ticket': ticket})}"


async def use_ticket(
    context: DeliveryContext, transaction: Transaction, request: AuthRequest, ticket: str
) -> tuple[str, BrowserBinding]:
    """Bind the flow of a ticket to the browser that brings it, and return the provider URL.

    Raises: AuthError (400) for a ticket that is unknown, used or expired.
    """
    row = await transaction.one(_SQL["take"], _PendingRedirect, hash_token(ticket))
    if row is None or context.now() >= row.created_at + _lasts(context, row.kind):
        raise rejections.BAD_STATE()
    try:
        destination = context.vault.open(row.destination, row.flow_id, SealPurpose.SIGN_IN)
    except CannotOpen:
        raise rejections.BAD_STATE() from None
    callback = f"{context.outbox.external_url.rstrip('/')}/callback"
    binding = bind(context, request, callback, by_post=row.kind == SAML or returns_by_post(destination))
    if not await transaction.rows(_SQL[f"bind_{row.kind}"], str(row.flow_id), binding.hash):
        raise rejections.BAD_STATE()
    return destination, binding


def returns_by_post(destination: str) -> bool:
    """Return whether the provider will send the browser back with a form."""
    return "response_mode=form_post" in urlsplit(destination).query


def _lasts(context: DeliveryContext, kind: str) -> timedelta:
    settings = context.settings
    return timedelta(
        seconds=float(
            settings.saml.relay_state_validity_period if kind == SAML else settings.flow_state_expiry_duration
        )
    )


def _cookies(request: AuthRequest) -> dict[str, str]:
    """Parse the cookies of a request; the first of each name."""
    cookies: dict[str, str] = {}
    for name, value in request.http.headers:
        if name == "cookie":
            for pair in value.split(";"):
                key, _, text = pair.strip().partition("=")
                cookies.setdefault(key, text)
    return cookies
