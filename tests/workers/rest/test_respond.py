"""Status, headers and body of every answer: reference page, sections 11 to 14 and 19."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from schemas.http import Response, header, header_values
from tests.workers.rest.parse.anything import outcome, texts
from tests.workers.rest.plan.asking import ask
from workers.rest.dialect import Dialect
from workers.rest.errors.parse import RangeNotSatisfiable
from workers.rest.errors.respond import BadResponseHeaders, BadResponseStatus
from workers.rest.model import RestResult
from workers.rest.respond import respond

ROWS = b'[{"id":1}]'
FULL = "return=representation"
OBJECT = "application/vnd.pgrst.object+json"


def answer(
    method: str,
    target: str,
    result: RestResult,
    body: str | None = None,
    *,
    dialect: Dialect = Dialect.ORIGINAL,
    **headers: str | bool | int | tuple[str, ...],
) -> Response:
    asked = ask(method, target, body, **headers)  # type: ignore[arg-type]  # headers are texts, options what they are
    found = respond(asked.plan, result, asked.values, dialect)
    assert isinstance(found, Response)
    return found


def page(rows: int, total: int | None = None, body: bytes = ROWS) -> RestResult:
    return RestResult(body=body, page_total=rows, total=total)


@pytest.mark.parametrize(
    ("query", "rows", "total", "status", "content_range"),
    [
        ("", 3, None, 200, "0-2/*"),
        ("", 0, None, 200, "*/*"),
        ("limit=0", 0, None, 200, "*/*"),
        ("offset=5", 2, None, 200, "5-6/*"),
        ("offset=500", 0, None, 200, "*/*"),
        ("", 3, 3, 200, "0-2/3"),
        ("limit=2", 2, 3, 206, "0-1/3"),
        ("offset=1&limit=1", 1, 3, 206, "1-1/3"),
        ("offset=2", 1, 3, 206, "2-2/3"),
        ("", 0, 0, 200, "*/0"),
        ("offset=3", 0, 3, 206, "*/3"),
        ("limit=0", 0, 3, 206, "*/3"),
    ],
)
def test_reads_say_which_rows_of_how_many(
    query: str, rows: int, total: int | None, status: int, content_range: str
) -> None:
    for target in (f"/clients?{query}", f"/rpc/all_projects?{query}"):
        found = answer("GET", target, page(rows, total))

        assert (found.status, header(found.headers, "content-range"), found.body) == (
            status,
            content_range,
            ROWS,
        )


def test_an_offset_beyond_all_rows_is_refused() -> None:
    with pytest.raises(RangeNotSatisfiable) as caught:
        answer("GET", "/clients?offset=4", page(0, 3))

    assert caught.value.details == "An offset of 4 was requested, but there are only 3 rows."
    assert ("content-range", "*/3") in caught.value.headers()


def test_a_head_is_the_same_without_a_body() -> None:
    found = answer("HEAD", "/clients?limit=1", page(1, 3), prefer="count=exact")

    assert (found.status, found.body, header(found.headers, "content-range")) == (206, b"", "0-0/3")
    assert header(found.headers, "content-type") == "application/json; charset=utf-8"


@pytest.mark.parametrize(
    ("target", "location"),
    [
        ("/clients", "/clients"),
        ("/clients?select=name&id=eq.1", "/clients?id=eq.1&select=name"),
        ("/clients?name=eq.a%20b%26c&limit=1", "/clients?limit=1&name=eq.a%20b%26c"),
        ("/clients?id=in.(1,2)", "/clients?id=in.%281%2C2%29"),
        ("/odd%20%22table", "/odd%20%22table"),
    ],
)
def test_reads_say_where_they_are_found(target: str, location: str) -> None:
    assert header(answer("GET", target, page(1)).headers, "content-location") == location


@pytest.mark.parametrize(
    ("accept", "dialect", "content_type"),
    [
        ("*/*", Dialect.SEED, "application/json; charset=utf-8"),
        ("text/csv", Dialect.SEED, "text/csv; charset=utf-8"),
        (OBJECT, Dialect.ORIGINAL, f"{OBJECT}; charset=utf-8"),
        ("application/vnd.rest.object+json", Dialect.SEED, "application/vnd.rest.object+json; charset=utf-8"),
    ],
)
def test_the_type_is_spelled_as_the_caller_does(accept: str, dialect: Dialect, content_type: str) -> None:
    found = answer("GET", "/clients", page(1), accept=accept, dialect=dialect)

    assert header(found.headers, "content-type") == content_type


def test_all_answers_vary_with_what_was_looked_at() -> None:
    for method, target, body in (
        ("GET", "/clients", None),
        ("DELETE", "/clients", None),
        ("POST", "/rpc/nothing", None),
    ):
        assert header(answer(method, target, page(1), body).headers, "vary") == "Accept, Prefer, Range"


@pytest.mark.parametrize(
    ("schemas", "headers", "profile"),
    [
        (("public",), {}, None),
        (("public", "other"), {}, "public"),
        (("public",), {"accept_profile": "public"}, "public"),
    ],
)
def test_the_schema_is_named_where_there_is_a_choice(
    schemas: tuple[str, ...], headers: dict[str, str], profile: str | None
) -> None:
    found = answer("GET", "/clients", page(1), schemas=schemas, **headers)  # type: ignore[arg-type]  # headers alone

    assert header(found.headers, "content-profile") == profile


@pytest.mark.parametrize(
    ("method", "target", "body", "prefer", "result", "status", "content_range", "shows"),
    [
        ("POST", "/clients", "{}", "", RestResult(page_total=1), 201, "*/*", False),
        ("POST", "/clients", "{}", "count=exact", RestResult(page_total=1), 201, "*/1", False),
        ("POST", "/clients", "[]", FULL, RestResult(b"[]", 0), 201, "*/*", True),
        ("POST", "/clients", "{}", FULL, page(1), 201, "*/*", True),
        ("POST", "/clients", '{"id":1}', "resolution=merge-duplicates", RestResult(page_total=2, inserted=1), 201, "*/*", False),
        ("POST", "/clients", '{"id":1}', "resolution=merge-duplicates", RestResult(page_total=2, inserted=0), 200, "*/*", False),
        ("POST", "/clients", "{}", "resolution=merge-duplicates", RestResult(page_total=1, inserted=None), 201, "*/*", False),
        ("POST", "/clients", "{}", "resolution=merge-duplicates", RestResult(page_total=0, inserted=None), 200, "*/*", False),
        ("POST", "/clients", '{"id":1}', "resolution=ignore-duplicates", RestResult(page_total=0), 201, "*/*", False),
        ("PATCH", "/clients", '{"name":"x"}', "", RestResult(page_total=3), 204, "0-2/*", False),
        ("PATCH", "/clients", '{"name":"x"}', "count=exact", RestResult(page_total=3), 204, "0-2/3", False),
        ("PATCH", "/clients", '{"name":"x"}', "", RestResult(page_total=0), 204, "*/*", False),
        ("PATCH", "/clients", '{"name":"x"}', "count=exact", RestResult(page_total=0), 204, "*/0", False),
        ("PATCH", "/clients", '{"name":"x"}', FULL, page(1), 200, "0-0/*", True),
        ("PATCH", "/clients", "{}", FULL, RestResult(b"[]", 0), 200, "*/*", True),
        ("DELETE", "/clients", None, "", RestResult(page_total=3), 204, "*/*", False),
        ("DELETE", "/clients", None, "count=exact", RestResult(page_total=3), 204, "*/3", False),
        ("DELETE", "/clients", None, FULL, page(2), 200, "*/*", True),
        ("PUT", "/clients?id=eq.1", '{"id":1}', "", RestResult(page_total=1, inserted=1), 204, None, False),
        ("PUT", "/clients?id=eq.1", '{"id":1}', FULL, RestResult(ROWS, 1, inserted=1), 201, None, True),
        ("PUT", "/clients?id=eq.1", '{"id":1}', FULL, RestResult(ROWS, 1, inserted=0), 200, None, True),
    ],
)  # fmt: skip
def test_writes(
    method: str, target: str, body: str | None, prefer: str, result: RestResult, status: int, content_range: str | None, shows: bool
) -> None:  # fmt: skip
    found = answer(method, target, result, body, prefer=prefer)

    assert (found.status, header(found.headers, "content-range")) == (status, content_range)
    assert (header(found.headers, "content-type") is not None) is shows
    assert found.body == (result.body if shows else b"")


@pytest.mark.parametrize(
    ("target", "keys", "rows", "location"),
    [
        ("/clients", ("7",), 1, "/clients?id=eq.7"),
        ("/users_tasks", ("1", "2"), 1, "/users_tasks?user_id=eq.1&task_id=eq.2"),
        ("/users_tasks", ("1", None), 1, "/users_tasks?user_id=eq.1&task_id=is.null"),
        ("/clients", ("a b&c/ü",), 1, "/clients?id=eq.a%20b%26c%2F%C3%BC"),
        ("/odd%20%22table", ("1",), 1, "/odd%20%22table?we%22ird=eq.1"),
        ("/clients", ("7",), 2, None),
        ("/clients", (), 0, None),
        ("/lines", (), 1, None),
    ],
)
def test_one_new_row_is_found_at_its_key(
    target: str, keys: tuple[str | None, ...], rows: int, location: str | None
) -> None:
    found = answer(
        "POST", target, RestResult(page_total=rows, location=keys), "{}", prefer="return=headers-only"
    )

    assert header(found.headers, "location") == location
    assert found.body == b""


@pytest.mark.parametrize(
    ("target", "result", "status", "body", "has_type"),
    [
        ("/rpc/add?a=1", RestResult(b"3", 1, total=1), 200, b"3", True),
        ("/rpc/nothing", RestResult(page_total=1), 204, b"", False),
        ("/rpc/letters", RestResult(b'["a"]', 1), 200, b'["a"]', True),
    ],
)
def test_calls(target: str, result: RestResult, status: int, body: bytes, has_type: bool) -> None:
    found = answer("GET", target, result)

    assert (found.status, found.body, header(found.headers, "content-range")) == (
        status,
        body,
        f"0-0/{'*' if result.total is None else result.total}",
    )
    assert (header(found.headers, "content-type") is not None) is has_type
    assert header(found.headers, "content-location") is None


STRICT = "handling=strict, max-affected=5"


@pytest.mark.parametrize(
    ("method", "target", "body", "prefer", "tx_end", "applied"),
    [
        ("GET", "/clients", None, "", "commit", None),
        ("GET", "/clients", None, "foo=1, bar", "commit", None),
        ("GET", "/clients", None, "count=exact, return=minimal, missing=default", "commit", "count=exact"),
        ("GET", "/clients", None, "timezone=UTC, handling=lenient", "commit", "handling=lenient, timezone=UTC"),
        ("GET", "/clients", None, STRICT, "commit", "handling=strict"),
        ("GET", "/clients", None, "tx=rollback", "commit", None),
        ("GET", "/clients", None, "tx=rollback", "commit-allow-override", "tx=rollback"),
        ("DELETE", "/clients", None, "max-affected=5", "commit", None),
        ("DELETE", "/clients", None, f"{STRICT}, {FULL}", "commit", f"{FULL}, handling=strict, max-affected=5"),
        ("DELETE", "/clients", None, "resolution=merge-duplicates, missing=default", "commit", None),
        ("POST", "/clients", "{}", "resolution=merge-duplicates", "commit", "resolution=merge-duplicates"),
        ("POST", "/lines", "{}", "resolution=merge-duplicates", "commit", None),
        ("POST", "/lines?on_conflict=line", "{}", "resolution=ignore-duplicates", "commit", "resolution=ignore-duplicates"),
        ("PATCH", "/clients", "{}", "missing=null, resolution=merge-duplicates", "commit", "missing=null"),
        ("PUT", "/clients?id=eq.1", '{"id":1}', f"missing=default, {FULL}", "commit", FULL),
        ("POST", "/rpc/letters", None, f"{STRICT}, count=exact", "commit", "count=exact, handling=strict, max-affected=5"),
        (
            "POST", "/clients", "{}",
            "timezone=UTC, tx=commit, handling=strict, count=exact, return=minimal, missing=default, resolution=ignore-duplicates",
            "rollback-allow-override",
            "resolution=ignore-duplicates, missing=default, return=minimal, count=exact, tx=commit, handling=strict, timezone=UTC",
        ),
    ],
)  # fmt: skip
def test_preferences_that_took_effect_are_listed_in_their_order(
    method: str, target: str, body: str | None, prefer: str, tx_end: str, applied: str | None
) -> None:
    found = answer(method, target, page(1), body, prefer=prefer, tx_end=tx_end)

    assert header(found.headers, "preference-applied") == applied


def test_a_name_behind_an_alias_is_warned_of() -> None:
    target = "/clients?select=p:projects(id),q:projects(id,t:tasks(id))&projects.id=eq.1&q.tasks.id=eq.1"

    found = answer("GET", target, page(1))

    assert header(found.headers, "warning") == (
        '299 headwater "Embedded resource was referenced by relation name even though it has an alias. This is deprecated '
        "and will stop working in a future release. Update `projects` to `p`, `tasks` to `t` in query string filters, "
        'orders or limits."'
    )


def test_a_plan_has_no_range() -> None:
    found = answer(
        "GET", "/clients", RestResult(b"Seq Scan"), accept="application/vnd.pgrst.plan+json; options=analyze"
    )

    assert (found.status, found.body, header(found.headers, "content-range")) == (200, b"Seq Scan", None)
    assert header(found.headers, "content-type") == (
        'application/vnd.pgrst.plan+json; for="application/json"; options=analyze; charset=utf-8'
    )


def own(headers: str | None = None, status: str | None = None) -> RestResult:
    return RestResult(ROWS, 1, headers=headers, status=status)


def test_functions_may_set_headers_and_status() -> None:
    headers = '[{"Cache-Control":"max-age=60"},{"Set-Cookie":"a"},{"Set-Cookie":"b"},{"Content-Type":"x/y"},{"Vary":"*"}]'

    found = answer("GET", "/clients", own(headers, "418"))

    assert (found.status, found.body) == (418, ROWS)
    assert header(found.headers, "cache-control") == "max-age=60"
    assert header_values(found.headers, "set-cookie") == ["a", "b"]
    assert header_values(found.headers, "content-type") == ["x/y"]
    assert header_values(found.headers, "vary") == ["*"]


@pytest.mark.parametrize("text", ["[]", " [ ] "])
def test_no_headers_change_nothing(text: str) -> None:
    assert answer("GET", "/clients", own(text)).headers == answer("GET", "/clients", own()).headers


@pytest.mark.parametrize(
    "text", ["", "x", "{}", '{"a":"b"}', '["a"]', "[[]]", "[{}]", '[{"a":"b","c":"d"}]', '[{"a":1}]', '[{"a":null}]', "null", "[" * 9999]
)  # fmt: skip
def test_malformed_headers_are_refused(text: str) -> None:
    with pytest.raises(BadResponseHeaders):
        answer("GET", "/clients", own(text))


@pytest.mark.parametrize("text", ["", "x", "20", "99", "1000", "-200", "200.0", " 200", "٢٠٠", "2" * 9999])
def test_malformed_statuses_are_refused(text: str) -> None:
    with pytest.raises(BadResponseStatus):
        answer("GET", "/clients", own(status=text))


@settings(max_examples=150, deadline=None)
@given(st.none() | texts, st.none() | texts)
def test_any_settings_give_an_answer_or_are_refused(headers: str | None, status: str | None) -> None:
    found = outcome(answer, "GET", "/clients", own(headers, status))

    assert isinstance(found, Response | BadResponseHeaders | BadResponseStatus)
