"""What the migrations make. How they are applied is in tests/workers/database/migrations/test_migrate.py."""

from dataclasses import replace

import pytest

from schemas.settings.tree import Settings
from tests.schemas.callers import API_ROLES, become, refused
from tests.schemas.conftest import PASSWORD
from tests.workers.database.server import Server, connected, fresh_database
from workers.database.migrations.files import SystemMigration
from workers.database.migrations.migrate import migrate, read_migrations
from workers.database.schema_cache.database_options import _OPTIONS, _SPELLINGS

# The files


@pytest.mark.parametrize("migration", read_migrations(), ids=str)
def test_a_file_begins_with_a_line_that_explains_it(migration: SystemMigration):
    first, *_ = migration.sql.splitlines()

    assert first.startswith("-- ")
    assert first.endswith(".")


@pytest.mark.parametrize("migration", read_migrations(), ids=str)
def test_a_file_says_as_whom_it_runs(migration: SystemMigration):
    assert migration.parts


async def test_every_file_may_be_interrupted_before_it_is_written_down(migrated_server: Server):
    """Each file runs twice before the next one: what ran and was not written down runs again."""
    twice = [
        again for each in read_migrations() for again in (each, replace(each, name=f"{each.name}_again"))
    ]
    numbered = [replace(each, version=number) for number, each in enumerate(twice, start=1)]
    async with fresh_database(migrated_server) as name:
        assert await migrate(migrated_server.url(database=name), Settings(), numbered) == numbered


async def test_every_file_may_run_again_behind_the_last(migrated_server: Server):
    async with fresh_database(migrated_server) as name:
        await migrate(migrated_server.url(database=name), Settings())
        again = [replace(each, version=each.version + 1000) for each in read_migrations()]
        assert (
            await migrate(migrated_server.url(database=name), Settings(), [*read_migrations(), *again])
            == again
        )


# Roles


@pytest.mark.parametrize(
    ("role", "attributes"),
    [
        ("supabase_admin", "super inherit createrole createdb login replication bypassrls"),
        ("postgres", "inherit createrole createdb login replication bypassrls"),
        ("anon", "inherit"),
        ("authenticated", "inherit"),
        ("service_role", "inherit bypassrls"),
        ("authenticator", "login"),
        ("supabase_auth_admin", "createrole login"),
        ("supabase_storage_admin", "createrole login"),
        ("supabase_functions_admin", "createrole login"),
        ("supabase_realtime_admin", ""),
        ("supabase_replication_admin", "inherit login replication"),
        ("supabase_read_only_user", "inherit login bypassrls"),
        ("supabase_etl_admin", "inherit login replication"),
        ("pgbouncer", "inherit login"),
        ("headwater_scheduler", "login"),
        ("headwater_management", "login"),
        ("headwater_developer", "login"),
        ("headwater_reader", "login"),
        ("headwater_viewer", "login"),
        ("cli_login_postgres", "login"),
        ("cli_login_supabase_read_only_user", "login"),
        ("dashboard_user", "inherit createrole createdb replication"),
    ],
)
async def test_a_role_has_its_attributes(admin, role, attributes):
    row = await admin.fetchrow("select * from pg_roles where rolname = $1", role)
    names = ["super", "inherit", "createrole", "createdb", "canlogin", "replication", "bypassrls"]

    assert [name.removeprefix("can") for name in names if row[f"rol{name}"]] == attributes.split()


async def test_role_postgres_gives_the_platforms_roles_to_others(admin):
    given = await admin.fetch(
        """
        select distinct roleid::regrole::text as role from pg_auth_members
        where member = 'postgres'::regrole and admin_option
        """
    )

    wanted = {
        *API_ROLES, "authenticator", "supabase_auth_admin", "supabase_storage_admin", "supabase_realtime_admin",
        "supabase_functions_admin", "pg_monitor", "pg_signal_backend",
    }  # fmt: skip
    if await admin.fetchval("select current_setting('server_version_num')::int >= 160000"):
        wanted.add("pg_create_subscription")
    assert wanted <= {row["role"] for row in given}


