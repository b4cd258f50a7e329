"""pgTAP on the embedded server: it is the real one, made by role postgres, and its tests of every kind run."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import asyncpg
import pytest
from click.testing import CliRunner

from services.cli.main import main
from tests.schemas.extensions.conftest import PASSWORD
from tests.workers.database.server import Server, connected, fresh_database

SCHEMA = """
create table public.rivers (id int primary key, name text not null unique, km int default 7 check (km > 0));
create table public.bridges (id int primary key, river int references public.rivers (id));
create index bridges_river on public.bridges (river);
create type public.kind as enum ('a', 'b');
create view public.long_rivers as select * from public.rivers;
create function public.twice(n int) returns int language sql immutable as 'select n * 2';
alter table public.rivers enable row level security;
create policy own on public.rivers for select to authenticated using (true);
create function public.tests_of_rivers() returns setof text language plpgsql as $$
  begin return next extensions.ok(true, 'inside of a function'); end $$;
"""


@pytest.fixture(scope="module")
async def project(bootstrapped: Server) -> AsyncIterator[asyncpg.Connection]:
    """A connection of role postgres to a database with the extension, made as projects make it."""
    async with fresh_database(bootstrapped) as name:
        async with connected(bootstrapped.url(database=name)) as admin:
            await admin.execute(f"alter database {name} owner to postgres")
        async with connected(bootstrapped.url("postgres", PASSWORD, name)) as one:
            await one.execute("create extension pgtap with schema extensions")
            await one.execute(SCHEMA)
            await one.execute("set search_path = public, extensions")
            yield one


TESTS = (
    "ok(true)", "is(1, 1)", "isnt(1, 2)", "matches('Nile'::text, '^N')", "alike('Nile'::text, 'N%')", "cmp_ok(1, '<', 2)", "pass('p')",
    "isa_ok(1, 'integer')", "throws_ok('select 1/0', '22012')", "lives_ok('select 1')", "performs_ok('select 1', 60000)",
    "results_eq('select 1', array[1])", "set_eq('select 1 union select 2', array[2, 1])", "is_empty('select 1 where false')",
    "has_table('rivers')", "hasnt_table('lakes')",
    "has_view('long_rivers')", "has_column('rivers', 'km')", "col_type_is('rivers', 'km', 'integer')", "col_is_pk('rivers', 'id')",
    "col_default_is('rivers', 'km', 7)", "col_has_check('rivers', 'km')", "col_is_unique('rivers', 'name')", "col_not_null('rivers', 'name')",
    "fk_ok('bridges', 'river', 'rivers', 'id')", "has_index('bridges', 'bridges_river')", "index_is_type('bridges', 'bridges_river', 'btree')",
    "enum_has_labels('kind', array['a', 'b'])", "has_function('twice', array['integer'])", "function_returns('twice', array['integer'], 'integer')",
    "function_lang_is('twice', array['integer'], 'sql')", "volatility_is('twice', array['integer'], 'immutable')", "has_role('anon')",
    "schema_privs_are('public', 'anon', array['USAGE'])", "table_owner_is('rivers', 'postgres')", "has_extension('pgtap')",
    "policies_are('public', 'rivers', array['own'])", "policy_cmd_is('public', 'rivers', 'own'::name, 'SELECT', 'd')",
    "policy_roles_are('public', 'rivers', 'own', array['authenticated'], 'd')",
    "columns_are('bridges', array['id', 'river'])", "tables_are('public', array['rivers', 'bridges'])",
)  # fmt: skip
"""One of each kind; they hold."""


async def test_tests_of_every_kind_run_and_say_whether_they_hold(project: asyncpg.Connection):
    transaction = project.transaction()
    await transaction.start()
    lines = [await project.fetchval(f"select plan({len(TESTS) + 2})")]
    lines += [await project.fetchval(f"select {test}") for test in (*TESTS, "ok(false, 'wrong')")]
    lines += [row[0] for row in await project.fetch("select * from finish()")]
    await transaction.rollback()

    assert [line for line in lines[1 : len(TESTS) + 1] if not line.startswith("ok ")] == []
    assert lines[0] == f"1..{len(TESTS) + 2}"
    assert lines[len(TESTS) + 1].startswith(
        f"not ok {len(TESTS) + 1} - wrong\n# Failed test {len(TESTS) + 1}"
    )
    assert lines[len(TESTS) + 2 :] == [
        f"# Looks like you planned {len(TESTS) + 2} tests but ran {len(TESTS) + 1}",
    ]


async def test_functions_are_run_as_tests(project: asyncpg.Connection):
    lines = [row[0] for row in await project.fetch("select * from runtests('public'::name, '^tests_')")]

    assert any("ok 1 - inside of a function" in line for line in lines)


async def test_the_command_runs_files_in_transactions_and_tells_which_fail(
    project: asyncpg.Connection, bootstrapped: Server, tmp_path: Path
):
    name = await project.fetchval("select current_database()")
    tests = tmp_path / "supabase" / "tests"
    (tests / "deep").mkdir(parents=True)
    body = "returns int language plpgsql as $$\nbegin\n  return 1;\nend $$;\n"
    (tests / "000-helpers.sql").write_text(
        f"create function public.one() {body} select plan(1); select pass('ready'); select * from finish();"
    )
    (tests / "1_setup.sql").write_text(
        "create table if not exists public.kept (id int);\n"
        "begin; select plan(2); select one() as n \\gset\n select has_table('kept'); select is(:'n'::int, 1); select * from finish(); rollback;"
    )
    (tests / "2_undone.sql").write_text(
        f"create table public.undone (id int);\ncreate function public.undone() {body} select plan(1);\n\\ir deep/included.psql\nselect * from finish();"
    )
    (tests / "deep" / "included.psql").write_text("select has_table('undone');")
    (tests / "deep" / "3_wrong.sql").write_text(
        "begin; select plan(1); select is(1, 2, 'one'); select * from finish();"
    )
    (tests / "deep" / "4_broken.sql").write_text("select plan(1);\nselect nothing();")
    junit = tmp_path / "results.xml"
    url = bootstrapped.url("postgres", PASSWORD, name)

    done = await asyncio.to_thread(
        CliRunner().invoke, main,
        ["test", "db", "--project", str(tmp_path), "--db-url", url, "--junit", str(junit)],
    )  # fmt: skip

    assert done.exit_code == 1
    assert [line.split(" ")[0] for line in done.output.splitlines() if line.startswith("supabase")] == [
        f"supabase/tests/{path}"
        for path in (
            "000-helpers.sql",
            "1_setup.sql",
            "2_undone.sql",
            "deep/3_wrong.sql",
            "deep/4_broken.sql",
        )
    ]
    assert "2 of 5 files failed" in done.output
    assert "have: 1" in done.output
    assert "4_broken.sql:2: ERROR:  function nothing() does not exist" in done.output
    assert 'failures="1"' in junit.read_text()
    assert await project.fetchval("select to_regclass('undone') is null and to_regclass('kept') is not null")
    assert await project.fetchval("select count(*) from pg_extension where extname = 'pgtap'") == 1
