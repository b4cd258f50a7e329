"""Code of the project in the sessions of the platform's commands: doctor, backup, restore, comparison, compose's migrate."""

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.attacks.probe import Probe, powers, probe, run_sql, superuser_url
from tests.platform import Platform, platform


@pytest.fixture(scope="module")
def tenant() -> Iterator[Platform]:
    """A platform of this module's own: it is restored and its project has hostile files."""
    with platform() as one:
        yield one


@pytest.fixture
def planted(tenant: Platform) -> Iterator[Probe]:
    """A probe without a place to run from yet."""
    with probe(tenant) as one:
        one.plant()
        yield one


def test_doctor_calls_no_function_of_schema_public(tenant: Platform, planted: Probe) -> None:
    signature = "text, int, text, text, text, numeric, text, bigint, text, bigint, text, int, text, json"
    planted.plant(
        f"create function public.json_build_object({signature}) returns json language plpgsql as"
        f" $$ begin perform {planted.call % 'json_build_object'}; return '{{}}'; end $$;"
    )
    try:
        tenant.command("doctor")
        assert planted.reports() == []
    finally:
        run_sql(tenant.values["DB_URL"], f"drop function public.json_build_object({signature})")


def test_backup_calls_no_function_of_schema_public(tenant: Platform, planted: Probe, tmp_path: Path) -> None:
    planted.plant(
        "create function public.unnest(text[]) returns setof text language plpgsql as"
        f" $$ begin perform {planted.call % 'unnest'}; return query select pg_catalog.unnest($1); end $$;"
    )
    try:
        tenant.command("backup", str(tmp_path / "one"))
        assert planted.reports() == []
    finally:
        run_sql(tenant.values["DB_URL"], "drop function public.unnest(text[])")


_CHECKED = """
create domain {schema}.checked as text check ({schema}.probe('domain'));
create function {schema}.made(text) returns text language plpgsql immutable as
  $$ begin perform {schema}.probe('generated column'); return $1; end $$;
create function {schema}.indexed(text) returns text language plpgsql immutable as
  $$ begin perform {schema}.probe('expression index'); return $1; end $$;
create table {schema}.rows (
  a {schema}.checked,
  b text check ({schema}.probe('check constraint')),
  c text generated always as ({schema}.made(a)) stored,
  d text default {schema}.made('x')
);
create index on {schema}.rows ({schema}.indexed(b));
insert into {schema}.rows (a, b) values ('a', 'b');
create materialized view {schema}.seen as select {schema}.made(b), {schema}.probe('materialized view') from {schema}.rows;
create trigger always after insert on {schema}.rows for each row execute function {schema}.probe_trigger();
alter table {schema}.rows enable always trigger always;
alter table {schema}.rows enable row level security;
alter table {schema}.rows force row level security;
create policy one on {schema}.rows using ({schema}.probe('policy'));
"""


def test_restore_runs_no_check_function_with_rights_of_a_superuser(
    tenant: Platform, planted: Probe, tmp_path: Path
) -> None:
    planted.plant(_CHECKED.format(schema=planted.schema))
    before = powers(tenant)
    folder = tmp_path / "one"
    done = tenant.command("backup", str(folder))
    assert done.returncode == 0, done.stderr
    assert planted.reports() == []
    done = tenant.command("restore", str(folder), "--force")
    assert done.returncode == 0, done.stderr
    assert planted.reports() == []
    assert powers(tenant) == before
    # The rows and what is made of them are there.
    counted = f"select count(*) from {planted.schema}.rows where c = 'a'; select count(*) from {planted.schema}.seen"
    assert run_sql(tenant.values["DB_URL"], counted).stdout.split() == ["1", "1"]


_TEXTS_OF_ROLES = (
    "comment on role anon is E'\\nCREATE ROLE {schema}_y SUPERUSER LOGIN;\\n'",
    "comment on role authenticated is E'\\nGRANT pg_execute_server_program TO {schema}_x;\\n'",
    "comment on role {schema}_x is E';\\nCREATE ROLE {schema}_y SUPERUSER;\\n'",
    'create role "{schema}_n\nCREATE ROLE {schema}_y SUPERUSER;\n"',
    "alter role {schema}_x set app.settings.site_url = E'\\nCREATE ROLE {schema}_y SUPERUSER;\\n'",
    "alter role anon set app.settings.site_url = E'\\nCREATE ROLE {schema}_y SUPERUSER;\\n'",
)


