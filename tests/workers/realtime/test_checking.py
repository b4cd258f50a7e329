"""CHECK: entries, publication, filters with their types, what can be decided without SQL, the words of refusals."""

import uuid

import pytest

from schemas.realtime import ChangeSubscription, CheckedSubscription, FilterCondition
from tests.workers.realtime.realtime_pool import RealtimePool

COLUMNS = (
    "id int8 primary key, n numeric, f float8, ok boolean, name text, label varchar(9), code char(3), who uuid,"
    ' at timestamptz, doc jsonb, raw json, bytes bytea, tags text[], words text collate "C", flags "bit"'
)


@pytest.fixture(scope="module")
async def table(realtime_pool: RealtimePool) -> str:
    return await realtime_pool.table(COLUMNS, row_security=False)


@pytest.mark.parametrize(
    ("filter", "meant"),
    [
        ("id=eq.5", FilterCondition("id", "eq", ["5"], False, "int8", "number")),
        ("id=eq. 7 ", FilterCondition("id", "eq", ["7"], False, "int8", "number")),
        ("id=not.in.(1, 2)", FilterCondition("id", "in", ["1", "2"], True, "int8", "number")),
        ("id=in.()", FilterCondition("id", "in", [], False, "int8", "number")),
        ("id=in.(1,NULL)", FilterCondition("id", "in", ["1"], False, "int8", "number")),
        ("id=not.in.(1,NULL)", FilterCondition("id", "in", [], False, "int8", "number")),
        ("n=gte.1e2", FilterCondition("n", "gte", ["100"], False, "numeric", "number")),
        ("n=neq.nan", FilterCondition("n", "neq", ["NaN"], False, "numeric", "number")),
        ("f=lt.inf", FilterCondition("f", "lt", ["Infinity"], False, "float8", "number")),
        ("ok=eq.t", FilterCondition("ok", "eq", ["true"], False, "bool", "bool")),
        ("ok=gt.f", FilterCondition("ok", "gt", ["f"], False, "bool", "")),
        ("ok=is.unknown", FilterCondition("ok", "is", ["unknown"], False, "bool", "null")),
        ("name=not.is.null", FilterCondition("name", "is", ["null"], True, "text", "null")),
        ("name=eq.x", FilterCondition("name", "eq", ["x"], False, "text", "text")),
        ('name=in.("a,b",c)', FilterCondition("name", "in", ["a,b", "c"], False, "text", "text")),
        ("label=isdistinct.x", FilterCondition("label", "isdistinct", ["x"], False, "varchar", "text")),
        ("words=gt.x", FilterCondition("words", "gt", ["x"], False, "text", "text")),
        ("name=like.x%", FilterCondition("name", "like", ["x%"], False, "text", "")),
        ("label=ilike.x%", FilterCondition("label", "ilike", ["x%"], False, "varchar", "")),
        ("name=match.^a+", FilterCondition("name", "match", ["^a+"], False, "text", "")),
        ("name=imatch.a|b", FilterCondition("name", "imatch", ["a|b"], False, "text", "")),
        ("code=eq.x", FilterCondition("code", "eq", ["x"], False, "bpchar", "")),
        (
            "who=lt.A0000000000040008000000000000000",
            FilterCondition("who", "lt", ["a0000000-0000-4000-8000-000000000000"], False, "uuid", "uuid"),
        ),
        ("at=gt.2026-01-01", FilterCondition("at", "gt", ["2026-01-01"], False, "timestamptz", "")),
        ('doc=eq.{"a":1}', FilterCondition("doc", "eq", ['{"a":1}'], False, "jsonb", "")),
        ("bytes=eq.\\x00ff", FilterCondition("bytes", "eq", ["\\x00ff"], False, "bytea", "")),
        ('tags=eq."{a,b}"', FilterCondition("tags", "eq", ["{a,b}"], False, "_text", "")),
        ("flags=eq.101", FilterCondition("flags", "eq", ["101"], False, "bit", "")),
    ],
)
async def test_a_filter_means_a_condition_on_the_columns_type(
    realtime_pool: RealtimePool, table: str, filter: str, meant: FilterCondition
) -> None:
    assert await realtime_pool.checked(table, filter) == CheckedSubscription(filters=[meant])


