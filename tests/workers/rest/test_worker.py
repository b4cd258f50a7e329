"""REST requests answered by the worker on a real database: the steps together."""

import json
from dataclasses import replace

import pytest

from schemas.caller import AnonymousCaller, RejectedCaller, ServiceCaller, TokenFault, UserCaller
from schemas.http import Request, Response, header, header_values
from schemas.settings.tree import Jwt
from tests.workers.rest.bodies import Inline
from tests.workers.rest.rest_pool import RestPool, rows, user
from workers.database.schema_cache.catalog import Catalog
from workers.rest.state import RestState
from workers.rest.worker import RestWorker


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("select=id&km=gt.1000&order=id", [{"id": 1}, {"id": 2}]),
        ("select=name&name=in.(Po,\"Rhine\")&order=name.desc", [{"name": "Rhine"}, {"name": "Po"}]),
        ("select=name&or=(km.lt.700,name.eq.Nile)&order=km", [{"name": "Po"}, {"name": "Nile"}]),
        ("select=name&name=like.*i*&name=not.eq.Nile", [{"name": "Rhine"}]),
        ("select=lake:meta->source->>lake&id=eq.1", [{"lake": "Victoria"}]),
        ("select=name&meta->source->>lake=eq.Victoria", [{"name": "Nile"}]),
        ("select=km::text&id=eq.3", [{"km": "652"}]),
        ("select=name,mouths(sea)&id=in.(1,3)&order=id", [{"name": "Nile", "mouths": {"sea": "Mediterranean"}}, {"name": "Po", "mouths": None}]),
        ("select=name,bridges(name)&id=eq.2&bridges.order=name.desc", [{"name": "Rhine", "bridges": [{"name": "Bonn"}, {"name": "Basel"}]}]),
        ("select=name,bridges(name)&id=eq.2&bridges.limit=1&bridges.order=name", [{"name": "Rhine", "bridges": [{"name": "Basel"}]}]),
        ("select=name,bridges!inner(name)&bridges.name=eq.Qasr", [{"name": "Nile", "bridges": [{"name": "Qasr"}]}]),
        ("select=name&mouths=is.null&select=name,mouths()", None),
        ("select=name,mouths()&mouths=is.null", [{"name": "Po"}]),
        ("select=name,...mouths(sea)&id=eq.2", [{"name": "Rhine", "sea": "North Sea"}]),
        ("select=name,...bridges(crossings:name)&id=eq.2&bridges.order=name", [{"name": "Rhine", "crossings": ["Basel", "Bonn"]}]),
        ("select=name&order=mouths(sea).desc,id&mouths=not.is.null&select=name,mouths()", None),
        ("select=count(),km.max()", [{"count": 3, "max": 6650}]),
        ("select=km.sum(),...mouths(sea)&order=mouths(sea)&mouths=not.is.null", [{"sum": 6650, "sea": "Mediterranean"}, {"sum": 1230, "sea": "North Sea"}]),
    ],
)  # fmt: skip
async def test_reads_give_the_rows_that_were_asked_for(trial: RestPool, query: str, expected: object) -> None:
    answer = await trial.send("GET", f"/rivers?{query}")

    if expected is None:
        assert answer.status == 400  # the first `select` counts, so the embed is not there
    else:
        assert rows(answer) == expected


async def test_pages_and_counts_agree(rest_pool: RestPool) -> None:
    first = await rest_pool.send("GET", "/rivers?order=id&limit=2", prefer="count=exact")
    ranged = await rest_pool.send("GET", "/rivers?order=id", range="1-1")
    beyond = await rest_pool.send("GET", "/rivers?offset=9", prefer="count=exact")

    assert (first.status, header(first.headers, "content-range")) == (206, "0-1/3")
    assert (ranged.status, header(ranged.headers, "content-range")) == (200, "1-1/*")
    assert (beyond.status, header(beyond.headers, "content-range")) == (416, "*/3")
    assert header(first.headers, "preference-applied") == "count=exact"
    assert header(first.headers, "content-location") == "/rivers?limit=2&order=id"


