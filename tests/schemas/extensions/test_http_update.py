"""Extension http of a version before, made in a hostile schema: the next start takes the caller's functions out of it."""

import contextlib
from importlib import resources
from pathlib import Path

import asyncpg

from schemas.settings import Settings
from tests.schemas.extensions.conftest import PASSWORD
from tests.workers.database.server import Server, connected, fresh_database
from workers.database.migrate import migrate

_FOLDER = Path(str(resources.files("schemas").joinpath("extensions")))
_HOSTILE = """
create schema evil;
create function evil.format(text, text, text, text, text, text, text) returns text language plpgsql as
  $f$
    begin
      if (select rolsuper from pg_roles where rolname = current_user) then
        perform nextval('evil.struck');  -- no error takes it back
      end if;
      return 'x';
    end
  $f$;
create sequence evil.struck;
"""


async def test_an_installed_one_is_bound_anew(bootstrapped: Server):
    async with fresh_database(bootstrapped) as name:
        url = bootstrapped.url(database=name)
        async with connected(url) as admin:
            await admin.execute(f"alter database {name} owner to postgres")
        async with connected(bootstrapped.url("postgres", PASSWORD, name)) as project:
            await project.execute(_HOSTILE)
            await project.execute("create extension http with schema evil version '1.6'")
            await project.execute("set http.timeout_msec = 20")
            async with connected(
                url
            ) as admin:  # what the old script left: a body bound to the schema's function
                await admin.execute(_old_connection())
            await _call(project)
            before = await project.fetchval("select last_value, is_called from evil.struck", column=1)

            await migrate(url, Settings())
            await project.execute("select setval('evil.struck', 1, false)")
            await _call(project)

            after = await project.fetchval("select last_value, is_called from evil.struck", column=1)
            version = await project.fetchval("select extversion from pg_extension where extname = 'http'")
    assert (before, after, version) == (True, False, "1.6.1")


async def _call(project: asyncpg.Connection) -> None:
    with contextlib.suppress(asyncpg.PostgresError):  # nothing answers; what ran before that counts
        await project.execute("select evil.http_get('http://127.0.0.1:1/')")


def _old_connection() -> str:
    """Return http_headwater_connection() as the script of 1.6 made it in schema evil."""
    text = (_FOLDER / "http--1.6.sql").read_text()
    begin = text.index("create function @extschema@.http_headwater_connection()")
    body = text[begin : text.index("end;", begin) + 4].replace("@extschema@", "evil")
    return "set search_path = evil, public; " + body.replace("create function", "create or replace function")
