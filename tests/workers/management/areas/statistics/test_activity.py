"""Running statements, locks, cancel and terminate: in other sessions that really wait, and by whom."""

import asyncio
import json
from collections.abc import AsyncIterator
from typing import Any

import asyncpg
import pytest

from schemas.database_logins import DEVELOPER
from tests.workers.management.conftest import Client
from workers.management.areas.sql.signals import repeat_signal
from workers.management.areas.statistics.sessions import does_platform_work, is_of_platform


class DatabaseSessions:
    """Opens sessions of the login of developers, as clients of role postgres; `close` ends them all."""

    def __init__(self, client: Client) -> None:
        self._client = client
        self._open: list[asyncpg.Connection] = []

    async def open(self, *, superuser: bool = False) -> asyncpg.Connection:
        """Open a session."""
        url = self._client.superuser_url if superuser else self._client.worker.database.url_of(DEVELOPER)
        connection = await asyncpg.connect(url)
        self._open.append(connection)
        if not superuser:
            await connection.execute("set role postgres")
        return connection

    async def blocked(self, table: str) -> tuple[asyncpg.Connection, asyncpg.Connection, "asyncio.Task[str]"]:
        """Return a session that holds a lock of a table, one that waits for it, and the waiting statement."""
        holder, waiter = await self.open(), await self.open()
        await holder.execute(f"begin; lock table public.{table}")
        waiting = asyncio.create_task(waiter.execute(f"delete from public.{table} where body = 'a secret'"))
        return holder, waiter, waiting

    def close(self) -> None:
        """End the sessions."""
        for connection in self._open:
            connection.terminate()


@pytest.fixture
async def sessions(visitor: Client) -> AsyncIterator[DatabaseSessions]:
    """Sessions of the database that are closed at the end."""
    made = DatabaseSessions(visitor)
    yield made
    made.close()


async def _blocked_session(client: Client, pid: int) -> dict[str, Any]:
    """Return a session once it is blocked."""
    async with asyncio.timeout(60):
        while True:
            rows = {row["pid"]: row for row in await client.run("statistics.running", include_idle=True)}
            if pid in rows and rows[pid]["blocked_by"]:
                return dict(rows[pid])


async def test_locks_name_who_blocks_whom_and_a_statement_is_canceled(
    developer: Client, reader: Client, owner: Client, sessions: DatabaseSessions, table: str
) -> None:
    holder, waiter, waiting = await sessions.blocked(table)
    pids = holder.get_server_pid(), waiter.get_server_pid()

    session = await _blocked_session(reader, pids[1])
    whole = await _blocked_session(developer, pids[1])
    locks = [lock for lock in await reader.run("statistics.locks") if lock["relation"] == table]
    canceled = await _ended(developer, "cancel", waiting, pid=pids[1], started_at=session["started_at"])

    assert session["blocked_by"] == [pids[0]]
    assert session["text"] == f"delete from public.{table} where body = '...'"
    assert whole["text"] == f"delete from public.{table} where body = 'a secret'"
    assert (session["role"], session["state"]) == (DEVELOPER, "active")
    assert session["wait"] == "Lock: relation"
    assert {(lock["pid"], lock["is_granted"], lock["mode"]) for lock in locks} == {
        (pids[0], True, "AccessExclusiveLock"),
        (pids[1], False, "RowExclusiveLock"),
    }
    assert [lock["blocked_by"] for lock in locks if not lock["is_granted"]] == [[pids[0]]]
    assert canceled == {"pid": pids[1], "sent": True}
    with pytest.raises(asyncpg.QueryCanceledError):
        await waiting
    assert (await developer.run("statistics.terminate", pid=pids[0]))["sent"]
    assert await waiter.execute(f"delete from public.{table}") == "DELETE 20000"
    [row] = (await owner.run("audit.list", operation="statistics.terminate", limit=1))["rows"]
    assert (row["before"]["pid"], row["before"]["role"]) == (pids[0], DEVELOPER)
    assert "text" not in row["before"]


async def _ended(
    client: Client, name: str, running: "asyncio.Task[str]", **arguments: object
) -> dict[str, Any]:
    """Signal until the statement has ended; return the first result without `ended`, which may be false on a busy machine."""
    first = await client.run(f"statistics.{name}", **arguments)
    is_ended = first.pop("ended")
    async with asyncio.timeout(60):
        while not is_ended and not running.done():
            response = await client.send("POST", f"/operations/statistics.{name}", arguments)
            is_ended = json.loads(response.body).get("ended", False)
    return dict(first)


async def test_a_signal_is_repeated_until_nothing_remains() -> None:
    calls: list[list[int]] = []

    async def signal(targets: list[int]) -> list[int]:
        calls.append(targets)
        return targets[1:]

    assert await repeat_signal([1, 2, 3], signal, longest_s=60) == []
    assert await repeat_signal([1, 2], signal, longest_s=0) == [1, 2]
    assert calls == [[1, 2, 3], [2, 3], [3]]


