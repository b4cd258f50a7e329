"""Random policies, writes and claims: every client has what a SELECT of its caller shows, and never got a row that it never showed."""

import asyncio
import json
import os
import random

import pytest

from tests.workers.database.server import connected
from tests.workers.sync.sync_pool import ALICE, BOB, ShapeClient, SyncPoolOfTests, user

pytestmark = [pytest.mark.process_group("sync"), pytest.mark.timeout(3600)]

ROUNDS, FIRST = int(os.environ.get("SYNC_ROUNDS", "2")), int(os.environ.get("SYNC_FIRST", "0"))
"""Tables with policies of their own, and the seed of the first; 1,000 by hand, where a failure says which seeds to repeat."""
AT_ONCE = 8
"""Rounds mostly wait for changed policies to be noticed."""
WRITES = 12
PEOPLE = (ALICE, BOB)
POLICIES = (
    "owner = auth.uid()",
    "(select auth.uid()) = owner",
    "team = (auth.jwt() ->> 'team')::int",
    "open",
    "not open and owner = auth.uid()",
    "team in (select m.team from public.{members} as m where m.member = auth.uid())",
    "exists (select from public.{members} as m where m.team = {table}.team and m.member = auth.uid())",
    "public.{members}_may(team)",
    "auth.uid() is not null and level < (select coalesce(max(m.level), 0) from public.{members} as m where m.member = auth.uid())",
    "level > 3 or owner = auth.uid()",
    "auth.jwt() -> 'app_metadata' ->> 'level' = level::text",
)
WHERES = ("", "level > 2", "open = true", "team in (1, 2)", "level between 1 and 4 and not open")


async def setup(pool: SyncPoolOfTests, choice: random.Random) -> tuple[str, str]:
    members = await pool.table(
        "team int, member uuid, level int, primary key (team, member)", "member = auth.uid()"
    )
    await pool.sql(
        f"create function public.{members}_may(asked int) returns bool language sql stable security definer as"
        f" $$ select exists (select from public.{members} where team = asked and member = auth.uid()) $$"
    )
    table = await pool.table("id int primary key, owner uuid, team int, level int, open bool, secret text")
    await policies(pool, table, members, choice)
    return table, members


async def policies(pool: SyncPoolOfTests, table: str, members: str, choice: random.Random) -> None:
    """Replace the policies of a table by others, in one transaction."""
    texts = choice.sample(POLICIES, choice.randint(1, 2))
    lines = [f"drop policy if exists p{number} on {table}" for number in range(3)]
    for number, text in enumerate(texts):
        kind = choice.choice(("permissive", "permissive", "restrictive")) if number else "permissive"
        condition = text.format(members=members, table=table)
        lines.append(f"create policy p{number} on public.{table} as {kind} for select using ({condition})")
    await pool.sql("begin; " + "; ".join(lines) + "; commit")


def write(table: str, members: str, choice: random.Random) -> str:
    """Return statements of one transaction."""
    id, who, team, level = (
        choice.randint(1, 12),
        choice.choice(PEOPLE),
        choice.randint(1, 3),
        choice.randint(0, 6),
    )
    open_ = choice.choice(("true", "false"))
    row = f"({id}, '{who}', {team}, {level}, {open_}, '{choice.random()}')"
    return choice.choice((
        f"insert into {table} values {row} on conflict (id) do update set owner = excluded.owner, secret = excluded.secret",
        f"insert into {table} values {row} on conflict (id) do update set team = excluded.team, level = excluded.level",
        f"update {table} set owner = '{who}', open = {open_} where id % 3 = {team - 1}",
        f"update {table} set level = level + 1, team = {team} where id = {id}",
        f"update {table} set id = id + 20 where id = {id} and not exists (select from {table} where id = {id + 20})",
        f"delete from {table} where id % 12 = {id % 12}",
        f"insert into {members} values ({team}, '{who}', {level}) on conflict (team, member) do update set level = excluded.level",
        f"delete from {members} where team = {team} and member = '{who}'",
    ))  # fmt: skip


_COLUMNS = ("id", "owner", "team", "level", "open", "secret")
Values = set[tuple[str, str, str | None]]
"""Values that a SELECT showed: id, column, text."""


async def selected(pool: SyncPoolOfTests, client: ShapeClient) -> dict[str, dict[str, str | None]]:
    """Return the rows that a SELECT of the client's caller shows, by id, with the texts that a shape has."""
    claims = client.caller.decoded()  # type: ignore[union-attr]  # all are users
    where = client.query.get("where") or "true"
    texts = ", ".join(f"{name}::text" for name in _COLUMNS).replace(
        "open::text", "left(open::text, 1) as open"
    )
    async with connected(pool.replication.database) as session, session.transaction():
        await session.execute("select set_config('request.jwt.claims', $1, true)", json.dumps(claims))
        await session.execute("set local role authenticated")
        rows = await session.fetch(f"select {texts} from public.{client.query['table']} where {where}")
    return {row["id"]: dict(row) for row in rows}


def values_of(rows: dict[str, dict[str, str | None]]) -> Values:
    return {(id, name, text) for id, row in rows.items() for name, text in row.items()}


def check_messages(client: ShapeClient, ever: Values) -> None:
    """Check that no message has a key, a value or an old value that SELECT never showed. Raises: AssertionError."""
    for message in client.messages:
        id = str(message["key"]).rpartition("/")[2].strip('"')
        for name in ("value", "old_value"):
            for column, text in message.get(name, {}).items():
                assert (id, column, text) in ever, (message, name)
        other = message["headers"].get(
            "key_change_to", message["headers"].get("key_change_from", message["key"])
        )
        id = str(other).rpartition("/")[2].strip('"')
        assert (id, "id", id) in ever, message


async def test_clients_have_what_a_select_shows(sync_pool: SyncPoolOfTests) -> None:
    failed: dict[int, BaseException] = {}
    running = asyncio.Semaphore(AT_ONCE)

    async def run(seed: int) -> None:
        async with running:
            try:
                await one_round(sync_pool, seed)
            except (Exception, pytest.fail.Exception) as error:  # the others go on: each names its seed
                failed[seed] = error

    await asyncio.gather(*[run(seed) for seed in range(FIRST, FIRST + ROUNDS)])

    assert not failed, failed


async def one_round(sync_pool: SyncPoolOfTests, seed: int) -> None:
    """Compare two clients of a table with SELECT after each transaction. Raises: AssertionError."""
    choice = random.Random(seed)
    table, members = await setup(sync_pool, choice)
    await sync_pool.sql("; ".join(write(table, members, choice) for _ in range(10)))
    callers = [
        user(who, team=choice.randint(1, 3), app_metadata={"level": choice.randint(0, 4)}) for who in PEOPLE
    ]
    clients = [
        sync_pool.client(
            table, caller, where=choice.choice(WHERES), replica=choice.choice(("default", "full"))
        )
        for caller in callers
    ]
    shown = [values_of(await selected(sync_pool, client)) for client in clients]

    for turn in range(WRITES):
        if turn % 6 == 5:
            await policies(sync_pool, table, members, choice)
        await sync_pool.sql(
            f"begin; {write(table, members, choice)}; {write(table, members, choice)}; commit"
        )
        for client, ever in zip(clients, shown, strict=True):
            expected = await selected(sync_pool, client)
            ever |= values_of(expected)
            await client.until(["/".join(map(str, row.values())) for row in expected.values()], *_COLUMNS)
    for client, ever in zip(clients, shown, strict=True):
        check_messages(client, ever)
    await sync_pool.sql(
        f"drop table {table}, {members} cascade; drop function {members}_may"
    )  # every look at rights reads all tables
