"""Statistics of statements, sessions, tables; cancel and terminate; what hostile objects of a project cannot do."""

import asyncio
import uuid
from collections.abc import AsyncIterator
from dataclasses import replace
from typing import Any

import asyncpg
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.workers.management.conftest import Client
from workers.management.rights import Right
from workers.management.statistics.sessions import is_of_platform
from workers.management.statistics.texts import first_word, is_query, shown_text


@pytest.fixture
async def admin(visitor: Client) -> AsyncIterator[asyncpg.Connection]:
    """A superuser's connection, in which `set role` makes it another's."""
    connection = await asyncpg.connect(visitor.superuser_url)
    yield connection
    await connection.close()


@pytest.fixture
async def reader(visitor: Client) -> Client:
    """A client of a new reader."""
    return await visitor.signed_in(f"{uuid.uuid4().hex}@example.com", Right.READER)


@pytest.fixture
async def table(admin: asyncpg.Connection) -> AsyncIterator[str]:
    """A table of role postgres with rows, an index and a sequence; dropped at the end."""
    name = f"counted_{uuid.uuid4().hex}"
    await admin.execute(
        f"set role postgres; create table public.{name} (id smallserial primary key, body text);"
        f" insert into public.{name} (body) select 'x' from generate_series(1, 20000); analyze public.{name}; reset role"
    )
    yield name
    await admin.execute(f"reset role; drop table public.{name}")


async def _statement_of(client: Client, name: str) -> dict[str, Any]:
    rows = await client.run("statistics.statements", order="calls", limit=1000)
    [row] = [row for row in rows if name in row["text"] and "where" in row["text"]]
    return dict(row)


async def test_statements_are_counted_without_their_constants(
    reader: Client, admin: asyncpg.Connection, table: str
) -> None:
    for secret in ("hunter2", "swordfish"):
        await admin.execute(f"select count(*) from public.{table} where body = '{secret}'")

    row = await _statement_of(reader, table)

    assert row["calls"] == 2
    assert row["rows"] == 2
    assert row["text"] == f"select count(*) from public.{table} where body = $1"
    assert row["role"] == "supabase_admin"
    of_others = await reader.run("statistics.statements", role="anon", limit=1000)
    assert all(row["role"] == "anon" for row in of_others)


async def test_a_statement_is_planned_without_running(
    reader: Client, admin: asyncpg.Connection, table: str
) -> None:
    if await admin.fetchval("select current_setting('server_version_num')::int < 160000"):
        pytest.skip("plans without values come with Postgres 16")
    await admin.execute(f"select count(*) from public.{table} where id = 7 and body = 'b'")
    row = await _statement_of(reader, table)

    plan = await reader.run("statistics.plan", id=row["id"])

    assert plan["text"] == row["text"]
    assert table in str(plan["plan"])
    assert (await _statement_of(reader, table))["calls"] == 1
    assert await reader.refused("statistics.plan", id="1") == (404, "not_found")
    assert await reader.refused("statistics.plan", id="1; drop") == (400, "invalid_arguments")
    assert await reader.refused("statistics.plan", id="1", search_path=[""]) == (400, "invalid_arguments")


async def test_a_reader_plans_with_the_rights_of_a_reader(
    reader: Client, admin: asyncpg.Connection, table: str
) -> None:
    """The text is planned, not run: an update of a table that readers may not change is refused by its plan's check, or not at all."""
    await admin.execute(f"update public.{table} set body = 'y' where id = 1")
    row = await _statement_of(reader, table)

    await reader.send("POST", "/operations/statistics.plan", {"id": row["id"]})

    assert (await _statement_of(reader, table))["calls"] == 1


async def test_texts_of_utility_statements_are_not_shown(owner: Client, admin: asyncpg.Connection) -> None:
    role = f"r_{uuid.uuid4().hex}"
    await admin.execute("set pg_stat_statements.track_utility = on")
    await admin.execute(f"/* a */ create role {role} password 'do not show'")
    await admin.execute(f"drop role {role}")

    rows = await owner.run("statistics.statements", limit=1000)

    assert "do not show" not in str(rows)
    assert any(row["text"].startswith("create (the rest") for row in rows)


