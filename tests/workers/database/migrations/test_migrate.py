"""How migrations are applied. What they make is in tests/schemas/test_migrations.py."""

import asyncio
import contextlib
import os
import sys
from collections.abc import Mapping

import asyncpg
import msgspec
import pytest

from schemas.database_logins import password_variables
from schemas.keys.secret import Secret
from schemas.settings.tree import Settings
from tests.workers.database.server import OUTSIDE, TRUSTING, connected, fresh_database, temporary_server
from workers.database.migrations import files as migration_files
from workers.database.migrations.migrate import (
    SERIES,
    MigrationError,
    SystemMigration,
    migrate,
    read_migrations,
    run,
)

_DOWN = "postgresql://someone:word@127.0.0.1:1/postgres"


def changed(**sections: Mapping[str, object]) -> Settings:
    """Give the default settings with some keys changed, by section."""
    settings = Settings()
    replaced = {
        name: msgspec.structs.replace(getattr(settings, name), **keys) for name, keys in sections.items()
    }
    return msgspec.structs.replace(settings, **replaced)


def tables(*names: str) -> list[SystemMigration]:
    """Give a series that makes tables."""
    return [
        SystemMigration("trial", version, name, f"-- as: superuser\ncreate table public.{name} ()")
        for version, name in enumerate(names, 1)
    ]


async def value(url: str, sql: str, *arguments: object) -> object:
    """Give one value, on a connection of its own."""
    async with connected(url) as connection:
        return await connection.fetchval(sql, *arguments)


async def execute(url: str, sql: str) -> None:
    """Run commands, on a connection of their own."""
    async with connected(url) as connection:
        await connection.execute(sql)


async def names_of(url: str) -> list[str]:
    """Give the tables of schema public."""
    return await value(
        url, "select array(select tablename::text from pg_tables where schemaname = 'public' order by 1)"
    )


def test_migrations_are_read_in_the_order_of_their_series():
    found = read_migrations()

    assert list(dict.fromkeys(each.series for each in found)) == list(SERIES)
    assert [each.version for each in found if each.series == "platform"] == list(
        range(1, 1 + sum(each.series == "platform" for each in found))
    )


@pytest.mark.parametrize("files", [["0001_a.sql", "0003_c.sql"], ["0001_a.sql", "0001_b.sql"], ["1_a.sql"]])
def test_a_gap_in_the_numbers_is_refused(files, tmp_path, monkeypatch):
    for series in SERIES:
        (tmp_path / "migrations" / series).mkdir(parents=True)
    for file in files:
        (tmp_path / "migrations" / "storage" / file).write_text("select 1")
    monkeypatch.setattr(migration_files.resources, "files", lambda _: tmp_path)

    with pytest.raises(MigrationError, match=f"storage/{files[-1]} should have the number"):
        read_migrations()


async def test_everything_is_applied_once(database):
    first = await migrate(database, Settings())
    second = await migrate(database, Settings())

    assert first == read_migrations()
    assert second == []
    assert await value(database, "select count(*) from headwater.migrations") == len(first)


async def test_only_what_is_new_is_applied(database):
    await migrate(database, Settings(), read_migrations() + tables("one"))

    assert (
        await migrate(database, Settings(), read_migrations() + tables("one", "two"))
        == tables("one", "two")[1:]
    )
    assert await names_of(database) == ["one", "two"]


async def test_a_start_with_nothing_to_do_asks_two_questions(database, platform_server):
    await migrate(database, Settings())
    name = database.rpartition("/")[2]
    before = platform_server.log().count(f"{name}: LOG:  execute")

    await migrate(database, Settings())

    assert platform_server.log().count(f"{name}: LOG:  execute") - before == 2


async def test_a_start_drops_the_logins_that_a_killed_process_left_behind(database):
    await migrate(database, Settings())
    oid = await value(database, "select oid from pg_database where datname = current_database()")
    login = f"headwater_login_{oid}_{'0' * 16}"
    await execute(database, f"create role {login} login in role supabase_auth_admin")

    assert await migrate(database, Settings()) == []

    assert await value(database, "select count(*) from pg_roles where rolname = $1", login) == 0


