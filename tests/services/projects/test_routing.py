"""Which project a request is for."""

import pytest
from hypothesis import given
from hypothesis import strategies as some

from services.projects.model import ProjectRecord
from services.projects.routing import ProjectRoute, host_of, is_dashboard, route_table

TABLE = route_table(
    [ProjectRecord("shop", "/s", 0.0, ["shop.example.org"]), ProjectRecord("blog", "/b", 0.0)], "apps.test"
)


@pytest.mark.parametrize(
    ("host", "target", "project", "path", "prefix"),
    [
        ("shop.apps.test", "/rest/v1/a?b=c", "shop", "/rest/v1/a?b=c", ""),
        ("SHOP.apps.test.:8000", "/", "shop", "/", ""),
        ("shop.example.org:443", "/blog/x", "shop", "/blog/x", ""),
        ("apps.test", "/blog/rest/v1/a?b=/shop/", "blog", "/rest/v1/a?b=/shop/", "/blog"),
        ("127.0.0.1:8000", "/shop", "shop", "/", "/shop"),
        ("[::1]:8000", "/shop?x=1", "shop", "/?x=1", "/shop"),
        ("elsewhere.test", "/shop//a/../b/%2e%2e/", "shop", "//a/../b/%2e%2e/", "/shop"),
        ("blog.apps.test", "http://shop.apps.test:8000/a", "shop", "/a", ""),
        ("blog.apps.test", "http://shop.apps.test?a", "shop", "/?a", ""),
        ("", "/shop/a", "shop", "/a", "/shop"),
    ],
)
def test_a_request_reaches_its_project(host: str, target: str, project: str, path: str, prefix: str) -> None:
    route = TABLE.route(host, target)

    assert route is not None
    assert (route.project, route.path, route.prefix) == (project, path, prefix)


@pytest.mark.parametrize(
    ("host", "target"),
    [
        ("apps.test", "/"),
        ("apps.test", "/shopping/a"),
        ("apps.test", "/SHOP/a"),
        ("apps.test", "/%73hop/a"),
        ("apps.test", "//shop/a"),
        ("apps.test", "/x/../shop/a"),
        ("apps.test", "/shop;a=b/c"),
        ("apps.test", "*"),
        ("gone.apps.test", "/shop/a"),
        ("x.shop.apps.test", "/shop/a"),
        ("notapps.test", "/"),
        ("shop.apps.test@evil", "/nothing"),
    ],
)
def test_other_requests_have_no_project(host: str, target: str) -> None:
    assert TABLE.route(host, target) is None


@given(some.text(max_size=30), some.text(max_size=60))
def test_any_request_has_a_project_or_none(host: str, target: str) -> None:
    route = TABLE.route(host, target)

    assert route is None or (route.project in TABLE.names and route.path.startswith("/"))


@given(
    some.sampled_from(["shop", "blog"]),
    some.text(some.characters(codec="ascii", exclude_characters="\r\n"), max_size=40),
)
def test_what_stands_behind_the_name_arrives_unchanged(name: str, rest: str) -> None:
    route = TABLE.route("apps.test", f"/{name}/{rest}")

    assert route == ProjectRoute(name, f"/{rest}", "apps.test", f"/{name}")


def test_the_host_of_a_header() -> None:
    assert [host_of(text) for text in ("A.b:1", "a.b.", "[::1]:80", "[::1]", "a:", "")] == [
        "a.b",
        "a.b",
        "[::1]",
        "[::1]",
        "a",
        "",
    ]


@pytest.mark.parametrize("path", ["/_", "/_/", "/_/x?y", "/%5F/x", "//_/x", "/_?x"])
def test_the_dashboard_is_known_however_it_is_spelled(path: str) -> None:
    assert is_dashboard(path)


@pytest.mark.parametrize("path", ["/", "/rest/v1/_", "/__/", "/_x"])
def test_other_paths_are_not_the_dashboard(path: str) -> None:
    assert not is_dashboard(path)
