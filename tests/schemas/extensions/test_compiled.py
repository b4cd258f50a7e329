"""The server's own extensions: role postgres makes and uses them. What a server has compiled is not replaced by ours."""

import tempfile
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import asyncpg
import pytest

from schemas.settings.tree import Settings
from services.supervisor.binaries import reachable_postgres
from services.supervisor.postgres.extensions import extension_files
from services.supervisor.postgres.system_user import server_user
from tests.schemas.extensions.conftest import PASSWORD
from tests.workers.database.server import Server, connected, fresh_database, start_server
from workers.database.migrations.migrate import migrate


@pytest.fixture(scope="module")
async def project(bootstrapped: Server) -> AsyncIterator[asyncpg.Connection]:
    """A connection of role postgres that finds schema extensions."""
    async with fresh_database(bootstrapped) as name:
        async with connected(bootstrapped.url(database=name)) as admin:
            await admin.execute(f"alter database {name} owner to postgres")
        async with connected(bootstrapped.url("postgres", PASSWORD, name)) as one:
            yield one


@pytest.mark.parametrize(
    ("name", "check"),
    [
        ("vector", "'[1,2]'::vector <-> '[1,3]' = 1"),
        ("unaccent", "unaccent('Hôtel') = 'Hotel'"),
        ("pg_trgm", "similarity('word', 'word') = 1"),
        ("fuzzystrmatch", "levenshtein('kitten', 'sitting') = 3"),
        ("citext", "'A'::citext = 'a'::citext"),
        ("hstore", "('a=>1'::hstore -> 'a') = '1'"),
        ("ltree", "'a.b'::ltree <@ 'a'::ltree"),
        ("intarray", "array[1, 2] && array[2]"),
        ("cube", "cube_dim('(1,2)'::cube) = 2"),
        ("earthdistance", "earth() > 6000000"),
        ("btree_gist", "true"),
        ("btree_gin", "true"),
        ("tablefunc", "(select count(*) from normal_rand(3, 0, 1)) = 3"),
        ("isn", "isbn('0-393-04002-X') is not null"),
        ("seg", "'1 .. 2'::seg is not null"),
        ("bloom", "true"),
        ("dict_int", "true"),
        ("pg_stat_statements", "to_regclass('extensions.pg_stat_statements') is not null"),
        ("pgstattuple", "true"),
        ("pgrowlocks", "true"),
        ("pg_prewarm", "true"),
        ("pg_buffercache", "true"),
        ("postgres_fdw", "true"),
        ("dblink", "true"),
        ("autoinc", "true"),
        ("insert_username", "true"),
        ("refint", "true"),
        ("tcn", "true"),
        ("tsm_system_rows", "true"),
        ("tsm_system_time", "true"),
        ("lo", "true"),
    ],
)
async def test_postgres_makes_it_uses_it_and_drops_it(project: asyncpg.Connection, name: str, check: str):
    async with project.transaction():
        await project.execute(f'create extension if not exists "{name}" with schema extensions cascade')
        await project.execute(
            f"set local search_path = public, extensions; comment on extension {name} is 'x'"
        )
        assert await project.fetchval(f"select {check}") is True
        await project.execute(f'drop extension "{name}" cascade')


async def test_moddatetime_sets_the_time_of_a_change(project: asyncpg.Connection):
    await project.execute(
        """
        create extension moddatetime with schema extensions;
        create table notes (id int, updated_at timestamptz default 'epoch');
        create trigger handle_updated_at before update on notes
          for each row execute procedure extensions.moddatetime (updated_at);
        insert into notes values (1);
        update notes set id = 2;
        """
    )

    assert await project.fetchval("select updated_at > now() - interval '1 minute' from notes")


@pytest.mark.parametrize("name", ["file_fdw", "pg_surgery", "pageinspect", "pg_walinspect"])
async def test_what_reads_files_pages_and_the_log_is_the_superusers(project: asyncpg.Connection, name: str):
    with pytest.raises(asyncpg.InsufficientPrivilegeError, match="permission denied to create extension"):
        await project.execute(f"create extension {name}")