async def test_an_insert_of_many_rows_answers_with_what_triggers_set(trial: RestPool) -> None:
    body = json.dumps([{"id": number, "name": f"announced {number}"} for number in (51, 52)]).encode()
    inserted = await trial.send("POST", "/rivers", body, prefer="return=minimal")
    other = b'[{"id": 60, "name": "new"}, {"id": 1, "name": "other"}]'
    taken = await trial.send("POST", "/rivers", other, prefer="return=minimal")
    singular = await trial.send(
        "POST", "/rivers", body, prefer="return=minimal", accept="application/vnd.pgrst.object+json"
    )

    assert (inserted.status, inserted.body, singular.status) == (201, b"", 406)
    assert header(inserted.headers, "x-announced") == "yes"
    assert header(inserted.headers, "content-range") == "*/*"
    assert taken.status == 409


async def test_an_insert_of_one_row_answers_as_one_that_shows_the_row(rest_pool: RestPool) -> None:
    plain = await rest_pool.send("POST", "/moors", {"id": 1}, prefer="return=minimal,count=exact")
    again = await rest_pool.send("POST", "/moors", {"id": 1}, prefer="return=minimal")
    shown = await rest_pool.send("POST", "/moors?select=id", {"id": 2}, prefer="return=representation")

    assert (plain.status, plain.body, again.status, shown.status) == (201, b"", 409, 201)
    assert header(plain.headers, "content-range") == "*/1"
    assert header(plain.headers, "x-noted") == header(shown.headers, "x-noted") == "yes"
    ids = [int(header(response.headers, "headwater-txid") or 0) for response in (plain, shown)]
    assert 0 < ids[0] < ids[1]


@pytest.mark.parametrize("is_known", [True, False])
async def test_a_row_that_a_trigger_keeps_back_is_no_error(rest_pool: RestPool, is_known: bool) -> None:
    """Also where the trigger is newer than the catalog, so that the statement returns no row at all."""
    catalog = rest_pool.state.catalog
    fens = catalog.relations["public", "fens"]
    assert not fens.keeps_inserts
    known = replace(fens, keeps_inserts=not is_known)
    catalog = replace(catalog, relations={**catalog.relations, ("public", "fens"): known})
    asked = RestPool(rest_pool.pool, RestState(rest_pool.api, catalog), rest_pool.api)

    response = await asked.send("POST", "/fens", {"id": 1}, prefer="return=minimal")

    assert (response.status, header(response.headers, "content-range")) == (201, "*/*")


@pytest.mark.parametrize("returned", ["minimal", "headers-only", "representation"])
@pytest.mark.parametrize("table", ["moors", "rivers", "bogs"])
async def test_an_upsert_tells_whether_it_inserted_anything(
    rest_pool: RestPool, table: str, returned: str
) -> None:
    """However its statement notes that: of a plain table, one with a trigger before inserts, and one that keeps back updates."""

    async def sent(method: str, query: str, body: object) -> Response:
        prefer = f"return={returned},resolution=merge-duplicates,count=exact"
        return await rest_pool.send(method, f"/{table}{query}", json.dumps(body).encode(), prefer=prefer)

    row, other = {"id": 70, "name": "new"}, {"id": 71, "name": "other"}
    requests = [
        ("POST", "", row, 201),
        ("POST", "", row, 200),
        ("POST", "", [row, other], 201),
        ("POST", "", [row, other], 200),
    ]
    if table != "bogs":  # a PUT that changes no row is an error
        requests += [("PUT", "?id=eq.72", {"id": 72, "name": "third"}, 201)]
        requests += [("PUT", "?id=eq.72", {"id": 72, "name": "third"}, 200)]
    for method, query, body, status in requests:
        response = await sent(method, query, body)
        expected = 204 if method == "PUT" and returned != "representation" else status
        assert response.status == expected, (method, body, response)
        if method == "POST":
            changed = (len(body) if isinstance(body, list) else 1) if table != "bogs" or status == 201 else 0
            changed -= table == "bogs" and isinstance(body, list) and status == 201  # the row that was there
            assert header(response.headers, "content-range") == f"*/{changed}"
        assert header(response.headers, "headwater-txid")
    await rest_pool.send("DELETE", f"/{table}?id=in.(70,71,72)")


