"""pg_tle, supabase-dbdev and basejump-supabase_test_helpers: suites of tests that load their helpers find them."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import asyncpg
import pytest
from click.testing import CliRunner

from services.cli.main import main
from tests.schemas.extensions.conftest import PASSWORD
from tests.workers.database.server import Server, connected, fresh_database

HELPERS = '"basejump-supabase_test_helpers"'
FIRST = """
-- The file that many projects begin with: packages are loaded, then a test that always passes.
create extension if not exists http with schema extensions;
create extension if not exists pg_tle;
drop extension if exists "supabase-dbdev";
select pgtle.uninstall_extension_if_exists('supabase-dbdev');
select
  pgtle.install_extension(
    'supabase-dbdev', resp.contents ->> 'version', 'PostgreSQL package manager', resp.contents ->> 'sql'
  )
from extensions.http(
  (
    'GET',
    'https://registry.example/rest/v1/package_versions?select=sql,version&package_name=eq.supabase-dbdev',
    array[('apiKey', 'public')::extensions.http_header],
    null,
    null
  )
) x,
lateral (select ((row_to_json(x) -> 'content') #>> '{}')::json -> 0) resp (contents);
create extension "supabase-dbdev";
select dbdev.install('supabase-dbdev');
drop extension if exists "supabase-dbdev";
create extension "supabase-dbdev";
select dbdev.install('basejump-supabase_test_helpers');
create extension if not exists "basejump-supabase_test_helpers" version '0.0.6';

begin;
select plan(1);
select ok(true, 'the helpers are there');
select * from finish();
rollback;
"""
TESTS = """
begin;
select plan(28);
select set_config('tests.path', current_setting('search_path'), true);

create table public.notes (
  owner uuid default auth.uid() references auth.users, body text, made timestamptz default now()
);
grant all on public.notes to anon, authenticated, service_role;
select check_test(tests.rls_enabled('public'), false);
select check_test(tests.rls_enabled('public', 'notes'), false);
alter table public.notes enable row level security;
create policy own on public.notes to authenticated using (owner = (select auth.uid()));
select tests.rls_enabled('public');
select tests.rls_enabled('public', 'notes');

select tests.create_supabase_user('ann');
select tests.create_supabase_user('bob', 'bob@example.com', '555', '{"plan": "free"}');
select is(tests.get_supabase_user('bob') ->> 'email', 'bob@example.com');
select is(tests.get_supabase_user('bob') ->> 'phone', '555');
select is(tests.get_supabase_user('bob') -> 'raw_user_meta_data' ->> 'plan', 'free');
select throws_ok($$ select tests.authenticate_as('eve') $$, 'User with identifier eve not found');

select tests.authenticate_as('ann');
select is(current_role::text, 'authenticated');
select is(auth.uid(), tests.get_supabase_uid('ann'));
select is(auth.jwt() -> 'user_metadata' ->> 'test_identifier', 'ann');
select lives_ok($$ insert into notes (body) values ('of ann') $$);
select throws_ok($$ insert into notes (owner) values (tests.get_supabase_uid('bob')) $$, '42501');

select tests.authenticate_as('bob');
select is_empty('select * from notes');
select tests.authenticate_as_service_role();
select is(current_role::text, 'service_role');
select results_eq('select body from notes', array['of ann']);

select tests.clear_authentication();
select is(current_role::text, 'anon');
select is(auth.uid(), null);
select is_empty('select * from notes');
select ok(tests.create_supabase_user('cay') is not null, 'a role of the API creates users in a test');
select throws_ok('select * from auth.users', '42501');

select tests.authenticate_as('ann');
select tests.freeze_time('2020-01-01 00:00:00');
select ok(current_setting('search_path') like 'test_overrides,%');
set local datestyle = 'German, DMY';
select is(now(), '2020-01-01'::timestamptz);
set local datestyle = 'ISO, MDY';
create function pg_temp.fixed() returns timestamptz language sql set search_path = public, pg_catalog as 'select now()';
create function pg_temp.open() returns timestamptz language plpgsql set search_path = test_overrides, public, pg_catalog
  as 'begin return now(); end';
select is(pg_temp.fixed(), pg_catalog.now());
select is(pg_temp.open(), '2020-01-01'::timestamptz);
select tests.freeze_time('2021-02-03'::date);
select is(now(), '2021-02-03'::timestamptz);
select tests.unfreeze_time();
select is(now(), pg_catalog.now());
select is(current_setting('search_path'), current_setting('tests.path'));
select * from finish();
rollback;
"""
REFUSED = "packages of database.dev are not loaded"


@pytest.fixture(scope="module")
async def name(bootstrapped: Server) -> AsyncIterator[str]:
    async with fresh_database(bootstrapped) as one:
        async with connected(bootstrapped.url(database=one)) as admin:
            await admin.execute(f"alter database {one} owner to postgres")
        yield one


@pytest.fixture
async def project(bootstrapped: Server, name: str) -> AsyncIterator[asyncpg.Connection]:
    """A connection of role postgres, in a transaction that is rolled back."""
    async with connected(bootstrapped.url("postgres", PASSWORD, name)) as one:
        transaction = one.transaction()
        await transaction.start()
        await one.execute(f'drop extension if exists pg_tle, "supabase-dbdev", {HELPERS}')
        yield one
        await transaction.rollback()


async def _answer(admin: asyncpg.Connection, sent: asyncio.Event, body: str) -> None:
    """Answer the next request of `extensions.http` as a scheduler would."""
    await sent.wait()
    await admin.execute(
        "with taken as (delete from headwater.http_queue returning id)"
        " insert into headwater.http_answers (id, status, content_type, headers, body)"
        " select id, 200, 'application/json', '[]', convert_to($1, 'UTF8') from taken",
        body,
    )


async def test_the_usual_first_file_loads_the_helpers_and_tests_use_them(
    bootstrapped: Server, name: str, tmp_path: Path
):
    tests = tmp_path / "supabase" / "tests"
    tests.mkdir(parents=True)
    (tests / "000-setup-tests-hooks.sql").write_text(FIRST)
    (tests / "policies.sql").write_text(TESTS)
    url = bootstrapped.url("postgres", PASSWORD, name)

    def run(options: str) -> str:
        words = ["test", "db", "--project", str(tmp_path), "--db-url", url]
        done = CliRunner(env={"PGOPTIONS": options}).invoke(main, words)
        assert done.exit_code == 0, done.output
        return done.output

    # Nobody sends the request; then it is answered, in the database that has the helpers already.
    await asyncio.to_thread(run, "-c http.timeout_msec=20")
    async with connected(bootstrapped.url(database=name)) as admin:
        sent = asyncio.Event()
        await admin.add_listener("headwater_http", lambda *_: sent.set())
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(_answer(admin, sent, '[{"version": "0.0.5", "sql": "select 1/0"}]'))
            output = await asyncio.to_thread(run, "")

    assert "2 files, 29 tests" in output
    async with connected(bootstrapped.url(database=name)) as admin:
        assert await admin.fetch(
            "select extname from pg_extension join pg_roles as owner on owner.oid = extowner"
            " where extname = any('{pg_tle,supabase-dbdev,basejump-supabase_test_helpers}') and owner.rolsuper"
            " union all select proname from pg_proc join pg_roles as owner on owner.oid = proowner"
            " where pronamespace = any('{pgtle,dbdev,tests,test_overrides}'::regnamespace[]) and owner.rolsuper"
        ) == []  # fmt: skip
        await admin.execute(
            "select set_config('request.jwt.claims', '', false); set session authorization authenticator; set role anon"
        )
        for call in (
            "create_supabase_user('x')",
            "get_supabase_user('ann')",
            "authenticate_as_service_role()",
        ):
            with pytest.raises(
                asyncpg.InsufficientPrivilegeError, match="helpers of tests are for tests alone"
            ):
                await admin.execute(f"select tests.{call}")


@pytest.mark.parametrize("version", ["0.0.1", "0.0.2", "0.0.3", "0.0.4", "0.0.5", "0.0.6"])
async def test_the_helpers_have_every_version(project: asyncpg.Connection, version: str):
    await project.execute(f"create extension {HELPERS} with schema extensions version '{version}'")

    assert await project.fetchval("select tests.get_supabase_uid('a') from tests.create_supabase_user('a')")
    await project.execute(f"drop extension {HELPERS}")
    assert await project.fetchval("select to_regnamespace('tests') is null")


@pytest.mark.parametrize(
    ("call", "expected"),
    [
        ("pgtle.install_extension('pgjwt', null, null, null)", True),
        ("pgtle.install_extension('pgjwt', '1', 'a', 'select 1/0', '{pgtap}', 'public')", True),
        ("pgtle.install_extension_version_sql('supabase-dbdev', '2', 'b')", True),
        ("pgtle.uninstall_extension('supabase-dbdev')", True),
        ("pgtle.uninstall_extension_if_exists('supabase-dbdev')", False),
        ("pgtle.uninstall_extension_if_exists('olirice-index_advisor')", False),
        ("bool_or(name = 'supabase-dbdev') and not bool_or(name = 'postgis') from pgtle.available_extensions()", True),
        ("dbdev.install('basejump-supabase_test_helpers')", True),
        ("pgtle.install_extension('a-b', '1', 'c', 'd')", "would keep its script"),
        ("pgtle.install_extension('postgis', '1', 'c', 'd')", "would keep its script"),
        ("pgtle.uninstall_extension('a-b')", "would keep its script"),
        ("dbdev.install('langchain-embedding_search')", REFUSED),
        ("dbdev.install('postgis')", REFUSED),
        ("dbdev.install(null)", REFUSED),
    ],
)  # fmt: skip
async def test_a_package_counts_as_installed_if_the_server_offers_it(
    project: asyncpg.Connection, call: str, expected: bool | str
):
    await project.execute('create extension pg_tle; create extension "supabase-dbdev"')

    if isinstance(expected, bool):
        assert await project.fetchval(f"select {call}") is expected
        return
    with pytest.raises(asyncpg.FeatureNotSupportedError, match=expected) as caught:
        await project.execute(f"select {call}")
    assert "supabase/tests/000-helpers.sql" in (caught.value.hint or "")
