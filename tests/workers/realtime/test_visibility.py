"""VISIBLE: rows that groups of callers see, under their role and claims."""

import asyncio
import json
import uuid

import pytest

from schemas.errors import Unavailable
from schemas.realtime import SUPERSEDED
from tests.workers.database.server import connected
from tests.workers.realtime.realtime_pool import ALICE, ANON, BOB, RealtimePool, claims_of
from workers.realtime.visibility import GROUPS_AT_ONCE

ALICES, BOBS = ("authenticated", claims_of(ALICE)), ("authenticated", claims_of(BOB))
NOBODYS = ("anon", ANON)


async def owned(realtime_pool: RealtimePool, *policies: str) -> str:
    table = await realtime_pool.table("id int primary key, owner uuid, name text", *policies)
    await realtime_pool.sql(
        f"insert into {table} values (1, '{ALICE}', 'a'), (2, '{BOB}', 'b'), (3, null, 'c')"
    )
    return table


async def test_each_group_sees_the_rows_that_its_policies_show(realtime_pool: RealtimePool) -> None:
    table = await owned(realtime_pool, "owner = auth.uid()")

    found = await realtime_pool.visible(
        table, [[b"1"], [b"2"], [b"3"], [b"9"]], ALICES, BOBS, NOBODYS, ("service_role", b"{}")
    )

    assert found == [[1, 0, 0, 0], [0, 1, 0, 0], [0, 0, 0, 0], [1, 1, 1, 0]]


async def test_keys_of_every_type_find_their_rows(realtime_pool: RealtimePool) -> None:
    mood = f"mood_{uuid.uuid4().hex[:6]}"
    await realtime_pool.sql(f"create type {mood} as enum ('sad', 'ok')")
    table = await realtime_pool.table(
        f'at timestamptz, "the Key" text, mood {mood}, ordinality uuid, primary key (at, "the Key", mood, ordinality)',
        "true",
    )
    await realtime_pool.sql(
        f"insert into {table} values ('2026-01-02 03:04:05.678+00', 'a\"b', 'ok', '{ALICE}')"
    )

    row = [b'"2026-01-02T03:04:05.678+00:00"', b'"a\\"b"', b'"ok"', f'"{ALICE}"'.encode()]
    found = await realtime_pool.visible(
        table, [row, [row[0], b'"c"', *row[2:]]], ALICES, key=("at", "the Key", "mood", "ordinality")
    )

    assert found == [[1, 0]]


async def test_a_policy_that_raises_shows_nothing_to_its_group_alone(realtime_pool: RealtimePool) -> None:
    table = await owned(realtime_pool, "owner = (auth.jwt() ->> 'own')::uuid")
    groups = [("authenticated", claims_of(BOB, own=BOB)), ("authenticated", claims_of(own="no uuid"))]

    found = await realtime_pool.visible(
        table, [[b"1"], [b"2"]], ("authenticated", claims_of(own=ALICE)), *groups
    )

    assert found == [[1, 0], [0, 1], [0, 0]]


async def test_a_role_that_is_not_there_or_not_ours_sees_nothing(realtime_pool: RealtimePool) -> None:
    table = await owned(realtime_pool, "true")

    found = await realtime_pool.visible(
        table, [[b"1"]], ("nobody_at_all", b"{}"), ("supabase_admin", b"{}"), NOBODYS
    )

    assert found == [[0], [0], [1]]


async def test_a_role_without_the_right_to_select_sees_nothing(realtime_pool: RealtimePool) -> None:
    table = await owned(realtime_pool, "true")
    await realtime_pool.sql(f"revoke select on {table} from anon")

    assert await realtime_pool.visible(table, [[b"1"]], NOBODYS, ALICES) == [[0], [1]]


async def test_nothing_that_a_group_leaves_in_the_session_reaches_the_next(
    realtime_pool: RealtimePool,
) -> None:
    name = f"who_{uuid.uuid4().hex[:8]}"
    await realtime_pool.sql(
        f"create function {name}() returns text language plpgsql as $$ begin"
        " if coalesce(current_setting('app.who', true), '') = '' then"
        "  perform set_config('app.who', auth.uid()::text, false); end if;"
        " return current_setting('app.who', true); end $$"
    )
    table = await owned(realtime_pool, f"owner::text = {name}()")

    for _ in range(3):
        assert await realtime_pool.visible(table, [[b"1"], [b"2"]], ALICES, BOBS, ALICES) == [
            [1, 0],
            [0, 1],
            [1, 0],
        ]


async def test_policies_read_role_and_claims_as_for_rest(realtime_pool: RealtimePool) -> None:
    table = await owned(
        realtime_pool, "name = auth.role() or name = current_setting('request.jwt.claims')::json ->> 'tenant'"
    )
    await realtime_pool.sql(f"insert into {table} values (4, null, 'anon'), (5, null, 'x')")

    found = await realtime_pool.visible(
        table, [[b"4"], [b"5"]], ("anon", b"{}"), ("authenticated", claims_of(tenant="x"))
    )

    assert found == [[1, 0], [0, 1]]


async def test_policies_of_other_tables_hold_too(realtime_pool: RealtimePool) -> None:
    other = await owned(realtime_pool, "owner = auth.uid()")
    table = await owned(realtime_pool, f"exists (select from {other} as o where o.id = id)")

    assert await realtime_pool.visible(table, [[b"1"]], ALICES, NOBODYS) == [[1], [0]]


