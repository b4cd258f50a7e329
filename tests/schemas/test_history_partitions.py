"""Partitions of history: each moment has one, whatever order moments come in; old ones go, with what is left of a table."""

from datetime import UTC, datetime, timedelta

import asyncpg
import pytest

NOW = datetime.now(UTC)
_STORE = """
insert into headwater_history.versions (table_id, at, lsn, number, index, operation, source) values ($1, $2, 1, 0, 0, 'insert', 'sql')
"""


@pytest.fixture
async def superuser(admin: asyncpg.Connection) -> asyncpg.Connection:
    await admin.execute(
        "set role postgres; create table public.kept (id int primary key); create table public.long (id int primary key); reset role"
    )
    return admin


async def on(superuser: asyncpg.Connection, table: str, days: int) -> int:
    assert await superuser.fetchval("select headwater.history_on($1::text::regclass, $2)", table, days) == ""
    return await superuser.fetchval(
        "select id from headwater_history.tables where relation = $1::text::regclass", table
    )


async def test_every_moment_has_a_partition_and_old_ones_are_dropped(superuser: asyncpg.Connection):
    kept, long = await on(superuser, "public.kept", 7), await on(superuser, "public.long", 100)
    moments = [
        NOW,
        NOW - timedelta(days=3),
        NOW - timedelta(days=30),
        NOW - timedelta(days=2),
        NOW + timedelta(days=1),
        NOW,
    ]
    for moment in moments:
        for table in (kept, long):
            await superuser.fetchval("select headwater.history_partition($1, $2)", table, moment)
    for moment in set(moments):
        for table in (kept, long):
            await superuser.execute(_STORE, table, moment)

    dropped = await superuser.fetchval("select headwater.history_expire()")

    counts = await superuser.fetch(
        "select table_id, count(*) from headwater_history.versions group by 1 order by 1"
    )
    assert dropped == 1
    assert [tuple(row) for row in counts] == [(kept, 4), (long, 5)]
    assert await superuser.fetchval("select headwater.history_expire()") == 0


async def test_a_table_that_is_off_goes_with_its_last_partition(superuser: asyncpg.Connection):
    kept = await on(superuser, "public.kept", 1)
    moment = NOW - timedelta(days=9)
    await superuser.fetchval("select headwater.history_partition($1, $2)", kept, moment)
    await superuser.execute(_STORE, kept, moment)
    await superuser.fetchval("select headwater.history_off($1)", kept)
    await superuser.execute("update headwater_history.tables set ended_at = now() - interval '9 days'")

    await superuser.fetchval("select headwater.history_expire()")

    assert await superuser.fetchval("select count(*) from headwater_history.tables") == 0
    assert await superuser.fetchval(f"select to_regclass('headwater_history.v{kept}')") is None


@pytest.mark.parametrize(
    ("making", "reason"),
    [
        ("create table public.t (id int)", "key"),
        ("create unlogged table public.t (id int primary key)", "kind"),
        (
            "create table public.t (id int primary key, twice int generated always as (id * 2) stored);"
            "create publication lacking for table public.t",
            "unpublished",
        ),
        ("create table public.t (id int primary key) partition by list (id)", "kind"),
        ("create view public.t as select 1 as id", "kind"),
    ],
)
async def test_what_cannot_have_a_history_stays_as_it_is(
    superuser: asyncpg.Connection, making: str, reason: str
):
    await superuser.execute(f"set role postgres; {making}; reset role")

    if reason == "unpublished" and superuser.get_server_version().major < 18:
        reason = "generated"  # no publication has them
    assert await superuser.fetchval("select headwater.history_on('public.t'::regclass, 30)") == reason
    assert await superuser.fetchval("select headwater.history_on('auth.users'::regclass, 30)") == "platform"
    assert (
        await superuser.fetchval("select relreplident::text from pg_class where oid = 'public.t'::regclass")
        in "dn"
    )
    assert await superuser.fetchval("select count(*) from pg_trigger where tgname = 'headwater_history'") == 0


async def test_the_identity_of_before_comes_back(superuser: asyncpg.Connection):
    await superuser.execute(
        "create unique index by_id on public.kept (id); alter table public.kept replica identity using index by_id"
    )
    kept = await on(superuser, "public.kept", 1)
    reading = "select relreplident::text from pg_class where relname = 'kept'"
    assert await superuser.fetchval(reading) == "f"

    await superuser.fetchval("select headwater.history_off($1)", kept)

    assert await superuser.fetchval(reading) == "i"
