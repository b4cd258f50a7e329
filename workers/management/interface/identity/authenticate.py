"""Who sends a request: the session in its cookie, or the token in its `Authorization` header.

A browser sends the cookie by itself, so a request with a cookie must show that our own page sent it: its `Origin` is the
address of this server, or `Sec-Fetch-Site` is `same-origin` (Fetch standard; OWASP, "Cross-Site Request Forgery Prevention").
A request with a token shows that by the token.
"""

from schemas.http import ADMINISTRATOR_COOKIES, SERVER_ORIGIN, Request, header
from workers.management.interface.errors import ManagementError, not_signed_in
from workers.management.interface.identity.model import Actor
from workers.management.interface.identity.own_pool import OwnPool
from workers.management.interface.identity.secrets import digest, is_token
from workers.management.interface.identity.store import fetch_one

COOKIE, SECURE_COOKIE = ADMINISTRATOR_COOKIES
CONFIRMED_S = 10 * 60.0
"""Seconds for which a proved password or factor allows operations that show secrets or destroy."""
FACTOR_S = 10 * 60.0
"""Seconds after which a session that lacks its second factor ends."""
_SAFE = frozenset({"GET", "HEAD"})


async def authenticate(
    pool: OwnPool,
    request: Request,
    session_idle_s: float,
    *,
    allows_missing_factor: bool = False,
    resource: str | None = None,
) -> Actor:
    """Return who sends a request; a token that is bound to an address must be bound to `resource`.

    Raises: ManagementError (401; 403 also for a session that lacks its second factor).
    """
    actor = None
    if token := _bearer(request):
        if is_token(token):
            actor = await fetch_one(pool, "token_actor", Actor, digest(token))
    elif cookie := session_cookie(request):
        check_origin(request)
        actor = await fetch_one(
            pool, "session_actor", Actor, digest(cookie), session_idle_s, CONFIRMED_S, FACTOR_S
        )
    if actor is None or actor.resource not in (None, resource):
        raise not_signed_in()
    if actor.needs_factor and not allows_missing_factor:
        raise ManagementError(
            403,
            "needs_factor",
            "This session lacks its second factor",
            hint="POST /management/v1/sign-in/factor with `code`, `recovery_code` or `passkey`.",
        )
    return actor


def session_cookie(request: Request) -> str:
    """Return the secret in the session's cookie, or an empty text.

    Over TLS only the cookie with the prefix `__Host-` counts: a host beside this one can set the plain name for the whole domain, and
    an administrator would work in a session of its choice (RFC 6265bis, 8.6). Other cookies are not parsed: a malformed one, which such a
    host can set too, ends no session.
    """
    is_secure = (header(request.headers, SERVER_ORIGIN) or "").lower().startswith("https:")
    name = SECURE_COOKIE if is_secure else COOKIE
    for pair in (header(request.headers, "cookie") or "").split(";"):
        key, _, value = pair.strip().partition("=")
        if key == name:
            return value
    return ""


def check_origin(request: Request) -> None:
    """Refuse a request that another site caused. Raises: ManagementError (403)."""
    site = header(request.headers, "sec-fetch-site")
    origin = header(request.headers, "origin")
    if origin is not None:
        is_ours = origin.lower() == (header(request.headers, SERVER_ORIGIN) or "").lower() != ""
    else:
        is_ours = site == "same-origin" or (request.method in _SAFE and site == "none")
    if not is_ours:
        raise ManagementError(
            403,
            "cross_site",
            "A request with a session must come from the page of this server: its Origin is another, or missing",
            hint="Programs send a token as `Authorization: Bearer ...` instead of a cookie.",
        )


def _bearer(request: Request) -> str:
    scheme, _, token = (header(request.headers, "authorization") or "").partition(" ")
    return token.strip() if scheme.lower() == "bearer" else ""
