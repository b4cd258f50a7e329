"""A dump of a database with accounts is restored as it was, and the platform starts on it."""

import subprocess
import uuid
from pathlib import Path

import asyncpg
import pytest

from schemas.settings.tree import Settings
from services.supervisor.binaries import find_postgres
from tests.schemas.auth_tables import add, add_user, describe
from tests.schemas.callers import ME
from tests.schemas.conftest import PASSWORD
from tests.workers.database.server import OUTSIDE, Server, connected, fresh_database
from workers.database.migrations.migrate import migrate, read_migrations

TRIGGER = """
create function public.handle_new_user() returns trigger language plpgsql security definer set search_path = '' as $$
begin
  insert into public.profiles (id) values (new.id);
  return new;
end $$;
create table public.profiles (id uuid primary key references auth.users on delete cascade);
create trigger on_auth_user_created after insert on auth.users for each row execute function public.handle_new_user();
"""


@pytest.fixture
def programs(migrated_server: Server) -> Path:
    """The folder of the programs that belong to the server."""
    return find_postgres() if (migrated_server.folder / "extension").exists() or OUTSIDE is None else OUTSIDE


async def test_a_dump_is_restored_with_accounts_rights_and_triggers(migrated_server, database_url, programs):
    async with connected(migrated_server.url("postgres", PASSWORD, database_url)) as connection:
        await connection.execute(TRIGGER)
        await _fill(connection)
    async with connected(migrated_server.url(database=database_url)) as connection:
        before = await _state(connection)
    dump = _run(programs / "pg_dump", migrated_server.url(database=database_url))

    async with fresh_database(migrated_server) as copy:
        _run(
            programs / "psql",
            migrated_server.url(database=copy),
            "--no-psqlrc",
            "--quiet",
            "--set=ON_ERROR_STOP=1",
            told=dump,
        )
        async with connected(migrated_server.url(database=copy)) as connection:
            after = await _state(connection)
        assert await migrate(migrated_server.url(database=copy), Settings()) == []
        async with connected(migrated_server.url("supabase_auth_admin", PASSWORD, copy)) as connection:
            await add_user(connection, email="second@b.c")
        async with connected(migrated_server.url("postgres", PASSWORD, copy)) as connection:
            profiles = await connection.fetchval("select count(*) from public.profiles")

    assert after == before
    assert profiles == 2


async def test_rows_of_another_server_of_the_kind_are_loaded(migrated_server, database_url, programs):
    """As its dump of data is loaded: by role postgres, triggers off, refresh tokens in clear."""
    _run(
        programs / "psql",
        migrated_server.url("postgres", PASSWORD, database_url),
        *("--no-psqlrc", "--quiet", "--set=ON_ERROR_STOP=1"),
        told=_FOREIGN.encode(),
    )
    async with connected(migrated_server.url(database=database_url)) as connection:
        token = await connection.fetchval("select token from auth.refresh_tokens")
        next_id = await connection.fetchval("select nextval('auth.refresh_tokens_id_seq')")
        email = await connection.fetchval("select email from auth.identities")

    assert (len(token), next_id, email) == (64, 8, "a@b.c")


async def test_the_files_run_again_on_a_database_with_accounts(migrated_server, database_url):
    async with connected(migrated_server.url(database=database_url)) as connection:
        await _fill(connection)
        before = await _state(connection)
        await connection.execute("reset search_path")
        for migration in read_migrations():
            async with connection.transaction():
                await connection.execute("set local search_path = ''")
                await connection.execute(migration.sql)
        after = await _state(connection)

    assert after == before


async def _fill(connection: asyncpg.Connection) -> None:
    user = await add_user(connection, id=uuid.UUID(ME), email="a@b.c", confirmation_token="0f" * 28)
    session = await add(connection, "sessions", {"id": uuid.UUID(ME), "user_id": user, "aal": "aal1"})
    await add(
        connection,
        "refresh_tokens",
        {"token": "abcdefgh2345", "user_id": ME, "session_id": session, "revoked": False},
    )
    await add(connection, "one_time_tokens", {"id": uuid.UUID(ME), "user_id": user, "token_type": "recovery_token",
                                              "token_hash": "0f" * 32, "relates_to": "a@b.c"})  # fmt: skip