def test_texts_of_roles_do_not_become_statements_of_a_restore(
    tenant: Platform, planted: Probe, tmp_path: Path
) -> None:
    """All texts at once; a backup or restore that gave up at one of them would not have met the others."""
    names = [
        f"{planted.schema}_x",
        f"{planted.schema}_y",
        f"{planted.schema}_n\nCREATE ROLE {planted.schema}_y SUPERUSER;\n",
    ]
    statements = ";".join(_TEXTS_OF_ROLES).format(schema=planted.schema)
    run_sql(tenant.values["DB_URL"], f"create role {names[0]};" + statements)
    try:
        before = powers(tenant)
        folder = tmp_path / "one"
        for words in (("backup", str(folder)), ("restore", str(folder), "--force")):
            done = tenant.command(*words)
            assert done.returncode == 0, done.stderr
        assert powers(tenant) == before
    finally:
        run_sql(
            superuser_url(tenant),
            "comment on role anon is null; comment on role authenticated is null; alter role anon reset all;"
            "alter role anon set statement_timeout = '3s';"
            + "".join(f'drop role if exists "{name}";' for name in names),
        )


def _migration(tenant: Platform, name: str, sql: str) -> Path:
    """Write a file of the project."""
    folder = tenant.data.parent / "supabase" / "migrations"
    folder.mkdir(parents=True, exist_ok=True)
    file = folder / f"{name}.sql"
    file.write_text(sql)
    return file


def _escape(planted: Probe) -> str:
    """Return statements that leave the role that the file runs as; the session ends where one fails."""
    return (
        "reset role;\n"
        f"copy (select current_user, session_user) to program 'cat >> {planted.evidence}';\n"
        "alter role postgres superuser;\n"
    )


def test_a_migration_file_does_not_leave_its_role_in_a_comparison(tenant: Platform, planted: Probe) -> None:
    file = _migration(tenant, "20260101000001_escape", _escape(planted))
    try:
        tenant.command("db", "diff")
        assert planted.reports() == []
    finally:
        file.unlink()


def test_a_session_authorization_does_not_leave_it_either(tenant: Platform, planted: Probe) -> None:
    text = _escape(planted).replace(
        "reset role", "reset session authorization; set session authorization supabase_admin"
    )
    file = _migration(tenant, "20260101000001_escape", text)
    try:
        tenant.command("db", "diff")
        tenant.command("db", "push")
        assert planted.reports() == []
    finally:
        file.unlink()


def _migrate(tenant: Platform, folder: Path, **more: str) -> None:
    """Run what the compose file's service `migrate` runs, for a project folder."""
    environment = {
        "PATH": os.environ["PATH"],
        "HEADWATER_MIGRATE_URL": superuser_url(tenant),
        "HEADWATER_DB_URL": tenant.values["DB_URL"],
        "HEADWATER_PROJECT_FOLDER": str(folder),
        "HEADWATER_AUTH_JWT_SECRET": tenant.values["JWT_SECRET"],
        **more,
    }
    subprocess.run(
        [sys.executable, "-P", "-m", "workers", "migrate"],
        env=environment, capture_output=True, text=True, timeout=90, check=False,
    )  # fmt: skip


@pytest.mark.parametrize(
    "with_project_url", [False, True], ids=["the owner's URL alone", "with the project's URL"]
)
def test_compose_migrate_runs_project_files_in_no_session_of_a_superuser(
    tenant: Platform, planted: Probe, with_project_url: bool
) -> None:
    before = powers(tenant)
    file = _migration(tenant, "20260101000001_escape", _escape(planted))
    more = {"HEADWATER_PROJECT_URL": tenant.values["DB_URL"]} if with_project_url else {}
    try:
        _migrate(tenant, file.parent.parent, **more)
        assert planted.reports() == []
        assert powers(tenant) == before
    finally:
        file.unlink()
        run_sql(superuser_url(tenant), "alter role postgres nosuperuser")


_PLANNED = """
create function {schema}.folded(text) returns text language plpgsql immutable as
  $$ begin perform {schema}.probe('planning of ' || $1); return $1; end $$;
create index {schema}_a on auth.users ({schema}.folded('auth.users'));
create index {schema}_b on storage.objects (id) where {schema}.folded('storage.objects') is not null;
create index {schema}_c on storage.buckets ({schema}.folded('storage.buckets'));
create index {schema}_d on supabase_migrations.schema_migrations ({schema}.folded('the history'));
create trigger {schema}_e before insert or update or delete on supabase_migrations.schema_migrations
  for each statement execute function {schema}.probe_trigger();
"""


