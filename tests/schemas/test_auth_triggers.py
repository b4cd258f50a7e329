"""What projects hang on accounts: triggers, which fire for the service, and keys that refer to them."""

import uuid

import asyncpg
import pytest

from tests.schemas.callers import API_ROLES, ME, refused
from tests.schemas.conftest import PASSWORD
from tests.workers.database.server import Server, connected

PROFILES = """
create table public.profiles (id uuid primary key references auth.users on delete cascade, name text);
alter table public.profiles enable row level security;
create function public.handle_new_user() returns trigger language plpgsql security definer set search_path = '' as $$
begin
  insert into public.profiles (id, name) values (new.id, new.raw_user_meta_data ->> 'name');
  return new;
end $$;
create function public.handle_rename() returns trigger language plpgsql security definer set search_path = '' as $$
begin
  update public.profiles set name = new.raw_user_meta_data ->> 'name' where id = new.id;
  return new;
end $$;
create trigger on_auth_user_created after insert on auth.users for each row execute function public.handle_new_user();
create trigger on_auth_user_renamed after update of raw_user_meta_data on auth.users
  for each row execute function public.handle_rename();
revoke execute on all functions in schema public from public, anon, authenticated, service_role;
"""


@pytest.fixture
async def service(migrated_server: Server, database_url: str):
    """The service's own connection to a database in which a project has put triggers on accounts."""
    async with connected(migrated_server.url("postgres", PASSWORD, database_url)) as connection:
        await connection.execute(PROFILES)
    async with connected(migrated_server.url("supabase_auth_admin", PASSWORD, database_url)) as connection:
        yield connection


async def _profiles(migrated_server: Server, database_url: str) -> list[tuple[str, str]]:
    async with connected(migrated_server.url("postgres", PASSWORD, database_url)) as connection:
        return [tuple(row) for row in await connection.fetch("select id::text, name from public.profiles")]


async def test_triggers_of_a_project_fire_for_the_service(migrated_server, database_url, service):
    found = []
    for sql in (
        """insert into auth.users (id, raw_user_meta_data) values ($1, '{"name": "A"}')""",
        """update auth.users set raw_user_meta_data = '{"name": "B"}' where id = $1""",
        "delete from auth.users where id = $1",
    ):
        await service.execute(sql, uuid.UUID(ME))
        found.append(await _profiles(migrated_server, database_url))

    assert found == [[(ME, "A")], [(ME, "B")], []]


async def test_a_trigger_that_refuses_keeps_the_account_out(migrated_server, database_url, service):
    async with connected(migrated_server.url("postgres", PASSWORD, database_url)) as connection:
        await connection.execute("alter table public.profiles add check (name <> 'x')")
    with pytest.raises(asyncpg.CheckViolationError, match="profiles"):
        await service.execute(
            """insert into auth.users (id, raw_user_meta_data) values ($1, '{"name": "x"}')""", uuid.UUID(ME)
        )

    assert await service.fetchval("select count(*) from auth.users") == 0


async def test_a_project_takes_its_triggers_back(migrated_server, database_url, service):
    async with connected(migrated_server.url("postgres", PASSWORD, database_url)) as connection:
        await connection.execute("drop trigger on_auth_user_created on auth.users")
    await service.execute("insert into auth.users (id) values ($1)", uuid.UUID(ME))

    assert await _profiles(migrated_server, database_url) == []


async def test_the_service_has_no_rights_in_tables_of_a_project(service):
    assert await refused(service, "select from public.profiles")


async def test_a_project_keeps_its_rows_and_the_account_with_them(project):
    await project.execute("insert into auth.users (id) values ($1)", uuid.UUID(ME))
    await project.execute("create table public.orders (owner uuid references auth.users)")
    await project.execute("insert into public.orders values ($1)", uuid.UUID(ME))

    with pytest.raises(asyncpg.ForeignKeyViolationError, match="orders"):
        await project.execute("delete from auth.users")


@pytest.mark.parametrize("role", API_ROLES)
async def test_a_caller_writes_rows_that_refer_to_accounts_it_cannot_read(project, role):
    await project.execute("insert into auth.users (id) values ($1)", uuid.UUID(ME))
    await project.execute("create table public.notes (owner uuid references auth.users)")
    await project.execute(f"set local role {role}")
    await project.execute("insert into public.notes values ($1)", uuid.UUID(ME))

    assert await refused(project, "select from auth.users")