async def test_roles_have_their_limits_and_paths(admin):
    rows = await admin.fetch(
        """
        select setrole::regrole::text as role, unnest(setconfig) as setting
        from pg_db_role_setting where setdatabase = 0 and setrole <> 0
        """
    )

    assert {(row["role"], row["setting"]) for row in rows} == {
        ("anon", "statement_timeout=3s"),
        ("authenticated", "statement_timeout=8s"),
        ("authenticator", "statement_timeout=8s"),
        ("authenticator", "lock_timeout=8s"),
        ("postgres", 'search_path="$user", public, extensions'),
        ("supabase_admin", 'search_path="$user", public, auth, extensions'),
        ("supabase_auth_admin", "search_path=auth"),
        ("supabase_auth_admin", "idle_in_transaction_session_timeout=60000"),
        ("supabase_functions_admin", "search_path=supabase_functions"),
        ("supabase_storage_admin", "search_path=storage"),
        ("headwater_scheduler", 'search_path=""'),
        ("headwater_scheduler", "statement_timeout=30s"),
        ("headwater_scheduler", "idle_in_transaction_session_timeout=30s"),
        ("headwater_management", 'search_path=""'),
        ("headwater_reader", "default_transaction_read_only=on"),
        *(
            (f"headwater_{login}", f"{setting}=60s")
            for login in ("management", "developer", "reader", "viewer")
            for setting in ("statement_timeout", "idle_in_transaction_session_timeout")
        ),
    }


async def test_the_login_role_of_the_interface_becomes_its_roles_and_no_other(migrated_server: Server):
    async with connected(migrated_server.url("authenticator", PASSWORD)) as connection:
        for role in API_ROLES:
            await connection.execute(f"set role {role}")
            await connection.execute("reset role")
        for role in ("postgres", "supabase_admin", "supabase_auth_admin", "supabase_storage_admin"):
            assert await refused(connection, f"set role {role}"), role


async def test_the_login_role_of_the_interface_has_no_rights_of_its_own(
    migrated_server: Server, database_url: str
):
    async with connected(migrated_server.url("postgres", PASSWORD, database_url)) as connection:
        await connection.execute("create table public.items ()")
    async with connected(migrated_server.url("authenticator", PASSWORD, database_url)) as connection:
        assert await refused(connection, "select from public.items")
        await connection.execute("set role anon; select from public.items")


async def test_role_postgres_does_not_become_the_superuser(project):
    for sql in (
        "set role supabase_admin",
        "grant supabase_admin to postgres",
        "alter role supabase_admin password 'x'",
        "alter role postgres superuser",
        "create role another superuser",
        "select pg_read_file('postgresql.conf')",
        "copy (select 1) to program 'true'",
    ):
        assert await refused(project, sql), sql


# Schemas and what is made in them


async def test_schemas_are_there_with_their_owners(admin):
    rows = await admin.fetch(
        """
        select nspname::text as name, nspowner::regrole::text as owner from pg_namespace
        where nspname !~ '^pg_(toast|temp|catalog)' and nspname <> 'information_schema'
        """
    )

    assert {row["name"]: row["owner"] for row in rows} == {
        "public": "pg_database_owner",
        "extensions": "postgres",
        "auth": "supabase_auth_admin",
        "storage": "supabase_storage_admin",
        "realtime": "supabase_admin",
        "_realtime": "supabase_admin",
        "graphql": "supabase_admin",
        "graphql_public": "supabase_admin",
        "vault": "supabase_admin",
        "supabase_functions": "supabase_admin",
        "supabase_migrations": "postgres",
        "pgbouncer": "pgbouncer",
        "headwater": "supabase_admin",
        "headwater_jobs": "supabase_admin",
        "headwater_history": "supabase_admin",
    }


