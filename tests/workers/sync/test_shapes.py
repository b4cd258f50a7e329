"""Shapes on a real database: snapshots, changes, rights that change, values, restarts."""

import asyncio
import json
from pathlib import Path

import pytest

from schemas.caller import Caller
from schemas.settings.types import Size
from tests.workers.database.server import connected
from tests.workers.sync.sync_pool import (
    ALICE,
    ANON,
    BOB,
    POLL_S,
    SERVICE,
    SyncPoolOfTests,
    settings_of,
    sync_pool_of,
    user,
)
from workers.sync import registry

pytestmark = pytest.mark.process_group("sync")

Row = dict[str, str | None]


async def seen(pool: SyncPoolOfTests, table: str, caller: Caller, columns: str = "id") -> list[str]:
    """Return what a SELECT of the caller shows."""
    claims = {"sub": "", **caller.decoded()} if hasattr(caller, "decoded") else {}
    role = claims.get("role", "anon" if caller is ANON else "service_role")
    async with connected(pool.replication.database) as session, session.transaction():
        await session.execute("select set_config('request.jwt.claims', $1, true)", json.dumps(claims))
        await session.execute(f"set local role {role}")
        return [
            str(row[0]) for row in await session.fetch(f"select {columns} from public.{table} order by 1")
        ]


async def test_a_shape_has_its_rows_then_each_change(sync_pool: SyncPoolOfTests) -> None:
    table = await sync_pool.table("id int primary key, name text, other text", row_security=False)
    await sync_pool.sql(f"insert into {table} values (1, 'a', 'x'), (2, 'b', 'y')")
    client = sync_pool.client(table)
    await client.until([1, 2])

    await sync_pool.sql(f"update {table} set name = 'c' where id = 1")
    await client.until(["b", "c"], "name")
    await sync_pool.sql(f"update {table} set id = 3 where id = 2")
    await client.until([1, 3])
    await sync_pool.sql(f"delete from {table} where id = 1")
    await client.until([3])

    changes = [one for one in client.messages if "lsn" in one["headers"]]
    operations = [(one["headers"]["operation"], one["value"]) for one in changes]
    assert operations == [
        ("update", {"id": "1", "name": "c"}),
        ("delete", {"id": "2"}),
        ("insert", {"id": "3", "name": "b", "other": "y"}),
        ("delete", {"id": "1"}),
    ]
    assert changes[1]["headers"]["key_change_to"] == f'"public"."{table}"/"3"'
    assert changes[2]["headers"]["key_change_from"] == f'"public"."{table}"/"2"'
    assert changes[2]["headers"]["last"] is True


async def test_a_request_may_allow_only_some_columns(sync_pool: SyncPoolOfTests) -> None:
    table = await sync_pool.table("id int primary key, name text, n int", row_security=False)
    await sync_pool.sql(f"insert into {table} values (1, 'a', 5), (2, 'b', 6)")
    allowed = {"table": table, "offset": "-1", "queryable_columns": "id,name"}

    async def asked(**more: str) -> tuple[int, str]:
        answer = await sync_pool.ask({**allowed, **more})
        return answer.status, answer.body.decode()

    status, body = await asked(where="n > 5")
    assert (status, '"name":"b"' in body, '"n":' in body) == (200, True, False)
    assert (await asked(columns="id"))[0] == 200
    assert (await asked(columns="id,n"))[0] == 400
    assert (await asked(queryable_columns="name"))[0] == 400
    assert "not found" in (await asked(queryable_columns="id,nope"))[1]
    assert (await asked(subset__where="name = 'a'", subset__order_by="id", subset__limit="1"))[0] == 200
    assert "unknown reference n" in (await asked(subset__where="n = 5"))[1]
    assert "unknown column n" in (await asked(subset__order_by="n", subset__limit="1"))[1]


async def test_a_changed_key_is_named_to_those_alone_who_see_it(sync_pool: SyncPoolOfTests) -> None:
    table = await sync_pool.table("id int primary key, owner uuid", "owner = auth.uid()")
    await sync_pool.sql(f"insert into {table} values (1, '{ALICE}'), (2, '{ALICE}')")
    alice, bob = sync_pool.client(table, user()), sync_pool.client(table, user(BOB))
    await alice.until([1, 2])
    await bob.until([])

    await sync_pool.sql(
        f"update {table} set id = 77, owner = '{BOB}' where id = 1; update {table} set id = 3 where id = 2"
    )
    await alice.until([3])
    await bob.until([77])

    links = [
        (
            str(one["key"])[-3:],
            str(one["headers"].get("key_change_to", one["headers"].get("key_change_from")))[-3:],
        )
        for client in (alice, bob)
        for one in client.messages
        if "lsn" in one["headers"]
    ]
    assert sorted(links) == sorted([('"1"', "one"), ('"2"', '"3"'), ('"3"', '"2"'), ('77"', "one")])


