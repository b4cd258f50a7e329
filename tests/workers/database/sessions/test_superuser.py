"""Superuser sessions and throwaway logins, on a real server."""

import asyncio
from collections.abc import AsyncIterator

import asyncpg
import pytest

from tests.workers.database.server import OUTSIDE, SESSION_ENDED, connected, temporary_server
from workers.database.sessions.superuser import (
    NotSuperuser,
    connect_as_superuser,
    connect_with_fixed_settings,
    superuser_options,
)
from workers.database.sessions.throwaway_logins import (
    LOGIN_PREFIX,
    UnknownRole,
    drop_leftover_logins,
    login_as,
    login_url_as,
)
from workers.database.sessions.urls import login_url, startup_options

_STORED = {
    "search_path": "evil, public",
    "role": "tenant",
    "session_replication_role": "replica",
    "standard_conforming_strings": "off",
    "default_transaction_read_only": "on",
    "statement_timeout": "1",
    "transform_null_equals": "on",
    "local_preload_libraries": "none",
    "quote_all_identifiers": "on",
}


@pytest.fixture
async def tenant(database: str) -> AsyncIterator[str]:
    """URL of a database that belongs to role `tenant`."""
    name = database.rpartition("/")[2]
    async with connected(database) as connection:
        await connection.execute(
            f"create role tenant login createrole password 'tenant'; alter database {name} owner to tenant;"
            "create schema evil authorization tenant; grant create on schema public to public"
        )
    yield database
    connection = await connect_as_superuser(database)
    await connection.execute(f"alter database {name} owner to current_user")
    await connection.execute("drop owned by tenant cascade; drop role tenant")
    await connection.close()


@pytest.fixture
async def hostile(tenant: str) -> str:
    """URL of that database once the tenant has stored settings for all its sessions."""
    name = tenant.rpartition("/")[2]
    async with connected(tenant) as connection:
        for setting, stored in _STORED.items():
            await connection.execute(f"alter database {name} set {setting} to {stored}")
    return tenant


async def value(connection: asyncpg.Connection, sql: str, *arguments: object) -> object:
    """Give one value."""
    return await connection.fetchval(sql, *arguments)


async def logins(connection: asyncpg.Connection) -> list[str]:
    """Give the throwaway logins of the server."""
    rows = await connection.fetch(
        "select rolname::text from pg_roles where starts_with(rolname, $1)", LOGIN_PREFIX
    )
    return [row[0] for row in rows]


async def test_what_a_tenant_stored_for_its_database_does_not_reach_a_superuser(hostile: str):
    connection = await connect_as_superuser(hostile)
    try:
        rows = await connection.fetch(
            "select name, setting from pg_catalog.pg_settings where name = any($1)", list(_STORED)
        )
        found = {row["name"]: row["setting"] for row in rows}
        assert found.pop("search_path") == "pg_catalog, pg_temp"
        assert not [name for name, setting in found.items() if setting == _STORED[name]]
        assert await value(connection, "select current_user = session_user and current_user <> 'tenant'")
        await connection.execute("reset all")
        assert await value(connection, "show search_path") == "pg_catalog, pg_temp"
        assert await value(connection, "show session_replication_role") == "origin"
    finally:
        await connection.close()


async def test_event_triggers_of_a_tenant_do_not_fire_in_a_superuser_session(database: str):
    async with connected(database) as connection:
        if await connection.fetchval("select current_setting('server_version_num')::int < 170000"):
            pytest.skip("before Postgres 17 event triggers cannot be switched off")
        await connection.execute(
            "create function public.stop() returns event_trigger language plpgsql as $$ begin raise 'fired'; end $$;"
            "create event trigger stop on ddl_command_start execute function public.stop()"
        )
        with pytest.raises(asyncpg.RaiseError):
            await connection.execute("create table public.one ()")
    connection = await connect_as_superuser(database)
    await connection.execute("create table public.one ()")
    await connection.close()


async def test_a_login_without_the_rights_is_named(hostile: str):
    url = login_url(hostile, "tenant", "tenant")
    with pytest.raises(NotSuperuser):
        await connect_as_superuser(url)
    connection = await connect_with_fixed_settings(url)
    try:
        assert await value(connection, "show search_path") == "pg_catalog, pg_temp"
        assert await value(connection, "select current_user::text") == "tenant"
    finally:
        await connection.close()


async def test_options_for_tools_settle_the_same(hostile: str):
    connection = await connect_as_superuser(hostile)
    version = int(await connection.fetchval("show server_version_num"))
    await connection.close()
    tool = await asyncpg.connect(hostile, server_settings={"options": superuser_options(version)})
    try:
        assert await value(tool, "show search_path") == "pg_catalog, pg_temp"
        assert await value(tool, "select current_user = session_user")
        assert await value(tool, "show session_replication_role") == "origin"
        assert await value(tool, "show statement_timeout") == "0"
    finally:
        await tool.close()