async def test_a_schema_that_a_project_made_before_ours_is_not_taken_for_it(migrated_server: Server):
    async with fresh_database(migrated_server) as name:
        url = migrated_server.url(database=name)
        async with connected(url) as connection:
            await connection.execute(
                "create schema headwater_history authorization postgres; create table headwater_history.versions (mine int)"
            )
        await migrate(url, Settings())
        async with connected(url) as connection:
            rows = await connection.fetch(
                "select nspname ~ '[0-9]$' as is_renamed, nspowner::regrole::text as owner, exists (select from pg_attribute"
                " where attrelid = to_regclass(nspname || '.versions') and attname = 'mine') as is_theirs"
                " from pg_namespace where nspname like 'headwater\\_history%' order by nspname"
            )

    assert [tuple(row) for row in rows] == [(False, "supabase_admin", False), (True, "postgres", True)]


@pytest.mark.parametrize("role", API_ROLES)
async def test_roles_of_the_interface_look_into_its_schemas_and_make_nothing(admin, role):
    rows = await admin.fetch(
        """
        select nspname::text as name from pg_namespace
        where has_schema_privilege($1, oid, 'usage') and nspname !~ '^pg_' and nspname <> 'information_schema'
        """,
        role,
    )
    may_make = await admin.fetchval(
        "select array(select nspname::text from pg_namespace where has_schema_privilege($1, oid, 'create'))",
        role,
    )

    looks = {
        "public",
        "extensions",
        "auth",
        "storage",
        "realtime",
        "graphql",
        "graphql_public",
        "supabase_functions",
    }
    more = {"anon": set(), "authenticated": {"headwater_jobs"}, "service_role": {"headwater_jobs", "vault"}}
    assert {row["name"] for row in rows} == looks | more[role]
    assert may_make == []


@pytest.mark.parametrize("maker", ["postgres", "supabase_admin"])
async def test_what_is_made_in_public_is_granted_to_the_roles_of_the_interface(admin, maker):
    await admin.execute(
        f"""
        set local role {maker};
        create table public.items (id serial);
        create function public.answer() returns int language sql as 'select 42';
        revoke execute on function public.answer() from public;
        """
    )
    for role in API_ROLES:
        await become(admin, role)
        await admin.execute("insert into public.items default values; update public.items set id = 7")
        assert await admin.fetchval("select id + public.answer() from public.items") == 49
        await admin.execute("delete from public.items; truncate public.items; reset role")


async def test_tables_of_auth_are_closed_to_the_roles_of_the_interface(admin):
    await admin.execute("set local role supabase_auth_admin; create table auth.kept (id int); reset role")
    for role in API_ROLES:
        assert await refused(admin, f"set local role {role}; select from auth.kept"), role
        assert await refused(admin, f"set local role {role}; create table auth.own ()"), role
    await admin.execute("set local role postgres; select from auth.kept; create trigger t before insert on auth.kept "
                        "for each row execute function suppress_redundant_updates_trigger()")  # fmt: skip


async def test_the_history_is_closed_to_the_roles_of_the_interface(admin):
    for role in [*API_ROLES, "authenticator"]:
        assert await refused(admin, f"set local role {role}; select from headwater.migrations"), role


async def test_what_the_platform_makes_for_functions_may_be_granted_on(admin):
    await admin.execute("set local role supabase_admin; create table supabase_functions.made ()")
    await admin.execute(
        "set local role postgres; grant select on supabase_functions.made to anon with grant option"
    )
    await admin.execute("grant usage on schema supabase_functions to anon")


# Extensions, parameters, publication


@pytest.mark.parametrize("name", ["pgcrypto", "uuid-ossp"])
async def test_expected_extensions_stand_ready_and_belong_to_postgres(project, name):
    row = await project.fetchrow(
        "select extnamespace::regnamespace::text, extowner::regrole::text from pg_extension where extname = $1",
        name,
    )
    await project.execute(f"""comment on extension "{name}" is 'as in a dump'""")
    await project.execute(f"""create extension if not exists "{name}" with schema extensions""")

    assert tuple(row) == ("extensions", "postgres")


async def test_the_roles_of_the_interface_use_the_extensions(project):
    for role in API_ROLES:
        await become(project, role)
        made = await project.fetchval(
            "select extensions.uuid_generate_v4()::text || extensions.crypt('a', 'ab')"
        )
        assert len(made) > 36
        await project.execute("reset role")