async def test_an_update_that_a_new_trigger_keeps_back_is_no_error(rest_pool: RestPool) -> None:
    """Where the trigger is newer than the catalog, so that the plain statement returns no row at all."""
    catalog = rest_pool.state.catalog
    bogs = catalog.relations["public", "bogs"]
    assert (bogs.keeps_inserts, bogs.keeps_updates) == (True, False)
    relations = {**catalog.relations, ("public", "bogs"): replace(bogs, keeps_updates=True)}
    asked = RestPool(
        rest_pool.pool, RestState(rest_pool.api, replace(catalog, relations=relations)), rest_pool.api
    )
    merged = "return=minimal,resolution=merge-duplicates"

    statuses = [
        (await asked.send("POST", "/bogs", {"id": 1, "name": name}, prefer=merged)).status for name in "ab"
    ]

    assert statuses == [201, 200]
    assert rows(await asked.send("GET", "/bogs?select=name")) == [{"name": "a"}]
    await asked.send("DELETE", "/bogs?id=eq.1")


async def test_one_object_is_demanded_and_refused_otherwise(rest_pool: RestPool) -> None:
    one = await rest_pool.send(
        "GET", "/rivers?id=eq.1&select=name", accept="application/vnd.rest.object+json"
    )
    many = await rest_pool.send("GET", "/rivers", accept="application/vnd.pgrst.object+json")

    assert rows(one) == {"name": "Nile"}
    assert header(one.headers, "content-type") == "application/vnd.rest.object+json; charset=utf-8"
    assert many.status == 406
    assert json.loads(many.body)["code"] == "PGRST116"
    assert json.loads(many.body)["details"] == "The result contains 3 rows"


async def test_a_function_whose_result_is_a_domain_over_a_row_is_called_once(rest_pool: RestPool) -> None:
    taken = [rows(await rest_pool.send("POST", "/rpc/next_step", body=b"{}")) for _ in range(2)]

    assert taken == [{"x": 1, "y": 0}, {"x": 2, "y": 0}]


async def test_arrows_go_into_whatever_a_function_returns(rest_pool: RestPool) -> None:
    answer = await rest_pool.send(
        "GET", "/rpc/spots?select=place->x,extra->>a&place->y=gt.2&order=place->x.desc"
    )

    assert rows(answer) == [{"x": 3, "a": "y"}]


async def test_an_arrow_behind_a_text_is_refused_as_the_database_words_it(rest_pool: RestPool) -> None:
    answer = await rest_pool.send("GET", "/rivers?select=meta->>source->>lake")

    assert answer.status == 404
    assert json.loads(answer.body)["message"] == "operator does not exist: text ->> unknown"


@pytest.mark.parametrize(
    ("target", "column"),
    [
        ("/rpc/long_rivers?least=1&nothing=eq.1", "rivers.nothing"),
        ("/rpc/spots?select=nothing", "spots.nothing"),
        ("/rpc/spots?order=nothing", "spots.nothing"),
    ],
)
async def test_a_column_that_a_result_lacks_is_named_by_its_relation_or_function(
    rest_pool: RestPool, target: str, column: str
) -> None:
    answer = await rest_pool.send("GET", target)

    assert answer.status == 400
    assert json.loads(answer.body)["message"] == f"column {column} does not exist"


async def test_other_media_types(rest_pool: RestPool) -> None:
    csv = await rest_pool.send("GET", "/mouths?order=river_id", accept="text/csv")
    stripped = await rest_pool.send(
        "GET",
        "/rivers?select=id,mouths(sea)&id=eq.3",
        accept="application/vnd.pgrst.array+json;nulls=stripped",
    )
    unknown = await rest_pool.send("GET", "/rivers", accept="image/png")

    assert csv.body == b'river_id,sea\n1,Mediterranean\n2,"North Sea"'
    assert rows(stripped) == [{"id": 3}]
    assert unknown.status == 406


