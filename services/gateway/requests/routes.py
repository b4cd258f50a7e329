"""The route table: which handler answers a path prefix, which pool is behind it, and whether an API key is required.

One row is one route. The longest matching prefix wins. A new interface is a row here and a handler in `handlers.py`.
Source: docs/reference/platform.md, section 1 ("Routing"). The endpoints of the OAuth server require no API key, because
its clients do not have one.
"""

from dataclasses import dataclass
from enum import StrEnum
from urllib.parse import parse_qs

from broker.subjects import AUTH, FUNCTIONS, GRAPHQL, MANAGEMENT, REALTIME, REST, STORAGE, SYNC, Subject
from schemas.settings.tree import Settings


class HandlerName(StrEnum):
    """The handlers that routes name; `handlers.build_handlers` makes one of each."""

    REST = "rest"
    GRAPHQL = "graphql"
    AUTH = "auth"
    STORAGE = "storage"
    S3 = "s3"
    RESUMABLE_UPLOAD = "resumable upload"
    REALTIME = "realtime"
    SYNC = "sync"
    FUNCTIONS = "functions"
    MANAGEMENT = "management"
    AGENTS = "agents"
    AGENT_SIGN_IN = "sign-in of agents"
    SCHEMA_METADATA = "schema metadata"
    DASHBOARD = "dashboard"


@dataclass(frozen=True, slots=True)
class GatewayRoute:
    """One route. The pool receives the path below `mount`; without a mount, the path below the prefix."""

    area: str
    """Decides the shape of error responses and the setting that switches the route off."""
    prefix: str
    subject: Subject
    handler: HandlerName
    needs_key: bool = True
    mount: str | None = None
    takes_token: bool = False
    """An access token is accepted without an API key."""
    methods: frozenset[str] = frozenset()
    """Methods that are public here, also with an invalid key. Other methods match the next shorter prefix. Empty: all methods match, and an invalid key is rejected."""
    has_xml_errors: bool = False
    """Error responses are XML, as S3 clients expect them."""
    has_websockets: bool = False
    """A request may become a WebSocket whose bytes the gateway passes on."""


def _auth(prefix: str, mount: str = "/auth/v1", methods: frozenset[str] = frozenset()) -> GatewayRoute:
    """Return the route of an endpoint of auth that requires no key."""
    return GatewayRoute("auth", prefix, AUTH, HandlerName.AUTH, needs_key=False, mount=mount, methods=methods)


def _storage(
    path: str, handler: HandlerName = HandlerName.STORAGE, methods: frozenset[str] = frozenset()
) -> GatewayRoute:
    """Return the route of a path of storage that requires no key: public objects, and URLs that carry a token."""
    return GatewayRoute(
        "storage",
        f"/storage/v1{path}",
        STORAGE,
        handler,
        needs_key=False,
        mount="/storage/v1",
        methods=methods,
        has_xml_errors=handler is HandlerName.S3,
    )


def _agent_sign_in(prefix: str, mount: str = "") -> GatewayRoute:
    """Return the route of what agents read and send to sign in to `/mcp`: pages of other origins may, for no cookie counts there."""
    return GatewayRoute(
        "management", prefix, MANAGEMENT, HandlerName.AGENT_SIGN_IN, needs_key=False, mount=mount
    )


_READS = frozenset({"GET", "HEAD", "OPTIONS"})
_WRITES = frozenset({"PUT", "OPTIONS"})

