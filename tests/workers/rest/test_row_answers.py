"""Bodies that come row by row against those that the database makes in one value: the same answer to the byte."""

import json
import re
from collections.abc import AsyncIterator

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from broker.requests.handler import RequestBody, StreamedResponse
from schemas.http import Headers, Request, Response, header
from schemas.settings.tree import Api
from tests.workers.database.connections import until
from tests.workers.database.introspection_fixtures import as_role, catalog_of, fresh_database, login_role
from tests.workers.rest.bodies import Inline
from tests.workers.rest.rest_pool import GRANTS, LOGIN, OPTIONS, SCHEMA, SERVICE, RestPool, user
from workers.database.connection_pool.pool import ConnectionPool
from workers.database.protocol import row_body
from workers.rest import prepare
from workers.rest.state import RestState
from workers.rest.worker import RestWorker

SELECTS = (
    "*", "id,name", "name,km", "name,meta", "name,mouths(sea)", "name,bridges(name,built)", "name,...mouths(sea)",
    "name,...bridges(crossings:name)", "kind,km.sum()", "count()", "n:name,meta->source->>lake", "label", "km::text",
)  # fmt: skip
FILTERS = (
    "", "km=gt.1000", "name=like.*i*", "id=in.(1,3)", "id=eq.2", "id=eq.9", "km=lt.0", "or=(km.lt.700,name.eq.Nile)",
    "bridges=not.is.null", "kind=eq.plain", "distinct=kind",
)  # fmt: skip
ORDERS = ("", "order=id", "order=name.desc", "order=km.desc.nullslast,id")
RANGES = (
    "",
    "limit=1",
    "limit=2",
    "limit=0",
    "offset=1",
    "limit=1&offset=2",
    "limit=2&offset=9",
    "offset=50",
)
ACCEPTS = (
    "*/*", "application/json", "text/csv", "application/vnd.pgrst.object+json",
    "application/vnd.pgrst.array+json;nulls=stripped", "application/vnd.pgrst.object+json;nulls=stripped",
)  # fmt: skip
PREFERS = ("", "count=exact", "count=planned", "count=estimated", "handling=strict,max-affected=2")
CALLS = (
    "/rpc/long_rivers?least=600", "/rpc/long_rivers?least=9999", "/rpc/spots", "/rpc/words", "/rpc/lists", "/rpc/documents",
    "/rpc/announced", "/rpc/records", "/rpc/add_them?a=1", "/rpc/next_steps", "/rpc/failing_late?good=3",
)  # fmt: skip
FUNCTIONS = """
create function words() returns setof text language sql stable as $$ values ('a "b"'), (null), ('é'), (E'x\\ny') $$;
create function lists() returns setof int[] language sql stable as $$ values (array[1, 2]), (null), (array[]::int[]) $$;
create function documents() returns setof json language sql stable as $$ values ('{"a":  null}'::json), ('null'), (null), ('[1 ,2]') $$;
create function next_steps() returns setof int language sql volatile as 'values (7), (8)';
create function records() returns table (a int, b text, c json) language sql stable
  as $$ values (1, null, null), (2, 'x,"y"', '{"k": [null]}'::json), (null, E'two\\nlines', null) $$;
create function announced() returns setof int language plpgsql stable as $$
begin
  for n in 1..3 loop
    perform set_config('response.headers', format('[{"X-Row": "%s"}]', n), true);
    perform set_config('response.status', '203', true);
    return next n;
  end loop;
end $$;
create function failing_late(good int) returns setof text language sql stable
  as $$ select (10 / (good - n))::text from generate_series(1, 9) n $$;
"""


class OneValueWorker(RestWorker):
    """A worker that lets the database build every body as one value."""

    async def answer(self, request: Request, body: RequestBody) -> Response | StreamedResponse:
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(prepare, "rows_query_for", lambda _: None)
            return await super().answer(request, body)