async def test_a_migration_that_fails_leaves_nothing_and_ends_the_run(database):
    broken = SystemMigration(
        "trial", 2, "broken", "-- as: superuser\ncreate table public.half (); select 1 / 0"
    )
    wanted = [
        tables("one")[0],
        broken,
        SystemMigration("trial", 3, "after", "-- as: superuser\ncreate table public.after ()"),
    ]

    with pytest.raises(MigrationError, match="trial/0002_broken failed: division by zero"):
        await migrate(database, Settings(), read_migrations() + wanted)

    assert await names_of(database) == ["one"]
    assert await value(database, "select max(version) from headwater.migrations where series = 'trial'") == 1


async def test_an_applied_migration_that_was_changed_is_refused(database):
    await migrate(database, Settings(), read_migrations() + tables("one"))
    edited = SystemMigration("trial", 1, "one", "-- as: superuser\ncreate table public.one (id int)")

    with pytest.raises(MigrationError, match="trial/0001_one was changed after it had been applied"):
        await migrate(database, Settings(), [*read_migrations(), edited, *tables("one", "two")[1:]])

    assert await names_of(database) == ["one"]


async def test_a_history_that_knows_more_is_left_alone(database):
    await migrate(database, Settings(), read_migrations() + tables("one"))

    assert await migrate(database, Settings()) == []


async def test_of_runs_at_once_one_does_the_work(database):
    applied = await asyncio.gather(*(migrate(database, Settings()) for _ in range(4)))

    assert sorted(map(len, applied)) == [0, 0, 0, len(read_migrations())]


async def test_processes_may_start_at_once_on_one_new_server():
    with temporary_server() as server:
        async with fresh_database(server) as one, fresh_database(server) as other:
            urls = [server.url(database=name) for name in (one, other, one, other)]
            outputs = await asyncio.gather(*(_migrate_in_a_process(url) for url in urls))

    applied = f"applied {len(read_migrations())} system migrations, up to {read_migrations()[-1]}\n"
    assert sorted(outputs) == sorted([(0, "", ""), (0, "", ""), (0, applied, ""), (0, applied, "")])


async def test_databases_of_one_new_server_may_be_brought_up_at_once():
    """Roles and parameters belong to the server: without its lock these runs disturb each other."""
    with temporary_server() as server:
        async with contextlib.AsyncExitStack() as stack:
            names = [await stack.enter_async_context(fresh_database(server)) for _ in range(4)]
            applied = await asyncio.gather(
                *(migrate(server.url(database=name), Settings()) for name in names)
            )

    assert applied == [read_migrations()] * 4


_OWN_PASSWORDS = {variable: f"of {role}" for role, variable in password_variables(Settings()).items()}


async def _migrate_in_a_process(url: str) -> tuple[int | None, str, str]:
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-P", "-m", "workers", "migrate"),
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        env={**os.environ, **_OWN_PASSWORDS, "HEADWATER_MIGRATE_URL": url},
    )
    out, errors = await process.communicate()
    return process.returncode, out.decode(), errors.decode()


async def test_login_roles_have_the_passwords_of_the_settings(database, platform_server):
    def logins(password: str, own: str) -> list[str]:
        name = database.rpartition("/")[2]
        return [
            platform_server.url("postgres", password, name),
            platform_server.url("supabase_auth_admin", password, name),
            platform_server.url("supabase_storage_admin", password, name),
            platform_server.url("authenticator", own, name),
        ]

    await migrate(
        database, changed(db={"password": Secret("it's \\ 1"), "authenticator_password": Secret("x:/@2")})
    )
    first = [await value(url, "select session_user::text") for url in logins("it's \\ 1", "x:/@2")]
    await migrate(database, changed(db={"password": Secret("new")}))
    second = [await value(url, "select session_user::text") for url in logins("new", "new")]

    assert first == second == ["postgres", "supabase_auth_admin", "supabase_storage_admin", "authenticator"]
    for url in logins("it's \\ 1", "x:/@2"):
        with pytest.raises(asyncpg.InvalidPasswordError):
            await value(url, "select 1")


