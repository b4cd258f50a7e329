"""POST /query and below, as the reference answers them."""

from typing import Any

import pytest

from tests.workers.management.spellings.schema_metadata.conftest import Ours
from tests.workers.management.spellings.schema_metadata.reference import Reference

pytestmark = [pytest.mark.node, pytest.mark.timeout(300)]

ANSWERED = [
    "select 1 as a, 'x' as b, null as c, true as d, 1.50::numeric as e, 1.5::float8 as f, 'NaN'::float8 as g",
    "select 9007199254740991::int8 as a, 9007199254740993::int8 as b, (-5)::int2 as c, 7::oid as d, 3::float4 as e",
    """select '{"a": [1, 2.5, "ü"], "b": null}'::jsonb as a, '[1, 2]'::json as b, array['{"x":1}'::jsonb] as c""",
    r"select '\x00ff41'::bytea as a, array['\x01'::bytea] as b",
    "select date '2025-01-02' as a, timestamp '2025-01-02 03:04:05.678' as b, timestamptz '2025-01-02 03:04:05+02' as c",
    "select time '01:02' as a, timetz '01:02+02' as b, interval '1 day 2 hours' as c, uuid 'a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11' as d",
    "select array[1, null, 3] as a, array[[1, 2], [3, 4]] as b, array['a,b', 'c\"d', 'e\\f', null, 'NULL'] as c, '{}'::text[] as d",
    "select array[true, false, null] as a, array[1.5, null]::numeric[] as b, array[9007199254740993]::int8[] as c",
    "select array[date '2025-01-02'] as a, array[timestamptz '2025-01-02 03:04:05+00'] as b, array['1.2.3.4'::inet] as c",
    "select point(1, 2) as a, circle(point(1, 2), 3) as b, box(point(0,0), point(1,1)) as c, array[point(1,2)] as d",
    "select int4range(1, 5) as a, '{[1,2]}'::int4multirange as b, array[numrange(1,2)] as c, 'a b'::tsvector as d, '12:34:56:78:9a:bc'::macaddr as e",
    "select '[0:1]={1,2}'::int[] as a, '12.5'::money as b, b'101' as c, 'red'::shop.color as d, array['red', 'b''lue']::shop.color[] as e",
    "select row(1, 'x') as a, 5::shop.positive as b, 'x'::name as c, 'a'::\"char\" as d, xmlelement(name x) as e",
    "select 1 as a, 2 as a, 3 as b, 4",
    "select * from shop.customers order by id",
    "select 1 as a; select 2 as b; create temp table t (x int); insert into t values (3)",
    "select 1 as a; select 2 as b where false",
    "create temp table u (x int)",
    "insert into shop.lines (order_region, order_number) select 'a', 1 where false returning id",
    "begin; select 1 as a; rollback",
    "do $$ begin null; end $$",
    "show server_version_num",
    "select current_user",
    "select current_setting('search_path') as path",
    "explain (costs off) select 1",
    "select '\u00fc\U0001f600' as \"\u00fc \"\"q\"\"\"",
    "-- only a comment",
    "select repeat('x', 100000) as a from generate_series(1, 3)",
    "select",
    "table shop.colors_that_are_not_there",
    "select 1 / 0",
    "select 1;\nselect\n  nowhere\nfrom shop.customers",
    "insert into shop.customers (email) values ('a@example.com')",
    "select raise from (select 1) x",
    "do $$ begin raise exception 'said \"%\"', 'x' using hint = 'do it', detail = 'more', errcode = 'P0009'; end $$",
    "create table public.plain (id int)",
    "update shop.customers set age = -1",
    "select pg_read_file('/etc/passwd')",
    "set role supabase_admin",
    "alter system set work_mem = '1MB'",
]  # fmt: skip


@pytest.mark.parametrize("text", ANSWERED)
async def test_queries_have_the_answers_of_the_reference(ours: Ours, theirs: Reference, text: str) -> None:
    status, answer = await ours.send("POST", "/query", {"query": text})
    expected_status, expected = await theirs.send("POST", "/query", {"query": text})

    assert (status, answer) == (expected_status, expected)


PARAMETERS: list[tuple[str, list[Any]]] = [
    ("select $1::int + $2::int as n", [1, "2"]),
    ("select $1::text as a, $2::jsonb as b, $3::int[] as c, $4::text[] as d", [None, {"x": [1]}, [1, None], ['a"b', "c,d"]]),
    ("select $1::bool as a", [True]),
    ("select $1::int", ["x' or 1=1"]),
    ("select $1::text as a", ["x'; drop table shop.customers; --"]),
]  # fmt: skip


@pytest.mark.parametrize(("text", "parameters"), PARAMETERS)
async def test_parameters_are_sent_apart(
    ours: Ours, theirs: Reference, text: str, parameters: list[Any]
) -> None:
    body = {"query": text, "parameters": parameters}

    assert await ours.send("POST", "/query", body) == await theirs.send("POST", "/query", body)


@pytest.mark.parametrize(
    "text",
    [
        "select a, 1 + 2 as b from t where x = 'y' and z in (1, 2) order by a desc limit 5",
        'create table z (id int primary key, "odd ""name""" text not null default \'it\'\'s\'); drop table z',
        "insert into t values (1, null) on conflict do nothing returning *",
        "with a as (select 1) select * from a join b using (id) left join lateral (select 2) c on true",
        "create policy p on t for select to anon using (auth.uid() = id)",
        "alter table t add column c int, drop column d cascade",
        " -- é ; one\n select 1 ;; /* a; /* b; */ */ ; -- x;\n  select 'é;' ;select 3; ;",
    ],
)
async def test_trees_are_those_of_the_reference(ours: Ours, theirs: Reference, text: str) -> None:
    tree = await ours.good("POST", "/query/parse", {"query": text})
    _, expected = await theirs.send("POST", "/query/parse", {"query": text})
    written = await ours.good("POST", "/query/deparse", {"ast": tree})
    of_theirs = await ours.good("POST", "/query/deparse", {"ast": expected})

    assert tree == expected
    assert written == of_theirs
    again = await ours.good("POST", "/query/parse", {"query": written})
    assert [without_places(value) for value in again["stmts"]] == [
        without_places(value) for value in tree["stmts"]
    ]


def without_places(value: Any) -> Any:
    """Return a tree without the places of its nodes in the text."""
    if isinstance(value, list):
        return [without_places(item) for item in value]
    if not isinstance(value, dict):
        return value
    places = ("location", "stmt_len", "stmt_location", "name_location")
    return {name: without_places(part) for name, part in value.items() if name not in places}


async def test_formatting_changes_blanks_alone(ours: Ours, theirs: Reference) -> None:
    text = "select a, b from t left join u using (id) where x = 'a  b' and y in (select 1) -- why\norder by a"
    formatted = await ours.good("POST", "/query/format", {"query": text})
    status, expected = await theirs.send("POST", "/query/format", {"query": text})

    assert status == 200
    assert "".join(formatted.split()) == "".join(expected.split()) == "".join(text.split())
    assert formatted.splitlines()[:4] == expected.splitlines()[:4] == ["select", "  a,", "  b", "from"]


async def test_queries_that_cannot_be_read(ours: Ours, theirs: Reference) -> None:
    for path, body in [("", {}), ("", {"query": ""}), ("/format", {}), ("/parse", {"query": "selec 1"})]:
        status, answer = await ours.send("POST", f"/query{path}", body)
        expected_status, expected = await theirs.send("POST", f"/query{path}", body)
        assert (status, expected_status) == (400, 500)  # the reference sends 500 for bad input
        assert answer == expected
