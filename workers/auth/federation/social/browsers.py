"""A sign-in that goes by way of another page belongs to the browser that began it: a cookie of ours says which one it is.

Without it somebody could sign in at a provider as himself, keep the address that leads back to us, and have the browser of
somebody else open it: that browser would be signed in to his account (login CSRF; RFC 6749, 10.12; RFC 9700, 4.7).

    GET /authorize               sets the cookie, keeps its hash with the flow, and sends the browser to the provider
    POST /sso, linking           answer a program, which has no cookies of the browser: they give the address of
    GET /authorize/continue      which does the same for the browser that opens it, once. Its ticket is not the state: whoever
                                 has only the ticket does not know what the provider is to be asked, so opening it in another
                                 browser gives away the sign-in, and gains nothing
    GET /callback, POST /sso/saml/acs     compare

`/authorize` takes the way by `/authorize/continue` too if it was reached under another host than the one that the provider
sends browsers back to: cookies belong to a host.

Browsers send a `SameSite=Lax` cookie along when they come back by GET. Providers that send them back by POST (SAML, Apple)
need `SameSite=None`, which browsers take over https only; over plain http the attribute is left out, and browsers that then
assume `Lax` still send a cookie of the last two minutes. The cookie holds a random secret and nothing else, so a second
sign-in at the same time in another tab uses the same one.
"""

import re
from dataclasses import dataclass
from datetime import datetime, timedelta
from urllib.parse import urlencode, urlsplit
from uuid import UUID

from msgspec import Struct

from schemas.http import header
from workers.auth.accounts.codes.codes import hashed_token, new_token
from workers.auth.context import Accounts
from workers.auth.model import rejections
from workers.auth.model.request import Asked
from workers.auth.vault import CannotOpen
from workers.database.interactive import Transaction
from workers.sql.files import read_statements

OAUTH, SAML = "oauth", "saml"
CONTINUE = "/authorize/continue"

_SQL = read_statements("workers.auth.federation.social", "browsers.sql")
_NAMES = ("headwater-browser", "headwater-browser-post")
_HOST_ONLY = "__Host-"
_LEAST_S = 600
_SECRET = re.compile(r"[A-Za-z0-9_-]{43}")


@dataclass(frozen=True, slots=True)
class Binding:
    """What is kept of a browser, and the header that gives it its cookie."""

    hash: str
    cookie: tuple[str, str]


class _Departure(Struct, frozen=True):
    ticket_hash: str
    flow_id: UUID
    kind: str
    destination: str
    created_at: datetime


def bind(accounts: Accounts, asked: Asked, callback: str, *, by_post: bool) -> Binding:
    """Return the binding of the browser that sends a request; it keeps the secret that it has.

    `callback` is where the provider sends it back to, `by_post` whether by a form.
    """
    is_https = urlsplit(callback).scheme == "https"
    name = (_HOST_ONLY if is_https else "") + _NAMES[by_post]
    secret = _cookies(asked).get(name, "")
    secret = secret if _SECRET.fullmatch(secret) else new_token()
    lasts_s = max(_LEAST_S, int(_lasts(accounts, SAML if by_post else OAUTH).total_seconds()))
    attributes = ["Path=/", f"Max-Age={lasts_s}", "HttpOnly"]
    if is_https:
        attributes.append("Secure")
    if is_https or not by_post:
        attributes.append("SameSite=None" if by_post else "SameSite=Lax")
    return Binding(hashed_token(secret), ("set-cookie", "; ".join([f"{name}={secret}", *attributes])))


def is_bound(asked: Asked, browser_hash: str | None) -> bool:
    """Tell whether a request comes from the browser that began. One that nobody has begun is nobody's."""
    cookies = _cookies(asked)
    names = [prefix + name for name in _NAMES for prefix in (_HOST_ONLY, "")]
    return browser_hash is not None and any(
        hashed_token(cookies[name]) == browser_hash for name in names if name in cookies
    )


def is_at_home(asked: Asked, callback: str) -> bool:
    """Tell whether a request came to the host that browsers are sent back to, so that a cookie set now comes along."""
    host = header(asked.request.headers, "host")
    return host is None or host.lower() == urlsplit(callback).netloc.lower()


async def wait(
    accounts: Accounts, transaction: Transaction, kind: str, flow_id: UUID, destination: str, callback: str
) -> str:
    """Keep an address at a provider for the browser that will go there, and return the address that it opens."""
    ticket = new_token()
    sealed = accounts.vault.seal(destination, flow_id)
    await transaction.rows(
        _SQL["wait"], hashed_token(ticket), str(flow_id), kind, sealed, accounts.now().isoformat()
    )
    base = callback.removesuffix("/callback")
    if base == callback:  # the provider has a page of the project's own
        base = accounts.outbox.external_url.rstrip("/")
    return f"{base}{CONTINUE}?{urlencode({'ticket': ticket})}"


async def depart(
    accounts: Accounts, transaction: Transaction, asked: Asked, ticket: str
) -> tuple[str, Binding]:
    """Bind the flow of a ticket to the browser that brings it, and return where it goes.

    Raises: AuthError (400) for a ticket that is none, was used, or is too old.
    """
    row = await transaction.one(_SQL["take"], _Departure, hashed_token(ticket))
    if row is None or accounts.now() >= row.created_at + _lasts(accounts, row.kind):
        raise rejections.BAD_STATE()
    try:
        destination = accounts.vault.open(row.destination, row.flow_id)
    except CannotOpen:
        raise rejections.BAD_STATE() from None
    callback = f"{accounts.outbox.external_url.rstrip('/')}/callback"
    binding = bind(accounts, asked, callback, by_post=row.kind == SAML or comes_back_by_post(destination))
    if not await transaction.rows(_SQL[f"bind_{row.kind}"], str(row.flow_id), binding.hash):
        raise rejections.BAD_STATE()
    return destination, binding


def comes_back_by_post(destination: str) -> bool:
    """Tell whether a provider was asked to send the browser back with a form."""
    return "response_mode=form_post" in urlsplit(destination).query


def _lasts(accounts: Accounts, kind: str) -> timedelta:
    own = accounts.settings
    return timedelta(
        seconds=float(
            own.saml.relay_state_validity_period if kind == SAML else own.flow_state_expiry_duration
        )
    )


def _cookies(asked: Asked) -> dict[str, str]:
    """Read the cookies of a request; of a name that comes twice the first."""
    found: dict[str, str] = {}
    for name, value in asked.request.headers:
        if name == "cookie":
            for pair in value.split(";"):
                key, _, text = pair.strip().partition("=")
                found.setdefault(key, text)
    return found
