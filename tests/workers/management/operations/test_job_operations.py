"""Operations on jobs, requests of SQL, queues and webhooks on a running platform; and what hostile tables in their schemas gain."""

import time
from collections.abc import Callable
from typing import Any

import pytest

from tests.attacks.probe import run_sql
from tests.platform import Platform
from tests.workers.management.operations.conftest import RemoteAdministrator, administrator


@pytest.fixture(scope="module", autouse=True)
def extensions(managed: Platform) -> None:
    """The extensions that these operations need, and a table with a webhook."""
    managed.psql(
        "create extension if not exists pg_cron; create extension if not exists pg_net; create extension if not exists pgmq"
    )
    managed.psql(
        "create table if not exists orders (id bigint generated always as identity primary key, item text)"
    )
    managed.psql(
        'create schema if not exists "odd \'""x"; create table if not exists "odd \'""x"."t \'""y" (id int)'
    )


def wait_for(read: Callable[[], Any], seconds: float = 30) -> Any:
    """Return the first true value that a function returns."""
    deadline = time.monotonic() + seconds
    while not (value := read()):
        assert time.monotonic() < deadline
    return value


def test_a_job_is_created_changed_run_and_removed(developer: RemoteAdministrator, managed: Platform) -> None:
    managed.psql(
        "create table if not exists ran (at timestamptz default now(), who text default session_user || ' ' || current_user)"
    )
    command = "insert into ran default values; select 'it''s done'"
    created = developer.run("jobs.create", name="it's", schedule="0 3 1 1 *", command=command)["id"]
    developer.run("jobs.run_now", id=created)
    [run] = wait_for(lambda: developer.run("jobs.runs", job_id=created, status="succeeded")["rows"])
    developer.run("jobs.change", id=created, schedule="@daily", command="select 1 / 0")
    developer.run("jobs.run_now", id=created)
    [failed] = wait_for(lambda: developer.run("jobs.runs", job_id=created, status="failed")["rows"])
    [job] = [job for job in developer.run("jobs.list")["rows"] if job["id"] == created]
    developer.run("jobs.change", id=created, is_active=False)

    assert run["command"] == command
    assert "division by zero" in failed["message"]
    assert (job["name"], job["schedule"], job["owner"], job["last_status"]) == (
        "it's",
        "@daily",
        "postgres",
        "failed",
    )
    assert job["next_run_at"] > time.time()
    who = managed.psql("select who from ran limit 1")
    assert "headwater_job_" in who
    assert "headwater_management" not in who
    assert developer.refused("jobs.run_now", id=created) == (409, "not_active")
    assert developer.refused("jobs.create", name="it's", schedule="@daily", command="select 1") == (
        409,
        "exists",
    )
    developer.run("jobs.remove", id=created)
    assert developer.refused("jobs.remove", id=created) == (404, "not_found")
    assert len(developer.run("jobs.runs", job_id=created)["rows"]) == 2


def test_pages_of_jobs_and_runs_hold_every_row_once(developer: RemoteAdministrator) -> None:
    made = [
        developer.run("jobs.create", name=f"page {n}", schedule="0 3 1 1 *", command="select 1")["id"]
        for n in range(3)
    ]
    seen, after = [], 0
    while after is not None:
        page = developer.run("jobs.list", after=after, limit=2)
        seen += [job["id"] for job in page["rows"]]
        after = page["next"]

    assert set(made) <= set(seen)
    assert len(seen) == len(set(seen))
    for id in made:
        developer.run("jobs.remove", id=id)


@pytest.mark.parametrize(
    "schedule", ["", "x", "* * * *", "61 * * * *", "0 0 * * *; drop table orders", "a\nb", "*" * 5000]
)
def test_schedules_that_are_none_are_refused(developer: RemoteAdministrator, schedule: str) -> None:
    assert developer.refused("jobs.create", name="bad", schedule=schedule, command="select 1") == (
        400,
        "invalid_arguments",
    )