@pytest.mark.parametrize("max_rows", [1000, None])
async def test_bodies_of_media_type_handlers(rest_pool: RestPool, max_rows: int | None) -> None:
    pool, lakes = rest_pool.with_options(max_rows=max_rows), "application/vnd.lake+json"
    plain = await pool.send("GET", "/rpc/plain_words", accept="text/plain")
    nothing = await pool.send("GET", "/rpc/plain_words?limit=0", accept="text/plain")

    assert (plain.status, plain.body, header(plain.headers, "x-named")) == (200, b"as they are", "yes")
    assert (nothing.status, nothing.body) == (200, b"")
    for target, body in (("/lakes", b'["Como", "Garda"]'), ("/rpc/one_lake", b'{"name": "Como"}')):
        answer = await pool.send("GET", target, accept=lakes)
        assert (header(answer.headers, "content-type"), answer.body) == (lakes, body)


@pytest.mark.parametrize(
    ("method", "target", "body", "headers", "status", "expected"),
    [
        ("POST", "/rivers?select=id,km,kind", {"id": 7, "name": "Tiber"}, {}, 201, [{"id": 7, "km": 100, "kind": "plain"}]),
        ("POST", "/rivers?select=id,km", [{"id": 7, "name": "x", "km": None}], {}, 201, [{"id": 7, "km": None}]),
        ("POST", "/rivers?columns=id,name,km&select=km", [{"id": 7, "name": "x"}], {"prefer": "missing=default"}, 201, [{"km": 100}]),
        ("POST", "/rivers?columns=id,name,km&select=km", [{"id": 7, "name": "x"}], {}, 201, [{"km": None}]),
        ("POST", "/rivers?select=id", [], {}, 201, []),
        ("POST", "/rivers?select=name", b"id,name\n8,Arno\n9,NULL", {"content_type": "text/csv"}, 400, None),
        ("POST", "/rivers?select=name", b"id,name\n8,Arno", {"content_type": "text/csv"}, 201, [{"name": "Arno"}]),
        ("POST", "/rivers?select=name", b"id=8&name=A+b", {"content_type": "application/x-www-form-urlencoded"}, 201, [{"name": "A b"}]),
        ("POST", "/rivers?select=id,km", {"id": 1, "name": "Nile", "km": 5}, {"prefer": "resolution=merge-duplicates"}, 200, [{"id": 1, "km": 5}]),
        ("POST", "/rivers?on_conflict=name&select=id", [{"id": 1, "name": "Nile"}, {"id": 8, "name": "Arno"}], {"prefer": "resolution=ignore-duplicates"}, 201, [{"id": 8}]),
        ("PATCH", "/rivers?id=eq.2&select=km", {"km": 1}, {}, 200, [{"km": 1}]),
        ("PATCH", "/rivers?id=eq.2&select=km", {}, {}, 200, []),
        ("PATCH", "/rivers?id=eq.2&select=name,bridges(name)&bridges.name=eq.Bonn", {"km": 1}, {}, 200, [{"name": "Rhine", "bridges": [{"name": "Bonn"}]}]),
        ("PUT", "/rivers?id=eq.2&select=name", {"id": 2, "name": "Rhein"}, {}, 200, [{"name": "Rhein"}]),
        ("PUT", "/rivers?id=eq.20&select=name", {"id": 20, "name": "Rhein"}, {}, 201, [{"name": "Rhein"}]),
        ("PUT", "/rivers?id=eq.2", {"id": 3, "name": "x"}, {}, 400, None),
        ("PUT", "/rivers?name=eq.x", {"id": 3, "name": "x"}, {}, 405, None),
        ("DELETE", "/bridges?river_id=eq.2&select=name&order=name", None, {}, 200, [{"name": "Basel"}, {"name": "Bonn"}]),
        ("DELETE", "/bridges?river_id=eq.2", None, {"prefer": "handling=strict, max-affected=1"}, 400, None),
        ("POST", "/rivers", {"id": 1, "name": "again"}, {}, 409, None),
        ("POST", "/rivers", {"id": 8, "nope": 1}, {}, 400, None),
        ("POST", "/deferred", {"id": 1, "other": 5}, {}, 409, None),
    ],
)  # fmt: skip
async def test_writes(
    trial: RestPool,
    method: str,
    target: str,
    body: object,
    headers: dict[str, str],
    status: int,
    expected: object,
) -> None:
    wants = ", ".join(["return=representation", *filter(None, [headers.get("prefer")])])

    answer = await trial.send(method, target, body, **{**headers, "prefer": wants})

    assert answer.status == status, answer
    if expected is not None:
        assert json.loads(answer.body) == expected


