"""Jobs in SQL: who may make, see, change and remove which. How they run is told in tests/workers/scheduler."""

from collections.abc import AsyncIterator

import asyncpg
import pytest

from tests.schemas.extensions.conftest import PASSWORD
from tests.workers.database.server import Server, connected, fresh_database


@pytest.fixture
async def name(bootstrapped: Server) -> AsyncIterator[str]:
    """A database with the extension, made by role postgres as projects do."""
    async with fresh_database(bootstrapped) as one:
        async with connected(bootstrapped.url(database=one)) as admin:
            await admin.execute(f"alter database {one} owner to postgres")
        async with connected(bootstrapped.url("postgres", PASSWORD, one)) as owner:
            await owner.execute("create extension pg_cron with schema extensions")
        yield one


@pytest.fixture
async def project(bootstrapped: Server, name: str) -> AsyncIterator[asyncpg.Connection]:
    """A connection of role postgres."""
    async with connected(bootstrapped.url("postgres", PASSWORD, name)) as one:
        yield one


@pytest.fixture
async def other(
    project: asyncpg.Connection, bootstrapped: Server, name: str
) -> AsyncIterator[asyncpg.Connection]:
    """A connection of a role that may use jobs and nothing else."""
    await project.execute("grant usage on schema cron to authenticated")
    async with connected(bootstrapped.url("authenticator", PASSWORD, name)) as one:
        await one.execute("set role authenticated")
        yield one


async def test_a_job_is_a_row_with_the_columns_of_the_original(project: asyncpg.Connection, name: str):
    id = await project.fetchval("select cron.schedule('nightly', '0 3 * * *', 'vacuum')")
    row = await project.fetchrow("select * from cron.job")

    assert row is not None
    assert dict(row) == {
        "jobid": id, "schedule": "0 3 * * *", "command": "vacuum", "nodename": "localhost", "nodeport": row["nodeport"],
        "database": name, "username": "postgres", "active": True, "jobname": "nightly",
    }  # fmt: skip


async def test_scheduling_a_name_again_replaces_its_job(project: asyncpg.Connection):
    first = await project.fetchval("select cron.schedule('a', '0 3 * * *', 'select 1')")
    second = await project.fetchval("select cron.schedule('a', '30 seconds', 'select 2')")

    assert first == second
    assert await project.fetchval("select schedule || command from cron.job") == "30 secondsselect 2"


async def test_jobs_without_a_name_are_each_their_own(project: asyncpg.Connection):
    await project.execute(
        "select cron.schedule('0 3 * * *', 'select 1'), cron.schedule('0 3 * * *', 'select 1')"
    )

    assert await project.fetchval("select count(*) from cron.job where jobname is null") == 2


async def test_names_are_unique_for_each_user(project: asyncpg.Connection, other: asyncpg.Connection):
    await project.execute("select cron.schedule('a', '* * * * *', 'select 1')")
    await other.execute("select cron.schedule('a', '* * * * *', 'select 2')")

    assert await project.fetchval("select count(*) from cron.job") == 2


async def test_everyone_sees_their_own_jobs_and_runs(project: asyncpg.Connection, other: asyncpg.Connection):
    await project.execute("select cron.schedule('mine', '* * * * *', 'select 1')")

    assert await other.fetch("select * from cron.job") == []
    assert await other.fetch("select * from cron.job_run_details") == []


async def test_nobody_changes_the_job_of_another(project: asyncpg.Connection, other: asyncpg.Connection):
    id = await other.fetchval("select cron.schedule('theirs', '* * * * *', 'select 1')")
    mine = await project.fetchval("select cron.schedule('mine', '* * * * *', 'select 1')")

    for connection, job in ((other, mine), (project, id)):
        with pytest.raises((asyncpg.InsufficientPrivilegeError, asyncpg.UndefinedObjectError)):
            await connection.execute("select cron.unschedule($1::bigint)", job)
        with pytest.raises((asyncpg.InsufficientPrivilegeError, asyncpg.UndefinedObjectError)):
            await connection.execute("select cron.alter_job($1, command := 'select 3')", job)


