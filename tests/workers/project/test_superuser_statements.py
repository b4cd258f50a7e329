"""Publications of all tables and event triggers in migrations: made for role postgres, and no way to more than it has."""

import asyncpg
import pytest

from tests.workers.database.server import connected
from tests.workers.project.conftest import value
from tests.workers.project.test_script_runner import nothing, run, tables
from workers.project.errors import ScriptFailed
from workers.project.project_folder import Script
from workers.project.script_runner import run_script
from workers.project.sql_splitter import split
from workers.project.superuser_statements import (
    AllTables,
    EventTrigger,
    ExtensionMove,
    parse_superuser_statement,
)

LOG = """
create table public.log (said text, as_role text);
create function public.told() returns event_trigger language plpgsql as $$
begin
  insert into public.log values (tg_tag, current_user);
end;
$$;
"""
TRIGGER = "create event trigger tells on ddl_command_end execute function public.told();"
ESCAPE = """
create function public.escape() returns event_trigger language plpgsql security definer as $$
begin
  if (select rolsuper from pg_roles where rolname = current_user) then
    alter role anon superuser;
  end if;
end $$;
create event trigger escapes on ddl_command_end execute function public.escape();
"""


async def log(project):
    return [tuple(row) for row in await project.connection.fetch("select * from public.log")]


async def is_no_superuser(links):
    sql = "select not rolsuper from pg_roles where rolname = $1"
    return [await value(links.owner, sql, name) for name in ("postgres", "anon")] == [True, True]


@pytest.mark.parametrize(
    ("sql", "expected"),
    [
        ("create publication a for all tables", AllTables("a")),
        (
            "-- all\nCREATE  Publication \"A b\" FOR ALL TABLES WITH (publish = 'insert, update', publish_via_partition_root)",
            AllTables("A b", ("publish", "insert, update", "publish_via_partition_root", "true")),
        ),
        ("create publication a for all tables with (publish = concat('a'))", None),
        ("create publication a for table b", None),
        ("create publication a", None),
        ("create publication a for all tables, b", None),
        (
            "create event trigger T on ddl_command_end when tag in ('CREATE TABLE', 'DROP TABLE') execute procedure a.\"B\"()",
            EventTrigger("t", "ddl_command_end", ("CREATE TABLE", "DROP TABLE"), 'a."B"'),
        ),
        ("create event trigger t on sql_drop execute function f()", EventTrigger("t", "sql_drop", None, "f")),
        ("create event trigger t on sql_drop execute function f(1)", None),
        ("create table event ()", None),
        ('alter extension "pg_trgm" set schema Extensions', ExtensionMove("pg_trgm", "extensions")),
        ("alter extension pg_trgm update", None),
        ("alter extension pg_trgm add function f()", None),
    ],
)
def test_what_is_lent_is_told_by_its_spelling(sql, expected):
    assert parse_superuser_statement(split(sql)[0]) == expected


async def test_a_publication_of_all_tables_belongs_to_role_postgres(project, links):
    await run(
        project,
        "begin; drop publication if exists supabase_realtime;"
        "create publication supabase_realtime for all tables with (publish = 'insert, delete'); commit;"
        "create table public.a (id int primary key);",
    )

    row = await project.connection.fetchrow(
        "select puballtables, pubinsert, pubupdate, pubdelete, pubowner::regrole::text from pg_publication"
        " where pubname = 'supabase_realtime'"
    )
    assert tuple(row) == (True, True, False, True, "postgres")
    assert await is_no_superuser(links)
    await run(project, "drop publication supabase_realtime; create publication supabase_realtime;")


async def test_a_publication_that_is_there_is_refused_as_ever(project):
    with pytest.raises(ScriptFailed, match="already exists"):
        await run(project, "create table a (); create publication supabase_realtime for all tables;")

    assert await tables(project) == []


async def test_an_event_trigger_runs_with_the_rights_of_whoever_is_at_work(project, links):
    await run(project, LOG + TRIGGER + "create table a (); drop table a;")

    assert await log(project) == [("CREATE TABLE", "postgres"), ("DROP TABLE", "postgres")]
    assert await is_no_superuser(links)
    async with connected(links.owner) as superuser:
        await superuser.execute("create table public.by_superuser ()")
    assert len(await log(project)) == 2
    await run(project, "alter event trigger tells disable; create table b (); drop event trigger tells;")
    assert len(await log(project)) == 2