async def test_the_statistics_are_reset(owner: Client, admin: asyncpg.Connection, table: str) -> None:
    await admin.execute(f"select count(*) from public.{table} where body = 'a'")
    assert (await _statement_of(owner, table))["calls"] == 1

    await owner.run("statistics.reset")

    rows = await owner.run("statistics.statements", limit=1000)
    assert not [row for row in rows if table in row["text"]]


@pytest.mark.parametrize(
    "arguments", [{"limit": 0}, {"limit": 10**9}, {"order": "name"}, {"role": "a\0"}, {"role": ""}]
)
async def test_queries_that_do_not_fit_are_refused(reader: Client, arguments: dict[str, object]) -> None:
    assert await reader.refused("statistics.statements", **arguments) == (400, "invalid_arguments")


async def _blocked(
    visitor: Client, table: str
) -> tuple[asyncpg.Connection, asyncpg.Connection, "asyncio.Task[str]"]:
    """Return a session that holds a lock of a table, one that waits for it, and the waiting statement."""
    holder, waiter = (
        await asyncpg.connect(visitor.superuser_url),
        await asyncpg.connect(visitor.superuser_url),
    )
    for connection in (holder, waiter):
        await connection.execute("set session authorization postgres")
    await holder.execute(f"begin; lock table public.{table}")
    waiting = asyncio.create_task(waiter.execute(f"delete from public.{table}"))
    return holder, waiter, waiting


async def _session(client: Client, pid: int) -> dict[str, Any]:
    """Return a session once it is blocked."""
    while True:
        rows = {row["pid"]: row for row in await client.run("statistics.running", include_idle=True)}
        if rows[pid]["blocked_by"]:
            return dict(rows[pid])


async def test_locks_name_who_blocks_whom_and_a_statement_is_canceled(
    owner: Client, reader: Client, table: str
) -> None:
    holder, waiter, waiting = await _blocked(owner, table)
    pids = holder.get_server_pid(), waiter.get_server_pid()

    session = await _session(reader, pids[1])
    locks = [lock for lock in await reader.run("statistics.locks") if lock["relation"] == table]

    assert session["blocked_by"] == [pids[0]]
    assert session["text"] == f"delete from public.{table}"
    assert {(lock["pid"], lock["is_granted"]) for lock in locks} == {(pids[0], True), (pids[1], False)}
    assert await owner.run("statistics.cancel", pid=pids[1]) == {"pid": pids[1], "sent": True}
    with pytest.raises(asyncpg.QueryCanceledError):
        await waiting
    assert (await owner.run("statistics.terminate", pid=pids[0]))["sent"]
    await waiter.execute(f"delete from public.{table}")
    await waiter.close()
    holder.terminate()
    [row] = (await owner.run("audit.list", operation="statistics.terminate", limit=1))["rows"]
    assert row["before"]["pid"] == pids[0]


async def test_sessions_of_the_platform_need_a_confirmation(owner: Client, admin: asyncpg.Connection) -> None:
    own = await asyncpg.connect(owner.superuser_url)
    await own.execute("set session authorization authenticator")
    pid = await admin.fetchval(
        "select pid from pg_stat_activity where usename = 'headwater_management' limit 1"
    )
    token = replace(
        owner,
        cookie="",
        token=(await owner.run("tokens.create", name="t", rights="owner", may_write=True))["secret"],
    )

    assert await token.refused("statistics.terminate", pid=pid) == (403, "needs_confirmation")
    assert (await owner.refused("statistics.cancel", pid=admin.get_server_pid()))[0] == 403
    assert await owner.refused("statistics.cancel", pid=2**40) == (404, "not_found")
    assert await owner.refused("statistics.cancel", pid=0) == (404, "not_found")
    await own.close()


async def test_tables_indexes_and_sequences_are_described(
    reader: Client, admin: asyncpg.Connection, table: str
) -> None:
    await admin.execute(f"select setval('public.{table}_id_seq', 32000)")

    tables = {row["name"]: row for row in await reader.run("statistics.tables", schema="public")}
    indexes = {row["name"]: row for row in await reader.run("statistics.indexes", schema="public")}
    sequences = {row["name"]: row for row in await reader.run("statistics.sequences")}
    database = await reader.run("statistics.database")

    assert tables[table]["rows"] == 20000
    assert tables[table]["bytes"] >= tables[table]["table_bytes"] > 0
    assert indexes[f"{table}_pkey"]["is_unique"]
    assert sequences[f"{table}_id_seq"]["used"] > 0.97
    assert database["bytes"] > 0
    assert sum(row["count"] for row in database["connections"]) > 0