def test_schedules_are_described_before_a_job_has_them(developer: RemoteAdministrator) -> None:
    night = developer.run("jobs.describe_schedule", schedule="0 3 * * 1", timezone="Europe/Berlin")
    seconds = developer.run("jobs.describe_schedule", schedule="30 seconds")
    never = developer.run("jobs.describe_schedule", schedule="0 0 30 2 *")
    id = developer.run("jobs.create", name="described", schedule="@daily", command="select 1")["id"]
    [job] = [job for job in developer.run("jobs.list")["rows"] if job["id"] == id]
    developer.run("jobs.remove", id=id)

    assert (night["words"], night["timezone"]) == ("At 03:00 on Monday", "Europe/Berlin")
    assert len(night["next_runs"]) == 5
    assert night["next_runs"] == sorted(night["next_runs"])
    assert seconds["words"] == "Every 30 seconds"
    assert never == {"words": "Never", "timezone": seconds["timezone"], "next_runs": []}
    assert job["words"] == "At 00:00 every day"
    for arguments in ({"schedule": "x"}, {"schedule": "@daily", "timezone": "Nowhere/Here"}):
        assert developer.refused("jobs.describe_schedule", **arguments) == (400, "invalid_arguments")


def test_numbers_that_postgres_cannot_store_are_refused(developer: RemoteAdministrator) -> None:
    for id in (-1, 2**63, 2**70):
        assert developer.refused("jobs.remove", id=id) == (400, "invalid_arguments")
        assert developer.refused("jobs.runs", before=id)[0] == 400


def test_requests_of_sql_are_shown_without_their_credentials(
    developer: RemoteAdministrator, managed: Platform
) -> None:
    sql = (
        "select net.http_post('http://127.0.0.1:9/x', '{}', headers := "
        '\'{"Content-Type": "application/json", "Authorization": "Bearer top secret"}\')'
    )
    managed.psql(sql)
    failed = wait_for(lambda: developer.run("jobs.responses", only_failures=True)["rows"])
    waiting = developer.run("jobs.requests")

    assert failed[0]["error"]
    assert failed[0]["status"] is None
    assert "top secret" not in str(waiting)


def test_a_queue_is_looked_into_retried_archived_and_purged(
    developer: RemoteAdministrator, managed: Platform
) -> None:
    developer.run("queues.create", queue="Mail-1")
    assert developer.send("queues.create", {"queue": "mail-1"})[1]["code"] == "exists"
    ids = [
        developer.run("queues.send", queue="mail-1", message={"n": n, "text": "it's"})["id"] for n in range(4)
    ]
    managed.psql("select * from pgmq.read('Mail-1', 3000, 1)")
    page = developer.run("queues.messages", queue="Mail-1", limit=3)
    rest = developer.run("queues.messages", queue="Mail-1", limit=3, after=page["next"])
    [before] = developer.run("queues.list")
    retried = developer.run("queues.retry", queue="Mail-1", ids=[ids[0], 999])
    [after] = developer.run("queues.list")
    developer.run("queues.archive", queue="Mail-1", ids=ids[:2])
    archived = developer.run("queues.messages", queue="Mail-1", archive=True)["rows"]
    again = developer.run("queues.retry", queue="Mail-1", ids=[ids[1]], archive=True)["ids"]
    deleted = developer.run("queues.delete_messages", queue="Mail-1", ids=[ids[2]])
    purged = developer.run("queues.purge", queue="Mail-1")

    assert [row["message"]["n"] for row in page["rows"] + rest["rows"]] == [0, 1, 2, 3]
    assert (page["rows"][0]["reads"], rest["next"]) == (1, None)
    assert (before["visible"], after["visible"], before["messages"]) == (3, 4, 4)
    assert retried == {"ids": [ids[0]]}
    assert [row["id"] for row in archived] == ids[:2]
    assert again[0] not in ids
    assert deleted == {"ids": [ids[2]]}
    assert purged == {"count": 2}
    developer.run("queues.drop", queue="Mail-1")
    assert developer.run("queues.list") == []


