"""CORS: preflight answers and the headers of every response. Pure.

REST keeps its own lists (docs/reference/rest.md, section 18); the other areas have those of the gateway
(docs/reference/platform.md, section 1).
"""

from collections.abc import Sequence
from dataclasses import dataclass

from schemas.http import Headers, Response

MAX_AGE_S = 86400
ALLOW_HEADERS = "access-control-allow-headers"


@dataclass(frozen=True, slots=True)
class CorsPolicy:
    """What an area allows: methods, headers beside those asked for, headers a page may read, and origins (empty: all)."""

    methods: str
    allowed: tuple[str, ...]
    exposed: str
    origins: frozenset[str] = frozenset()


def rest_policy(origins: Sequence[str]) -> CorsPolicy:
    """Return the policy of the REST interface."""
    return CorsPolicy(
        methods="GET, POST, PATCH, PUT, DELETE, OPTIONS, HEAD",
        allowed=("Accept", "Accept-Language", "Content-Language"),
        exposed="Content-Encoding, Content-Location, Content-Range, Content-Type, Date, Location, Server, "
        "Transfer-Encoding, Range-Unit",
        origins=frozenset(origins),
    )


def common_policy(origins: Sequence[str]) -> CorsPolicy:
    """Return the policy of every other area."""
    return CorsPolicy(
        methods="GET, HEAD, PUT, PATCH, POST, DELETE, OPTIONS, TRACE, CONNECT",
        allowed=(),
        exposed="Content-Range, Content-Profile, Location, Preference-Applied, sb-error-code, x-relay-error, x-request-id, "
        "retry-after, x-total-count, link",
        origins=frozenset(origins),
    )


def is_preflight(method: str, asked_method: str | None) -> bool:
    """Return whether a browser asks for permission."""
    return method == "OPTIONS" and asked_method is not None


def preflight(policy: CorsPolicy, origin: str, asked_headers: str | None) -> Response:
    """Answer a preflight: 200 without a body, and without permission for an origin that is not in the list."""
    requested = [name.strip() for name in (asked_headers or "").split(",") if name.strip()]
    headers: Headers = [
        *_origin(policy, origin),
        ("access-control-allow-methods", policy.methods),
        (ALLOW_HEADERS, ", ".join(("Authorization", *requested, *policy.allowed))),
        ("access-control-max-age", str(MAX_AGE_S)),
    ]
    return Response(200, headers)


def completed(preflight: Response, headers: Headers) -> Response:
    """Return a preflight answer in which the CORS headers of another answer, of a function, replace those of the same name."""
    own = [(name.lower(), value) for name, value in headers if name.lower().startswith("access-control-")]
    replaced = {name for name, _ in own}
    kept = [(name, value) for name, value in preflight.headers if name not in replaced]
    return Response(preflight.status, [*kept, *own])


def response_headers(policy: CorsPolicy, origin: str | None) -> Headers:
    """Return the headers that let a page of this origin read a response. Without an origin any page may."""
    return [*_origin(policy, origin), ("access-control-expose-headers", policy.exposed)]


def _origin(policy: CorsPolicy, origin: str | None) -> Headers:
    if not policy.origins:
        return [("access-control-allow-origin", "*")]
    if origin in policy.origins:
        return [("access-control-allow-origin", str(origin)), ("access-control-allow-credentials", "true")]
    return []
