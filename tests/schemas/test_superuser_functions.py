"""Functions that run with a superuser's rights: what a session names does not reach into them."""

import asyncpg
import pytest

from tests.workers.database.server import Server, connected

_OPEN = """
select p.oid::regprocedure::text as name
from pg_proc p join pg_roles r on r.oid = p.proowner and r.rolsuper join pg_language l on l.oid = p.prolang
where p.oid >= 16384 and l.lanname in ('plpgsql', 'sql')
  and (p.prosecdef or p.prorettype in ('trigger'::regtype, 'event_trigger'::regtype))
  and not exists (select from pg_depend d where d.classid = 'pg_proc'::regclass and d.objid = p.oid and d.deptype = 'e')
  and not coalesce(p.proconfig @> '{"search_path=pg_catalog, pg_temp"}', false)
"""


async def test_they_look_for_names_in_the_catalog_first(admin: asyncpg.Connection) -> None:
    assert [row["name"] for row in await admin.fetch(_OPEN)] == []


async def test_a_temporary_type_gives_nobody_their_rights(project: asyncpg.Connection) -> None:
    await project.execute(
        """
        create function public.climb(x pg_catalog.text) returns bool language plpgsql as $$
        begin
          if (select rolsuper from pg_roles where rolname = current_user) then
            alter role anon superuser;
          end if;
          return true;
        end $$;
        create domain pg_temp.text as pg_catalog.text check (public.climb(value));
        create extension pg_net;
        """
    )

    assert await project.fetchval("select rolsuper from pg_roles where rolname = 'anon'") is False


async def test_an_event_trigger_of_a_project_runs_in_no_session_of_the_platforms_own(
    migrated_server: Server, database_url: str
) -> None:
    async with connected(migrated_server.url(database=database_url)) as connection:
        await connection.execute(
            """
            set session authorization postgres;
            create table public.bait (at timestamptz default now());
            create function public.climb() returns trigger language plpgsql as $$
            begin
              insert into headwater.administrators (email, rights) values ('planted@example.com', 'owner');
              return null;
            end $$;
            create constraint trigger later after insert on public.bait deferrable initially deferred
              for each row execute function public.climb();
            create function public.lure() returns event_trigger language plpgsql as $$
            begin
              if session_user like 'headwater_%' then
                insert into public.bait default values;
              end if;
            end $$;
            grant insert on public.bait to public;
            select headwater.create_event_trigger('lures', 'ddl_command_end', null, 'public.lure()'::regprocedure);
            """
        )
        await connection.execute("set session authorization headwater_management")
        await connection.execute(
            """
            insert into headwater.webhooks (name, source, events, sealed) values ('w', 'storage', '{}', '');
            select headwater.switch_storage_webhooks();
            """
        )
        await connection.execute("reset session authorization")
        seen = await connection.fetchval("select count(*) from public.bait")
        planted = await connection.fetchval("select count(*) from headwater.administrators")

    assert (seen, planted) == (0, 0)


_OWNED_BY_THE_PROJECT = """
select p.oid::regprocedure::text as name
from pg_proc p join pg_roles owner on owner.oid = p.proowner and not owner.rolsuper
where p.pronamespace = 'headwater'::regnamespace and pg_has_role('postgres', p.proowner, 'usage')
"""


async def test_no_function_of_the_platform_can_be_altered_by_role_postgres(
    admin: asyncpg.Connection, project: asyncpg.Connection
) -> None:
    assert [row["name"] for row in await admin.fetch(_OWNED_BY_THE_PROJECT)] == []
    for source in ("storage", "auth"):
        with pytest.raises(asyncpg.InsufficientPrivilegeError):
            async with project.transaction():
                await project.execute(f"alter function headwater.switch_{source}_webhooks() security invoker")
