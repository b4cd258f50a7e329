import asyncio
from collections.abc import Callable

import asyncpg
import pytest

from schemas.schedules import InvalidSchedule, parse_schedule
from schemas.settings.scheduler import Scheduler
from schemas.settings.tree import Settings
from schemas.settings.types import Duration
from tests.workers.scheduler.scheduler_pool import SchedulerPool
from workers.database.errors import DatabaseError, Disconnected
from workers.scheduler.jobs import error_text, outcome
from workers.scheduler.pool import SchedulerCandidate

Begin = Callable[..., SchedulerCandidate]


async def schedule(connection: asyncpg.Connection, name: str, command: str, when: str = "1 seconds") -> int:
    return int(await connection.fetchval("select cron.schedule($1, $2, $3)", name, when, command))


async def test_a_job_runs_and_its_run_is_recorded(
    scheduler_pool: SchedulerPool, project: asyncpg.Connection, begin: Begin
):
    begin()

    job = await schedule(project, "one", "select 1")
    run = await scheduler_pool.run_of("one")

    assert (run["jobid"], run["status"], run["return_message"]) == (job, "succeeded", "1 row")
    assert (run["username"], run["command"], run["database"]) == ("postgres", "select 1", scheduler_pool.name)
    assert run["start_time"] <= run["end_time"]
    assert run["job_pid"] > 0


async def test_a_job_that_fails_says_why(
    scheduler_pool: SchedulerPool, project: asyncpg.Connection, begin: Begin
):
    begin()

    await schedule(project, "broken", "select 1/0")

    run = await scheduler_pool.run_of("broken")
    assert (run["status"], run["return_message"]) == ("failed", "ERROR:  division by zero")


async def test_a_job_has_the_rights_and_settings_of_its_owner(
    scheduler_pool: SchedulerPool, project: asyncpg.Connection, begin: Begin
):
    await project.execute("create table seen (who text, how text, path text)")
    begin()

    await schedule(
        project,
        "who",
        "insert into seen select current_user, current_setting('role'), current_setting('search_path')",
    )
    await scheduler_pool.run_of("who")

    row = await project.fetchrow("select * from seen")
    assert row is not None
    assert tuple(row) == ("postgres", "postgres", '"$user", public, extensions')


@pytest.mark.parametrize(
    "attempt",
    [
        "reset role; create role thief superuser",
        "set role none; select * from secrets",
        "reset role; select * from secrets",
        "reset session authorization; select * from secrets",
        "set session authorization supabase_admin; select * from secrets",
        "set role supabase_admin; select * from secrets",
        "set role service_role; select * from secrets",
        "set role headwater_scheduler; select headwater.job_login('postgres', 'SCRAM-SHA-256$')",
        "select headwater.job_login('postgres', 'SCRAM-SHA-256$')",
        "update cron.job set username = 'postgres'; commit",
    ],
)
async def test_a_job_gains_nothing_beyond_its_owner(
    scheduler_pool: SchedulerPool, begin: Begin, attempt: str, project: asyncpg.Connection
):
    await scheduler_pool.admin.execute(
        "create table public.secrets (id int); revoke all on public.secrets from public, anon, authenticated;"
        " grant usage on schema cron to authenticated"
    )
    async with scheduler_pool.admin.transaction():
        await scheduler_pool.admin.execute("set local role authenticated")
        await schedule(scheduler_pool.admin, "climb", attempt)
    begin()

    run = await scheduler_pool.run_of("climb")

    assert (run["username"], run["status"]) == ("authenticated", "failed")
    assert "permission denied" in run["return_message"] or "superuser" in run["return_message"]


async def test_a_job_of_the_superuser_is_not_run(scheduler_pool: SchedulerPool, begin: Begin):
    begin()

    await schedule(scheduler_pool.admin, "root", "select 1")

    run = await scheduler_pool.run_of("root")
    assert run["status"] == "failed"
    assert "are not run" in run["return_message"]


async def test_a_job_may_be_what_no_transaction_takes(
    scheduler_pool: SchedulerPool, project: asyncpg.Connection, begin: Begin
):
    await project.execute(
        "create table counted (id int); create procedure twice() language plpgsql as"
        " 'begin insert into counted values (1); commit; insert into counted values (2); end'"
    )
    begin()

    await schedule(project, "vacuum", "vacuum counted")
    await schedule(project, "procedure", "call twice()")

    assert (await scheduler_pool.run_of("vacuum"))["return_message"] == "VACUUM"
    assert (await scheduler_pool.run_of("procedure"))["status"] == "succeeded"


