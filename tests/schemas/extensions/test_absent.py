"""Extensions that cannot be had: the words that a user sees, and names that let migrations and dumps pass."""

from collections.abc import AsyncIterator

import asyncpg
import pytest

from tests.schemas.extensions.conftest import PASSWORD
from tests.workers.database.server import Server, connected, fresh_database

OUTSIDE = "Use an outside Postgres that has it (setting db.url), or leave the extension out."
WHEEL = (
    "Build its wheel (scripts/postgis-wheel), use the machine's own Postgres (headwater start --postgres) or an outside one "
    "(setting db.url), or leave the extension out."
)
GEOMETRY = "geometry needs compiled modules that the embedded server has not"


@pytest.fixture(scope="module")
async def connection(bootstrapped: Server) -> AsyncIterator[asyncpg.Connection]:
    async with fresh_database(bootstrapped) as name:
        async with connected(bootstrapped.url(database=name)) as admin:
            await admin.execute(f"alter database {name} owner to postgres")
        async with connected(bootstrapped.url("postgres", PASSWORD, name)) as one:
            yield one


@pytest.fixture
async def project(connection: asyncpg.Connection) -> AsyncIterator[asyncpg.Connection]:
    """A connection of role postgres, in a transaction that is rolled back."""
    transaction = connection.transaction()
    await transaction.start()
    yield connection
    await transaction.rollback()


@pytest.mark.parametrize(
    ("name", "reason", "advice"),
    [
        ("postgis", GEOMETRY, WHEEL),
        ("postgis_topology", GEOMETRY, WHEEL),
        ("postgis_raster", GEOMETRY, OUTSIDE),
        (
            "timescaledb",
            "hypertables need a compiled module that the embedded server has not",
            "Partition the table by time (PARTITION BY RANGE), or use an outside Postgres that has it (setting db.url).",
        ),
        (
            "pgroonga",
            "its index needs a compiled module that the embedded server has not",
            "Search with pg_trgm or tsvector, or use an outside Postgres that has it (setting db.url).",
        ),
        (
            "plv8",
            "JavaScript inside the database needs a compiled module that the embedded server has not",
            "Write the function in PL/pgSQL, or as a function of the platform (headwater functions new).",
        ),
        (
            "pg_jsonschema",
            "checking JSON against a schema needs a compiled module that the embedded server has not",
            "Write the rules as CHECK constraints, or use an outside Postgres that has it (setting db.url).",
        ),
        (
            "vault",
            "the vault's extension has another name",
            "create extension supabase_vault with schema vault;",
        ),
    ],
)
async def test_a_refusal_says_why_and_what_to_do(
    project: asyncpg.Connection, name: str, reason: str, advice: str
):
    with pytest.raises(asyncpg.FeatureNotSupportedError) as caught:
        await project.execute(f'create extension if not exists "{name}" with schema extensions')

    assert caught.value.as_dict()["message"] == f"extension {name} is not available here: {reason}"
    assert caught.value.hint == advice


async def test_a_refused_extension_says_so_where_extensions_are_listed(project: asyncpg.Connection):
    assert (
        await project.fetchval("select comment from pg_available_extensions where name = 'postgis'")
        == f"not available: {GEOMETRY}"
    )


@pytest.mark.parametrize(
    ("name", "schema"),
    [
        ("hypopg", "extensions"), ("index_advisor", "extensions"), ("plpgsql_check", "extensions"), ("pgaudit", "extensions"),
        ("wrappers", "extensions"), ("pg_repack", "extensions"), ("pgsodium", "pgsodium"),
        ("pg_graphql", "graphql"),
    ],
)  # fmt: skip
async def test_a_name_is_made_with_a_notice_commented_and_dropped(
    project: asyncpg.Connection, name: str, schema: str
):
    heard: list[str] = []
    project.add_log_listener(lambda _, message: heard.append(message.as_dict()["message"]))
    database_url = f' with schema "{schema}"' if schema in ("extensions", "graphql") else ""

    await project.execute(f'create extension if not exists "{name}"{database_url}')
    await project.execute(f"comment on extension {name} is 'as dumps write it'")

    assert (
        await project.fetchval(
            "select extnamespace::regnamespace::text from pg_extension where extname = $1", name
        )
        == schema
    )
    assert [words.partition(":")[0] for words in heard] == [f"extension {name} is a name only here"]
    await project.execute(f"drop extension {name} cascade")


async def test_a_name_in_no_schema_of_its_own_moves(project: asyncpg.Connection):
    await project.execute("create extension hypopg; alter extension hypopg set schema extensions")

    assert await project.fetchval("select to_regproc('extensions.hypopg_reset') is not null")


@pytest.mark.parametrize(
    ("name", "call", "words"),
    [
        (
            "hypopg",
            "hypopg_create_index('create index on t (a)')",
            "hypothetical indexes need a compiled module",
        ),
        (
            "index_advisor",
            "index_advisor('select 1')",
            "the advisor stands on hypopg, which needs a compiled module",
        ),
        ("pgsodium", "pgsodium.create_key()", "libsodium needs a compiled module"),
        (
            "plpgsql_check",
            "plpgsql_check_function('now()'::regprocedure::oid, format := 'json')",  # as official tools call it
            "checking PL/pgSQL needs a compiled module",
        ),
        ("plpgsql_check", "plpgsql_check_function('f()')", "checking PL/pgSQL needs a compiled module"),
        (
            "pg_graphql",
            "graphql.resolve('{ a }', '{}', null, null)",
            "GraphQL is answered at /graphql/v1, not inside the database",
        ),
    ],
)
async def test_functions_of_a_name_refuse_in_its_words(
    project: asyncpg.Connection, name: str, call: str, words: str
):
    await project.execute(f"create extension {name}")

    with pytest.raises(asyncpg.FeatureNotSupportedError) as caught:
        await project.execute(f"select {call}")

    assert caught.value.as_dict()["message"] == f"extension {name} is a name only here: {words}"
    assert caught.value.hint


async def test_functions_of_pg_graphql_have_the_defaults_of_the_original(project: asyncpg.Connection):
    await project.execute("create extension pg_graphql")

    with pytest.raises(asyncpg.FeatureNotSupportedError):
        await project.execute("select graphql.resolve('{ a }', variables := '{}')")
