"""MATCH: filters decided by SQL on rows as the log carries them."""

import uuid

import pytest

from schemas.realtime import FilterCondition
from tests.workers.realtime.realtime_pool import RealtimePool

COLUMNS = (
    "id int8 primary key, name text, label varchar(9), code char(3), at timestamptz, day date, doc jsonb, bytes bytea,"
    ' tags text[], "Odd ""name" text, span int4range, words text collate "C"'
)


@pytest.fixture(scope="module")
async def table(realtime_pool: RealtimePool) -> str:
    return await realtime_pool.table(COLUMNS, row_security=False)


def f(column: str, op: str, *values: str, negated: bool = False) -> FilterCondition:
    return FilterCondition(column, op, list(values), negated)


@pytest.mark.parametrize(
    ("condition", "matching", "others"),
    [
        (f("name", "like", "a%"), ["abc", "a"], ["ba", None]),
        (f("name", "like", "a%", negated=True), ["ba"], ["abc", None]),
        (f("name", "ilike", "A_"), ["ab"], ["abc"]),
        (f("name", "match", "^a+$"), ["aa"], ["ab"]),
        (f("name", "imatch", "^a+$"), ["AA"], ["b"]),
        (f("name", "is", "null"), [None], ["x"]),
        (f("name", "is", "null", negated=True), ["x"], [None]),
        (f("name", "isdistinct", "x"), ["y", None], ["x"]),
        (f("name", "isdistinct", "x", negated=True), ["x"], ["y", None]),
        (f("name", "in", 'a"b', "c\\d", "e,f"), ['a"b', "c\\d", "e,f"], ["a", None]),
        (f("name", "in", "a", negated=True), ["b"], ["a", None]),
        (f("name", "in"), [], ["a", None]),
        (f("code", "eq", "x"), ["x", "x  "], ["y"]),
        (
            f("at", "gte", "2026-01-02T03:00:00+02:00"),
            ["2026-01-02T01:00:00+00:00"],
            ["2026-01-02T00:59:59+00:00"],
        ),
        (f("day", "lt", "2026-01-02"), ["2026-01-01"], ["2026-01-02", None]),
        (f("doc", "eq", '{"b": 1, "a": [1]}'), [{"a": [1.0], "b": 1}], [{"a": []}]),
        (f("bytes", "eq", "\\x00ff"), ["00ff"], ["00fe", None]),
        (f("bytes", "gt", "\\x00"), ["00ff"], [""]),
        (f("tags", "eq", "{a,NULL}"), [["a", None]], [["a"], []]),
        (f('Odd "name', "eq", "'; drop table x; --"), ["'; drop table x; --"], ["x"]),
        (f("span", "eq", "[1,3]"), ["[1,4)"], ["empty"]),
        (f("words", "gt", "a"), ["b"], ["B"]),
    ],
)
async def test_a_condition_holds_for_rows(
    realtime_pool: RealtimePool,
    table: str,
    condition: FilterCondition,
    matching: list[object],
    others: list[object],
) -> None:
    rows = [{condition.column: value} for value in (*matching, *others)]

    assert await realtime_pool.matching(table, [condition], *rows) == [1] * len(matching) + [0] * len(others)


async def test_all_conditions_must_hold(realtime_pool: RealtimePool, table: str) -> None:
    filters = [f("id", "gt", "1"), f("name", "like", "a%")]

    found = await realtime_pool.matching(
        table, filters, {"id": 2, "name": "a"}, {"id": 1, "name": "a"}, {"id": 2, "name": "b"}
    )

    assert found == [1, 0, 0]


async def test_numbers_stay_exact(realtime_pool: RealtimePool, table: str) -> None:
    rows = [b'{"id": 9007199254740993}', b'{"id": 9007199254740992}']

    assert await realtime_pool.matching(table, [f("id", "eq", "9007199254740993")], *rows) == [1, 0]


async def test_a_column_that_is_gone_matches_nothing(realtime_pool: RealtimePool, table: str) -> None:
    assert await realtime_pool.matching(table, [f("gone", "eq", "1")], {"gone": "1"}) == [0]


async def test_no_rows_are_no_answers(realtime_pool: RealtimePool, table: str) -> None:
    assert await realtime_pool.matching(table, [f("id", "eq", "1")]) == []


async def test_a_row_that_cannot_be_read_back_does_not_match_and_spoils_no_other(
    realtime_pool: RealtimePool, table: str
) -> None:
    rows = [{"day": "2026-01-01"}, {"day": "no day"}, {"day": "2026-01-01"}]

    assert await realtime_pool.matching(table, [f("day", "eq", "2026-01-01")], *rows) == [1, 0, 1]


async def test_an_expression_that_never_ends_matches_nothing(realtime_pool: RealtimePool, table: str) -> None:
    endless = f("name", "match", r"(?=(x+x+)+y)" + "(x*)*" * 12 + "$")

    found = await realtime_pool.matching(table, [endless], {"name": "x" * 20_000 + "z"})

    assert found == [0]


async def test_types_of_the_project_are_read(realtime_pool: RealtimePool) -> None:
    schema = f"k_{uuid.uuid4().hex[:8]}"
    await realtime_pool.sql(
        f"create schema {schema}; grant usage on schema {schema} to service_role;"
        f"create type {schema}.mood as enum ('sad', 'ok')"
    )
    table = await realtime_pool.table(f"id int primary key, mood {schema}.mood", row_security=False)

    assert await realtime_pool.matching(table, [f("mood", "gt", "sad")], {"mood": "ok"}, {"mood": "sad"}) == [
        1,
        0,
    ]


async def test_what_runs_has_no_right_to_read_tables(realtime_pool: RealtimePool) -> None:
    name = f"spy_{uuid.uuid4().hex[:8]}"
    table = await realtime_pool.table("id int primary key, name text", row_security=False)
    await realtime_pool.sql(
        f"create table public.{name} (id int); revoke all on public.{name} from public, anon, authenticated;"
        f"create function public.{name}(text, text) returns boolean language sql as 'select exists (select from public.{name})';"
        f"create operator public.~~ (leftarg = text, rightarg = text, function = public.{name})"
    )
    try:
        assert await realtime_pool.matching(table, [f("name", "like", "a")], {"name": "a"}) == [1]
    finally:
        await realtime_pool.sql("drop operator public.~~ (text, text)")