async def test_tables_that_are_read_whole_are_listed(
    reader: Client, admin: asyncpg.Connection, table: str
) -> None:
    await admin.execute("set max_parallel_workers_per_gather = 0")
    for number in range(60):
        await admin.execute(f"select count(*) from public.{table} where body = '{number}'")
    await admin.execute("select pg_stat_force_next_flush()")
    await admin.execute("select 1")

    rows = {row["name"]: row for row in await reader.run("statistics.missing_indexes")}

    assert rows[table]["sequential_scans"] >= 60


async def test_a_table_that_is_named_like_the_statistics_is_not_read(
    reader: Client, admin: asyncpg.Connection
) -> None:
    """A project replaces the extension by functions and views of its names that report who called them."""
    transaction = admin.transaction()
    await transaction.start()
    await transaction.rollback()
    await admin.execute(
        """
        set role postgres;
        create table public.called (by name);
        create function public.pg_stat_statements(bool) returns setof public.called language plpgsql as
          $$ begin insert into public.called values (current_user); return; end $$;
        create view public.pg_stat_activity as select 1 as pid;
        create function public.pg_blocking_pids(int) returns int[] language plpgsql as
          $$ begin insert into public.called values (current_user); return '{}'; end $$;
        reset role
        """
    )
    try:
        await reader.run("statistics.statements")
        await reader.run("statistics.running", include_idle=True)
        await reader.run("statistics.locks")

        assert await admin.fetchval("select count(*) from public.called") == 0
    finally:
        await admin.execute(
            "drop view public.pg_stat_activity; drop function public.pg_blocking_pids(int);"
            " drop function public.pg_stat_statements(bool); drop table public.called"
        )


async def test_without_the_extension_the_answer_names_it(reader: Client, admin: asyncpg.Connection) -> None:
    await admin.execute(
        "alter extension pg_stat_statements drop function extensions.pg_stat_statements(bool)"
    )
    await admin.execute("alter function extensions.pg_stat_statements(bool) rename to hidden_statements")
    try:
        assert await reader.refused("statistics.statements") == (409, "no_statement_statistics")
    finally:
        await admin.execute("alter function extensions.hidden_statements(bool) rename to pg_stat_statements")
        await admin.execute(
            "alter extension pg_stat_statements add function extensions.pg_stat_statements(bool)"
        )


@pytest.mark.parametrize("role", ["anon", "authenticated", "service_role"])
async def test_roles_of_the_interface_do_not_see_texts_of_others(
    admin: asyncpg.Connection, role: str
) -> None:
    texts = await admin.fetch(f"set role {role}") or await admin.fetch(
        "select query from pg_stat_activity where usename is distinct from current_user and query <> '<insufficient privilege>'"
        " and query is not null and query <> ''"
    )
    await admin.execute("reset role")

    assert texts == []


@pytest.mark.parametrize(
    ("text", "word"),
    [
        ("select 1", "select"),
        ("-- a\n/* b\n */ ( SELECT 1)", "select"),
        ("CREATE ROLE x", "create"),
        ("", ""),
        ("-- only", ""),
        ("/* open", ""),
    ],
)
def test_the_first_word_stands_behind_comments(text: str, word: str) -> None:
    assert first_word(text) == word


@given(st.text(alphabet="-/* \n(select'", max_size=60))
def test_any_text_is_shown_or_named(text: str) -> None:
    assert (shown_text(text) == text) == is_query(text)


@pytest.mark.parametrize(
    ("role", "is_client", "expected"),
    [
        ("postgres", True, False),
        ("anon", True, False),
        ("tenant", True, False),
        ("authenticator", True, True),
        ("headwater_management", True, True),
        ("headwater_job_1", True, True),
        ("supabase_admin", True, True),
        (None, True, True),
        ("postgres", False, True),
    ],
)
def test_sessions_of_the_platform_are_known_by_their_logins(
    role: str | None, is_client: bool, expected: bool
) -> None:
    assert is_of_platform(role, is_client) is expected