async def test_an_event_trigger_is_told_of_what_it_asked_for(project):
    await run(
        project,
        LOG.replace("end;\n", "end -- the last of it\n")
        + "create event trigger tells on ddl_command_start when tag in ('CREATE VIEW') execute procedure told();"
        "create table a (); create view b as select 1 as one;",
    )

    assert await log(project) == [("CREATE VIEW", "postgres")]


async def test_an_event_trigger_follows_its_function(project):
    await run(project, LOG + TRIGGER)
    await run(
        project,
        LOG.partition(";")[2]
        .replace("create function", "create or replace function")
        .replace("tg_tag", "'new'"),
    )
    await project.connection.execute("delete from public.log")

    await run(project, "create table a ();")

    assert await log(project) == [("new", "postgres")]


async def test_options_and_paths_of_a_function_hold_in_its_trigger(project):
    await run(
        project,
        """create schema "Odd"; create table "Odd".seen (said text);
        create function public.sees() returns event_trigger language plpgsql set search_path = "Odd", pg_temp as $$
        #variable_conflict use_column
        <<outer_block>>
        declare said text := 'no';
        begin
          insert into seen select said from (values ('column')) as v (said);
        end outer_block
        $$;
        create event trigger sees on ddl_command_end execute function sees();
        create table public.a ();""",
    )

    assert await project.connection.fetchval('select array_agg(said) from "Odd".seen') == ["column"]


async def test_an_event_trigger_gains_nothing_from_superusers_and_trusted_extensions(project, links):
    await run(project, ESCAPE + "create extension if not exists hstore; create publication p for all tables;")
    async with connected(links.owner) as superuser:
        await superuser.execute("create table public.by_superuser ()")
    await run(
        project,
        "create event trigger again on sql_drop execute function escape(); create table a (); drop table a;",
    )

    assert await is_no_superuser(links)


@pytest.mark.parametrize(
    "body",
    [
        "null; exception when others then perform public.climb();",
        "null; end if; exception when others then perform public.climb(); if true then null;",
        "null; end; begin perform public.climb();",
        "#variable_conflict use_column declare x int := public.climb();\nbegin null; end",
        "#print_strict_params on\n#option dump\nbegin null; end",
        "/* begin end",
    ],
)
async def test_a_body_cannot_reach_out_of_its_block(project, links, body):
    sql = f"""create function public.climb() returns int language plpgsql as $$ begin alter role anon superuser; return 1; end $$;
    set check_function_bodies = off;
    create function public.sly() returns event_trigger language plpgsql as $$ {body} $$;
    create event trigger sly on ddl_command_end when tag in ('CREATE EXTENSION', 'CREATE TYPE') execute function sly();
    create extension if not exists citext;"""

    with pytest.raises(ScriptFailed):
        await run(project, sql)

    assert await is_no_superuser(links)


async def test_names_of_the_sessions_own_mean_nothing_to_what_lends(project, links):
    await run(
        project,
        """create function public.climb(x pg_catalog.text) returns bool language plpgsql as
          $$ begin if (select rolsuper from pg_roles where rolname = current_user) then alter role anon superuser; end if; return true; end $$;
        create domain pg_temp.text as pg_catalog.text check (public.climb(value));
        create domain pg_temp.oid as pg_catalog.oid check (public.climb(value::pg_catalog.text));
        create function public.join(pg_catalog.text, pg_catalog.text) returns pg_catalog.text language sql as
          $$ select case when public.climb($1) then 'x' end $$;
        create operator public.|| (function = public.join, leftarg = pg_catalog.text, rightarg = pg_catalog.text);"""
        + LOG.replace("plpgsql as", "plpgsql set search_path = public, pg_catalog as")
        + "set search_path = public, pg_catalog;"
        + TRIGGER
        + "create publication p for all tables with (publish = 'insert');",
    )

    assert await is_no_superuser(links)


async def test_a_trigger_cannot_be_given_other_functions(project):
    await run(project, LOG + TRIGGER)
    copy = await project.connection.fetchval(
        "select evtfoid::regproc::text from pg_event_trigger where evtname = 'tells'"
    )

    with pytest.raises(asyncpg.InsufficientPrivilegeError):
        await project.connection.execute(f"alter function {copy}() security definer")