async def test_reset_role_gains_nothing_in_a_session_of_login_as(tenant: str):
    connection = await connect_as_superuser(tenant)
    try:
        async with login_as(connection, tenant, "tenant") as session:
            assert await value(session, "select current_user::text") == "tenant"
            login = await value(session, "select session_user::text")
            assert login in await logins(connection)
            await session.execute("set role none")
            assert await value(session, "select current_user::text") == login
            for statement in (
                f"set role {await value(connection, 'select quote_ident(current_user)')}",
                f"set session authorization {await value(connection, 'select quote_ident(current_user)')}",
                "set role pg_execute_server_program",
                "create role another",
                "create schema mine",
            ):
                with pytest.raises(asyncpg.InsufficientPrivilegeError):
                    await session.execute(statement)
        assert await logins(connection) == []
    finally:
        await connection.close()


async def test_the_settings_of_the_role_are_those_of_the_session(tenant: str):
    connection = await connect_as_superuser(tenant)
    try:
        await connection.execute(
            """alter role tenant set search_path = "$user", evil, extensions; alter role tenant set app.note = 'a  b\\c';
            alter role tenant set log_min_duration_statement = 7"""
        )
        async with login_as(connection, tenant, "tenant", settings={"statement_timeout": "5s"}) as session:
            await session.execute("reset all")
            assert await value(session, "show search_path") == '"$user", evil, extensions'
            assert await value(session, "show app.note") == "a  b\\c"
            assert await value(session, "show statement_timeout") == "5s"
            assert await value(session, "select current_user::text") == "tenant"
        await connection.execute("alter role tenant reset all")
    finally:
        await connection.close()


async def test_a_url_for_tools_has_the_role_at_its_start(tenant: str):
    connection = await connect_as_superuser(tenant)
    try:
        async with login_url_as(connection, tenant, "tenant", settings={"search_path": '"a b", c'}) as url:
            tool = await asyncpg.connect(url)
            assert await value(tool, "select current_user::text") == "tenant"
            assert await value(tool, "show search_path") == '"a b", c'
            await tool.execute("reset role")
            assert await value(tool, "select current_user::text") == "tenant"
        with pytest.raises(SESSION_ENDED):
            await tool.fetchval("select 1")  # its session was ended
        with pytest.raises(asyncpg.PostgresError):
            await asyncpg.connect(url)
    finally:
        await connection.close()


async def test_a_login_that_came_to_own_something_is_dropped_with_it(tenant: str):
    connection = await connect_as_superuser(tenant)
    try:
        async with login_as(connection, tenant, "tenant") as session:
            await session.execute(
                "set role none; create table public.left_behind (); grant select on public.left_behind to public"
            )
        assert await logins(connection) == []
        assert await value(connection, "select to_regclass('public.left_behind')") is None
    finally:
        await connection.close()


async def test_the_login_is_dropped_when_the_work_fails_or_is_cancelled(tenant: str):
    connection = await connect_as_superuser(tenant)
    try:
        with pytest.raises(asyncpg.UndefinedTableError):
            async with login_as(connection, tenant, "tenant") as session:
                await session.execute("select from nothing")
        assert await logins(connection) == []
        started = asyncio.Event()

        async def work() -> None:
            async with login_as(connection, tenant, "tenant") as session:
                started.set()
                await session.execute("select pg_catalog.pg_sleep(60)")

        task = asyncio.create_task(work())
        await started.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert await logins(connection) == []
    finally:
        await connection.close()


async def test_what_a_killed_process_left_behind_is_dropped_by_the_next(tenant: str):
    killed, alive = await connect_as_superuser(tenant), await connect_as_superuser(tenant)
    try:
        async with login_as(alive, tenant, "tenant") as kept:
            left = login_as(killed, tenant, "tenant")
            session = await left.__aenter__()
            gone = await value(session, "select session_user::text")
            kept_login = await value(kept, "select session_user::text")
            pid = killed.get_server_pid()
            await alive.execute(f"select pg_terminate_backend({pid}, 5000)")
            assert await drop_leftover_logins(alive) == [gone]
            assert await logins(alive) == [kept_login]
            with pytest.raises(SESSION_ENDED):
                await session.fetchval("select 1")
            assert await value(kept, "select 1") == 1
            await left.__aexit__(None, None, None)
    finally:
        await alive.close()


async def test_an_unknown_role_and_an_open_transaction_are_refused(database: str):
    connection = await connect_as_superuser(database)
    try:
        with pytest.raises(UnknownRole):
            async with login_as(connection, database, "no such role"):
                pass
        async with connection.transaction():
            with pytest.raises(RuntimeError):
                async with login_as(connection, database, "pg_monitor"):
                    pass
    finally:
        await connection.close()


@pytest.mark.skipif(OUTSIDE is None, reason="there is no other Postgres here")
async def test_an_older_server_gets_the_settings_that_it_knows():
    with temporary_server(programs=OUTSIDE) as server:
        connection = await connect_as_superuser(server.url())
        assert await value(connection, "show search_path") == "pg_catalog, pg_temp"
        await connection.close()


def test_urls_for_another_login():
    url = "postgresql://me:pw@/db?host=/tmp/x&port=5&user=me&sslmode=require&options=-crole%3Dme"
    assert login_url(url, "a@b", "p/w") == "postgresql://a%40b:p%2Fw@/db?host=/tmp/x&port=5&sslmode=require"
    assert login_url("postgresql://h/db", "a", "b", "c d") == "postgresql://a:b@h/c%20d"
    assert startup_options({"search_path": '"a b", c\\d'}) == '-c search_path="a\\ b",\\ c\\\\d'