async def test_a_job_that_takes_too_long_is_stopped(
    scheduler_pool: SchedulerPool, project: asyncpg.Connection, begin: Begin
):
    begin(Settings(scheduler=Scheduler(job_timeout=Duration(0.3))))

    await schedule(project, "long", "select pg_sleep(60)")

    run = await scheduler_pool.run_of("long")
    assert (run["status"], run["return_message"]) == ("failed", "job timed out after 0.3 s")
    await gone(scheduler_pool, run["job_pid"])


async def test_runs_of_one_job_wait_for_one_another(
    scheduler_pool: SchedulerPool, project: asyncpg.Connection, begin: Begin
):
    begin()

    await schedule(project, "slow", "select pg_sleep(1.5)")
    await scheduler_pool.until("select from cron.job_run_details where status = 'succeeded' offset 1")

    rows = await scheduler_pool.admin.fetch(
        "select start_time, end_time from cron.job_run_details order by runid limit 2"
    )
    assert rows[0]["end_time"] <= rows[1]["start_time"]


async def test_what_is_unscheduled_or_inactive_runs_no_more(
    scheduler_pool: SchedulerPool, project: asyncpg.Connection, begin: Begin
):
    begin()
    job = await schedule(project, "gone", "select 1")
    await scheduler_pool.run_of("gone")

    await project.execute("select cron.alter_job($1, active := false)", job)
    await scheduler_pool.until("select from cron.job where not active")
    await schedule(project, "mark", "select 2")
    count = await project.fetchval("select count(*) from cron.job_run_details where jobid = $1", job)
    await scheduler_pool.run_of("mark")

    assert (
        await project.fetchval("select count(*) from cron.job_run_details where jobid = $1", job) - count <= 1
    )


async def test_the_extension_may_come_and_go(
    scheduler_pool: SchedulerPool, project: asyncpg.Connection, begin: Begin
):
    await project.execute("drop extension pg_cron cascade")
    begin()
    await project.execute("create extension pg_cron with schema extensions")
    await schedule(project, "first", "select 1")
    await scheduler_pool.run_of("first")

    await project.execute("drop extension pg_cron cascade; create extension pg_cron with schema pg_catalog")
    await schedule(project, "second", "select 1")

    assert (await scheduler_pool.run_of("second"))["status"] == "succeeded"


async def test_a_job_that_is_stopped_at_the_end_of_the_process_has_failed(
    scheduler_pool: SchedulerPool, project: asyncpg.Connection, begin: Begin
):
    settings = Settings()
    scheduler = begin(Settings(pools=type(settings.pools)(drain_timeout=0.4)))
    await schedule(project, "endless", "select pg_sleep(60)")
    await scheduler_pool.until("select from cron.job_run_details where status = 'running'")

    await scheduler.close()

    run = await scheduler_pool.run_of("endless")
    assert (run["status"], run["return_message"]) == ("failed", "the scheduler was stopped")
    await gone(scheduler_pool, run["job_pid"])


async def gone(scheduler_pool: SchedulerPool, pid: int) -> None:
    """Wait until a session has ended."""
    async with asyncio.timeout(60):
        while await scheduler_pool.admin.fetchval(
            "select count(*) from pg_stat_activity where pid = $1", pid
        ):
            await asyncio.sleep(0.02)


@pytest.mark.parametrize(
    ("tag", "message"),
    [("SELECT 1", "1 row"), ("SELECT 0", "0 rows"), ("DELETE 3", "DELETE 3"), ("VACUUM", "VACUUM")],
)
def test_a_success_is_told_as_the_original_does(tag: str, message: str):
    assert outcome(tag) == message


def test_a_failure_is_told_with_all_its_lines():
    error = DatabaseError("23505", "duplicate", "Key (a)=(1)", "another", context="in f()")

    assert error_text(error) == "ERROR:  duplicate\nDETAIL:  Key (a)=(1)\nHINT:  another\nCONTEXT:  in f()"
    assert error_text(Disconnected("gone")) == "connection failed: gone"


_ITEMS = [
    "*",
    "0",
    "5",
    "31",
    "60",
    "1-3",
    "3-1",
    "*/2",
    "*/0",
    "1-9/4",
    "$",
    "jan",
    "dec-feb",
    "sun",
    "mon-fri",
    "7",
    "1,2",
    "x",
    "1-",
    "05",
]