@pytest.mark.parametrize(
    "queue", ["nothing", "../x", "a'b", 'a"; drop table orders; --', "a\nb", "a\x00b", "", "x" * 48]
)
def test_hostile_names_of_queues_name_nothing(developer: RemoteAdministrator, queue: str) -> None:
    for operation, extra in (
        ("queues.messages", {}),
        ("queues.purge", {}),
        ("queues.drop", {}),
        ("queues.send", {"message": 1}),
        ("queues.archive", {"ids": [1]}),
        ("queues.retry", {"ids": [1], "archive": True}),
    ):
        assert developer.refused(operation, queue=queue, **extra) == (404, "not_found"), operation
    if queue != "nothing":
        assert developer.refused("queues.create", queue=queue) == (400, "invalid_arguments")


def test_a_webhook_is_made_by_sql_and_its_deliveries_are_listed(
    developer: RemoteAdministrator, managed: Platform
) -> None:
    made = {
        "schema": "public", "table": "orders", "name": "tell 'em", "events": ["insert", "delete"],
        "url": "http://127.0.0.1:9/hook?a='b'", "headers": {"Authorization": "Bearer top secret", "X-Own": "it's"},
    }  # fmt: skip
    preview = developer.run("webhooks.create", **made, is_preview=True)
    none = developer.run("webhooks.list")
    done = developer.run("webhooks.create", **made)
    managed.psql("insert into orders (item) values ('book')")
    [hook] = developer.run("webhooks.list")
    delivery = wait_for(
        lambda: next(
            (row for row in developer.run("webhooks.deliveries")["rows"] if row["state"] == "failed"), None
        )
    )

    assert (preview["is_done"], none) == (False, [])
    assert preview["sql"] == done["sql"]
    assert 'create trigger "tell \'em" after insert or delete on "public"."orders"' in done["sql"]
    assert (hook["events"], hook["url"], hook["is_enabled"]) == (["insert", "delete"], made["url"], True)
    assert hook["headers"] == {"Authorization": "(not shown)", "X-Own": "it's"}
    assert (delivery["webhook"], delivery["table"], bool(delivery["error"])) == ("tell 'em", "orders", True)
    place = {"schema": "public", "table": "orders", "name": "tell 'em"}
    developer.run("webhooks.switch", **place, is_enabled=False)
    assert [row["is_enabled"] for row in developer.run("webhooks.list")] == [False]
    developer.run("webhooks.remove", **place)
    assert developer.run("webhooks.list") == []
    assert developer.refused("webhooks.remove", **place) == (404, "not_found")


def test_odd_names_of_tables_are_quoted(developer: RemoteAdministrator) -> None:
    place = {"schema": "odd '\"x", "table": "t '\"y", "name": "a'\";--\n"}
    developer.run("webhooks.create", **place, events=["update"], url="https://example.com")

    [hook] = developer.run("webhooks.list")
    developer.run("webhooks.remove", **place)

    assert (hook["schema"], hook["table"], hook["name"]) == tuple(place.values())


@pytest.mark.parametrize(
    "change",
    [
        {"table": "nothing"},
        {"table": "orders; drop table orders"},
        {"url": "javascript:alert(1)"},
        {"url": "http://x/\n"},
        {"url": "http://"},
        {"url": "http://[::1"},
        {"events": []},
        {"events": ["truncate"]},
        {"headers": {"a": "b\r\nc: d"}},
        {"timeout_ms": 0},
        {"name": "a\x00b"},
    ],
)
def test_webhooks_that_cannot_be_are_refused(
    developer: RemoteAdministrator, change: dict[str, object]
) -> None:
    made = {
        "schema": "public",
        "table": "orders",
        "name": "x",
        "events": ["insert"],
        "url": "https://example.com",
    }

    assert developer.refused("webhooks.create", **{**made, **change})[0] in (400, 404)
    assert developer.run("webhooks.list") == []