async def test_the_signing_secret_is_in_the_database_only_while_a_setting_exposes_it(database):
    async def found() -> list[object]:
        names = ("app.settings.jwt_secret", "app.settings.jwt_exp")
        return [await value(database, "select current_setting($1, true)", name) for name in names]

    secret, warnings = "with ' and \\ and $1 and = and , in thirty-two signs", []
    hidden = changed(auth={"jwt_secret": Secret(secret), "jwt_expiry": 60})
    exposed = changed(auth={"jwt_secret": Secret(secret), "jwt_expiry": 60}, db={"expose_jwt_secret": True})
    await migrate(database, Settings(), warn=warnings.append)
    new = await found()
    await migrate(database, exposed, warn=warnings.append)
    shown, before = await found(), list(warnings)
    await migrate(database, hidden, warn=warnings.append)  # as an upgrade does
    removed = await found()

    assert [new, shown, removed] == [[None, "3600"], [secret, "60"], [None, "60"]]
    assert before == []
    assert ["headwater keys rotate" in warning for warning in warnings] == [True]
    assert await migrate(database, hidden, warn=warnings.append) == []
    assert len(warnings) == 1


async def test_no_secret_reaches_the_servers_log(database, platform_server):
    settings = changed(
        db={
            "password": Secret("unheard-password"),
            "authenticator_password": Secret("unheard-other"),
            "expose_jwt_secret": True,
        },
        auth={"jwt_secret": Secret("unheard-secret-of-thirty-two-characters")},
    )
    await migrate(database, settings)
    await migrate(database, settings)
    log = platform_server.log()

    assert "grant anon, authenticated, service_role to authenticator" in log
    assert "unheard" not in log
    assert "SCRAM-SHA-256$" not in log


async def test_a_secret_is_not_in_an_error_either(database, platform_server):
    settings = changed(
        auth={"jwt_secret": Secret("unheard\0of-thirty-two-characters")}, db={"expose_jwt_secret": True}
    )

    with pytest.raises(asyncpg.PostgresError) as caught:
        await migrate(database, settings)

    assert "unheard" not in str(caught.value)
    assert "unheard" not in platform_server.log()


async def _granted(url: str) -> list[str]:
    """Make a table as role postgres and give who has rights on it."""
    return await value(
        url,
        """
        with made as (select oid from pg_class where relname = 'probe')
        select array(
          select distinct grantee::regrole::text from pg_class, aclexplode(relacl)
          where relname = 'probe' and grantee::regrole::text in ('anon', 'authenticated', 'service_role')
          order by 1
        )
        """,
    )


async def _probe(url: str, maker: str = "postgres") -> list[str]:
    await execute(url, f"drop table if exists probe; set role {maker}; create table public.probe (id serial)")
    return await _granted(url)


@pytest.mark.parametrize("maker", ["postgres", "supabase_admin"])
async def test_new_tables_are_granted_to_the_roles_of_the_interface_or_not(database, maker):
    hidden = changed(api={"auto_expose_new_tables": False})
    found = []
    for settings in (Settings(), hidden, Settings()):
        await migrate(database, settings)
        found.append(await _probe(database, maker))

    everyone = ["anon", "authenticated", "service_role"]
    assert found == [everyone, [], everyone]


async def test_a_hidden_start_hides_tables_sequences_and_functions_of_the_interface(database):
    await migrate(database, changed(api={"auto_expose_new_tables": False}))
    entries = await value(
        database,
        """
        select array(
          select defaclobjtype::text || ' ' || grantee::regrole::text
          from pg_default_acl, aclexplode(defaclacl)
          where defaclnamespace = 'public'::regnamespace
            and grantee::regrole::text in ('anon', 'authenticated', 'service_role')
        )
        """,
    )

    assert entries == []


async def test_a_project_that_takes_default_privileges_back_keeps_it_so(database):
    await migrate(database, Settings())
    await execute(
        database,
        "set role postgres; alter default privileges in schema public revoke all on tables from anon, authenticated",
    )

    await migrate(database, changed(db={"password": Secret("other")}))

    assert await _probe(database) == ["service_role"]


