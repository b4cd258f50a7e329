"""The event triggers that tell the schema caches of changes."""

import asyncio

import asyncpg
import pytest

from tests.schemas.conftest import PASSWORD
from tests.workers.database.server import Server, connected


class Notices:
    """What a connection hears on channel `pgrst`."""

    def __init__(self) -> None:
        self._heard: asyncio.Queue[str] = asyncio.Queue()

    def __call__(self, *heard: object) -> None:
        self._heard.put_nowait(str(heard[-1]))

    async def next(self) -> str:
        """Wait for the next notice."""
        async with asyncio.timeout(60):
            return await self._heard.get()


@pytest.fixture
async def watched(migrated_server: Server, database_url: str):
    """A connection of role postgres in a database of its own, and what is heard of it."""
    notices = Notices()
    async with (
        connected(migrated_server.url("authenticator", PASSWORD, database_url)) as listener,
        connected(migrated_server.url("postgres", PASSWORD, database_url)) as connection,
    ):
        await connection.execute(
            """
            create table base (id int primary key);
            create type kind as enum ('a');
            create view seen as select id from base;
            create function f() returns int language sql as 'select 1';
            create schema old
            """
        )
        await listener.add_listener("pgrst", notices)
        yield connection, notices
        await listener.remove_listener("pgrst", notices)


async def test_changes_of_the_schema_are_told_at_their_commit(watched):
    connection, notices = watched
    for sql in (
        "create table t (id int)",
        "create table t2 as select 1 as id",
        "alter table t add column name text",
        "alter table t add foreign key (id) references base",
        "create view v as select * from t",
        "create or replace view v as select id, name from t",
        "create materialized view m as select * from t",
        "create function g(int) returns int language sql as 'select 1'",
        "create type pair as (a int, b int)",
        "alter type kind add value 'b'",
        "create domain small as int",
        "comment on table t is 'x'",
        "grant select on t to anon",
        "revoke select on t from anon",
        "create schema s",
        "alter schema s rename to s2",
        "create rule r as on update to v do instead nothing",
        "create extension pg_trgm with schema extensions",
        "drop schema s2",
        "drop function g(int)",
        "drop materialized view m",
        "drop view v",
        "alter table t drop column name",
        "alter table t drop constraint t_id_fkey",
        "drop table t, t2",
        "drop type pair",
        "drop domain small",
        "drop extension pg_trgm",
    ):
        await connection.execute(f"{sql}; notify pgrst, 'done'")
        heard = [await notices.next()]
        while heard[-1] != "done":
            heard.append(await notices.next())
        assert heard == ["reload schema", "done"], sql


async def test_what_callers_cannot_see_is_not_told(watched):
    connection, notices = watched
    for sql in (
        "create temporary table t (id int)",
        "alter table t add column name text",
        "drop table t",
        "insert into base values (1)",
        "create index on base (id)",
        "analyze base",
        "begin; create table gone (); rollback",
    ):
        await connection.execute(sql)
        await connection.execute("notify pgrst, 'done'")
        assert await notices.next() == "done", sql


async def test_no_lock_of_a_reader_holds_up_a_change_of_the_schema(
    migrated_server: Server, database_url: str, watched
):
    """No advisory lock; the platform's tables are closed to readers. The transaction of a change itself is seen until it commits."""
    connection, _ = watched
    known = "select is_settled from realtime.schema_known()"
    async with (
        connected(migrated_server.url(database=database_url)) as reader,
        connected(migrated_server.url(database=database_url)) as superuser,
        connected(migrated_server.url("authenticator", PASSWORD, database_url)) as listener,
    ):
        await reader.execute("set role supabase_read_only_user")
        with pytest.raises(asyncpg.InsufficientPrivilegeError):
            await reader.execute("begin; lock table headwater.migrations in row share mode")
        await reader.execute("rollback")
        await reader.execute("select pg_advisory_lock(1751474797, 1)")
        await reader.execute("begin; select pg_advisory_xact_lock(1751474797, 2)")
        await connection.execute("set lock_timeout = '10s'; create table changed (id int)")
        settled = await listener.fetchval(known)
        async with connection.transaction():
            await connection.execute("create table more (id int)")
            modes = await superuser.fetch(
                "select mode from pg_locks where relation = 'headwater.migrations'::regclass and pid = $1",
                connection.get_server_pid(),
            )

    assert settled
    assert [row["mode"] for row in modes] == ["RowShareLock"]