def test_no_superuser_reads_a_table_that_a_tenant_may_alter(
    tenant: Platform, planted: Probe, tmp_path: Path
) -> None:
    """Constants in expressions of indexes are computed when a query is planned, with the rights of who asks."""
    run_sql(
        tenant.values["DB_URL"],
        "create table if not exists supabase_migrations.schema_migrations (version text not null primary key)",
    )
    file = _migration(tenant, "20260101000002_nothing", "select 1;")
    try:
        planted.plant(_PLANNED.format(schema=planted.schema))
        tenant.command("doctor")
        tenant.command("upgrade", "--dry-run")
        tenant.command("backup", str(tmp_path / "one"))
        tenant.command("restore", str(tmp_path / "one"))
        _migrate(tenant, file.parent.parent)
        assert planted.reports() == []
    finally:
        file.unlink()
        drops = "".join(
            f"drop index if exists {place}.{planted.schema}_{letter};"
            for place, letter in (
                ("auth", "a"),
                ("storage", "b"),
                ("storage", "c"),
                ("supabase_migrations", "d"),
            )
        )
        run_sql(
            tenant.values["DB_URL"],
            f"{drops} drop trigger if exists {planted.schema}_e on supabase_migrations.schema_migrations",
            check=False,
        )


def test_a_role_that_is_stored_for_the_database_is_not_that_of_a_superuser(
    tenant: Platform, planted: Probe, tmp_path: Path
) -> None:
    """As role postgres in a superuser's session the tenant's triggers fire, and `reset role` gives all rights."""
    maker = run_sql(
        superuser_url(tenant),
        "set search_path = ''; select oid::pg_catalog.regproc from pg_catalog.pg_proc where proname ~ '^(headwater_)?create_event_trigger$'",
    ).stdout.strip()
    planted.plant(
        f"create function {planted.schema}.event() returns event_trigger language plpgsql as"
        f" $$ begin perform {planted.schema}.probe('event trigger'); end $$;"
        f"select {maker}('{planted.schema}', 'ddl_command_end', null, '{planted.schema}.event'::regproc);"
        f"create function {planted.schema}.json_build_object(text, int, text, text, text, numeric, text, bigint, text, bigint, text, int, text, json)"
        f" returns json language plpgsql as $$ begin perform {planted.schema}.probe('overload'); return '{{}}'; end $$;"
        f"alter database postgres set search_path = {planted.schema}, public; alter database postgres set role = 'postgres'"
    )
    free = "?options=-c%20role%3Dnone%20-c%20event_triggers%3Doff"
    try:
        run_sql(superuser_url(tenant) + free, "delete from headwater.migrations")
        for words in (
            ("doctor",),
            ("upgrade", "--dry-run"),
            ("upgrade",),
            ("backup", str(tmp_path / "one")),
            ("restore", str(tmp_path / "one"), "--force"),
        ):
            tenant.command(*words)
            assert planted.reports() == [], words
    finally:
        run_sql(
            superuser_url(tenant) + free,
            "alter database postgres reset role; alter database postgres reset search_path",
        )


_LOOKALIKE = """
create schema cron;
create function cron.checked(text) returns text language plpgsql immutable as
  $$ begin perform {schema}.probe('a table that looks like one of the platform'); return $1; end $$;
create domain cron.words as text check ({schema}.probe('a domain in a table that looks like one of the platform'));
create table cron.job (
  jobid bigint primary key, schedule cron.words, command text, nodename text, nodeport integer, database text, username text,
  active boolean, jobname text generated always as (cron.checked(command)) stored, check ({schema}.probe('check of a look-alike'))
);
create table cron.job_run_details (
  jobid bigint, runid bigint, job_pid integer, database text, username text default {schema}.probe('default')::text, command cron.words,
  status text, return_message text, start_time timestamptz, end_time timestamptz, check ({schema}.probe('check of a look-alike'))
);
insert into cron.job (jobid, schedule, command, username) values (1, 'x', 'y', 'postgres');
insert into cron.job_run_details values (1, 1, 1, 'a', 'postgres', 'c', 'd', 'e', now(), now());
"""


def test_restore_takes_no_table_of_a_tenant_for_one_of_the_platform(
    tenant: Platform, planted: Probe, tmp_path: Path
) -> None:
    run_sql(tenant.values["DB_URL"], "drop extension if exists pg_cron cascade")
    planted.plant(_LOOKALIKE.format(schema=planted.schema))
    try:
        assert tenant.command("backup", str(tmp_path / "one")).returncode == 0
        done = tenant.command("restore", str(tmp_path / "one"), "--force")
        assert planted.reports() == []
        assert done.returncode == 0, done.stderr
        assert run_sql(tenant.values["DB_URL"], "select count(*) from cron.job").stdout.strip() == "1"
    finally:
        run_sql(superuser_url(tenant), "drop schema if exists cron cascade")