async def test_whole_rows_and_old_values_on_request(sync_pool: SyncPoolOfTests) -> None:
    table = await sync_pool.table("id int primary key, name text, long text", row_security=False)
    await sync_pool.sql(
        f"insert into {table} select 1, 'a', string_agg(md5(n::text), '') from generate_series(1, 2000) n"
    )
    client = sync_pool.client(table, replica="full")
    await client.until([1])
    long = next(iter(client.rows.values()))["long"]

    await sync_pool.sql(f"update {table} set name = 'b'")
    await client.until(["b"], "name")
    await sync_pool.sql(f"delete from {table}")
    await client.until([])

    update, delete = client.messages[-2:]
    assert update["value"] == {"id": "1", "name": "b", "long": long}
    assert update["old_value"] == {"name": "a"}
    assert delete["value"] == {"id": "1", "name": "b", "long": long}


async def test_rows_enter_and_leave_by_where_and_by_policy(sync_pool: SyncPoolOfTests) -> None:
    table = await sync_pool.table("id int primary key, owner uuid, open bool", "owner = auth.uid()")
    await sync_pool.sql(
        f"insert into {table} values (1, '{ALICE}', true), (2, '{BOB}', true), (3, '{ALICE}', false)"
    )
    alice, bob = (
        sync_pool.client(table, user(who), where="open = $1", **{"params[1]": "true"}) for who in (ALICE, BOB)
    )
    await alice.until([1])
    await bob.until([2])

    await sync_pool.sql(
        f"update {table} set owner = '{BOB}' where id = 1; update {table} set open = true where id = 3"
    )

    await alice.until([3])
    await bob.until([1, 2])
    assert alice.refetches == bob.refetches == 0


async def test_a_right_in_another_table_moves_rows_in_and_out(sync_pool: SyncPoolOfTests) -> None:
    members = await sync_pool.table("team int, member uuid, primary key (team, member)", "true")
    mine = f"team in (select m.team from public.{members} as m where m.member = auth.uid())"
    table = await sync_pool.table("id int primary key, team int", mine)
    await sync_pool.sql(
        f"insert into {table} values (1, 1), (2, 2); insert into {members} values (1, '{ALICE}')"
    )
    alice = sync_pool.client(table, user())
    await alice.until([1])

    await sync_pool.sql(f"insert into {members} values (2, '{ALICE}')")
    await alice.until([1, 2])
    await sync_pool.sql(f"delete from {members} where team = 1")
    await alice.until([2])

    assert alice.refetches == 0
    assert alice.messages[-2]["headers"]["is_move_in"] is True
    assert alice.messages[-1]["headers"]["operation"] == "delete"


async def test_changed_policies_grants_and_roles_are_obeyed(sync_pool: SyncPoolOfTests) -> None:
    table = await sync_pool.table("id int primary key, owner uuid", "true")
    await sync_pool.sql(f"insert into {table} values (1, '{ALICE}'), (2, '{BOB}')")
    alice = sync_pool.client(table, user())
    await alice.until([1, 2])

    await sync_pool.sql(f"alter policy p0 on {table} using (owner = auth.uid())")
    await alice.until([1])
    await sync_pool.sql(f"revoke select on {table} from authenticated")
    query = {"table": table, "offset": "-1"}
    while (answer := await sync_pool.ask(query, alice.caller)).status == 200:
        await asyncio.sleep(POLL_S)

    assert answer.status == 403


async def test_a_shape_is_deleted_by_its_handle_or_its_definition_by_its_own_callers(
    sync_pool: SyncPoolOfTests,
) -> None:
    table = await sync_pool.table("id int primary key, owner uuid", "owner = auth.uid()")
    first = sync_pool.client(table, user())
    await first.read()

    async def deleted(caller: Caller, **query: str) -> int:
        return (await sync_pool.ask(query, caller, method="DELETE")).status

    foreign = [await deleted(user(BOB), handle=first.handle), await deleted(ANON, handle=first.handle)]
    named = await deleted(user(), handle=first.handle), await deleted(user(), handle=first.handle)
    await first.read()
    by_definition = await deleted(user(), table=table), await deleted(user(), table=table)

    assert foreign == [404, 404]
    assert named == by_definition == (202, 404)
    assert await deleted(user()) == 400
    assert first.refetches == 1