@pytest.mark.parametrize(
    ("filter", "told", "exception"),
    [
        ("none=eq.1", '{"none", "eq", "1", false}', "P0001 (raise_exception) invalid column for filter none"),
        (
            "id=eq.x",
            '{"id", "eq", "x", false}',
            '22P02 (invalid_text_representation) invalid input syntax for type bigint: "x"',
        ),
        (
            "id=in.(1,x)",
            '{"id", "in", "{1,x}", false}',
            '22P02 (invalid_text_representation) invalid input syntax for type bigint: "x"',
        ),
        (
            "ok=is.maybe",
            '{"ok", "is", "maybe", false}',
            "P0001 (raise_exception) invalid value for is filter: must be null, true, false, or unknown",
        ),
        (
            "id=is.true",
            '{"id", "is", "true", false}',
            "P0001 (raise_exception) is true filter requires a boolean column, got bigint",
        ),
        (
            "id=not.like.1%",
            '{"id", "like", "1%", true}',
            "P0001 (raise_exception) operator like is not supported on column id of type bigint: "
            "operator does not exist: bigint ~~ bigint",
        ),
        (
            "bytes=ilike.x",
            '{"bytes", "ilike", "x", false}',
            "P0001 (raise_exception) operator ilike is not supported on column bytes of type bytea: "
            "operator does not exist: bytea ~~* bytea",
        ),
        (
            "raw=eq.{}",
            '{"raw", "eq", "{}", false}',
            "P0001 (raise_exception) operator eq is not supported on column raw of type json: "
            "operator does not exist: json = json",
        ),
        (
            "name=match.(",
            '{"name", "match", "(", false}',
            "P0001 (raise_exception) invalid regular expression for match filter: "
            "invalid regular expression: parentheses () not balanced",
        ),
        (
            "name=eq.a\0b",
            '{"name", "eq", "a\0b", false}',
            '22021 (character_not_in_repertoire) invalid byte sequence for encoding "UTF8": 0x00',
        ),
    ],
)
async def test_a_filter_that_the_column_does_not_take_is_refused(
    realtime_pool: RealtimePool, table: str, filter: str, told: str, exception: str
) -> None:
    found = await realtime_pool.checked(table, filter)

    assert found == CheckedSubscription(
        "Unable to subscribe to changes with given parameters. An exception happened so please check your connect "
        f"parameters: [event: *, schema: public, table: {table}, filters: [{told}], select: nil]. "
        f"Exception: ERROR {exception}"
    )


async def test_a_list_has_at_most_a_hundred_values(realtime_pool: RealtimePool, table: str) -> None:
    hundred = ",".join(str(number) for number in range(100))

    assert not (await realtime_pool.checked(table, f"id=in.({hundred})")).error
    found = await realtime_pool.checked(table, f"id=in.({hundred},100)")
    assert found.error.endswith("ERROR P0001 (raise_exception) too many values for `in` filter. Maximum 100")


async def test_a_filter_that_cannot_be_read_is_refused(realtime_pool: RealtimePool, table: str) -> None:
    found = await realtime_pool.checked(table, "subject=foo.hey")

    assert found == CheckedSubscription('Error parsing `filter` params: ["foo", "hey"]')


@pytest.mark.parametrize("filter", ["", "id=eq.1"])
async def test_a_table_that_is_not_published_cannot_be_subscribed_to(
    realtime_pool: RealtimePool, filter: str
) -> None:
    table = await realtime_pool.table("id int primary key", is_published=False)

    found = await realtime_pool.checked(table, filter, event="INSERT")

    told = '[{"id", "eq", "1", false}]' if filter else "[]"
    assert found == CheckedSubscription(
        "Unable to subscribe to changes with given parameters. Please check Realtime is enabled for the given connect "
        f"parameters: [event: INSERT, schema: public, table: {table}, filters: {told}, select: nil]"
    )


