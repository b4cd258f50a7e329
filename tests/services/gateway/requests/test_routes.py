"""Where each path goes (docs/reference/platform.md, sections 1, "Routing")."""

import pytest

from services.gateway.requests.routes import POOLS, ROUTES, GatewayRoute, route_of


@pytest.mark.parametrize(
    ("path", "area", "below", "needs_key"),
    [
        ("/rest/v1", "rest", "/", True),
        ("/rest/v1/", "rest", "/", True),
        ("/rest/v1/items", "rest", "/items", True),
        ("/rest/v1/rpc/f", "rest", "/rpc/f", True),
        ("/rest/v1//items", "rest", "//items", True),
        ("/rest/v1/%2Fitems%20", "rest", "/%2Fitems%20", True),
        ("/rest/v1/../auth/v1", "rest", "/../auth/v1", True),
        ("/graphql/v1", "graphql", "/", True),
        ("/auth/v1/token", "auth", "/token", True),
        ("/auth/v1/health", "auth", "/health", True),
        ("/auth/v1/authorized", "auth", "/authorized", True),
        ("/auth/v1/.well-known/other", "auth", "/.well-known/other", False),
        ("/storage/v1/bucket", "storage", "/bucket", True),
        ("/storage/v1/object/b/a.png", "storage", "/object/b/a.png", True),
        ("/storage/v1/object/publicity", "storage", "/object/publicity", True),
        ("/realtime/v1/websocket", "realtime", "/websocket", True),
        ("/realtime/v1/api/broadcast", "realtime", "/api/broadcast", True),
        ("/functions/v1/hello", "functions", "/hello", False),
    ],
)
def test_a_path_belongs_to_its_area(path: str, area: str, below: str, needs_key: bool) -> None:
    found = route_of(path)

    assert found is not None
    assert (found[0].area, found[1], found[0].needs_key) == (area, below, needs_key)


@pytest.mark.parametrize(
    ("path", "area", "below"),
    [
        ("/auth/v1/verify", "auth", "/verify"),
        ("/auth/v1/callback/x", "auth", "/callback/x"),
        ("/auth/v1/authorize", "auth", "/authorize"),
        ("/auth/v1/.well-known/jwks.json", "auth", "/.well-known/jwks.json"),
        ("/auth/v1/sso/saml/acs", "auth", "/sso/saml/acs"),
        ("/sso/saml/metadata", "auth", "/sso/saml/metadata"),
        ("/.well-known/oauth-authorization-server", "auth", "/.well-known/oauth-authorization-server"),
        ("/storage/v1/object/public/b/a.png", "storage", "/object/public/b/a.png"),
        ("/storage/v1/object/sign/b/a.png", "storage", "/object/sign/b/a.png"),
        ("/storage/v1/render/image/public/b/a", "storage", "/render/image/public/b/a"),
        ("/storage/v1/s3/b/a", "storage", "/s3/b/a"),
    ],
)
def test_a_path_without_a_key_keeps_its_tail_below_the_area(path: str, area: str, below: str) -> None:
    found = route_of(path)

    assert found is not None
    assert (found[0].area, found[1], found[0].needs_key) == (area, below, False)


@pytest.mark.parametrize(
    ("method", "path", "is_open"),
    [
        ("GET", "/storage/v1/object/sign/b/a", True),
        ("HEAD", "/storage/v1/object/public/b/a", True),
        ("PUT", "/storage/v1/object/upload/sign/b/a", True),
        ("POST", "/storage/v1/object/sign/b", False),
        ("POST", "/storage/v1/object/sign/b/a", False),
        ("POST", "/storage/v1/object/upload/sign/b/a", False),
        ("DELETE", "/storage/v1/object/public/b", False),
    ],
)
def test_a_signed_url_is_open_and_is_not_made_by_everybody(method: str, path: str, is_open: bool) -> None:
    found = route_of(path, method)

    assert found is not None
    assert (found[0].needs_key, found[0].takes_token, found[1]) == (
        not is_open,
        not is_open,
        path.removeprefix("/storage/v1"),
    )


@pytest.mark.parametrize(
    "path",
    ["", "/", "*", "/rest", "/rest/", "/rest/v", "/rest/v1x", "/rest/v10", "/rest/v2", "/REST/v1", "//rest/v1",
     "rest/v1", "/%72est/v1", "/rest%2Fv1", "/x/rest/v1", "/health/live", "/metrics", "/rest\\v1", "/\udcff"],
)  # fmt: skip
def test_every_other_path_belongs_to_none(path: str) -> None:
    assert route_of(path) is None


@pytest.mark.parametrize("route", ROUTES, ids=lambda route: route.prefix)
def test_every_prefix_leads_to_its_own_route(route: GatewayRoute) -> None:
    method = min(route.methods, default="GET")
    for path in (route.prefix, f"{route.prefix}/a/b"):
        found = route_of(path, method)
        assert found is not None
        assert found[0] == route


def test_every_area_has_a_pool_that_must_be_ready() -> None:
    assert (
        set(POOLS)
        == {route.area for route in ROUTES} - {"functions", "management", "pg", "dashboard"}
        == {"rest", "graphql", "auth", "storage", "realtime", "sync"}
    )
    assert len(POOLS) == len(set(POOLS))


@pytest.mark.parametrize(
    ("method", "path", "needs_key"),
    [
        ("GET", "/auth/v1/verify", False),
        ("HEAD", "/auth/v1/verify", False),
        ("OPTIONS", "/auth/v1/verify", False),
        ("POST", "/auth/v1/verify/continue", False),
        ("POST", "/auth/v1/verify", True),
    ],
)
def test_a_typed_code_needs_a_key_and_a_link_does_not(method: str, path: str, needs_key: bool) -> None:
    found = route_of(path, method)

    assert found is not None
    assert found[0].needs_key is needs_key
