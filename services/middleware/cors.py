"""CORS: preflight answers, and the headers that let a page of another origin read a response. Pure.

Which response headers a page may read is one table for all areas: what the official service of the area exposes, on a line
of its own (clients and tests compare that line), and on a second line what every response here may have (`_EVERYWHERE`)
and what the area adds (`_ADDED`). Lines of one name are one list (RFC 9110, 5.3).
Source: docs/reference/rest.md, section 18; docs/reference/platform.md, section 1 ("CORS").
"""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from schemas.http import Headers, Response

MAX_AGE_S = 86400
ALLOW_HEADERS = "access-control-allow-headers"
_GATEWAY = (
    "Content-Range, Content-Profile, Location, Preference-Applied, sb-error-code, x-relay-error, x-request-id, "
    "retry-after, x-total-count, link"
)
_REFERENCE = {
    "rest": "Content-Encoding, Content-Location, Content-Range, Content-Type, Date, Location, Server, "
    "Transfer-Encoding, Range-Unit"
}
"""What the official service of an area exposes; other areas have the list of the official gateway."""
_EVERYWHERE = (
    "ETag", "Link", "Preference-Applied", "Content-Location", "Content-Range", "Content-Profile", "Content-Encoding",
    "Content-Disposition", "Accept-Ranges", "Location", "Retry-After", "Server-Timing", "Allow", "WWW-Authenticate",
    "Warning", "Vary", "Date", "x-request-id", "Idempotency-Replayed", "Headwater-Position", "Headwater-Txid",
)  # fmt: skip
_LIMITS = ("RateLimit-Limit", "RateLimit-Remaining", "RateLimit-Reset")
_ADDED = {
    "sync": (
        "electric-cursor", "electric-handle", "electric-has-data", "electric-offset", "electric-schema",
        "electric-snapshot", "electric-up-to-date", "electric-internal-known-error", "electric-server",
    ),
    "rest": ("Proxy-Status",),
    "mcp": ("Mcp-Session-Id",),
    "auth": ("x-supabase-api-version", "x-sb-error-code", *_LIMITS),
    "storage": (
        "Upload-Offset", "Upload-Length", "Upload-Metadata", "Upload-Expires", "Upload-Defer-Length", "Tus-Version",
        "Tus-Resumable", "Tus-Max-Size", "Tus-Extension", "Tus-Checksum-Algorithm", "Tus-Complete",
    ),
}  # fmt: skip


_OF_ADMINISTRATORS = ("management", "pg", "dashboard")
"""Areas of which pages of other origins can read nothing."""
NO_ORIGIN = "none"
"""A list of origins that has this alone allows none."""


@dataclass(frozen=True, slots=True)
class CorsPolicy:
    """What an area allows: methods, headers beside those asked for, headers a page may read, and origins (empty: all)."""

    methods: str
    allowed: tuple[str, ...]
    exposed: tuple[str, ...]
    """Lines of `Access-Control-Expose-Headers`."""
    origins: frozenset[str] = frozenset()
    for_all: Headers = field(default_factory=list, compare=False)
    """The headers of a response where pages of every origin may read it."""


def policy_of(area: str, origins: Sequence[str], further: Sequence[str] = ()) -> CorsPolicy:
    """Return the policy of an area, empty for paths of none. `further` are names that settings add to its responses."""
    if area in _OF_ADMINISTRATORS:
        return CorsPolicy(methods="", allowed=(), exposed=(), origins=frozenset({NO_ORIGIN}))
    is_rest = area == "rest"
    policy = CorsPolicy(
        methods="GET, POST, PATCH, PUT, DELETE, OPTIONS, HEAD"
        if is_rest
        else "GET, HEAD, PUT, PATCH, POST, DELETE, OPTIONS, TRACE, CONNECT",
        allowed=("Accept", "Accept-Language", "Content-Language") if is_rest else (),
        exposed=_exposed(area, further),
        origins=frozenset(origins),
    )
    return policy if origins else replace(policy, for_all=response_headers(policy, None))


def _exposed(area: str, further: Sequence[str]) -> tuple[str, ...]:
    reference = _REFERENCE.get(area, _GATEWAY)
    listed = {name.strip().lower() for name in reference.split(",")}
    names = (*_EVERYWHERE, *_ADDED.get(area, ()), *further)
    return reference, ", ".join(name for name in names if name.lower() not in listed)


def preflight(policy: CorsPolicy, origin: str, asked_headers: str | None) -> Response:
    """Answer a preflight: 200 without a body, and without permission for an origin that is not in the list."""
    requested = [name.strip() for name in (asked_headers or "").split(",") if name.strip()]
    headers: Headers = [
        *_origin(policy, origin),
        ("access-control-allow-methods", policy.methods),
        (ALLOW_HEADERS, ", ".join(("Authorization", *requested, *policy.allowed))),
        ("access-control-max-age", str(MAX_AGE_S)),
        *_varying(policy),
    ]
    return Response(200, headers)


def completed(preflight: Response, headers: Headers) -> Response:
    """Return a preflight answer in which the CORS headers of another answer, of a function, replace those of the same name."""
    of_function = [
        (name.lower(), value) for name, value in headers if name.lower().startswith("access-control-")
    ]
    replaced = {name for name, _ in of_function}
    remaining = [(name, value) for name, value in preflight.headers if name not in replaced]
    return Response(preflight.status, [*remaining, *of_function])


def response_headers(policy: CorsPolicy, origin: str | None) -> Headers:
    """Return the headers that let a page of this origin read a response. Without an origin any page may."""
    if policy.for_all and not policy.origins:
        return policy.for_all.copy()
    lines = [("access-control-expose-headers", line) for line in policy.exposed]
    return [*_origin(policy, origin), *lines, *_varying(policy)]


def _origin(policy: CorsPolicy, origin: str | None) -> Headers:
    if not policy.origins:
        return [("access-control-allow-origin", "*")]
    if origin in policy.origins:
        return [("access-control-allow-origin", str(origin)), ("access-control-allow-credentials", "true")]
    return []


def _varying(policy: CorsPolicy) -> Headers:
    """Return `Vary: Origin` where the response depends on it: a cache must not show one origin the response to another."""
    return [("vary", "Origin")] if policy.origins else []