async def _state(connection: asyncpg.Connection) -> object:
    """Give all there is in schema `auth`: tables, rights, comments, rows."""
    tables = await describe(connection)
    rights = await connection.fetch(
        """
        select relname::text, relowner::regrole::text, relrowsecurity, relpersistence::text, reloptions,
          array(select acl::text from unnest(relacl) as acl order by 1) as rights,
          array(select col_description(pg_class.oid, attnum) from pg_attribute where attrelid = pg_class.oid
            and attnum > 0 and not attisdropped order by attname) as comments
        from pg_class where relnamespace = 'auth'::regnamespace order by relname
        """
    )
    defaults = await connection.fetchval(
        """
        select array(select defaclobjtype::text || defaclacl::text from pg_default_acl
        where defaclnamespace = 'auth'::regnamespace order by 1)
        """
    )
    rows = {
        table: await connection.fetch(f"select * from auth.{table} order by 1") for table in sorted(tables)
    }
    return tables, rights, defaults, rows


def _run(program: Path, url: str, *options: str, told: bytes = b"") -> bytes:
    done = subprocess.run(
        [program, f"--dbname={url}", *options], input=told, capture_output=True, check=False
    )
    assert done.returncode == 0, done.stderr.decode()
    return done.stdout


_FOREIGN = f"""
SET session_replication_role = replica;
INSERT INTO "auth"."users" ("instance_id", "id", "aud", "role", "email", "encrypted_password", "email_confirmed_at",
  "invited_at", "confirmation_token", "confirmation_sent_at", "recovery_token", "recovery_sent_at",
  "email_change_token_new", "email_change", "email_change_sent_at", "last_sign_in_at", "raw_app_meta_data",
  "raw_user_meta_data", "is_super_admin", "created_at", "updated_at", "phone", "phone_confirmed_at", "phone_change",
  "phone_change_token", "phone_change_sent_at", "email_change_token_current", "email_change_confirm_status",
  "banned_until", "reauthentication_token", "reauthentication_sent_at", "is_sso_user", "deleted_at", "is_anonymous")
VALUES ('00000000-0000-0000-0000-000000000000', '{ME}', 'authenticated', 'authenticated', 'a@b.c', '$2a$10$x', now(),
  NULL, '', NULL, '', NULL, '', '', NULL, now(), '{{"provider": "email"}}', '{{}}', NULL, now(), now(), NULL, NULL, '',
  '', NULL, '', 0, NULL, '', NULL, false, NULL, false);
INSERT INTO "auth"."identities" ("provider_id", "user_id", "identity_data", "provider", "last_sign_in_at", "created_at",
  "updated_at", "id") VALUES ('{ME}', '{ME}', '{{"email": "A@b.c"}}', 'email', now(), now(), now(), '{ME}');
INSERT INTO "auth"."sessions" ("id", "user_id", "created_at", "updated_at", "factor_id", "aal", "not_after",
  "refreshed_at", "user_agent", "ip", "tag") VALUES ('{ME}', '{ME}', now(), now(), NULL, 'aal1', NULL, NULL, 'node',
  '127.0.0.1', NULL);
INSERT INTO "auth"."refresh_tokens" ("instance_id", "id", "token", "user_id", "revoked", "created_at", "updated_at",
  "parent", "session_id") VALUES ('00000000-0000-0000-0000-000000000000', 7, 'abcdefgh2345', '{ME}', false, now(),
  now(), NULL, '{ME}');
SELECT pg_catalog.setval('"auth"."refresh_tokens_id_seq"', 7, true);
RESET ALL;
"""