@pytest.mark.parametrize(
    ("sql", "reason"),
    [
        ("create event trigger t on login execute function told()", "may not make event triggers on login"),
        ("create event trigger t on sql_drop execute function missing()", "does not exist"),
        (
            "create event trigger t on sql_drop execute function headwater.mark_schema()",
            "must be owned by role postgres",
        ),
        ("create event trigger t on sql_drop execute function plain()", "returns event_trigger"),
        (
            "set role service_role; create event trigger t on sql_drop execute function told()",
            "permission denied",
        ),
        ("set role service_role; create publication p for all tables", "(permission denied|superuser)"),
    ],
)
async def test_what_is_not_lent_is_refused_with_its_reason(project, links, sql, reason):
    await run(project, LOG + "create function plain() returns void language sql as '';")

    with pytest.raises(ScriptFailed, match=reason):
        await run(project, sql)

    assert await is_no_superuser(links)


async def test_a_superuser_who_becomes_postgres_has_the_same(links):
    async with connected(links.owner) as connection:
        await connection.execute("set role postgres")
        await connection.execute("select headwater.publish_all_tables('q', null)")
    assert (
        await value(links.owner, "select pubowner::regrole::text from pg_publication where pubname = 'q'")
        == "postgres"
    )


async def test_nobody_else_may_call_what_lends(links):
    asked = "select has_function_privilege($1, 'headwater.publish_all_tables(text,text[])', 'execute')"
    names = ("anon", "authenticated", "service_role", "authenticator", "supabase_auth_admin")

    assert [await value(links.owner, asked, name) for name in names] == [False] * len(names)


async def test_where_the_schemas_are_not_ours_the_servers_words_stand(project, links):
    async with connected(links.owner) as superuser:
        await superuser.execute("drop function headwater.publish_all_tables(text, text[])")

    with pytest.raises(ScriptFailed, match="must be superuser to create FOR ALL TABLES publication"):
        await run_script(project, Script("x.sql", "create publication p for all tables"), nothing)


async def _schema_of(project, extension):
    sql = "select extnamespace::regnamespace::text from pg_extension where extname = $1"
    return await project.connection.fetchval(sql, extension)


async def test_an_extension_of_role_postgres_moves_to_another_schema(project):
    await run(
        project,
        "create extension pg_trgm schema public; create table a (t text); create index on a using gin (t gin_trgm_ops);"
        'ALTER EXTENSION "pg_trgm" SET SCHEMA extensions;',
    )

    assert await _schema_of(project, "pg_trgm") == "extensions"
    assert await project.connection.fetchval("select extensions.similarity('a', 'a')") == 1
    await run(project, "drop extension pg_trgm cascade; drop table a;")


@pytest.mark.parametrize(
    ("sql", "message"),
    [
        ("alter extension plpgsql set schema public", "must be owner of extension plpgsql"),
        (
            "create extension pg_trgm; alter extension pg_trgm set schema headwater",
            "permission denied for schema headwater",
        ),
        (
            "create extension pg_trgm; alter extension pg_trgm set schema pg_catalog",
            "permission denied for schema",
        ),
        (
            "create extension pg_trgm; alter extension pg_trgm set schema nowhere",
            'schema "nowhere" does not exist',
        ),
        ("alter extension nothing set schema public", 'extension "nothing" does not exist'),
    ],
)
async def test_an_extension_does_not_move_where_role_postgres_has_no_right(project, sql, message):
    with pytest.raises(ScriptFailed, match=message):
        await run(project, sql)


@pytest.mark.parametrize(
    ("extension", "schema"), [("pgmq", "pgmq"), ("pgsodium", "pgsodium"), ("pg_tle", "pgtle")]
)
async def test_the_schema_that_the_hosted_platform_has_ready_is_created_for_its_extension(
    project, extension, schema
):
    await run(project, f'CREATE EXTENSION IF NOT EXISTS "{extension}" WITH SCHEMA "{schema}";')

    assert await _schema_of(project, extension) == schema
    await run(project, f"drop extension {extension}; drop schema {schema};")


async def test_no_schema_is_created_for_another_extension(project):
    with pytest.raises(ScriptFailed, match='schema "my_pgmq" does not exist'):
        await run(project, "create extension pg_trgm with schema my_pgmq; -- not schema pgmq")

    assert not await project.connection.fetchval("select to_regnamespace('pgmq') is not null")