@pytest.mark.parametrize(
    "username", ["supabase_admin", "supabase_auth_admin", "service_role", "headwater_scheduler"]
)
@pytest.mark.parametrize(
    "attempt",
    [
        "select cron.schedule_in_database('x', '* * * * *', 'select 1', 'postgres', '{0}')",
        "select cron.alter_job(jobid, username := '{0}') from cron.job where jobname = 'mine'",
        "insert into cron.job (schedule, command, username) values ('* * * * *', 'select 1', '{0}')",
        "update cron.job set username = '{0}'",
        "set session_replication_role = replica; insert into cron.job (schedule, command, username)"
        " values ('* * * * *', 'select 1', '{0}')",
        "alter table cron.job disable trigger all; update cron.job set username = '{0}'",
    ],
)
async def test_nobody_makes_a_job_for_another(project: asyncpg.Connection, attempt: str, username: str):
    await project.execute("select cron.schedule('mine', '* * * * *', 'select 1')")

    with pytest.raises(asyncpg.InsufficientPrivilegeError):
        await project.execute(attempt.format(username))


async def test_the_superuser_makes_jobs_for_others(
    bootstrapped: Server, name: str, project: asyncpg.Connection
):
    async with connected(bootstrapped.url(database=name)) as admin:
        await admin.execute(
            "select cron.schedule_in_database('x', '* * * * *', 'select 1', 'postgres', 'postgres', false)"
        )
        with pytest.raises(asyncpg.UndefinedObjectError):
            await admin.execute(
                "select cron.schedule_in_database('y', '* * * * *', '', 'postgres', 'nobody')"
            )

    row = await project.fetchrow("select username, database, active from cron.job")
    assert row is not None
    assert tuple(row) == ("postgres", "postgres", False)


async def test_a_job_is_altered_in_part(project: asyncpg.Connection):
    id = await project.fetchval("select cron.schedule('a', '0 3 * * *', 'select 1')")

    await project.execute("select cron.alter_job($1, schedule := '@daily', active := false)", id)

    row = await project.fetchrow("select schedule, command, active from cron.job")
    assert row is not None
    assert tuple(row) == ("@daily", "select 1", False)


async def test_a_job_is_unscheduled_by_id_or_name(project: asyncpg.Connection):
    id = await project.fetchval("select cron.schedule('a', '0 3 * * *', 'select 1')")
    await project.execute("select cron.schedule('b', '0 3 * * *', 'select 1')")

    assert await project.fetchval("select cron.unschedule($1::bigint)", id) is True
    assert await project.fetchval("select cron.unschedule('b')") is True
    for gone in ("99", "'b'"):
        with pytest.raises(asyncpg.UndefinedObjectError, match="could not find valid entry for job"):
            await project.execute(f"select cron.unschedule({gone})")


@pytest.mark.parametrize(
    "text", ["", "* * * *", "61 * * * *", "0 seconds", "90 seconds", "0 0 32 * *", "@reboot", "every day"]
)
async def test_what_is_no_schedule_is_refused_with_a_hint(project: asyncpg.Connection, text: str):
    with pytest.raises(asyncpg.InvalidParameterValueError, match="invalid schedule") as caught:
        await project.execute("select cron.schedule($1, 'select 1')", text)

    assert "seconds" in (caught.value.hint or "")
    with pytest.raises((asyncpg.CheckViolationError, asyncpg.InsufficientPrivilegeError)):
        await project.execute("insert into cron.job (schedule, command) values ($1, '')", text)