ROUTES = (
    GatewayRoute("rest", "/rest/v1", REST, HandlerName.REST),
    GatewayRoute("graphql", "/graphql/v1", GRAPHQL, HandlerName.GRAPHQL),
    _auth("/auth/v1/verify/continue"),
    _auth("/auth/v1/verify", methods=_READS),
    _auth("/auth/v1/callback"),
    _auth("/auth/v1/authorize"),
    _auth("/auth/v1/.well-known"),
    _auth("/auth/v1/oauth/authorize"),
    _auth("/auth/v1/oauth/token"),
    _auth("/auth/v1/oauth/clients/register"),
    _auth("/auth/v1/oauth/userinfo"),
    _auth("/auth/v1/sso/saml"),
    _auth("/sso/saml", mount=""),
    _auth("/.well-known/oauth-authorization-server", mount=""),
    _auth("/.well-known/openid-configuration", mount=""),
    GatewayRoute("auth", "/auth/v1", AUTH, HandlerName.AUTH),
    _storage("/s3", HandlerName.S3),
    _storage("/upload/resumable", HandlerName.RESUMABLE_UPLOAD),
    _storage("/object/public", methods=_READS),
    _storage("/object/info/public", methods=_READS),
    _storage("/object/sign", methods=_READS),
    _storage("/object/upload/sign", methods=_WRITES),
    _storage("/render/image/public", methods=_READS),
    _storage("/render/image/sign", methods=_READS),
    _storage("/status"),
    _storage("/version"),
    GatewayRoute("storage", "/storage/v1", STORAGE, HandlerName.STORAGE, takes_token=True),
    GatewayRoute("realtime", "/realtime/v1", REALTIME, HandlerName.REALTIME, takes_token=True),
    GatewayRoute("sync", "/sync/v1/health", SYNC, HandlerName.SYNC, needs_key=False, mount="/sync/v1"),
    GatewayRoute("sync", "/sync/v1", SYNC, HandlerName.SYNC, takes_token=True),
    GatewayRoute(
        "functions",
        "/functions/v1",
        FUNCTIONS,
        HandlerName.FUNCTIONS,
        needs_key=False,
        has_websockets=True,
    ),
    GatewayRoute("management", "/management/v1", MANAGEMENT, HandlerName.MANAGEMENT, needs_key=False),
    GatewayRoute("management", "/v1", MANAGEMENT, HandlerName.MANAGEMENT, needs_key=False, mount=""),
    GatewayRoute("management", "/v2", MANAGEMENT, HandlerName.MANAGEMENT, needs_key=False, mount=""),
    GatewayRoute("management", "/mcp", MANAGEMENT, HandlerName.AGENTS, needs_key=False, mount=""),
    _agent_sign_in("/.well-known/oauth-protected-resource"),
    _agent_sign_in("/.well-known/oauth-authorization-server/management/v1/oauth"),
    _agent_sign_in("/management/v1/oauth/.well-known", "/management/v1"),
    _agent_sign_in("/management/v1/oauth/register", "/management/v1"),
    _agent_sign_in("/management/v1/oauth/token", "/management/v1"),
    _agent_sign_in("/management/v1/oauth/revoke", "/management/v1"),
    GatewayRoute("pg", "/pg", MANAGEMENT, HandlerName.SCHEMA_METADATA, mount=""),
    GatewayRoute("dashboard", "/_", MANAGEMENT, HandlerName.DASHBOARD, needs_key=False),
)

_NOT_REQUIRED = (FUNCTIONS, MANAGEMENT)
POOLS = tuple(dict.fromkeys(route.subject.pool for route in ROUTES if route.subject not in _NOT_REQUIRED))
"""Pools that must be ready for the platform to be ready, unless their area is switched off. A project may have no functions, and
applications do not need the interface of administrators."""


_SECTIONS = {"rest": "api", "functions": "edge_runtime", "pg": "management"}


def areas_off(settings: Settings) -> frozenset[str]:
    """Return the areas that are switched off."""
    switches = {
        "rest": settings.api.enabled,
        "graphql": settings.api.enabled and settings.graphql.enabled,
        "auth": settings.auth.enabled,
        "storage": settings.storage.enabled,
        "functions": settings.edge_runtime.enabled,
        "realtime": settings.realtime.enabled,
        "sync": settings.realtime.enabled and settings.sync.enabled,
        "management": settings.management.enabled,
        "pg": settings.management.enabled,
        "dashboard": settings.dashboard.enabled and settings.management.enabled,
    }
    return frozenset(area for area, is_on in switches.items() if not is_on)


def switch_of(area: str) -> str:
    """Return the name of the setting that switches an area off."""
    return f"{_SECTIONS.get(area, area)}.enabled"


def pools_of(settings: Settings) -> tuple[str, ...]:
    """Return the pools of the areas that are switched on."""
    off = areas_off(settings)
    return tuple(pool for pool in POOLS if pool not in off)


def names_version(method: str, path: str, query: str) -> bool:
    """Return whether a request reads a version of an object by its id. `path` is below the prefix of storage."""
    if not query or method not in ("GET", "HEAD"):
        return False
    is_object = path.startswith(("/object/", "/render/"))
    return is_object and "versionId" in parse_qs(query, keep_blank_values=True)


_ROUTES_BY_FIRST_SEGMENT = {
    first: tuple(route for route in ROUTES if route.prefix.split("/")[1] == first)
    for first in {route.prefix.split("/")[1] for route in ROUTES}
}


def route_of(path: str, method: str = "GET") -> tuple[GatewayRoute, str] | None:
    """Return the route of a request, the longest prefix first, and the path below it (at least `/`)."""
    best: tuple[GatewayRoute, str] | None = None
    for route in _ROUTES_BY_FIRST_SEGMENT.get(path[1:].partition("/")[0], ()):
        prefix = route.prefix
        is_below = path.startswith(prefix) and path[len(prefix) : len(prefix) + 1] in ("", "/")
        if not is_below or (route.methods and method not in route.methods):
            continue
        if best is None or len(prefix) > len(best[0].prefix):
            mount = prefix if route.mount is None else route.mount
            best = (route, path[len(mount) :] or "/")
    return best