async def test_a_write_says_where_its_row_is(trial: RestPool) -> None:
    answer = await trial.send("POST", "/rivers", {"id": 7, "name": "Tiber"}, prefer="return=headers-only")

    assert (answer.status, answer.body) == (201, b"")
    assert header(answer.headers, "location") == "/rivers?id=eq.7"
    assert header(answer.headers, "content-range") == "*/*"


async def test_a_refused_write_leaves_nothing(rest_pool: RestPool) -> None:
    answer = await rest_pool.send(
        "PATCH", "/bridges?river_id=eq.2", {"name": "gone"}, accept="application/vnd.pgrst.object+json"
    )
    left = rows(await rest_pool.send("GET", "/bridges?river_id=eq.2&select=name&order=name"))

    assert answer.status == 406
    assert left == [{"name": "Basel"}, {"name": "Bonn"}]


async def test_a_transaction_can_be_tried_out(rest_pool: RestPool) -> None:
    allowing = rest_pool.with_options(tx_end="commit-allow-override")

    tried = await allowing.send("DELETE", "/bridges", None, prefer="tx=rollback")
    left = rows(await rest_pool.send("GET", "/bridges?select=id"))

    assert (tried.status, header(tried.headers, "preference-applied")) == (204, "tx=rollback")
    assert len(left) == 3  # type: ignore[arg-type]  # a list


@pytest.mark.parametrize(
    ("method", "target", "body", "expected"),
    [
        ("POST", "/rpc/add_them", {"a": 2, "b": 3}, 5),
        ("POST", "/rpc/add_them", {"a": 2}, 12),
        ("GET", "/rpc/add_them?a=1&b=2", None, 3),
        ("GET", "/rpc/long_rivers?least=1000&select=name&order=name&name=neq.Nile", None, [{"name": "Rhine"}]),
        ("POST", "/rpc/long_rivers?select=name,mouths(sea)&limit=1&order=km.desc", {"least": 1}, [{"name": "Nile", "mouths": {"sea": "Mediterranean"}}]),
        ("GET", "/rpc/joined?words=a&words=b", None, "a-b"),
        ("POST", "/rpc/joined", {"words": ["c", "d"]}, "c-d"),
        ("POST", "/rpc/whole", {"any": [1]}, {"any": [1]}),
    ],
)  # fmt: skip
async def test_functions_are_called(
    rest_pool: RestPool, method: str, target: str, body: object, expected: object
) -> None:
    assert rows(await rest_pool.send(method, target, body)) == expected


async def test_functions_without_a_result_and_writing_ones(rest_pool: RestPool) -> None:
    empty = await rest_pool.send("POST", "/rpc/nothing")
    read_only = await rest_pool.send("GET", "/rpc/write_row")
    written = await rest_pool.send("GET", "/rivers?id=eq.99")

    assert (empty.status, empty.body) == (204, b"")
    assert (read_only.status, json.loads(read_only.body)["code"]) == (405, "25006")
    assert rows(written) == []


async def test_the_request_is_told_to_sql(rest_pool: RestPool) -> None:
    told = rows(
        await rest_pool.send(
            "GET", "/rpc/asked", caller=user("ada"), x_test="yes", cookie="taste=sweet; size=big"
        )
    )

    assert told == {
        "role": "rest_user", "method": "GET", "path": "/rpc/asked", "header": "yes", "cookie": "sweet", "sub": "ada",
    }  # fmt: skip


