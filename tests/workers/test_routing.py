"""Routing: which endpoint a method and a path mean."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.fuzz.mutate import near_text
from workers.routing import MethodNotAllowed, NotFound, RouteMatch, Router, ServiceRoute

ROUTER = Router(
    [
        ServiceRoute("GET", "/", "root"),
        ServiceRoute("GET", "/user", "get user"),
        ServiceRoute("PUT", "/user", "put user"),
        ServiceRoute("POST", "/factors", "enroll"),
        ServiceRoute("DELETE", "/factors/{id}", "unenroll"),
        ServiceRoute("GET", "/factors/recovery-codes", "codes"),
        ServiceRoute("POST", "/factors/recovery-codes/verify", "verify codes"),
        ServiceRoute("POST", "/factors/{id}/verify", "verify"),
        ServiceRoute("GET", "/admin/users/{user_id}/factors/{id}", "factor of user"),
        ServiceRoute("GET", "/object/{bucket}/{path...}", "object"),
        ServiceRoute("GET", "/object/info/{path...}", "info"),
        ServiceRoute("GET", "/name with blank", "blank"),
        ServiceRoute("GET", "/verify", "verify link", has_effects=True),
        ServiceRoute("GET", "/file", "file"),
        ServiceRoute("HEAD", "/file", "head of file"),
    ]
)


@pytest.mark.parametrize(
    ("method", "path", "endpoint", "parameters"),
    [
        ("GET", "/", "root", {}),
        ("GET", "/user", "get user", {}),
        ("HEAD", "/user", "get user", {}),
        ("HEAD", "/file", "head of file", {}),
        ("HEAD", "/object/info/a", "info", {"path": "a"}),
        ("PUT", "/user", "put user", {}),
        ("DELETE", "/factors/abc", "unenroll", {"id": "abc"}),
        ("GET", "/factors/recovery-codes", "codes", {}),
        ("POST", "/factors/recovery-codes/verify", "verify codes", {}),
        ("POST", "/factors/abc/verify", "verify", {"id": "abc"}),
        ("GET", "/admin/users/u/factors/f", "factor of user", {"user_id": "u", "id": "f"}),
        ("GET", "/object/b/a/b/c.txt", "object", {"bucket": "b", "path": "a/b/c.txt"}),
        ("GET", "/object/info/a/b", "info", {"path": "a/b"}),
        ("GET", "/object/info", None, {}),
        ("GET", "/object/b/a//c", "object", {"bucket": "b", "path": "a//c"}),
        ("GET", "/%75ser", "get user", {}),
        ("GET", "/name%20with%20blank", "blank", {}),
        ("DELETE", "/factors/a%2Fb", "unenroll", {"id": "a/b"}),
        ("DELETE", "/factors/a%2fverify", "unenroll", {"id": "a/verify"}),
        ("DELETE", "/factors/%E5%90%8D", "unenroll", {"id": "名"}),
        ("DELETE", "/factors/%25", "unenroll", {"id": "%"}),
        ("DELETE", "/factors/a+b", "unenroll", {"id": "a+b"}),
        ("DELETE", "/factors/{id}", "unenroll", {"id": "{id}"}),
    ],
)
def test_a_path_means_the_most_particular_endpoint(
    method: str, path: str, endpoint: str | None, parameters: dict[str, str]
) -> None:
    expected = NotFound() if endpoint is None else RouteMatch(endpoint, parameters)

    assert ROUTER.find(method, path) == expected


def test_a_name_stands_in_where_the_text_has_not_the_method() -> None:
    assert ROUTER.find("DELETE", "/factors/recovery-codes") == RouteMatch(
        "unenroll", {"id": "recovery-codes"}
    )


@pytest.mark.parametrize(
    ("method", "path", "methods"),
    [
        ("DELETE", "/user", ("GET", "HEAD", "PUT")),
        ("get", "/user", ("GET", "HEAD", "PUT")),
        ("HEAD", "/verify", ("GET",)),
        ("PATCH", "/factors/recovery-codes", ("DELETE", "GET", "HEAD")),
        ("GET", "/factors/x/verify", ("POST",)),
    ],
)
def test_a_path_with_other_methods_lists_them(method: str, path: str, methods: tuple[str, ...]) -> None:
    assert ROUTER.find(method, path) == MethodNotAllowed(methods)


@pytest.mark.parametrize(
    "path",
    ["", "user", "/nothing", "/user/", "//user", "/factors//verify", "/factors/", "/User", "/user%2F", "/factors%2Fabc", "/%", "/%zz",
     "/factors/%ff", "/factors/a%00", "/factors/a\0", "/object/b/", "/object/b"],
)  # fmt: skip
def test_other_paths_are_found_nowhere(path: str) -> None:
    assert ROUTER.find("DELETE", path) == NotFound()


@pytest.mark.parametrize(
    "routes",
    [
        [ServiceRoute("GET", "/a", 1), ServiceRoute("GET", "/a", 2)],
        [ServiceRoute("GET", "/{a}", 1), ServiceRoute("GET", "/{b}", 2)],
        [ServiceRoute("GET", "a", 1)],
        [ServiceRoute("GET", "/{a}/{a}", 1)],
        [ServiceRoute("GET", "/x{a}", 1)],
        [ServiceRoute("GET", "/{A}", 1)],
        [ServiceRoute("GET", "/{}", 1)],
        [ServiceRoute("GET", "/{a...}/b", 1)],
    ],
)
def test_routes_that_cannot_mean_anything_are_refused(routes: list[ServiceRoute[int]]) -> None:
    with pytest.raises(ValueError, match=r"slash|taken|braces|last"):
        Router(routes)


def test_names_may_differ_by_method() -> None:
    router = Router([ServiceRoute("GET", "/{a}", 1), ServiceRoute("PUT", "/{b}", 2)])

    assert router.find("GET", "/x") == RouteMatch(1, {"a": "x"})
    assert router.find("PUT", "/x") == RouteMatch(2, {"b": "x"})


@given(
    st.sampled_from(["GET", "DELETE", "PUT", "POST", "X"]),
    near_text(
        ["/", "/user", "/factors/recovery-codes/verify", "/factors/%41b/verify"],
        ["/", "%2F", "%00", "%ff", "{id}", "//"],
    )
    | st.text(max_size=30),
)
def test_any_path_has_an_answer(method: str, path: str) -> None:
    assert isinstance(ROUTER.find(method, path), RouteMatch | MethodNotAllowed | NotFound)


@given(st.text(st.characters(codec="utf-8", exclude_characters="\0"), min_size=1, max_size=20))
def test_a_value_comes_back_from_its_encoding(value: str) -> None:
    encoded = "".join(f"%{byte:02X}" for byte in value.encode())

    assert ROUTER.find("DELETE", f"/factors/{encoded}") == RouteMatch("unenroll", {"id": value})