async def test_many_groups_are_answered_in_their_order(realtime_pool: RealtimePool) -> None:
    table = await realtime_pool.table("id int primary key, owner text", "owner = auth.jwt() ->> 'name'")
    count = 2 * GROUPS_AT_ONCE + 3
    await realtime_pool.sql(
        f"insert into {table} select n, 'user ' || n from generate_series(0, {count - 1}) as n"
    )
    rows = [[str(number).encode()] for number in range(count)]
    groups = [
        ("authenticated" if number % 2 else "anon", json.dumps({"name": f"user {number}"}).encode())
        for number in range(count)
    ]

    found = await realtime_pool.visible(table, rows, *groups)

    assert found == [[int(one == number) for one in range(count)] for number in range(count)]


async def test_a_table_that_is_locked_is_no_answer(realtime_pool: RealtimePool) -> None:
    table = await owned(realtime_pool, "true")
    async with connected(realtime_pool.url) as other, other.transaction():
        await other.execute(f"lock table {table} in access exclusive mode")

        with pytest.raises(Unavailable):
            await realtime_pool.visible(table, [[b"1"]], ALICES)


async def test_a_table_that_is_gone_shows_nothing(realtime_pool: RealtimePool) -> None:
    assert await realtime_pool.visible("gone", [[b"1"]], ALICES, NOBODYS) == [[0], [0]]


async def test_questions_under_a_changing_policy_never_see_more_than_it_allows(
    realtime_pool: RealtimePool,
) -> None:
    table = await owned(realtime_pool, "owner = auth.uid()")

    async def change() -> None:
        for _ in range(20):
            await realtime_pool.sql(
                f"begin; drop policy p0 on {table}; create policy p0 on {table} using (false); commit"
            )
            await realtime_pool.sql(
                f"begin; drop policy p0 on {table}; create policy p0 on {table} using (owner = auth.uid()); commit"
            )

    changing = asyncio.ensure_future(change())
    while not changing.done():
        found = await realtime_pool.visible(table, [[b"1"], [b"2"]], ALICES, BOBS, NOBODYS)
        assert found[0] in ([1, 0], [0, 0])
        assert found[1] in ([0, 1], [0, 0])
        assert found[2] == [0, 0]
    await changing


TYPES = {
    "bool": "true", "int8": "9007199254740993", "numeric": "1.10", "float4": "0.1", "float8": "'NaN'", "text": "e'a\"\\\\b'",
    "bytea": r"'\x00ff'", "json": "'{\"a\": [1,  2]}'", "jsonb": "'null'", "uuid": "gen_random_uuid()", "timestamptz": "now()",
    "timestamp": "'infinity'", "date": "'0044-03-15 BC'", "time": "'03:04:05.678'", "interval": "'1 mon -2 days 00:00:03'",
    "int4[]": "'{{1,2},{3,4}}'", "text[]": "array['a,b', null, '\"']", "timestamptz[]": "array[now()]", "bytea[]": r"array['\x01'::bytea]",
    "tstzrange": "tstzrange(now(), null)", "inet": "'10.0.0.1/8'", "char(4)": "'a'", "point": "'(1,2)'",
    "money": "'$1.50'", "mood": "'ok'", "pair": "row(1, 'x')::pair", "blob": r"'\x0102'", "moment": "now()",
    "extensions.hstore": "'a=>1, b=>null'",
}  # fmt: skip
"""A value of each type, made types among them."""


async def test_a_row_of_any_type_is_the_same_until_it_changes(realtime_pool: RealtimePool) -> None:
    await realtime_pool.sql(
        "create type mood as enum ('sad', 'ok'); create type pair as (a int, b text);"
        "create domain blob as bytea; create domain moment as timestamptz; create extension hstore schema extensions"
    )
    columns = ", ".join(f"c{number} {type}" for number, type in enumerate(TYPES))
    table = await realtime_pool.table(f"id int primary key, {columns}", "true")
    await realtime_pool.sql(f"insert into {table} values (1, {', '.join(TYPES.values())})")
    await realtime_pool.sql("set timezone = 'Asia/Kathmandu'")
    written = [
        await realtime_pool.value(
            f"""select replace(to_jsonb(c{number})::text, '"\\\\x', '"') from {table}"""
        )
        for number in range(len(TYPES))
    ]
    await realtime_pool.sql("reset timezone")
    row: list[bytes | None] = [b"1", *(each.encode() for each in written)]
    names = [f"c{number}" for number in range(len(TYPES))]

    found = {
        type: (await realtime_pool.compared(table, [[b"1", row[number + 1]]], [names[number]], ALICES))[0]
        for number, type in enumerate(TYPES)
    }
    whole = await realtime_pool.compared(table, [row, [b"1", *[None] * len(TYPES)]], names, ALICES, NOBODYS)
    await realtime_pool.sql(f"update {table} set c1 = 1")
    changed = await realtime_pool.compared(table, [row, [b"2", *row[1:]]], names, ALICES)

    assert found == {type: [1] for type in TYPES}
    assert whole == [[1, 1], [1, 1]]
    assert changed == [[SUPERSEDED, 0]]