async def test_what_the_database_takes_as_a_schedule_the_scheduler_reads(
    scheduler_pool: SchedulerPool, project: asyncpg.Connection
):
    texts = [" ".join([*["*"] * place, item, *["*"] * (4 - place)]) for place in range(5) for item in _ITEMS]
    texts += [
        "1 seconds",
        "59 SECONDS",
        "1 second",
        "60 seconds",
        "@hourly",
        "@Daily",
        "@reboot",
        "* * * *",
        "* * * * * *",
        "",
    ]
    taken = await project.fetch(
        "select text, cron.headwater_is_schedule(text) as is_one from unnest($1::text[]) as text", texts
    )

    for text, is_one in taken:
        if is_one:
            parse_schedule(text, "GMT")
        else:
            with pytest.raises(InvalidSchedule):
                parse_schedule(text, "GMT")


_REQUEST = "insert into headwater.requested_runs (schedule, requested_at) values ($1, now() - make_interval(secs => $2))"


async def test_a_requested_run_starts_once_and_an_old_request_does_not(
    scheduler_pool: SchedulerPool, project: asyncpg.Connection, begin: Begin
):
    job = await schedule(project, "yearly", "select 1", "0 0 1 1 *")
    await scheduler_pool.admin.execute(_REQUEST, f"job {job}", 3600.0)
    begin()
    await scheduler_pool.until("select where not exists (select from headwater.requested_runs)")

    await scheduler_pool.admin.execute(_REQUEST, f"job {job}", 0.0)
    await scheduler_pool.admin.execute("notify headwater_cron")
    await scheduler_pool.run_of("yearly")

    assert await scheduler_pool.admin.fetchval("select count(*) from cron.job_run_details") == 1
    assert await scheduler_pool.admin.fetchval("select count(*) from headwater.requested_runs") == 0


_FULL_ONCE = """
    create sequence public.attempts;
    create function public.full_once() returns trigger language plpgsql security definer as $$
    begin
      if nextval('public.attempts') = 1 then
        raise exception 'the disk is full' using errcode = 'disk_full';
      end if;
      return new;
    end $$;
    create trigger full_once before insert on headwater.last_runs for each row execute function public.full_once();
"""


async def test_a_run_that_the_database_cannot_start_at_its_moment_starts_a_little_later(
    scheduler_pool: SchedulerPool, project: asyncpg.Connection, begin: Begin
):
    job = await schedule(project, "yearly", "select 1", "0 0 1 1 *")
    await scheduler_pool.admin.execute(_FULL_ONCE)
    await scheduler_pool.admin.execute(_REQUEST, f"job {job}", 0.0)
    begin()

    await scheduler_pool.run_of("yearly")

    assert await scheduler_pool.admin.fetchval("select last_value from public.attempts") == 2


async def test_schedules_that_cannot_be_read_end_no_work_and_are_read_again(
    scheduler_pool: SchedulerPool, project: asyncpg.Connection, begin: Begin
):
    job = await schedule(project, "waits", "select pg_advisory_xact_lock(7)", "0 0 1 1 *")
    await scheduler_pool.admin.execute("select pg_advisory_lock(7)")
    await scheduler_pool.admin.execute(_REQUEST, f"job {job}", 0.0)
    begin()
    await scheduler_pool.until("select from cron.job_run_details where status = 'running'")
    await scheduler_pool.admin.execute("""
        create sequence public.reads;
        alter table headwater.requested_runs rename to requested_runs_table;
        create function public.requested() returns setof headwater.requested_runs_table language plpgsql security definer as $$
        begin
          perform nextval('public.reads');
          raise exception 'no memory' using errcode = 'out_of_memory';
        end $$;
        create view headwater.requested_runs as select * from public.requested();
        create rule takes as on delete to headwater.requested_runs do instead
          delete from headwater.requested_runs_table where schedule = old.schedule returning *;
        grant select, delete on headwater.requested_runs to headwater_scheduler;
        notify headwater_cron;
    """)
    await scheduler_pool.until("select where (select last_value from public.reads) > 1")

    await scheduler_pool.admin.execute(
        "drop view headwater.requested_runs; alter table headwater.requested_runs_table rename to requested_runs"
    )
    second = await schedule(project, "later", "select 1", "0 0 1 1 *")
    await scheduler_pool.admin.execute(_REQUEST, f"job {second}", 0.0)
    await scheduler_pool.admin.execute("notify headwater_cron")
    await scheduler_pool.run_of("later")
    await scheduler_pool.admin.execute("select pg_advisory_unlock(7)")

    assert (await scheduler_pool.run_of("waits"))["status"] == "succeeded"


async def test_role_postgres_requests_no_runs(scheduler_pool: SchedulerPool, project: asyncpg.Connection):
    with pytest.raises(asyncpg.InsufficientPrivilegeError):
        await project.execute(_REQUEST, "job 1", 0.0)
