"""The routing table: which subject answers a prefix, and what is demanded before. One line a route.

Source: reference page "platform", section 1 ("Routing"). Clients of the OAuth server know no API key, so its endpoints
demand none.
"""

from dataclasses import dataclass
from urllib.parse import parse_qs

from broker.subjects import AUTH, FUNCTIONS, GRAPHQL, REALTIME, REST, STORAGE, Subject
from schemas.settings.tree import Settings


@dataclass(frozen=True, slots=True)
class Route:
    """An area behind the gateway. `subject` is None when nothing is asked over the broker.

    The pool sees the path below `mount`; below the prefix where there is none.
    """

    area: str
    prefix: str
    subject: Subject | None
    needs_key: bool = True
    is_built: bool = False
    mount: str | None = None
    takes_token: bool = False
    """An access token will do without a key."""
    methods: frozenset[str] = frozenset()
    """Methods that are open to everybody here, where a wrong key does no harm either; others go by the next longest prefix. Empty: no such thing."""

    @property
    def tells_client(self) -> bool:
        """Whether the pool is told the client's address: REST, on the hottest path, has no use for it."""
        return self.area != "rest"


def _open_objects(path: str, methods: frozenset[str]) -> Route:
    """Give the route of what is read by everybody, or opened by a token in the URL. `path` is below the storage's prefix."""
    prefix = f"/storage/v1{path}"
    return Route(
        "storage", prefix, STORAGE, is_built=True, needs_key=False, mount="/storage/v1", methods=methods
    )


_READS = frozenset({"GET", "HEAD", "OPTIONS"})
_WRITES = frozenset({"PUT", "OPTIONS"})

ROUTES = (
    Route("rest", "/rest/v1", REST, is_built=True),
    Route("graphql", "/graphql/v1", GRAPHQL, is_built=True),
    Route("auth", "/auth/v1/verify", AUTH, is_built=True, needs_key=False, mount="/auth/v1"),
    Route("auth", "/auth/v1/callback", AUTH, is_built=True, needs_key=False, mount="/auth/v1"),
    Route("auth", "/auth/v1/authorize", AUTH, is_built=True, needs_key=False, mount="/auth/v1"),
    Route("auth", "/auth/v1/.well-known", AUTH, is_built=True, needs_key=False, mount="/auth/v1"),
    Route("auth", "/auth/v1/oauth/authorize", AUTH, is_built=True, needs_key=False, mount="/auth/v1"),
    Route("auth", "/auth/v1/oauth/token", AUTH, is_built=True, needs_key=False, mount="/auth/v1"),
    Route("auth", "/auth/v1/oauth/clients/register", AUTH, is_built=True, needs_key=False, mount="/auth/v1"),
    Route("auth", "/auth/v1/oauth/userinfo", AUTH, is_built=True, needs_key=False, mount="/auth/v1"),
    Route("auth", "/auth/v1/sso/saml", AUTH, is_built=True, needs_key=False, mount="/auth/v1"),
    Route("auth", "/sso/saml", AUTH, is_built=True, needs_key=False, mount=""),
    Route("auth", "/.well-known/oauth-authorization-server", AUTH, is_built=True, needs_key=False, mount=""),
    Route("auth", "/.well-known/openid-configuration", AUTH, is_built=True, needs_key=False, mount=""),
    Route("auth", "/auth/v1", AUTH, is_built=True),
    Route("storage", "/storage/v1/s3", STORAGE, is_built=True, needs_key=False, mount="/storage/v1"),
    Route(
        "storage",
        "/storage/v1/upload/resumable",
        STORAGE,
        is_built=True,
        needs_key=False,
        mount="/storage/v1",
    ),
    _open_objects("/object/public", _READS),
    _open_objects("/object/info/public", _READS),
    _open_objects("/object/sign", _READS),
    _open_objects("/object/upload/sign", _WRITES),
    _open_objects("/render/image/public", _READS),
    _open_objects("/render/image/sign", _READS),
    Route("storage", "/storage/v1/status", STORAGE, is_built=True, needs_key=False, mount="/storage/v1"),
    Route("storage", "/storage/v1/version", STORAGE, is_built=True, needs_key=False, mount="/storage/v1"),
    Route("storage", "/storage/v1", STORAGE, is_built=True, takes_token=True),
    Route("realtime", "/realtime/v1", REALTIME, is_built=True, takes_token=True),
    Route("functions", "/functions/v1", FUNCTIONS, is_built=True, needs_key=False),
)

POOLS = tuple(
    dict.fromkeys(
        route.subject.pool
        for route in ROUTES
        if route.is_built and route.subject and route.area != "functions"
    )
)
"""Pools that must be ready for the platform to be, unless their area is switched off; a project may have no functions."""


_SECTIONS = {"rest": "api", "functions": "edge_runtime"}


def areas_off(settings: Settings) -> frozenset[str]:
    """Give the areas that are switched off."""
    switches = {
        "rest": settings.api.enabled,
        "graphql": settings.api.enabled and settings.graphql.enabled,
        "auth": settings.auth.enabled,
        "storage": settings.storage.enabled,
        "functions": settings.edge_runtime.enabled,
        "realtime": settings.realtime.enabled,
    }
    return frozenset(area for area, is_on in switches.items() if not is_on)


def switch_of(area: str) -> str:
    """Name the setting that switches an area off."""
    return f"{_SECTIONS.get(area, area)}.enabled"


def pools_of(settings: Settings) -> tuple[str, ...]:
    """Give the pools of the areas that are switched on."""
    off = areas_off(settings)
    return tuple(pool for pool in POOLS if pool not in off)


def names_version(method: str, path: str, query: str) -> bool:
    """Tell whether a version of an object is to be read by its id. `path` is below the storage's prefix."""
    if not query or method not in ("GET", "HEAD"):
        return False
    is_object = path.startswith(("/object/", "/render/"))
    return is_object and "versionId" in parse_qs(query, keep_blank_values=True)


_BY_FIRST = {
    first: tuple(route for route in ROUTES if route.prefix.split("/")[1] == first)
    for first in {route.prefix.split("/")[1] for route in ROUTES}
}


def route_of(path: str, method: str = "GET") -> tuple[Route, str] | None:
    """Find the route of a request, the longest prefix first, and the path below it (`/` at least)."""
    best: tuple[Route, str] | None = None
    for route in _BY_FIRST.get(path[1:].partition("/")[0], ()):
        prefix = route.prefix
        is_below = path.startswith(prefix) and path[len(prefix) : len(prefix) + 1] in ("", "/")
        if not is_below or (route.methods and method not in route.methods):
            continue
        if best is None or len(prefix) > len(best[0].prefix):
            mount = prefix if route.mount is None else route.mount
            best = (route, path[len(mount) :] or "/")
    return best