async def test_sql_shapes_the_answer(rest_pool: RestPool) -> None:
    teapot = await rest_pool.send("GET", "/rpc/teapot")
    raised = await rest_pool.send("POST", "/rpc/refuse")
    badly = await rest_pool.send("POST", "/rpc/refuse_badly")
    slow = await rest_pool.send("POST", "/rpc/too_many")

    assert (teapot.status, header(teapot.headers, "x-made-by")) == (418, "a function")
    assert header_values(teapot.headers, "set-cookie") == ["a", "b"]
    assert (raised.status, raised.reason, header(raised.headers, "x-price")) == (402, "Pay", "3")
    assert json.loads(raised.body) == {
        "code": "123",
        "message": "Pay first",
        "details": None,
        "hint": "Coins",
    }
    assert (badly.status, json.loads(badly.body)["code"]) == (500, "RESTERR121")
    assert (slow.status, slow.reason) == (429, "Slow down")


async def test_each_caller_sees_their_own_rows(rest_pool: RestPool) -> None:
    seen = {
        name: rows(await rest_pool.send("GET", "/secrets?select=body", caller=caller))
        for name, caller in {
            "ada": user("ada"),
            "bob": user("bob"),
            "nobody": AnonymousCaller(),
            "service": ServiceCaller(),
        }.items()
    }
    forged = await rest_pool.send("POST", "/secrets", {"owner": "ada", "body": "x"}, user("bob"))

    assert seen == {
        "ada": [{"body": "a"}],
        "bob": [{"body": "b"}],
        "nobody": [],
        "service": [{"body": "a"}, {"body": "b"}],
    }
    assert (forged.status, json.loads(forged.body)["code"]) == (403, "42501")


async def test_callers_without_rights_are_refused(rest_pool: RestPool) -> None:
    anonymous = await rest_pool.send("GET", "/private", caller=AnonymousCaller())
    signed_in = await rest_pool.send("GET", "/private", caller=user("ada"))
    rejected = await rest_pool.send("GET", "/rivers", caller=RejectedCaller(TokenFault.CLAIMS, "JWT expired"))
    unknown = await rest_pool.send("GET", "/rivers", caller=UserCaller(b'{"role": "nobody_at_all"}'))
    closed = await rest_pool.with_options(anon_role=None).send("GET", "/rivers", caller=AnonymousCaller())

    assert (anonymous.status, header(anonymous.headers, "www-authenticate")) == (401, "Bearer")
    assert signed_in.status == 403
    assert (rejected.status, json.loads(rejected.body)["code"]) == (401, "RESTERR303")
    assert unknown.status == 401
    assert (closed.status, json.loads(closed.body)["code"]) == (401, "RESTERR302")


async def test_codes_are_spelled_as_the_caller_does(rest_pool: RestPool) -> None:
    seed = await rest_pool.send("GET", "/no_such")
    client = await rest_pool.send("GET", "/no_such", x_client_info="supabase-js/2")

    assert json.loads(seed.body)["code"] == "RESTERR205"
    assert json.loads(client.body)["code"] == "PGRST205"


async def test_the_role_may_lie_deep_in_the_claims(rest_pool: RestPool) -> None:
    deep = rest_pool.with_options(jwt=Jwt(role_claim_key="$.app.roles[0]"))

    told = rows(
        await deep.send(
            "GET", "/rpc/asked", caller=UserCaller(b'{"app": {"roles": ["rest_user"]}, "sub": "eve"}')
        )
    )

    assert (told["role"], told["sub"]) == ("rest_user", "eve")  # type: ignore[index, call-overload]  # an object


async def test_a_page_is_never_longer_than_the_server_allows(rest_pool: RestPool) -> None:
    small = rest_pool.with_options(max_rows=2)

    listed = rows(await small.send("GET", "/rivers?select=id&order=id&limit=50"))
    counted = await small.send("GET", "/rivers?select=id", prefer="count=exact")

    assert listed == [{"id": 1}, {"id": 2}]
    assert (counted.status, header(counted.headers, "content-range")) == (206, "0-1/3")


