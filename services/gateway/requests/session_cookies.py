"""The session of an administrator is for the interface of administrators alone.

A browser sends the cookie with every request to this origin. Code of the project sees the headers of its requests (functions, and SQL by
`request.cookies`), and whoever has the cookie's secret is the administrator: so the gateway takes it out of requests to everything else.
"""

from schemas.http import ADMINISTRATOR_COOKIES, Headers
from services.gateway.requests.routes import GatewayRoute

_AREAS = frozenset({"management"})


def hide_session(route: GatewayRoute | None, headers: Headers) -> Headers:
    """Return the headers of a request with a cookie line, without administrators' sessions unless its route is for them. Pure."""
    if route is not None and route.area in _AREAS:
        return headers
    kept: Headers = []
    for name, value in headers:
        if name == "cookie" and any(cookie in value for cookie in ADMINISTRATOR_COOKIES):
            value = ";".join(pair for pair in value.split(";") if not _is_session(pair)).strip()
            if not value:
                continue
        kept.append((name, value))
    return kept


def _is_session(pair: str) -> bool:
    return pair.partition("=")[0].strip() in ADMINISTRATOR_COOKIES
