"""The request as a whole: reference page, sections 1, 11 and 16."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from tests.workers.rest.parse.anything import FEW, outcome, texts
from workers.rest.errors.base import RestError
from workers.rest.errors.parse import (
    BadPath,
    BadQuery,
    LimitOnUpsert,
    MethodNotForFunctions,
    RangeNotSatisfiable,
    RootDisabled,
    SchemaNotExposed,
    UnsupportedMethod,
)
from workers.rest.model import (
    ALL_ROWS,
    ApiRequest,
    MediaType,
    Preferences,
    RequestAction,
    RestOptions,
    RowRange,
)
from workers.rest.parse.request import PlanHeaders, is_call_path, parse_request, plan_headers

OPTIONS = RestOptions(
    schemas=("public", "other"),
    max_rows=None,
    tx_end="commit",
    aggregates_enabled=False,
    require_filters=False,
    plan_enabled=False,
    legacy_target_names=True,
    root_spec=None,
    openapi_mode="follow-privileges",
    hoisted=frozenset(),
    anonymous_role="anon",
)
PLAIN = PlanHeaders()


def asked(method: str, path: str, query: str = "", wanted: PlanHeaders = PLAIN) -> ApiRequest:
    return parse_request(method, path, query, wanted, OPTIONS)


@pytest.mark.parametrize(
    ("method", "path", "action", "target"),
    [
        ("GET", "/items", RequestAction.READ, "items"),
        ("HEAD", "/items", RequestAction.READ, "items"),
        ("POST", "/items", RequestAction.CREATE, "items"),
        ("PATCH", "/items", RequestAction.UPDATE, "items"),
        ("PUT", "/items", RequestAction.UPSERT, "items"),
        ("DELETE", "/items", RequestAction.DELETE, "items"),
        ("OPTIONS", "/items", RequestAction.OPTIONS, "items"),
        ("GET", "/rpc/f", RequestAction.CALL, "f"),
        ("HEAD", "/rpc/f", RequestAction.CALL, "f"),
        ("POST", "/rpc/f", RequestAction.CALL, "f"),
        ("OPTIONS", "/rpc/f", RequestAction.OPTIONS, "f"),
        ("GET", "/", RequestAction.DESCRIBE, ""),
        ("HEAD", "/", RequestAction.DESCRIBE, ""),
        ("OPTIONS", "/", RequestAction.OPTIONS, ""),
        ("GET", "", RequestAction.DESCRIBE, ""),
        ("GET", "/rpc", RequestAction.READ, "rpc"),
        ("GET", "/my%20items", RequestAction.READ, "my items"),
        ("GET", "/a%2Fb", RequestAction.READ, "a/b"),
        ("GET", "/%D0%BA", RequestAction.READ, "к"),
        ("GET", "/a+b", RequestAction.READ, "a+b"),
        ("GET", "/Items", RequestAction.READ, "Items"),
    ],
)
def test_method_and_path_say_what_is_done(method: str, path: str, action: RequestAction, target: str) -> None:
    found = asked(method, path)

    assert (found.action, found.target) == (action, target)
    assert found.is_head is (method == "HEAD")
    assert is_call_path(path) is path.startswith("/rpc/")


@pytest.mark.parametrize(
    ("method", "path", "refusal", "message"),
    [
        ("GET", "/a/b", BadPath, "Invalid path specified in request URL"),
        ("GET", "/a/", BadPath, "Invalid path specified in request URL"),
        ("GET", "/rpc/a/b", BadPath, "Invalid path specified in request URL"),
        ("PUT", "/rpc/f", MethodNotForFunctions, "Cannot use the PUT method on RPC"),
        ("PATCH", "/rpc/f", MethodNotForFunctions, "Cannot use the PATCH method on RPC"),
        ("DELETE", "/rpc/f", MethodNotForFunctions, "Cannot use the DELETE method on RPC"),
        ("TRACE", "/items", UnsupportedMethod, "Unsupported HTTP method: TRACE"),
        ("get", "/items", UnsupportedMethod, "Unsupported HTTP method: get"),
        ("POST", "/", UnsupportedMethod, "Unsupported HTTP method: POST"),
        ("PROPFIND", "/", UnsupportedMethod, "Unsupported HTTP method: PROPFIND"),
    ],
)
def test_wrong_paths_and_methods_are_refused(
    method: str, path: str, refusal: type[RestError], message: str
) -> None:
    with pytest.raises(refusal) as caught:
        asked(method, path)

    assert caught.value.message == message


def test_the_root_may_be_disabled() -> None:
    disabled = replace(OPTIONS, openapi_mode="disabled")

    with pytest.raises(RootDisabled):
        parse_request("GET", "/", "", PLAIN, disabled)
    served = parse_request("GET", "/", "", PLAIN, replace(disabled, root_spec="public.root"))
    assert served.action is RequestAction.DESCRIBE


@pytest.mark.parametrize(
    ("method", "wanted", "schema"),
    [
        ("GET", PlanHeaders(accept_profile="other"), "other"),
        ("HEAD", PlanHeaders(accept_profile="other"), "other"),
        ("OPTIONS", PlanHeaders(accept_profile="other"), "other"),
        ("POST", PlanHeaders(content_profile="other"), "other"),
        ("PATCH", PlanHeaders(content_profile="other"), "other"),
        ("PUT", PlanHeaders(content_profile="other"), "other"),
        ("DELETE", PlanHeaders(content_profile="other"), "other"),
        ("GET", PlanHeaders(content_profile="other"), "public"),
        ("POST", PlanHeaders(accept_profile="other"), "public"),
        ("GET", PLAIN, "public"),
    ],
)
def test_the_profile_names_the_schema(method: str, wanted: PlanHeaders, schema: str) -> None:
    found = asked(method, "/items", wanted=wanted)

    assert (found.schema, found.negotiated_schema) == (schema, True)


def test_a_single_schema_is_named_only_when_it_was_asked_for() -> None:
    single = replace(OPTIONS, schemas=("public",))

    assert not parse_request("GET", "/items", "", PLAIN, single).negotiated_schema
    assert parse_request("GET", "/items", "", PlanHeaders(accept_profile="public"), single).negotiated_schema


def test_a_schema_that_is_not_exposed_is_refused() -> None:
    with pytest.raises(SchemaNotExposed) as caught:
        asked("GET", "/items", wanted=PlanHeaders(accept_profile="secret"))

    assert caught.value.body() == {
        "code": "PGRST106",
        "message": "Invalid schema: secret",
        "details": None,
        "hint": "Only the following schemas are exposed: public, other",
    }


@pytest.mark.parametrize(
    ("method", "query", "header", "rows"),
    [
        ("GET", "", "0-9", RowRange(0, 10)),
        ("GET", "limit=5&offset=2", None, RowRange(2, 5)),
        ("GET", "limit=5&offset=2", "4-20", RowRange(4, 3)),
        ("HEAD", "limit=5", "0-1", RowRange(0, 5)),
        ("POST", "", "0-1", ALL_ROWS),
        ("DELETE", "", "9-1", ALL_ROWS),
        ("GET", "c.limit=5", None, ALL_ROWS),
    ],
)
def test_rows_are_those_of_url_and_header(
    method: str, query: str, header: str | None, rows: RowRange
) -> None:
    assert asked(method, "/items", query, PlanHeaders(range=header)).range == rows


@pytest.mark.parametrize("query", ["limit=1", "offset=1", "limit=0", "limit=1&offset=1"])
def test_an_upsert_of_one_row_takes_no_limit(query: str) -> None:
    with pytest.raises(LimitOnUpsert):
        asked("PUT", "/items", f"id=eq.1&{query}")


@pytest.mark.parametrize(
    ("header", "kind"),
    [
        (None, "application/json"),
        ("", "application/json"),
        ("application/json; charset=utf-8", "application/json"),
        ("Text/CSV", "text/csv"),
        (" text/plain ;x=y", "text/plain"),
        ("; charset=utf-8", "application/json"),
    ],
)
def test_the_content_type_is_a_bare_name(header: str | None, kind: str) -> None:
    assert asked("POST", "/items", wanted=PlanHeaders(content_type=header)).content_type == kind


def test_headers_that_decide_are_picked_and_the_first_of_each_counts() -> None:
    wanted = plan_headers(
        [
            ("accept", "text/csv"), ("prefer", "count=exact"), ("x-other", "1"), ("accept", "*/*"),
            ("prefer", "return=minimal"), ("range", "0-1"), ("content-type", "text/csv"),
            ("accept-profile", "a"), ("content-profile", "b"),
        ]
    )  # fmt: skip

    assert wanted == PlanHeaders("text/csv", ("count=exact", "return=minimal"), "a", "b", "0-1", "text/csv")
    found = asked("GET", "/items", wanted=wanted._replace(accept_profile=None))
    assert found.accept == (MediaType("text/csv"),)
    assert found.preferences == Preferences(count="exact", representation="minimal")


@pytest.mark.parametrize(
    ("method", "path", "query", "wanted", "refusal"),
    [
        ("TRACE", "/a/b", "id=0", PlanHeaders(accept_profile="x"), BadPath),
        ("PUT", "/rpc/f", "id=0", PlanHeaders(content_profile="x"), SchemaNotExposed),
        ("PUT", "/rpc/f", "id=0&limit=-1", PLAIN, MethodNotForFunctions),
        ("TRACE", "/items", "select=,", PLAIN, UnsupportedMethod),
        ("GET", "/items", "id=0&limit=-1", PlanHeaders(range="9-1"), BadQuery),
        ("GET", "/items", "limit=-1", PlanHeaders(range="9-1"), RangeNotSatisfiable),
        ("PUT", "/items", "limit=1&id=0", PLAIN, BadQuery),
    ],
)
def test_refusals_win_in_their_order(
    method: str, path: str, query: str, wanted: PlanHeaders, refusal: type[RestError]
) -> None:
    with pytest.raises(refusal):
        asked(method, path, query, wanted)


def test_filters_of_a_posted_call_are_filters_and_those_of_a_read_may_be_arguments() -> None:
    assert asked("GET", "/rpc/f", "a=1").query.arguments == (("a", "1"),)
    with pytest.raises(BadQuery):
        asked("POST", "/rpc/f", "a=1")


_headers = st.none() | texts
_wanted = st.builds(
    PlanHeaders, _headers, st.lists(texts, max_size=2).map(tuple), _headers, _headers, _headers, _headers
)
_methods = st.sampled_from(["GET", "HEAD", "POST", "PATCH", "PUT", "DELETE", "OPTIONS"]) | texts


@FEW
@given(_methods, st.just("/items") | st.just("/rpc/f") | texts, texts, _wanted)
def test_any_request_is_understood_or_refused(
    method: str, path: str, query: str, wanted: PlanHeaders
) -> None:
    found = outcome(asked, method, path, query, wanted)

    assert isinstance(found, ApiRequest) or 400 <= found.status < 500
