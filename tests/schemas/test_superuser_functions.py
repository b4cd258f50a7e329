"""Functions that run with a superuser's rights: what a session names does not reach into them."""

import asyncpg

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
