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


@pytest.mark.parametrize(
    "attack",
    [
        "comment on role anon is E'\\nCREATE ROLE {schema}_y SUPERUSER LOGIN;\\n'",
        "comment on role anon is E'\\nGRANT pg_execute_server_program TO {schema}_x;\\n'",
        "comment on role {schema}_x is E';\\nCREATE ROLE {schema}_y SUPERUSER;\\n'",
        'create role "{schema}_n\nCREATE ROLE {schema}_y SUPERUSER;\n"',
        "alter role {schema}_x set app.settings.site_url = E'\\nCREATE ROLE {schema}_y SUPERUSER;\\n'",
        "alter role anon set app.settings.site_url = E'\\nCREATE ROLE {schema}_y SUPERUSER;\\n'",
    ],
    ids=[
        "a comment",
        "a grant in a comment",
        "a comment on an own role",
        "a name",
        "a setting",
        "a setting of anon",
    ],
)
def test_texts_of_roles_do_not_become_statements_of_a_restore(
    tenant: Platform, planted: Probe, tmp_path: Path, attack: str
) -> None:
    names = [
        f"{planted.schema}_x",
        f"{planted.schema}_y",
        f"{planted.schema}_n\nCREATE ROLE {planted.schema}_y SUPERUSER;\n",
    ]
    run_sql(tenant.values["DB_URL"], f"create role {names[0]};" + attack.format(schema=planted.schema))
    try:
        before = powers(tenant)
        folder = tmp_path / "one"
        tenant.command("backup", str(folder))
        tenant.command("restore", str(folder), "--force")
        assert powers(tenant) == before
    finally:
        run_sql(
            superuser_url(tenant),
            "comment on role anon is null; alter role anon reset all; alter role anon set statement_timeout = '3s';"
            + "".join(f'drop role if exists "{name}";' for name in names),
        )


def test_a_database_setting_does_not_reach_the_session_that_restores(
    tenant: Platform, planted: Probe, tmp_path: Path
) -> None:
    planted.plant(
        f"create function {planted.schema}.set_config(text, text, boolean) returns text language plpgsql as"
        f" $$ begin perform {planted.call % 'set_config'}; return $2; end $$;"
        f"create function {planted.schema}.current_database() returns name language plpgsql as"
        f" $$ begin perform {planted.call % 'current_database'}; return 'postgres'; end $$;"
        f"alter database postgres set search_path = {planted.schema}, pg_catalog;"
    )
    try:
        folder = tmp_path / "one"
        tenant.command("backup", str(folder))
        tenant.command("restore", str(folder), "--force")
        tenant.command("doctor")
        tenant.command("upgrade")
        assert planted.reports() == []
    finally:
        run_sql(superuser_url(tenant), "alter database postgres reset search_path")


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


@pytest.mark.parametrize(
    "with_project_url", [False, True], ids=["the owner's URL alone", "with the project's URL"]
)
def test_compose_migrate_runs_project_files_in_no_session_of_a_superuser(
    tenant: Platform, planted: Probe, with_project_url: bool
) -> None:
    before = powers(tenant)
    file = _migration(tenant, "20260101000001_escape", _escape(planted))
    environment = {
        "PATH": os.environ["PATH"],
        "HEADWATER_MIGRATE_URL": superuser_url(tenant),
        "HEADWATER_DB_URL": tenant.values["DB_URL"],
        "HEADWATER_PROJECT_FOLDER": str(file.parent.parent),
        "HEADWATER_AUTH_JWT_SECRET": tenant.values["JWT_SECRET"],
    }
    if with_project_url:
        environment["HEADWATER_PROJECT_URL"] = tenant.values["DB_URL"]
    try:
        subprocess.run(
            [sys.executable, "-P", "-m", "workers", "migrate"],
            env=environment, capture_output=True, text=True, timeout=60, check=False,
        )  # fmt: skip
        assert planted.reports() == []
        assert powers(tenant) == before
    finally:
        file.unlink()
        run_sql(superuser_url(tenant), "alter role postgres nosuperuser")