async def test_options_tells_the_methods(rest_pool: RestPool) -> None:
    table = await rest_pool.send("OPTIONS", "/rivers")
    function = await rest_pool.send("OPTIONS", "/rpc/add_them")

    assert header(table.headers, "allow") == "OPTIONS,GET,HEAD,POST,PUT,PATCH,DELETE"
    assert header(function.headers, "allow") == "OPTIONS,GET,HEAD,POST"


async def test_step_times_and_the_trace_header_are_sent_when_wanted(rest_pool: RestPool) -> None:
    telling = rest_pool.with_options(server_timing_enabled=True, server_trace_header="X-Trace")

    answer = await telling.send("GET", "/rivers?limit=1", x_trace="abc")

    assert (header(answer.headers, "server-timing") or "").startswith("jwt;dur=")
    assert header(answer.headers, "x-trace") == "abc"


@pytest.mark.parametrize("root", ["add_them", "public.add_them"])
async def test_the_function_at_the_root_takes_the_query_as_its_own_path_does(
    rest_pool: RestPool, root: str
) -> None:
    served = rest_pool.with_options(root_spec=root)

    answer = await served.send("GET", "/?a=1&b=2")
    direct = await rest_pool.send("GET", "/rpc/add_them?a=1&b=2")
    elsewhere = await served.send("GET", "/?a=1&b=2", accept_profile="nowhere")

    assert (answer.status, answer.body) == (direct.status, direct.body) == (200, b"3")
    assert elsewhere.status == 406


@pytest.mark.parametrize(
    ("method", "target", "allowed"),
    [
        ("PROPFIND", "/rivers", "OPTIONS,GET,HEAD,POST,PUT,PATCH,DELETE"),
        ("PUT", "/rivers?name=eq.x", "OPTIONS,GET,HEAD,POST,PUT,PATCH,DELETE"),
        ("PUT", "/rpc/add_them", "OPTIONS,GET,HEAD,POST"),
        ("DELETE", "/", "OPTIONS,GET,HEAD,POST"),
    ],
)
async def test_405_names_the_methods_that_are_allowed(
    rest_pool: RestPool, method: str, target: str, allowed: str
) -> None:
    answer = await rest_pool.send(method, target, {"name": "x"} if method == "PUT" else None)

    assert (answer.status, header(answer.headers, "allow")) == (405, allowed)


@pytest.mark.parametrize(
    ("method", "target", "body", "headers"),
    [
        ("GET", "/rivers?select=id", None, {"prefer": f"x={'x' * 9000}"}),
        ("GET", "/rivers?select=id", None, {"accept": f"application/json;x={'x' * 9000}"}),
        ("POST", "/rpc/whole", {f"key {number}": number for number in range(2000)}, {}),
    ],
)
async def test_requests_with_long_headers_or_many_names_are_not_kept(
    trial: RestPool, method: str, target: str, body: object, headers: dict[str, str]
) -> None:
    answer = await trial.send(method, target, body, **headers)

    assert answer.status == 200
    kept = [*trial.state.requests._entries, *trial.state.plans._entries]
    assert max((len(repr(key)) for key in kept), default=0) < 9000


@pytest.mark.parametrize(
    ("method", "target", "body"),
    [
        ("GET", "/rivers?select=name&id=eq.1", None),
        ("POST", "/rpc/add_them", {"a": 2}),
        ("POST", "/rivers", {"id": 77, "name": "Oder"}),
    ],
)
async def test_a_name_that_the_next_catalog_has_is_looked_for_again(
    trial: RestPool, method: str, target: str, body: object
) -> None:
    states = [RestState(trial.api, Catalog()), trial.state]
    data = b"" if body is None else json.dumps(body).encode()
    path, _, query = target.partition("?")
    request = Request("test", method, path, query, [], ServiceCaller(), body=data)

    async def catch_up() -> bool:
        return len(states) > 1 and states.pop(0) is not None

    answers = [
        await RestWorker(trial.pool, 1 << 20, lambda: states[0], None, ask).answer(request, Inline(data))
        for ask in (None, catch_up)
    ]

    assert isinstance(answers[0], Response)
    assert answers[0].status == 404
    assert answers[1].status < 300
