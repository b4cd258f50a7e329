"""Extension http as its first version left it in a hostile schema: the next start takes the caller's functions out of it.

`http--1.6.first.sql` is the script of that version, word for word. It ran as the superuser with the caller's schema first on its
path, so it called an operator of that schema, and bound the bodies of its functions to functions there.
"""

import contextlib
from collections.abc import AsyncIterator
from pathlib import Path

import asyncpg
import pytest

from schemas.settings.tree import Settings
from tests.schemas.extensions.conftest import PASSWORD
from tests.workers.database import server as servers
from tests.workers.database.server import Server, connected, fresh_database
from workers.database.migrations.migrate import migrate

_FIRST = (Path(__file__).parent / "http--1.6.first.sql").read_text()
_HOSTILE = """
create schema evil;
create role attacked;
create sequence evil.struck;
create function evil.strike() returns void language plpgsql as $f$
begin
  if (select rolsuper from pg_catalog.pg_roles where rolname = current_user) then
    perform pg_catalog.nextval('evil.struck');  -- no error takes it back
    alter role attacked superuser;
  end if;
end $f$;
create function evil.format(text, text, text, text, text, text, text) returns text language plpgsql as
  $f$ begin perform evil.strike(); return 'x'; end $f$;
create function evil.joined(text, oid) returns text language plpgsql as
  $f$ begin perform evil.strike(); return $1 || $2::text; end $f$;
create operator evil.|| (leftarg = text, rightarg = oid, function = evil.joined);
"""
_BOUND = """
select count(*) from pg_depend as binding
join pg_depend as member on member.classid = binding.classid and member.objid = binding.objid and member.deptype = 'e'
join pg_extension as extension on extension.oid = member.refobjid and extension.extname = 'http'
join pg_proc as stranger on stranger.oid = binding.refobjid and stranger.pronamespace = 'evil'::regnamespace
where binding.refclassid = 'pg_proc'::regclass
  and not exists (select from pg_depend where objid = stranger.oid and deptype = 'e')
"""


@pytest.fixture(scope="module")
async def old() -> AsyncIterator[Server]:
    """A server of the platform whose extension http is still the first one; the update is there, too."""
    with servers.temporary_server(extensions={"http--1.6.sql": _FIRST}) as running:
        await migrate(running.url(database="template1"), Settings())
        yield running


async def test_one_that_the_first_script_made_is_bound_anew(old: Server) -> None:
    async with fresh_database(old) as name:
        url = old.url(database=name)
        async with connected(url) as admin:
            await admin.execute(f"alter database {name} owner to postgres")
        async with connected(old.url("postgres", PASSWORD, name)) as project:
            await project.execute(_HOSTILE)
            await project.execute("create extension http with schema evil version '1.6'")
            by_script = await _is_struck(project)
            await project.execute("set http.timeout_msec = 20")
            await _call(project)
            before = (by_script, await _is_struck(project), await project.fetchval(_BOUND) > 0)

            await migrate(url, Settings())
            await _call(project)

            after = (await _is_struck(project), await project.fetchval(_BOUND))
            version = await project.fetchval("select extversion from pg_extension where extname = 'http'")
    assert before == (True, True, True)
    assert (after, version) == ((False, 0), "1.6.3")


async def _is_struck(project: asyncpg.Connection) -> bool:
    """Return whether code of the tenant has run as the superuser since the last look."""
    struck = await project.fetchval("select is_called from evil.struck")
    await project.execute("select setval('evil.struck', 1, false)")
    return bool(struck)


async def _call(project: asyncpg.Connection) -> None:
    with contextlib.suppress(asyncpg.PostgresError):  # nothing answers; what ran before that counts
        await project.execute("select evil.http_get('http://127.0.0.1:1/')")