async def test_a_handle_of_another_caller_is_an_unknown_one(sync_pool: SyncPoolOfTests) -> None:
    table = await sync_pool.table("id int primary key, owner uuid", "owner = auth.uid()")
    alice = sync_pool.client(table, user())
    await alice.read()
    query = {"table": table, "offset": alice.offset}

    foreign = await sync_pool.ask({**query, "handle": alice.handle}, user(BOB))
    unknown = await sync_pool.ask({**query, "handle": "0-0"}, user(BOB))
    again = await sync_pool.ask({**query, "handle": alice.handle}, user(exp=99))

    assert (
        (foreign.status, foreign.body)
        == (unknown.status, unknown.body)
        == (409, b'[{"headers":{"control":"must-refetch"}}]')
    )
    assert dict(foreign.headers) == dict(unknown.headers)
    assert again.status == 200


async def test_values_are_the_same_in_snapshot_log_and_subset(sync_pool: SyncPoolOfTests) -> None:
    columns = {
        "a": ("int2", "-5"), "b": ("int8", "9223372036854775807"), "c": ("float8", "1e-300"), "d": ("numeric(40,10)", "12345678901234567890.5"),
        "e": ("bool", "true"), "f": ("char(5)", "ab"), "g": ("varchar(9)", "é\"\\/"), "h": ("bytea", "\\x00ff"), "i": ("jsonb", '{"a":[1,null]}'),
        "j": ("json", '{ "a" : 1}'), "k": ("text[]", '{a,"b c",NULL,""}'), "l": ("int[]", "{{1,2},{3,4}}"), "m": ("timestamptz", "2026-01-02 03:04:05.6+02"),
        "n": ("interval", "1 day 02:03:04"), "o": ("inet", "10.0.0.1"), "p": ("uuid", ALICE), "q": ("int4range", "[1,5)"), "r": ("point", "(1.5,2)"),
        "s": ("bool[]", "{t,f}"), "t": ("date", "2026-12-31"), "v": ("tsvector", "'a':1 'b':2"), "w": ("money", "1.5"),
        "x": ("float4", "NaN"), "y": ("bit(3)", "101"), "z": ("macaddr", "08:00:2b:01:02:03"),
    }  # fmt: skip
    names = ", ".join(f"{name} {kind}" for name, (kind, _) in columns.items())
    table = await sync_pool.table(f"id text primary key, {names}", row_security=False)
    values = ", ".join("'" + value.replace("'", "''") + "'" for _, value in columns.values())
    await sync_pool.sql(f"insert into {table} values ('a/\"b', {values})")
    client = sync_pool.client(table)
    await client.read()
    await sync_pool.sql(f"insert into {table} values ('second', {values})")
    await client.until(['a/"b', "second"])
    subset = await sync_pool.ask(
        {
            "table": table,
            "offset": "now",
            "subset__where": "id = 'second'",
            "subset__order_by": "id",
            "subset__limit": "5",
        }
    )

    first, second = client.rows.values()
    (row,) = json.loads(subset.body)["data"]
    assert {**first, "id": ""} == {**second, "id": ""}
    assert row["value"] == second
    assert next(iter(client.rows)) == f'"public"."{table}"/"a//"b"'
    assert (second["e"], second["f"], second["o"], second["s"]) == ("t", "ab   ", "10.0.0.1", "{t,f}")
    assert (second["m"], second["n"]) == ("2026-01-02 01:04:05.6+00", "P1DT2H3M4S")


async def test_long_rows_come_in_chunks(tmp_path: Path, sync_pool: SyncPoolOfTests) -> None:
    async with sync_pool_of(sync_pool.replication, tmp_path, settings_of(chunk_size=Size(10_000))) as pool:
        table = await pool.table("id int primary key, text text", row_security=False)
        await pool.sql(f"insert into {table} select n, repeat('x', 500) from generate_series(1, 100) n")
        client = pool.client(table)
        parts = 0
        while not await client.step():
            parts += 1
        assert len(client.rows) == 100
        assert parts >= 6
        await pool.sql(f"insert into {table} select n, repeat('x', 500) from generate_series(101, 200) n")
        await client.until(range(1, 201))