async def test_role_postgres_creates_trusted_extensions(project):
    await project.execute("create extension pg_trgm with schema extensions; create extension citext")


async def test_the_embedded_server_lets_role_postgres_create_more(embedded, project):
    await project.execute("create extension vector with schema extensions; create extension moddatetime")


@pytest.mark.parametrize(
    ("extension", "uses"),
    [
        ("pg_net with schema extensions", ["select net.http_get('u')"]),
        ("pg_graphql", ["select graphql.resolve('{ x }')"]),
    ],
)
async def test_an_extension_of_the_platform_is_opened_to_the_interface(embedded, project, extension, uses):
    await project.execute(f"create extension {extension}")
    for role in API_ROLES:
        await project.execute(f"set local role {role}")
        for sql in uses:
            await project.execute(sql)
        await project.execute("reset role")


async def test_the_job_table_is_read_and_its_functions_are_called_by_role_postgres_only(embedded, project):
    await project.execute("create extension pg_cron with schema extensions")
    await project.execute(
        "select cron.schedule('* * * * *'); select from cron.job; delete from cron.job_run_details"
    )
    await project.execute("grant usage on schema cron to service_role; grant execute on all functions in schema cron "
                          "to service_role")  # fmt: skip

    assert await refused(project, "delete from cron.job")
    assert await refused(project, "set local role anon; select cron.schedule('* * * * *')")
    await project.execute("set local role service_role; select cron.schedule('* * * * *')")


@pytest.mark.parametrize("name", [*_OPTIONS, *_SPELLINGS])
async def test_role_postgres_keeps_every_option_of_the_interface_in_the_database(project, name):
    await project.execute(f"alter role authenticator set pgrst.{name} = 'x'")


@pytest.mark.parametrize(
    "sql",
    [
        "set session_replication_role = replica",
        "alter database postgres set app.settings.jwt_secret = 'x'",
        'alter database postgres set "app.settings.jwt_exp" to 3600',
        "alter database postgres set app.settings.service_role_key = 'x'",
        "alter database postgres set app.settings.anon_key = 'x'",
        "alter database postgres set timezone to 'UTC'",
        "alter role authenticator set statement_timeout = '20s'",
        "alter role postgres set log_min_duration_statement = 250",
        "alter role anon set log_statement = 'ddl'",
        "alter role supabase_auth_admin set lock_timeout = '1s'",
        "create schema own",
        "create role reporter nologin",
        "create publication own_changes",
        "comment on schema public is 'x'",
        "grant usage on schema auth, storage, realtime to supabase_read_only_user",
        "grant all on schema supabase_functions to anon with grant option",
        "alter schema public owner to pg_database_owner",
        "drop schema public cascade; create schema public; grant usage on schema public to anon",
        "drop publication supabase_realtime; create publication supabase_realtime",
        "alter role authenticated set statement_timeout = '10s'; alter role service_role set statement_timeout = '60s'",
        "create role caller nologin noinherit; grant caller to authenticator",
        "create role app login password 'x' in role authenticated",
        "alter database postgres set statement_timeout to '60s'",
        "alter default privileges for role supabase_storage_admin in schema storage grant all on tables to postgres",
        "set local role supabase_realtime_admin",
        "set local role supabase_functions_admin",
        "select pg_terminate_backend(0)",
    ],
)
async def test_role_postgres_may_do_what_migrations_of_real_projects_do(project, sql):
    await project.execute(sql)


async def test_the_publication_of_changes_is_empty_and_belongs_to_postgres(project):
    row = await project.fetchrow(
        "select pubowner::regrole::text, puballtables from pg_publication where pubname = 'supabase_realtime'"
    )
    before = await project.fetchval(
        "select count(*) from pg_publication_tables where pubname = 'supabase_realtime'"
    )
    await project.execute(
        "create table public.items (); alter publication supabase_realtime add table public.items"
    )

    assert (*row, before) == ("postgres", False, 0)
    assert (
        await project.fetchval(
            "select tablename::text from pg_publication_tables where pubname = 'supabase_realtime'"
        )
        == "items"
    )