async def test_a_change_is_told_at_its_commit(project: asyncpg.Connection, bootstrapped: Server, name: str):
    heard: list[str] = []
    async with connected(bootstrapped.url(database=name)) as admin:
        await admin.add_listener("headwater_cron", lambda *_: heard.append("told"))
        async with project.transaction():
            await project.execute(
                "select cron.schedule('a', '* * * * *', ''), cron.schedule('b', '* * * * *', '')"
            )
            await admin.execute("select 1")
            assert heard == []
        while not heard:
            await admin.execute("select 1")

    assert heard == ["told"]


async def test_a_table_that_a_project_made_itself_is_not_served(
    project: asyncpg.Connection, bootstrapped: Server, name: str
):
    await project.execute(
        "drop extension pg_cron cascade; create schema cron; create table cron.job (jobid int, username text);"
        " create function cron.f() returns trigger language plpgsql as 'begin return null; end';"
        " create trigger headwater_guard_owner after insert on cron.job execute function cron.f();"
        " insert into cron.job values (1, 'supabase_auth_admin')"
    )

    async with connected(bootstrapped.url("headwater_scheduler", PASSWORD, name)) as scheduler:
        assert await scheduler.fetchval("select jobs from headwater.scheduler_serves()") is False
        with pytest.raises(asyncpg.InsufficientPrivilegeError):
            await scheduler.execute("select headwater.job_login('supabase_auth_admin', 'SCRAM-SHA-256$x')")


@pytest.mark.parametrize("role", ["postgres", "authenticator", "supabase_auth_admin"])
async def test_only_the_scheduler_may_ask_for_logins(bootstrapped: Server, name: str, role: str):
    async with connected(bootstrapped.url(role, PASSWORD, name)) as connection:
        for call in ("job_login('postgres', 'SCRAM-SHA-256$x')", "take_over_jobs()", "scheduler_serves()"):
            with pytest.raises(asyncpg.InsufficientPrivilegeError):
                await connection.execute(f"select * from headwater.{call}")


async def test_the_scheduler_may_log_in_for_owners_of_jobs_only(
    bootstrapped: Server, name: str, project: asyncpg.Connection
):
    await project.execute("select cron.schedule('mine', '* * * * *', 'select 1')")
    async with connected(bootstrapped.url("headwater_scheduler", PASSWORD, name)) as scheduler:
        for owner in ("supabase_admin", "service_role", "pg_read_all_data", "headwater_scheduler", "nobody"):
            with pytest.raises((asyncpg.InsufficientPrivilegeError, asyncpg.UndefinedObjectError)):
                await scheduler.execute("select headwater.job_login($1, 'SCRAM-SHA-256$x')", owner)
        login = await scheduler.fetchval("select headwater.job_login('postgres', 'SCRAM-SHA-256$x')")
        with pytest.raises(asyncpg.InsufficientPrivilegeError):
            await scheduler.execute("set role postgres")
        assert await scheduler.execute("update cron.job set command = 'select 2'") == "UPDATE 0"

    row = await project.fetchrow(
        "select array(select roleid::regrole::text from pg_auth_members where member = r.oid), rolsuper, rolinherit,"
        " rolcreaterole, rolbypassrls from pg_roles r where rolname = $1",
        login,
    )
    assert row is not None
    assert tuple(row) == (["postgres"], False, False, False, False)


async def test_a_login_that_owns_something_keeps_no_scheduler_from_beginning(
    bootstrapped: Server, name: str, project: asyncpg.Connection
):
    database = await project.fetchval("select oid from pg_database where datname = current_database()")
    login = f"headwater_job_{database}_1"
    await project.execute(
        f"create role {login} login; grant {login} to postgres; create table public.kept ();"
        f" grant create on schema public to {login}; alter table public.kept owner to {login}"
    )

    async with connected(bootstrapped.url("headwater_scheduler", PASSWORD, name)) as scheduler:
        assert await scheduler.fetchval("select headwater.take_over_jobs()") == 0

    assert await project.fetchval("select rolcanlogin from pg_roles where rolname = $1", login) is False
    await project.execute(f"drop owned by {login} cascade; drop role {login}")
