"""Projects as people write them (tests/data/projects), applied as role postgres to a bootstrapped database."""

import contextlib
import json
from collections.abc import AsyncIterator
from pathlib import Path

import asyncpg
import pytest

from schemas.settings.tree import Settings
from tests.schemas.callers import ME, OTHER
from tests.schemas.conftest import PASSWORD
from tests.workers.database.server import Server, connected
from workers.database.migrations.migrate import migrate

MADE_ROLES = "team_reporter"
"""Roles that projects make. They are the server's, which other modules use too."""
PROJECTS = sorted((Path(__file__).parents[1] / "data" / "projects").glob("*.sql"))


@pytest.fixture(autouse=True)
async def no_roles_are_left(migrated_server: Server, database_url: str) -> AsyncIterator[None]:
    """Drop the roles of projects, once what depends on them is gone."""
    yield
    async with connected(migrated_server.url(database=database_url)) as admin:
        for role in MADE_ROLES.split():
            if await admin.fetchval("select true from pg_roles where rolname = $1", role):
                await admin.execute(f"drop owned by {role}; drop role {role}")


class Applied:
    """A database in which one project was applied."""

    def __init__(self, server: Server, name: str) -> None:
        self.server = server
        self.name = name

    @contextlib.asynccontextmanager
    async def caller(self, role: str, **claims: object) -> AsyncIterator[asyncpg.Connection]:
        """Give the transaction of a caller of the interface."""
        url = self.server.url("authenticator", PASSWORD, self.name)
        async with connected(url) as connection, connection.transaction():
            await connection.execute(
                """
                select set_config('search_path', 'public, extensions', true), set_config('role', $1, true),
                  set_config('request.jwt.claims', $2, true)
                """,
                role,
                json.dumps({"role": role, **claims}),
            )
            yield connection

    async def execute(self, sql: str) -> None:
        """Run commands as role postgres."""
        async with connected(self.server.url("postgres", PASSWORD, self.name)) as connection:
            await connection.execute(sql)


async def apply(server: Server, name: str, project: str) -> Applied:
    """Apply a project as its files are: reset, then the file as one implicit transaction."""
    (file,) = (path for path in PROJECTS if path.stem == project)
    applied = Applied(server, name)
    await applied.execute(f"reset all;\n{file.read_text(encoding='utf-8')}")
    return applied


@pytest.mark.parametrize("path", PROJECTS, ids=lambda path: path.stem)
async def test_a_project_applies_and_the_platform_starts_on(migrated_server, database_url, path):
    await apply(migrated_server, database_url, path.stem)

    assert await migrate(migrated_server.url(database=database_url), Settings()) == []


async def test_a_trigger_makes_the_profile_and_policies_guard_it(migrated_server, database_url):
    profiles = await apply(migrated_server, database_url, "profiles")
    async with profiles.caller("service_role") as caller:
        await caller.execute(
            """insert into accounts (id, raw_user_meta_data) values ($1, '{"full_name": "A"}'), ($2, '{}')""",
            ME,
            OTHER,
        )
    async with profiles.caller("authenticated", sub=ME) as caller:
        changed = await caller.execute("update profiles set username = 'anna'")
        stamped = await caller.fetchval("select updated_at is not null from profiles where id = auth.uid()")
    async with profiles.caller("anon") as caller:
        seen = await caller.fetch("select full_name, username from profiles order by id")
        nothing = await caller.fetch("select from accounts")
        folder = await caller.fetchval("select delete_avatar('me/1.png')")

    assert (changed, stamped) == ("UPDATE 1", True)
    assert [tuple(row) for row in seen] == [("A", "anna"), (None, None)]
    assert (nothing, folder) == ([], "me")


async def test_a_dump_is_restored_with_its_rows_and_rights(migrated_server, database_url):
    dump = await apply(migrated_server, database_url, "dump")
    async with dump.caller("authenticated", sub=ME) as caller:
        await caller.execute("insert into orders (note) values ('second')")
        mine = await caller.fetch("select number, note, status::text from orders order by number")
    async with dump.caller("anon") as caller:
        theirs = await caller.fetch("select from orders")

    assert [tuple(row) for row in mine] == [(1000, "first", "open"), (1001, "second", "open")]
    assert theirs == []


async def test_generated_columns_and_functions_answer_the_interface(migrated_server, database_url):
    shop = await apply(migrated_server, database_url, "shop")
    async with shop.caller("authenticated", sub=ME, aal="aal1") as caller:
        found = await caller.fetchrow("select id, gross, average(p) from search_products('boat') p")
        await caller.execute("insert into reviews (product_id, stars) values ($1, 5)", found["id"])
        updated = await caller.execute("update reviews set stars = 1")
        stars = await caller.fetchval("select stars from product_stars")
    async with shop.caller("authenticated", sub=ME, aal="aal2") as caller:
        with pytest.raises(asyncpg.InsufficientPrivilegeError):
            await caller.execute("insert into products (title, net) values ('x', 1)")
    async with shop.caller("anon") as caller:
        with pytest.raises(asyncpg.InsufficientPrivilegeError):
            await caller.fetch("select from search_products('boat')")

    assert (str(found["gross"]), found["average"], updated, int(stars)) == ("11.90", None, "UPDATE 0", 5)


async def test_rights_looked_up_by_security_definers_hold(migrated_server, database_url):
    teams = await apply(migrated_server, database_url, "teams")
    async with teams.caller("service_role") as caller:
        await caller.execute("insert into teams (id, name) values ($1, 'mine'), ($2, 'theirs')", ME, OTHER)
        await caller.execute("insert into team_members (team_id, user_id) values ($1, $1)", ME)
    async with teams.caller("authenticated", sub=ME) as caller:
        await caller.execute("select set_key($1, 'word')", ME)
        seen = await caller.fetch("select name, key_hash = crypt('word', key_hash) from teams")
    async with teams.caller("authenticated", sub=OTHER, app_metadata={"admin": True}) as caller:
        of_admin = await caller.fetch("select name from teams order by name")
    async with teams.caller("authenticated", sub=OTHER) as caller:
        with pytest.raises(asyncpg.InsufficientPrivilegeError, match="not your team"):
            await caller.execute("select set_key($1, 'word')", ME)
    async with teams.caller("team_reporter") as caller:
        reported = await caller.fetch("select from teams")

    assert [tuple(row) for row in seen] == [("mine", True)]
    assert [row["name"] for row in of_admin] == ["mine", "theirs"]
    assert reported == []


async def test_a_project_that_opens_nothing_by_itself_stays_closed(migrated_server, database_url):
    closed = await apply(migrated_server, database_url, "closed")
    await migrate(migrated_server.url(database=database_url), Settings())
    await closed.execute("create table later (); create table api.shown (); create function api.own() returns int "
                         "language sql as 'select 1'")  # fmt: skip
    async with closed.caller("authenticated", sub=ME) as caller:
        await caller.execute("insert into notes (body) values ('x')")
        counted = await caller.fetchval("select api.count_notes()")
        await caller.execute("select from api.shown")
    for sql in ("select from later", "select secret from notes", "select internal()", "select api.own()"):
        async with closed.caller("authenticated", sub=ME) as caller:
            with pytest.raises(asyncpg.InsufficientPrivilegeError):
                await caller.execute(sql)

    assert counted == 1
