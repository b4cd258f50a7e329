"""Tenant code in the sessions of the platform's own logins: the scheduler's, and that of the reader of the log."""

import time

from tests.attacks.probe import Probe, probe, run_sql, superuser_url
from tests.platform import Platform

_WAIT_S = 60.0


def _wait(target: Platform, condition: str) -> None:
    """Wait until a condition is true in the database."""
    deadline = time.monotonic() + _WAIT_S
    while run_sql(superuser_url(target), f"select {condition}").stdout.strip() != "t":
        logged = (target.data / "logs" / "changes.log").read_text().splitlines()[-5:]
        assert time.monotonic() < deadline, (condition, logged)
        time.sleep(0.05)


_VALUES = """
create type {schema}.mood as enum ('calm');
create function {schema}.shown({schema}.mood) returns json language plpgsql as
  $$ begin perform {schema}.probe('cast to json'); return '"calm"'; end $$;
create cast ({schema}.mood as json) with function {schema}.shown({schema}.mood);
create type {schema}.pair as (a {schema}.mood, b int);
create domain {schema}.checked as {schema}.mood check ({schema}.probe('domain'));
create table {schema}.rows (id int primary key, a {schema}.mood, b {schema}.pair, c {schema}.checked, d {schema}.mood[]);
alter table {schema}.rows replica identity full;
alter publication supabase_realtime add table {schema}.rows;
insert into {schema}.rows values (1, 'calm', row('calm', 1), 'calm', '{{calm}}');
update {schema}.rows set id = 2;
delete from {schema}.rows;
"""


def test_the_reader_of_the_log_runs_no_cast_of_a_tenant(target: Platform) -> None:
    with probe(target) as one:
        one.plant(_VALUES.format(schema=one.schema))
        lsn = run_sql(superuser_url(target), "select pg_catalog.pg_current_wal_lsn()").stdout.strip()
        _wait(
            target,
            f"exists (select from pg_catalog.pg_replication_slots where confirmed_flush_lsn >= '{lsn}'::pg_catalog.pg_lsn)",
        )
        assert one.reports() == []


def _reached_by_the_scheduler(one: Probe) -> list[str]:
    """Give statements that put the probe on every table that the scheduler's login may write to."""
    tables = run_sql(
        superuser_url(one.target),
        "select c.oid::pg_catalog.regclass from pg_catalog.pg_class c where relkind in ('r', 'p') and relnamespace::pg_catalog.regnamespace::text"
        " not in ('pg_catalog', 'information_schema')"
        " and pg_catalog.has_table_privilege('headwater_scheduler', c.oid, 'select, insert, update, delete')",
    ).stdout.splitlines()
    return [
        f"create trigger {one.schema} before insert or update or delete on {table} for each statement execute function {one.schema}.probe_trigger()"
        for table in tables
    ] + [
        f"alter table {table} add constraint {one.schema} check ({one.schema}.probe('check of {table}'))"
        for table in tables
    ]


def test_the_scheduler_runs_no_trigger_of_a_tenant(target: Platform) -> None:
    url = target.values["DB_URL"]
    run_sql(url, "create extension if not exists pg_cron; create extension if not exists pg_net")
    with probe(target) as one:
        one.plant()
        for statement in _reached_by_the_scheduler(one):
            run_sql(url, statement, check=False)  # most are not the tenant's to alter
        run_sql(
            url,
            f"insert into supabase_functions.hooks (hook_table_id, hook_name) values (1, 'x'); select cron.schedule('{one.schema}', '1 seconds', 'select 1')",
        )
        try:
            # The sweep comes with the first run of a job.
            _wait(target, "exists (select from cron.job_run_details where status = 'succeeded')")
            run_sql(url, "select net.http_get('http://127.0.0.1:1/')")
            _wait(target, "not exists (select from net.http_request_queue)")
            assert one.reports() == []
        finally:
            run_sql(url, f"select cron.unschedule('{one.schema}')")