def test_what_the_server_has_compiled_is_offered_instead_of_ours(tmp_path: Path):
    (tmp_path / "pgcrypto.control").write_text("default_version = '1.4'\ntrusted = false\n")
    (tmp_path / "pgcrypto--1.4.sql").write_text("-- compiled")
    (tmp_path / "postgis.control").write_text("default_version = '3.6'\n")

    files = dict(extension_files(tmp_path))

    assert files["pgcrypto.control"] == b"default_version = '1.4'\ntrusted = true\n"
    assert files["pgcrypto--1.4.sql"].startswith(b"-- compiled\n")
    assert "pgcrypto--1.3.sql" not in files
    assert "postgis--0.sql" not in files
    assert "uuid-ossp--1.1.sql" in files


@pytest.fixture
def outside() -> Iterator[Server]:
    """The embedded server without our folder, and with a pgcrypto of its own: an outside server."""
    folder = Path(tempfile.mkdtemp(prefix="headwater-outside-"))
    own = folder / "extension"
    own.mkdir()
    (own / "pgcrypto.control").write_text("default_version = '9.9'\nrelocatable = true\ntrusted = true\n")
    (own / "pgcrypto--9.9.sql").write_text(
        "create function digest(text, text) returns text language sql return 'compiled'"
    )
    server = start_server(
        folder,
        programs=reachable_postgres(server_user(lambda _: None), lambda _: None),
        settings={"extension_control_path": f"{folder}:$system"},
    )
    yield server
    server.stop()


async def test_an_outside_server_uses_what_it_has_and_goes_on_without_the_rest(outside: Server):
    told: list[str] = []

    await migrate(outside.url(), Settings(), report=told.append)
    async with connected(outside.url("postgres", PASSWORD)) as project:
        digest = await project.fetchval("select extensions.digest('x', 'sha256')")
        names = [row[0] for row in await project.fetch("select extname from pg_extension order by 1")]
        with pytest.raises(asyncpg.FeatureNotSupportedError, match='extension "pg_net" is not available'):
            await project.execute("create extension pg_net")

    assert digest == "compiled"
    assert names == ["pgcrypto", "plpgsql"]
    assert "extension uuid-ossp is not available on this server" in told


async def test_postgres_reaches_another_server_with_a_password_alone_and_others_make_no_servers(
    project: asyncpg.Connection, bootstrapped: Server
):
    await project.execute("create extension postgres_fdw with schema extensions")
    await project.execute(
        f"create server there foreign data wrapper postgres_fdw options (host '127.0.0.1', port '{bootstrapped.port}', dbname 'postgres');"
        "create foreign table far (rolname name) server there options (schema_name 'pg_catalog', table_name 'pg_roles');"
        "create user mapping for postgres server there options (user 'postgres')"
    )
    with pytest.raises(
        asyncpg.PostgresError, match=r"password or GSSAPI delegated credentials required|password is required"
    ):
        await project.fetch("select * from far")
    with pytest.raises(asyncpg.PostgresError, match="password_required"):
        await project.execute(
            "alter user mapping for postgres server there options (add password_required 'false')"
        )
    await project.execute(f"alter user mapping for postgres server there options (add password '{PASSWORD}')")
    found = await project.fetchval("select rolname::text from far where rolname = 'postgres'")

    refused = []
    for role in ("authenticated", "anon", "service_role"):
        for statement in (
            "create server mine foreign data wrapper postgres_fdw options (host '127.0.0.1')",
            f"create user mapping for {role} server there options (user 'postgres', password '{PASSWORD}')",
        ):
            try:
                async with project.transaction():
                    await project.execute(f"set local role {role}; {statement}")
            except asyncpg.InsufficientPrivilegeError as error:
                refused.append(str(error))

    assert found == "postgres"
    assert len(refused) == 6, refused