@pytest.fixture(scope="module")
async def both(server) -> AsyncIterator[tuple[RestPool, RestPool]]:
    """Return one worker for each form, which roll every write back."""
    roles = login_role(LOGIN, "rest_anon", "rest_user", "rest_service")
    async with fresh_database(server.url, roles, SCHEMA + FUNCTIONS, GRANTS) as url:
        catalog = await catalog_of(as_role(url, LOGIN), ["public"])
        pool = await ConnectionPool.open(as_role(url, LOGIN), 4)
        api = Api(**{**OPTIONS, "tx_end": "rollback", "aggregates_enabled": True})  # type: ignore[arg-type]  # settings
        yield (
            RestPool(pool, RestState(api, catalog), api),
            RestPool(pool, RestState(api, catalog), api, OneValueWorker),
        )
        await pool.close()


@pytest.fixture(scope="module", params=["in memory", "in a file"])
def held(request: pytest.FixtureRequest):
    """Keep bodies in memory, or put almost all of them into files."""
    with pytest.MonkeyPatch.context() as patch:
        if request.param == "in a file":
            patch.setattr(row_body, "MAX_IN_MEMORY", 8)
        yield request.param


async def answer(
    rest_pool: RestPool,
    method: str,
    target: str,
    body: object = None,
    caller: object = SERVICE,
    **headers: str,
) -> Response:
    """Send a request and read its answer to the end."""
    path, _, query = target.partition("?")
    sent: Headers = [(name.replace("_", "-"), value) for name, value in headers.items() if value]
    data = b"" if body is None else json.dumps(body).encode()
    request = Request("test", method, path, query.replace(" ", "%20"), sent, caller, body=data)  # type: ignore[arg-type]  # a caller
    response = await RestWorker(rest_pool.pool, 1 << 20, lambda: rest_pool.state).answer(
        request, Inline(data)
    )
    if isinstance(response, StreamedResponse):
        whole = b"".join([piece async for piece in response.chunks])
        assert len(whole) == response.size
        response = Response(response.status, response.headers, whole)
    return response


def shown(response: Response, *, is_long: bool = False) -> tuple[int, Headers, bytes]:
    """Return what is compared. A streamed answer has no entity tag; beside a NULL, arrays differ in white space."""
    headers = [pair for pair in response.headers if pair[0] != "etag" or not is_long]
    body = response.body.replace(b"null, \n []", b"null, []").replace(b"], \n null", b"], null")
    return response.status, headers, body


async def compare(both: tuple[RestPool, RestPool], held: str, *args: object, **headers: str) -> Response:
    one, other = [await answer(rest_pool, *args, **headers) for rest_pool in both]  # type: ignore[arg-type]  # as `answer`

    assert shown(one, is_long=held == "in a file") == shown(other, is_long=held == "in a file")
    return one