@pytest.mark.parametrize(
    "change",
    [
        "truncate {table}; insert into {table} values (2, 'b', 5)",
        "alter table {table} alter column name type varchar(9); insert into {table} values (2, 'b', 5); delete from {table} where id = 1",
        "alter table {table} alter column n drop not null; insert into {table} values (2, 'b', null); delete from {table} where id = 1",
        "alter table {table} drop column n; insert into {table} values (2, 'b'); delete from {table} where id = 1",
        "alter table {table} rename column name to label; insert into {table} values (2, 'b', 5); delete from {table} where id = 1",
        "drop table {table}; create table {table} (id int primary key, name text, n int not null);"
        " grant select on {table} to service_role; insert into {table} values (2, 'b', 5)",
    ],
)
async def test_a_table_that_changes_ends_its_shape(sync_pool: SyncPoolOfTests, change: str) -> None:
    table = await sync_pool.table("id int primary key, name text, n int not null", row_security=False)
    await sync_pool.sql(f"insert into {table} values (1, 'a', 4)")
    client = sync_pool.client(table)
    await client.until([1])

    await sync_pool.sql(change.format(table=f"public.{table}"))

    while not client.refetches:
        await client.read()
        await asyncio.sleep(POLL_S)
    await client.until([2])


async def test_a_dropped_table_ends_its_shape_and_is_not_there(sync_pool: SyncPoolOfTests) -> None:
    table = await sync_pool.table("id int primary key", row_security=False)
    client = sync_pool.client(table)
    await client.read()
    query = {"table": table, "offset": client.offset, "handle": client.handle}

    await sync_pool.sql(f"drop table {table}")

    while (answer := await sync_pool.ask(query)).status == 200:
        await asyncio.sleep(POLL_S)
    assert answer.status == 400
    assert "does not exist" in answer.body.decode()


