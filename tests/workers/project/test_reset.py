import asyncio

import asyncpg
import pytest

from schemas.settings.tree import Settings
from tests.workers.database.server import SESSION_ENDED, connected
from tests.workers.project.conftest import value
from workers.project.errors import ProjectRejected, ScriptFailed
from workers.project.project_connection import ProjectUrls
from workers.project.push import read_project_files
from workers.project.replace_database import names_beside, recover
from workers.project.reset import reset


async def run(links, folder, **options):
    await reset(links, Settings(), read_project_files(folder.path, Settings()), lambda _: None, **options)


async def databases(server):
    sql = "select array(select datname::text from pg_database where datname like 'headwater%')"
    return await value(server.url(database="template1"), sql)


async def test_a_reset_leaves_only_what_the_folder_makes(links, folder, project_server):
    folder.write("migrations/1_a.sql", "create role anon; create table a (id int);")
    folder.write("migrations/2_b.sql", "create table b (id int);")
    folder.write("seed.sql", "insert into a values (7);")
    async with connected(links.owner) as stays:
        await stays.execute("create table rubbish (); insert into auth.users (id) values (gen_random_uuid())")

        await run(links, folder)

        with pytest.raises(SESSION_ENDED):
            await stays.execute("select 1")
    assert await value(links.project, "select to_regclass('rubbish') is null and (select id from a) = 7")
    assert await value(links.project, "select count(*) from auth.users") == 0
    assert await value(
        links.project, "select array_agg(version order by version) from supabase_migrations.schema_migrations"
    ) == ["1", "2"]
    async with asyncio.timeout(60):  # the server drops the old one by itself
        while await databases(project_server):
            await asyncio.sleep(0.05)


async def test_a_reset_goes_up_to_a_version_without_seeds(links, folder):
    folder.write("migrations/1_a.sql", "create table a (id int);")
    folder.write("migrations/2_b.sql", "create table b (id int);")
    folder.write("seed.sql", "insert into b values (7);")

    await run(links, folder, up_to="1", seeds=False)

    assert await value(links.project, "select to_regclass('a') is not null and to_regclass('b') is null")
    with pytest.raises(ProjectRejected, match="no migration 3"):
        await run(links, folder, up_to="3")


async def test_a_reset_that_fails_gives_the_old_database_back(links, folder, project_server):
    folder.write("migrations/1_a.sql", "create table a (id int); select 1/0;")
    await asyncio.gather(value(links.project, "create table kept as select 1 as id"))

    with pytest.raises(ScriptFailed, match="division by zero"):
        await run(links, folder)

    assert await value(links.project, "select id from kept") == 1
    assert await databases(project_server) == []
    login = project_server.url(
        "authenticator", Settings().db.password.reveal(), links.owner.rpartition("/")[2]
    )
    assert await value(login, "select 1") == 1


async def test_a_slot_of_the_old_database_does_not_hinder(links, folder):
    await value(
        links.owner,
        "select pg_create_logical_replication_slot('reset_' || md5(current_database()), 'pgoutput')",
    )

    await run(links, folder)

    assert (
        await value(links.owner, "select count(*) from pg_replication_slots where slot_name like 'reset_%'")
        == 0
    )


async def test_other_logins_come_in_again_only_when_the_database_is_whole(links, folder, project_server):
    login = project_server.url(
        "authenticator", Settings().db.password.reveal(), links.owner.rpartition("/")[2]
    )
    folder.write("migrations/1_a.sql", "create table public.a (id int); select pg_sleep(0.3);")
    seen = []

    async def look():
        while True:
            try:
                async with asyncio.timeout(5):  # a connection that is ended while it opens may never answer
                    seen.append(await value(login, "select to_regclass('public.a') is not null"))
            except (asyncpg.PostgresError, asyncpg.InterfaceError, OSError):
                seen.append("closed")
            await asyncio.sleep(0.02)

    looking = asyncio.create_task(look())
    await run(links, folder)
    async with asyncio.timeout(60):
        while seen[-1] is not True:
            await asyncio.sleep(0.02)
    looking.cancel()

    assert "closed" in seen
    assert False not in seen[seen.index("closed") :]


async def test_a_reset_that_was_killed_is_taken_back(links, project_server):
    name = links.owner.rpartition("/")[2]
    async with connected(project_server.url(database="template1")) as aside:
        await value(links.project, "create table kept as select 1 as id")
        await aside.execute(f"alter database {name} rename to {names_beside(name).before}")
        await aside.execute(f"create database {name} template template0")

    assert await recover(links.owner) is True

    assert await value(links.project, "select id from kept") == 1
    assert await recover(links.owner) is False


async def test_an_outside_database_is_never_reset(links, folder):
    with pytest.raises(ProjectRejected, match="Only the embedded database"):
        await run(ProjectUrls(links.project, links.owner, is_embedded=False), folder)


_FACTORS = """
with code as (insert into headwater.administrator_recovery_codes (administrator_id, code) values ($1, sha256('a code')))
insert into headwater.administrator_passkeys
  (administrator_id, credential_id, public_key, rp_id, sign_count, aaguid, transports, backup_eligible, backed_up, name)
values ($1, 'id', 'key', 'localhost', 1, gen_random_uuid(), '[]', true, true, 'phone')
"""


async def test_a_reset_keeps_what_belongs_to_the_platform(links, folder):
    async with connected(links.owner) as connection:
        id = await connection.fetchval(
            "insert into headwater.administrators (email, rights) values ('ada@example.com', 'owner') returning id"
        )
        await connection.execute(
            "with agent as (insert into headwater.administrator_grants (administrator_id, client, client_digest, redirect_uri, resource,"
            " rights, may_write, code, code_challenge, code_expires_at, expires_at) values ($1, 'agent', sha256('i'), 'u', 'r', 'owner',"
            " true, sha256('c'), 'c', now(), now()) returning id)"
            " insert into headwater.administrator_tokens (name, secret, hint, rights, may_write, administrator_id, grant_id)"
            " select 'ci', sha256('x'), 'abcd', 'owner', true, $1, id from agent",
            id,
        )
        await connection.execute(_FACTORS, id)
        await connection.execute(
            "insert into headwater.administrator_audit (actor, operation, outcome, request_id, address, arguments)"
            " select 'ada', 'x', 'done', '', '', '{}' from generate_series(1, 3)"
        )
        await connection.execute(
            "insert into headwater.stored_settings (version, sealed) values (7, 'sealed')"
        )

    await run(links, folder)

    async with connected(links.owner) as connection:
        assert await connection.fetchval("select id from headwater.administrators") == id
        assert await connection.fetchval("select administrator_id from headwater.administrator_tokens") == id
        assert await connection.fetchval("select version from headwater.stored_settings") == 7
        assert await connection.fetchval("select name from headwater.administrator_passkeys") == "phone"
        assert (
            await connection.fetchval("select octet_length(code) from headwater.administrator_recovery_codes")
            == 32
        )
        new = await connection.fetchval(
            "insert into headwater.administrator_audit (actor, operation, outcome, request_id, address, arguments)"
            " values ('ada', 'x', 'done', '', '', '{}') returning id"
        )
        assert new == 4
