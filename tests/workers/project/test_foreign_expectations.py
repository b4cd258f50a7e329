import pytest

from tests.workers.database.server import connected
from workers.project.errors import ScriptFailed
from workers.project.foreign_expectations import (
    deletes_stored_rows,
    makes_webhooks,
    names_pgsodium_key,
    safeupdate_setting,
)
from workers.project.project_connection import open_project_connection
from workers.project.project_folder import Script
from workers.project.script_runner import run_script
from workers.project.sql_splitter import split

OBJECT = """insert into storage.buckets (id, name) values ('b', 'b');
insert into storage.objects (bucket_id, name) values ('b', 'a.txt');"""
FILE = "supabase/migrations/1_x.sql"


async def nothing(_):
    """Record nothing."""


@pytest.fixture
async def reported(links):
    """Run a file on a platform's database: `await reported(sql)` returns the notices."""

    async def run(sql):
        notices = []
        async with open_project_connection(links.project, notices.append) as project:
            await run_script(project, Script(FILE, sql), nothing)
        return notices

    return run


async def value(links, sql):
    async with open_project_connection(links.project) as project:
        return await project.connection.fetchval(sql)


@pytest.mark.parametrize(
    ("sql", "expected"),
    [
        ("delete from storage.objects", True),
        ('-- away\nDELETE FROM ONLY "storage" . "buckets" where true', True),
        ("do $$ begin delete from storage.objects where name = 'a'; end $$", True),
        ("with gone as (delete from storage.objects returning 1) select count(*) from gone", True),
        ("create function f() returns void language sql as 'delete from storage.objects'", False),
        ("create or replace procedure p() language sql as 'delete from storage.objects'", False),
        ("delete from storage.objects_old", False),
        ('delete from storage."objects_old"', False),
        ("delete from public.objects", False),
        ("select 1 -- delete from storage\n", False),
        ("-- delete from storage.objects\nselect 1", False),
    ],
)
def test_a_statement_that_deletes_rows_of_storage_is_recognized(sql, expected):
    (statement,) = split(sql)

    assert deletes_stored_rows(statement) is expected


@pytest.mark.parametrize(
    ("sql", "expected"),
    [
        ("""select pg_catalog.setval('"pgsodium"."key_key_id_seq"', 1, false)""", True),
        ("select setval('pgsodium.key_key_id_seq', 1)", True),
        ("alter table t add foreign key (key_id) references pgsodium.key", True),
        ("copy pgsodium.key (id) from stdin;\n\\.\n", True),
        ("-- Data for Name: key; Schema: pgsodium\nselect 1", False),
        ("-- select pgsodium.key\nselect 1", False),
        ("create extension pgsodium", False),
        ("select my_pgsodium.key, pgsodium.keyring", False),
    ],
)
def test_a_file_that_names_the_keys_of_pgsodium_is_recognized(sql, expected):
    assert names_pgsodium_key(split(sql)) is expected


@pytest.mark.parametrize(
    ("sql", "expected"),
    [
        (
            "create trigger a after insert on t for each row execute function supabase_functions.http_request('u')",
            True,
        ),
        (
            'create trigger a after insert on t for each row execute function "supabase_functions"."http_request"()',
            True,
        ),
        ("do $$ begin execute format('... supabase_functions.http_request(%L)', 'u'); end $$", True),
        ("create extension if not exists pg_net; select 'supabase_functions.http_request()'", False),
        (
            "create extension \"pg_net\" with schema extensions; select 'supabase_functions.http_request()'",
            False,
        ),
        ("-- supabase_functions.http_request\nselect 1", False),
        ("select supabase_functions.http_requests, my_supabase_functions.http_request", False),
    ],
)
def test_a_file_that_makes_webhooks_is_recognized(sql, expected):
    assert makes_webhooks(split(sql)) is expected


async def test_a_seed_that_sets_the_sequence_of_pgsodium_finds_it(reported, links):
    sql = """select pg_catalog.setval('"pgsodium"."key_key_id_seq"', 7, true);"""

    first, second = await reported(sql), await reported(sql)

    assert first == [
        f"{FILE} names pgsodium.key: an empty table of that name was created. Nothing here uses it; "
        "secrets belong to the vault."
    ]
    assert second == []
    assert await value(links, "select last_value from pgsodium.key_key_id_seq") == 7
    assert await value(links, "select count(*) from pgsodium.key") == 0


async def test_a_project_without_a_word_of_pgsodium_gets_no_schema(reported, links):
    assert await reported("create table public.a ()") == []
    assert await value(links, "select to_regnamespace('pgsodium')") is None


async def test_a_file_that_fails_leaves_no_table_of_pgsodium(reported, links):
    with pytest.raises(ScriptFailed):
        await reported("select count(*) from pgsodium.key; select 1/0")

    assert await value(links, "select to_regnamespace('pgsodium')") is None


async def test_a_migration_deletes_rows_of_storage_and_its_reader_is_notified(reported, links):
    notices = await reported(f"{OBJECT}\ndelete from storage.objects; delete from storage.buckets;")

    assert [notice.partition(" deletes")[0] for notice in notices] == [
        f"{FILE}, statement 3",
        f"{FILE}, statement 4",
    ]
    assert await value(links, "select count(*) from storage.buckets") == 0


async def test_the_guard_is_open_for_that_statement_alone(reported):
    hidden = "do $$ begin execute 'delete from storage' || '.objects'; end $$"

    with pytest.raises(ScriptFailed, match="Direct deletion from storage tables is not allowed"):
        await reported(f"{OBJECT}\ndelete from storage.objects;\n{hidden};")


async def test_outside_of_a_project_s_files_the_guard_stays(links):
    with pytest.raises(Exception, match="Direct deletion from storage tables is not allowed"):
        await value(links, "delete from storage.objects")


_SETTINGS = (
    "select array_to_string(setconfig, ',') from pg_db_role_setting where setrole = 'authenticator'::regrole"
)


@pytest.mark.parametrize(
    ("sql", "expected"),
    [
        ("alter role authenticator set session_preload_libraries = 'safeupdate'", "= on"),
        ('-- why\nALTER ROLE "authenticator" SET "session_preload_libraries" TO safeupdate', "= on"),
        ("alter role authenticator set session_preload_libraries to default", "reset"),
        ("alter role authenticator set session_preload_libraries = ''", "reset"),
        ("alter role authenticator reset session_preload_libraries", "reset"),
        ("alter role authenticator set session_preload_libraries = 'supautils, safeupdate'", None),
        ("alter role postgres set session_preload_libraries = 'safeupdate'", None),
    ],
)
def test_a_statement_that_loads_safeupdate_sets_its_setting_instead(sql, expected):
    setting = safeupdate_setting(split(sql)[0])

    assert expected in setting if expected else setting is None


async def test_a_migration_that_loads_safeupdate_makes_the_data_api_require_filters(reported, links):
    on = "alter role authenticator set session_preload_libraries = 'safeupdate';"

    (notice,) = await reported(on)

    assert notice.startswith(f"{FILE}, statement 1 loads or unloads the module safeupdate")
    async with connected(links.owner) as connection:
        assert "safeupdate.enabled=on" in await connection.fetchval(_SETTINGS)
        await reported("alter role authenticator set session_preload_libraries to default;")
        assert "safeupdate" not in await connection.fetchval(_SETTINGS)