async def test_wildcards_mean_every_published_table(realtime_pool: RealtimePool) -> None:
    schema = f"w_{uuid.uuid4().hex[:8]}"
    await realtime_pool.sql(
        f"create schema {schema}; create table {schema}.a (id int primary key, name text);"
        f"create table {schema}.b (id int8 primary key, name text); create table {schema}.c (id text primary key);"
        f"grant usage on schema {schema} to anon; grant select on all tables in schema {schema} to anon;"
        f"alter publication supabase_realtime add table {schema}.a, {schema}.b"
    )

    found = await realtime_pool.check(
        ChangeSubscription("*", schema, "*"),
        ChangeSubscription("*", "*", "b"),
        ChangeSubscription("*", "*", "*"),
        ChangeSubscription("*", schema, "c"),
        ChangeSubscription("*", schema, "*", "name=eq.x"),
        ChangeSubscription("*", schema, "*", "id=eq.05"),
        ChangeSubscription("*", schema, "*", "id=in.(05)"),
        ChangeSubscription("*", schema, "*", "id=is.null"),
        role="anon",
    )

    assert [bool(each.error) for each in found] == [False, False, False, True, False, False, False, False]
    assert [each.filters for each in found[4:]] == [
        [FilterCondition("name", "eq", ["x"], False, "text", "text")],
        [FilterCondition("id", "eq", ["05"])],
        [FilterCondition("id", "in", ["05"])],
        [FilterCondition("id", "is", ["null"], local="null")],
    ]


async def test_columns_are_chosen_of_those_that_the_role_may_select(realtime_pool: RealtimePool) -> None:
    table = await realtime_pool.table("id int primary key, name text, secret text", row_security=False)
    await realtime_pool.sql(f"revoke select on {table} from anon; grant select (id, name) on {table} to anon")

    assert not (await realtime_pool.checked(table, select=["name"], role="anon")).error
    for select in (["secret"], ["none"]):
        found = await realtime_pool.checked(table, select=select, role="anon")
        assert found.error.endswith(
            f'select: ["{select[0]}"]]. Exception: ERROR P0001 (raise_exception) invalid column for select {select[0]}'
        )
    found = await realtime_pool.checked(table, "secret=eq.x", role="anon")
    assert found.error.endswith("ERROR P0001 (raise_exception) invalid column for filter secret")


async def test_columns_cannot_be_chosen_of_many_tables(realtime_pool: RealtimePool) -> None:
    found = await realtime_pool.check(
        ChangeSubscription("*", "public", "*", "", ["id"]), ChangeSubscription("*", "*", "t", "", ["id"])
    )

    assert {each.error for each in found} == {
        "Column selection is not supported for wildcard subscriptions. Provide an explicit schema and table name."
    }


async def test_a_role_that_is_not_there_is_refused(realtime_pool: RealtimePool, table: str) -> None:
    found = await realtime_pool.checked(table, role="nobody_at_all")

    assert found.error.endswith(
        'Exception: ERROR 42704 (undefined_object) role "nobody_at_all" does not exist'
    )


async def test_nothing_asked_is_refused(realtime_pool: RealtimePool) -> None:
    found = (await realtime_pool.check(ChangeSubscription("*", "", "")))[0]

    assert found.error.startswith(
        "No subscription params provided. Please provide at least a `schema` or `table`"
    )


async def test_types_of_the_project_are_compared_by_its_own_operators(realtime_pool: RealtimePool) -> None:
    schema = f"k_{uuid.uuid4().hex[:8]}"
    await realtime_pool.sql(
        f"create schema {schema}; grant usage on schema {schema} to anon, service_role;"
        f"create type {schema}.mood as enum ('sad', 'ok'); create domain {schema}.small as int check (value < 9)"
    )
    table = await realtime_pool.table(
        f"id int primary key, mood {schema}.mood, n {schema}.small", row_security=False
    )

    found = await realtime_pool.check(
        *(
            ChangeSubscription("*", "public", table, filter)
            for filter in ("mood=eq.ok", "mood=gt.sad", "mood=eq.x", "n=eq.5", "n=eq.9")
        )
    )

    assert [each.filters for each in found] == [
        [FilterCondition("mood", "eq", ["ok"], False, "mood", "text")],
        [FilterCondition("mood", "gt", ["sad"], False, "mood", "")],
        [],
        [FilterCondition("n", "eq", ["5"], False, "small", "")],
        [],
    ]
    assert "invalid input value for enum" in found[2].error
    assert "violates check constraint" in found[4].error