async def test_a_statement_that_catches_the_signal_is_signalled_again(
    developer: Client, sessions: DatabaseSessions
) -> None:
    """The first signal is caught; the statement goes on and is ended by a later one."""
    session = await sessions.open()
    running = asyncio.create_task(
        session.execute(
            "do $$ begin begin perform pg_sleep(100); exception when query_canceled then null; end; perform pg_sleep(100); end $$"
        )
    )
    pid = session.get_server_pid()
    await _active(developer, pid)

    assert await _ended(developer, "cancel", running, pid=pid) == {"pid": pid, "sent": True}

    with pytest.raises(asyncpg.QueryCanceledError):
        await running


async def _active(client: Client, pid: int) -> None:
    """Return when a session waits in a sleep."""
    async with asyncio.timeout(60):
        while True:
            rows = {row["pid"]: row for row in await client.run("statistics.running")}
            if pid in rows and rows[pid]["wait"] == "Timeout: PgSleep":
                return


async def test_a_session_that_runs_nothing_is_not_canceled(
    developer: Client, reader: Client, sessions: DatabaseSessions
) -> None:
    session = await sessions.open()
    await session.execute("begin")
    pid = session.get_server_pid()

    error = await developer.error("statistics.cancel", pid=pid)
    rows = {row["pid"]: row for row in await reader.run("statistics.running")}

    assert error["code"] == "not_running"
    assert "idle in transaction" in error["message"]
    assert rows[pid]["state"] == "idle in transaction"
    assert rows[pid]["transaction_s"] >= 0


async def test_sessions_that_are_not_there_are_named_so(
    developer: Client, sessions: DatabaseSessions
) -> None:
    pid = (await sessions.open()).get_server_pid()

    for unknown in (2**40, 2**31, 0, -1):
        for name in ("cancel", "terminate"):
            assert await developer.refused(f"statistics.{name}", pid=unknown) == (404, "not_found")
    other = {"pid": pid, "started_at": "2020-01-01T00:00:00+00:00"}
    assert await developer.refused("statistics.terminate", **other) == (404, "not_found")


async def test_sessions_of_superusers_are_left_to_superusers(
    developer: Client, sessions: DatabaseSessions
) -> None:
    session = await sessions.open(superuser=True)

    error = await developer.error("statistics.terminate", pid=session.get_server_pid())

    assert error["code"] == "no_right_of_postgres"
    assert await session.fetchval("select 1") == 1


async def test_sessions_of_the_platform_need_a_confirmation(
    developer: Client, sessions: DatabaseSessions, admin: asyncpg.Connection, table: str
) -> None:
    """Statements in logins for SQL of projects are canceled without one: a slow request of a client is such a statement."""
    _, waiter, waiting = await sessions.blocked(table)
    await _blocked_session(developer, waiter.get_server_pid())
    await admin.execute(
        "update headwater.administrator_sessions set confirmed_at = now() - interval '1 hour'"
    )
    management = await admin.fetchval(
        "select pid from pg_stat_activity where usename = 'headwater_management' limit 1"
    )

    for pid in (waiter.get_server_pid(), management):
        assert await developer.refused("statistics.terminate", pid=pid) == (403, "needs_confirmation")
    assert (await _ended(developer, "cancel", waiting, pid=waiter.get_server_pid()))["sent"]
    with pytest.raises(asyncpg.QueryCanceledError):
        await waiting


@pytest.mark.parametrize("role", ["anon", "authenticated", "service_role", "supabase_read_only_user"])
async def test_roles_of_the_interface_do_not_see_texts_of_others(
    admin: asyncpg.Connection, sessions: DatabaseSessions, role: str
) -> None:
    session = await sessions.open()
    await session.execute("select 'a secret'")
    await admin.execute(f"set role {role}")

    text = await admin.fetchval("select query from pg_stat_activity where pid = $1", session.get_server_pid())

    assert text == "<insufficient privilege>"


@pytest.mark.parametrize(
    ("role", "is_client", "of_platform", "its_work"),
    [
        ("postgres", True, False, False),
        ("anon", True, False, False),
        ("tenant", True, False, False),
        ("authenticator", True, True, False),
        ("headwater_developer", True, True, False),
        ("cli_login_postgres", True, True, False),
        ("headwater_job_1", True, True, False),
        ("headwater_management", True, True, True),
        ("supabase_admin", True, True, True),
        ("supabase_replication_admin", True, True, True),
        (None, True, True, True),
        ("postgres", False, True, True),
    ],
)
def test_sessions_of_the_platform_are_known_by_their_logins(
    role: str | None, is_client: bool, of_platform: bool, its_work: bool
) -> None:
    assert is_of_platform(role, is_client) is of_platform
    assert does_platform_work(role, is_client) is its_work