async def test_an_outside_servers_own_superuser_stays_as_it_is():
    """Its superuser may have the name of our role postgres; extensions may be missing."""
    if OUTSIDE is not None:
        pytest.skip("the extensions of this Postgres cannot be hidden")
    notices: list[str] = []
    with temporary_server(superuser="postgres", settings={"extension_control_path": "$system"}) as server:
        await execute(server.url(), "alter role postgres password 'its own'")
        before = await value(server.url(), "select rolpassword from pg_authid where rolname = 'postgres'")
        applied = await migrate(server.url(), Settings(), report=notices.append)
        again = await migrate(server.url(), Settings(), report=notices.append)
        after = await value(
            server.url(),
            "select array[rolsuper::text, rolpassword] from pg_authid where rolname = 'postgres'",
        )
        may_login = await value(
            server.url(), "select rolcanlogin from pg_roles where rolname = 'supabase_admin'"
        )

    assert applied == read_migrations()
    assert again == []
    assert after == ["true", before]
    assert may_login is False
    assert notices == [
        "extension pgcrypto is not available on this server",
        "extension uuid-ossp is not available on this server",
    ]


async def test_a_superuser_of_any_name_may_migrate(database, platform_server):
    await execute(platform_server.url(), "create role other_owner superuser login password 'o'")
    url = platform_server.url("other_owner", "o", database.rpartition("/")[2])

    assert await migrate(url, Settings()) == read_migrations()
    assert await value(database, "select rolcanlogin from pg_roles where rolname = 'supabase_admin'") is True


@pytest.mark.skipif(OUTSIDE is None, reason="TEST_POSTGRES names no other Postgres")
async def test_processes_may_start_at_once_on_an_outside_server():
    with temporary_server(programs=OUTSIDE) as server:
        applied = await asyncio.gather(*(migrate(server.url(), TRUSTING) for _ in range(2)))

    assert sorted(map(len, applied)) == [0, len(read_migrations())]


async def test_a_login_without_the_rights_is_refused_with_its_name(database, platform_server):
    await execute(platform_server.url(), "create role weak login password 'w'")
    url = platform_server.url("weak", "w", database.rpartition("/")[2])

    with pytest.raises(MigrationError, match="role weak is no superuser") as caught:
        await migrate(url, Settings())

    assert "it lacks SUPERUSER, CREATEROLE, CREATEDB, REPLICATION, BYPASSRLS" in str(caught.value)
    assert "Name one of this database in HEADWATER_MIGRATE_URL" in str(caught.value)


@pytest.mark.parametrize(
    "url", ["postgresql://me:hush#x@host/db", "postgresql://me:hu/sh@host/db", "mysql://me:hush@host/db"]
)
async def test_a_url_that_cannot_be_read_is_told_without_its_password(url):
    with pytest.raises(MigrationError, match="cannot be read") as caught:
        await migrate(url, Settings())

    assert "hu" not in str(caught.value).replace("should", "")
    assert caught.value.__cause__ is None


def test_without_a_url_the_command_says_what_it_needs(capsys):
    assert run(Settings(), {}) == 2
    assert "HEADWATER_MIGRATE_URL" in capsys.readouterr().err


def test_a_server_that_is_away_ends_the_command_with_one_sentence(capsys):
    code = run(Settings(), {"HEADWATER_MIGRATE_URL": _DOWN})
    told = capsys.readouterr().err

    assert code == 1
    assert told.startswith("headwater: the database could not be brought up to date: ")
    assert "word" not in told


@pytest.mark.skipif(OUTSIDE is None, reason="TEST_POSTGRES names no other Postgres")
async def test_a_server_that_lets_role_postgres_run_programs_is_refused_unless_the_project_is_trusted():
    with temporary_server(programs=OUTSIDE) as server:
        version = int(str(await value(server.url(), "show server_version_num")))
        if version < 160000:
            with pytest.raises(MigrationError, match="can grant itself pg_execute_server_program"):
                await migrate(server.url(), Settings())
        assert await migrate(server.url(), TRUSTING) == read_migrations()
