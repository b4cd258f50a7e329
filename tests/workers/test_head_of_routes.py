"""HEAD works wherever GET works, on every route of every pool that has a table of routes (RFC 9110, 9.3.2)."""

import pytest

from services.gateway.requests.routes import ROUTES as GATEWAY_ROUTES
from workers.auth.http import routes as auth
from workers.routing import MethodNotAllowed, RouteMatch
from workers.storage import routes as storage

_WITH_EFFECTS = {
    "/verify",
    "/reauthenticate",
    "/authorize",
    "/authorize/continue",
    "/callback",
    "/user/identities/authorize",
    "/oauth/authorize",
    "/oauth/authorizations/{id}",
}
"""GETs of auth that change something or send an email. `/verify` has a HEAD of its own, which changes nothing."""
_TABLES = [
    (table.ROUTER, route.pattern, route.has_effects)
    for table in (auth, storage)
    for route in table.ROUTES
    if route.method == "GET"
]


@pytest.mark.parametrize(("router", "pattern", "has_effects"), _TABLES)
def test_head_works_where_get_works(router, pattern: str, has_effects: bool) -> None:
    path = pattern.replace("...}", "}").replace("{", "").replace("}", "")

    answer = router.find("HEAD", path)

    if not has_effects or pattern == "/verify":
        assert isinstance(answer, RouteMatch)
    else:
        assert isinstance(answer, MethodNotAllowed)
        assert "GET" in answer.methods
        assert "HEAD" not in answer.methods


def test_a_get_that_changes_something_is_named_here() -> None:
    marked = {route.pattern for table in (auth, storage) for route in table.ROUTES if route.has_effects}

    assert marked == _WITH_EFFECTS


def test_no_route_of_the_gateway_takes_get_alone() -> None:
    assert all("HEAD" in route.methods for route in GATEWAY_ROUTES if "GET" in route.methods)