async def test_a_log_that_is_too_long_begins_again_and_old_offsets_are_never_wrong(
    sync_pool: SyncPoolOfTests, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = await sync_pool.table("id int primary key, name text", row_security=False)
    await sync_pool.sql(f"insert into {table} values (1, 'a'), (2, 'a')")
    old, weeks_old = sync_pool.client(table), sync_pool.client(table)
    await old.read()
    await weeks_old.read()
    for name in "bcdefgh":
        await sync_pool.sql(f"update {table} set name = '{name}'")
        await old.until([name, name], "name")
    offsets = {weeks_old.offset, old.offset, "0_0", "0_inf", f"{old.offset.partition('_')[0]}_0"}
    answers = [
        await sync_pool.ask({"table": table, "offset": offset, "handle": old.handle}) for offset in offsets
    ]
    assert {answer.status for answer in answers} == {200}

    monkeypatch.setattr(registry, "LEAST_SIZE", 0)
    await sync_pool.service.registry.sweep()
    monkeypatch.undo()

    answers = [
        await sync_pool.ask({"table": table, "offset": offset, "handle": old.handle}) for offset in offsets
    ]
    assert {answer.status for answer in answers} == {409}
    await weeks_old.until(["h", "h"], "name")
    assert weeks_old.refetches == 1


async def test_generated_columns_come_with_their_row(sync_pool: SyncPoolOfTests) -> None:
    table = await sync_pool.table(
        "id int primary key, n int, twice int generated always as (n * 2) stored", row_security=False
    )
    await sync_pool.sql(
        f"alter table {table} replica identity full; insert into {table} values (1, 4), (3, 1)"
    )
    client = sync_pool.client(table)
    await client.until(["8", "2"], "twice")

    await sync_pool.sql(
        f"update {table} set n = 5 where id = 1; insert into {table} values (2, 6); delete from {table} where id = 3"
    )

    await client.until(["10", "12"], "twice")


async def test_partitions_change_under_the_name_of_the_root(sync_pool: SyncPoolOfTests) -> None:
    name = (await sync_pool.table("id int primary key", row_security=False)) + "_p"
    await sync_pool.sql(
        f"create table {name} (id int, day int, primary key (id, day)) partition by range (day);"
        f"create table {name}_1 partition of {name} for values from (0) to (10);"
        f"create table {name}_2 partition of {name} for values from (10) to (20);"
        f"insert into {name} values (1, 1), (2, 11)"
    )
    root, leaf = sync_pool.client(name), sync_pool.client(f"{name}_1")
    await root.until([1, 2])
    await leaf.until([1])

    await sync_pool.sql(f"update {name} set day = 5 where id = 2; insert into {name} values (3, 12)")

    await root.until([1, 2, 3])
    await leaf.until([1, 2])


async def test_a_restart_continues_and_loses_nothing(sync_pool: SyncPoolOfTests, tmp_path: Path) -> None:
    async with sync_pool_of(sync_pool.replication, tmp_path) as pool:
        table = await pool.table("id int primary key, owner uuid", "owner = auth.uid()")
        await pool.sql(f"insert into {table} values (1, '{ALICE}'), (2, '{BOB}')")
        client = pool.client(table, user())
        await client.until([1])
    await sync_pool.sql(f"insert into {table} values (3, '{ALICE}'); delete from {table} where id = 1")

    async with sync_pool_of(sync_pool.replication, tmp_path) as pool:
        client.pool = pool
        await client.until([3])

    assert client.refetches == 0


async def test_shapes_that_start_while_others_write_have_every_row_once(sync_pool: SyncPoolOfTests) -> None:
    table = await sync_pool.table("id serial primary key, n int", row_security=False)
    await sync_pool.client(table).read()
    over = asyncio.Event()

    async def write(number: int) -> None:
        async with connected(sync_pool.replication.database) as session:
            for turn in range(40):
                async with session.transaction():
                    await session.execute(f"insert into {table} (n) values ({number})")
                    await session.execute("savepoint s")
                    await session.execute(f"update {table} set n = n + 1 where id = 1 + {turn}")
                    await session.execute("rollback to savepoint s" if turn % 3 else "release savepoint s")
                    await session.execute(f"delete from {table} where id % 7 = {number} and id < {turn}")
                    if turn % 5 == 0:
                        await session.execute("rollback; begin")

    async def start() -> list[dict[str, Row]]:
        clients = []
        while not over.is_set():
            clients.append(sync_pool.client(table, where=f"id > -{len(clients)}"))
            await clients[-1].read()
        return [await client.read() for client in clients]

    starting = asyncio.create_task(start())
    await asyncio.gather(*[write(number) for number in range(4)])
    over.set()
    clients = await starting
    expected = await seen(sync_pool, table, SERVICE, "id || '/' || n")
    probe = sync_pool.client(table)
    await probe.until(await seen(sync_pool, table, SERVICE))

    assert clients
    for number in range(len(clients)):
        one = sync_pool.client(table, where=f"id > -{number}")
        rows = await one.read()
        assert sorted(f"{row['id']}/{row['n']}" for row in rows.values()) == sorted(expected)


async def test_a_change_costs_only_the_shapes_that_it_concerns(sync_pool: SyncPoolOfTests) -> None:
    table = await sync_pool.table("id int primary key, team int, name text", row_security=False)
    await sync_pool.sql(f"insert into {table} select n, n % 20, 'x' from generate_series(1, 100) n")
    clients = [sync_pool.client(table, where=f"team = {team}") for team in range(20)]
    for client in clients:
        await client.read()
    shapes = [sync_pool.service.registry.by_handle[client.handle] for client in clients]
    while any(not shape.members.are_known or shape.is_behind for shape in shapes):
        await asyncio.sleep(POLL_S)
    taken: list[int] = []
    for number, shape in enumerate(shapes):
        adding = shape.add
        shape.add = lambda change, number=number, adding=adding: (taken.append(number), adding(change))  # type: ignore[method-assign,misc]

    await sync_pool.sql(
        f"update {table} set name = 'y' where id = 7; update {table} set team = 3 where id = 8"
    )
    await clients[3].until([3, 8, 23, 43, 63, 83])
    await clients[8].until([28, 48, 68, 88])
    await clients[7].until(["x", "x", "x", "x", "y"], "name")

    assert {number for number, shape in enumerate(shapes) if number in taken} <= {3, 7, 8}


async def test_a_list_of_columns_elsewhere_ends_shapes_and_not_the_reading_of_the_log(
    sync_pool: SyncPoolOfTests,
) -> None:
    table = await sync_pool.table("id int primary key, name text", row_security=False)
    other = await sync_pool.table("id int primary key", row_security=False)
    listed, client = sync_pool.client(table), sync_pool.client(other)
    await listed.read()
    await client.read()

    await sync_pool.sql(f"alter publication supabase_realtime add table public.{table} (id)")
    try:
        await sync_pool.sql(f"insert into {table} values (1, 'a'); insert into {other} values (1)")
        await client.until([1])
        while (answer := await sync_pool.ask({"table": table, "offset": "-1"})).status == 200:
            await asyncio.sleep(POLL_S)
    finally:
        await sync_pool.sql(f"alter publication supabase_realtime drop table public.{table}")

    assert answer.status == 400
    assert "set table" in answer.body.decode()
    await sync_pool.sql(f"insert into {other} values (2)")
    await client.until([1, 2])