@settings(
    max_examples=150,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(data=st.data())
async def test_reads_are_the_same_in_both_forms(both, held, data: st.DataObject) -> None:
    def drawn(choices: tuple[str, ...]) -> str:
        return data.draw(st.sampled_from(choices))

    parts = [f"select={drawn(SELECTS)}", drawn(FILTERS), drawn(ORDERS), drawn(RANGES)]
    target = "/rivers?" + "&".join(part for part in parts if part)

    await compare(
        both, held, drawn(("GET", "GET", "HEAD")), target, accept=drawn(ACCEPTS), prefer=drawn(PREFERS)
    )


@pytest.mark.parametrize("accept", ["*/*", "application/vnd.pgrst.array+json;nulls=stripped"])
@pytest.mark.parametrize(
    "query", ["order=level.desc,id", "order=place.nullsfirst&level=gt.1", "id=gt.99", ""]
)
async def test_pages_by_cursor_are_the_same_in_both_forms(both, held, query: str, accept: str) -> None:
    for count in ("", ",count=exact", ",count=estimated"):
        wants = f"pagination=cursor{count}"
        page = await compare(both, held, "GET", f"/readings?limit=2&{query}", accept=accept, prefer=wants)
        assert page.status == 200
        for _ in range(3):
            for link in re.findall(r"<\?([^>]*)>", header(page.headers, "link") or ""):
                page = await compare(both, held, "GET", f"/readings?{link}", accept=accept, prefer=wants)
                assert page.status == 200
            assert ("link" in dict(page.headers)) == ("gt.99" not in query)


@pytest.mark.parametrize("accept", ACCEPTS)
@pytest.mark.parametrize("target", CALLS)
async def test_calls_are_the_same_in_both_forms(both, held, target: str, accept: str) -> None:
    for prefer in ("", "count=exact"):
        await compare(both, held, "GET", target, accept=accept, prefer=prefer)


@pytest.mark.parametrize("accept", ACCEPTS)
@pytest.mark.parametrize(
    ("method", "target", "body"),
    [
        ("POST", "/rivers", [{"id": 10, "name": "a"}, {"id": 11, "name": "kept back"}, {"id": 12, "name": "c", "km": None}]),
        ("POST", "/rivers", {"id": 10, "name": "a"}),
        ("POST", "/rivers?on_conflict=id", [{"id": 1, "name": "Nile"}, {"id": 10, "name": "a"}]),
        ("PATCH", "/rivers?km=gt.1000", {"kind": "long"}),
        ("PATCH", "/rivers?id=eq.1&select=name,bridges(name)", {"kind": "long"}),
        ("PATCH", "/rivers?id=eq.99", {"kind": "long"}),
        ("DELETE", "/rivers?order=id", None),
        ("POST", "/rpc/next_steps", {}),
        ("POST", "/rpc/long_rivers", {"least": 700}),
    ],
)  # fmt: skip
async def test_writes_are_the_same_in_both_forms(both, held, method, target, body, accept: str) -> None:
    shows = (
        "return=representation,resolution=merge-duplicates"
        if "on_conflict" in target
        else "return=representation"
    )
    for prefer in (shows, f"{shows},count=exact", f"{shows},handling=strict,max-affected=1"):
        await compare(both, held, method, target, body, accept=accept, prefer=prefer)


async def test_rows_of_others_stay_hidden_in_both_forms(both, held) -> None:
    for name in ("ada", "bob", "eve"):
        for count in ("", "count=exact", "count=planned"):
            read = await compare(both, held, "GET", "/secrets?select=body", None, user(name), prefer=count)

            assert json.loads(read.body) == {"ada": [{"body": "a"}], "bob": [{"body": "b"}], "eve": []}[name]


async def test_what_a_function_sets_at_its_last_row_is_in_the_headers(both, held) -> None:
    said = await compare(both, held, "GET", "/rpc/announced")

    assert (said.status, dict(said.headers)["x-row"]) == (203, "3")


async def test_an_error_of_a_late_row_is_the_answer(both, held) -> None:
    failed = await compare(both, held, "GET", "/rpc/failing_late?good=8")

    assert (failed.status, json.loads(failed.body)["code"]) == (400, "22012")


@pytest.mark.parametrize(("limit", "code", "status"), [("most_each", "HW500", 500), ("most", "HW503", 503)])
async def test_an_answer_beyond_a_bound_is_an_error_in_clear_words(
    both, monkeypatch, limit, code, status
) -> None:
    by_rows, _ = both
    space = by_rows.pool._connections._body_space
    monkeypatch.setattr(row_body, "MAX_IN_MEMORY", 8)
    monkeypatch.setattr(space, limit, 100)

    read = await answer(by_rows, "GET", "/rivers")
    wrote = await answer(by_rows, "PATCH", "/rivers?km=gt.0", {"kind": "x"}, prefer="return=representation")

    assert (read.status, json.loads(read.body)["code"]) == (status, code)
    assert (wrote.status, json.loads(wrote.body)["code"]) == (status, code)
    await until(lambda: space.used == 0)  # the end of a broken connection gives it back