def test_only_webhooks_can_be_removed(developer: RemoteAdministrator, managed: Platform) -> None:
    managed.psql("create or replace function f() returns trigger language plpgsql as 'begin return new; end'")
    managed.psql("create or replace trigger mine before insert on orders for each row execute function f()")

    assert developer.refused("webhooks.remove", schema="public", table="orders", name="mine")[0] == 404


def test_the_webhook_of_storage_is_described(reader: RemoteAdministrator) -> None:
    state = reader.run("webhooks.storage")

    assert (state["is_configured"], state["host"], state["waiting"]) == (False, "", 0)


def test_a_reader_looks_and_changes_nothing(reader: RemoteAdministrator) -> None:
    for operation in (
        "jobs.list",
        "jobs.runs",
        "jobs.requests",
        "jobs.responses",
        "queues.list",
        "webhooks.list",
    ):
        reader.run(operation)
    assert reader.refused("jobs.create", name="x", schedule="@daily", command="select 1") == (403, "no_right")
    assert reader.refused("queues.purge", queue="x") == (403, "no_right")


_HOSTILE = """
begin;
drop extension if exists pg_cron cascade;
drop extension if exists pgmq cascade;
create table public.seen (who text);
create schema cron;
create function cron.look() returns text language plpgsql as $$
declare who text := session_user || ' as ' || current_user;
begin
  begin
    perform set_config('role', 'none', true);
    who := who || ', after reset ' || current_user;
  exception when others then null;
  end;
  begin
    insert into headwater.administrators (email, rights) values ('mallory@example.com', 'owner');
    who := who || ', owner';
  exception when others then null;
  end;
  return who;
end $$;
create view cron.job as select 1::bigint as jobid, cron.look() as jobname, '@daily' as schedule, 'x' as command,
  'postgres' as database, 'postgres' as username, true as active;
create table cron.job_run_details (jobid bigint, runid bigint, status text, return_message text, start_time timestamptz,
  end_time timestamptz, command text, username text, job_pid int);
create function cron.alter_job(bigint, text, text, text, text, boolean) returns void language sql as
  $$ insert into public.seen select cron.look() $$;
create function cron.unschedule(bigint) returns boolean language sql as
  $$ insert into public.seen select cron.look() returning true $$;
create function cron.schedule(text, text, text) returns bigint language sql as
  $$ insert into public.seen select cron.look() returning 7 $$;
commit;
"""


def test_tables_and_functions_in_the_schemas_of_extensions_gain_nothing(managed: Platform) -> None:
    """Role postgres drops the extension and puts its own objects in its place: they run with the rights of the asking administrator."""
    owner = administrator(managed, "owner", "--rights", "owner", "--write")
    done = run_sql(managed.values["DB_URL"], _HOSTILE, check=False)
    assert done.returncode == 0, done.stderr
    try:
        [job] = owner.run("jobs.list")["rows"]
        owner.send("jobs.change", {"id": 1, "schedule": "@hourly"})
        owner.send("jobs.create", {"name": "y", "schedule": "@hourly", "command": "select 1"})
        owner.send("jobs.remove", {"id": 1})
        seen = managed.psql("select who from public.seen")

        assert job["name"].startswith("headwater_reader as supabase_read_only_user")
        assert "headwater_developer as postgres" in seen
        assert "headwater_management" not in seen + job["name"]
        assert ", owner" not in seen + job["name"]
        assert owner.refused("jobs.run_now", id=1) == (409, "outside_scheduler")
        assert owner.refused("queues.list") == (409, "extension_missing")
        managed.psql(
            "create or replace view cron.job as select 1::bigint as jobid, cron.look() as jobname, null as schedule, 'x' as command, 'p' as database, 'p' as username, true as active"
        )
        assert owner.refused("jobs.list") == (409, "unexpected_form")
    finally:
        managed.psql(
            "drop schema if exists cron cascade; drop schema if exists pgmq cascade; drop table if exists public.seen"
        )
