"""Both extensions as members of a database: who may create them, what they contain, how they move and are dumped."""

import hashlib
from collections.abc import AsyncIterator
from pathlib import Path

import asyncpg
import pytest

from tests.schemas.extensions.conftest import Server, one_row

BOTH = 'create extension pgcrypto with schema {0}; create extension "uuid-ossp" with schema {0};'

# Name, arguments, result, volatility of every function of the original; all of them are strict and parallel safe
# but gen_random_uuid(), which has no argument to be strict about.
PGCRYPTO = """
armor|bytea|text|i
armor|bytea, text[], text[]|text|i
crypt|text, text|text|i
dearmor|text|bytea|i
decrypt|bytea, bytea, text|bytea|i
decrypt_iv|bytea, bytea, bytea, text|bytea|i
digest|bytea, text|bytea|i
digest|text, text|bytea|i
encrypt|bytea, bytea, text|bytea|i
encrypt_iv|bytea, bytea, bytea, text|bytea|i
gen_random_bytes|integer|bytea|v
gen_random_uuid||uuid|v
gen_salt|text|text|v
gen_salt|text, integer|text|v
hmac|bytea, bytea, text|bytea|i
hmac|text, text, text|bytea|i
pgp_armor_headers|text, OUT key text, OUT value text|SETOF record|i
pgp_key_id|bytea|text|i
pgp_pub_decrypt|bytea, bytea|text|i
pgp_pub_decrypt|bytea, bytea, text|text|i
pgp_pub_decrypt|bytea, bytea, text, text|text|i
pgp_pub_decrypt_bytea|bytea, bytea|bytea|i
pgp_pub_decrypt_bytea|bytea, bytea, text|bytea|i
pgp_pub_decrypt_bytea|bytea, bytea, text, text|bytea|i
pgp_pub_encrypt|text, bytea|bytea|v
pgp_pub_encrypt|text, bytea, text|bytea|v
pgp_pub_encrypt_bytea|bytea, bytea|bytea|v
pgp_pub_encrypt_bytea|bytea, bytea, text|bytea|v
pgp_sym_decrypt|bytea, text|text|i
pgp_sym_decrypt|bytea, text, text|text|i
pgp_sym_decrypt_bytea|bytea, text|bytea|i
pgp_sym_decrypt_bytea|bytea, text, text|bytea|i
pgp_sym_encrypt|text, text|bytea|v
pgp_sym_encrypt|text, text, text|bytea|v
pgp_sym_encrypt_bytea|bytea, text|bytea|v
pgp_sym_encrypt_bytea|bytea, text, text|bytea|v
"""

UUID_OSSP = """
uuid_generate_v1||uuid|v
uuid_generate_v1mc||uuid|v
uuid_generate_v3|namespace uuid, name text|uuid|i
uuid_generate_v4||uuid|v
uuid_generate_v5|namespace uuid, name text|uuid|i
uuid_nil||uuid|i
uuid_ns_dns||uuid|i
uuid_ns_oid||uuid|i
uuid_ns_url||uuid|i
uuid_ns_x500||uuid|i
"""

MEMBERS = """
select p.proname || '|' || pg_get_function_arguments(p.oid) || '|' || pg_get_function_result(p.oid) || '|' || p.provolatile::text
from pg_depend d
join pg_extension e on e.oid = d.refobjid and d.refclassid = 'pg_extension'::regclass
join pg_proc p on p.oid = d.objid and d.classid = 'pg_proc'::regclass
where e.extname = $1 and d.deptype = 'e' and p.proname !~ '^(pgcrypto|uuid_ossp)_'
order by 1
"""


@pytest.fixture
async def empty(server: Server, owner: asyncpg.Connection) -> AsyncIterator[asyncpg.Connection]:
    """A connection of role postgres to a new database of its own."""
    await owner.execute("create database fresh owner postgres")
    connection = await server.connect(database="fresh")
    yield connection
    await connection.close()
    await owner.execute("drop database fresh with (force)")


@pytest.mark.parametrize(("name", "expected"), [("pgcrypto", PGCRYPTO), ("uuid-ossp", UUID_OSSP)])
async def test_the_functions_are_those_of_the_original(
    database: asyncpg.Connection, name: str, expected: str
) -> None:
    rows = await database.fetch(MEMBERS, name)

    assert sorted(row[0] for row in rows) == sorted(expected.split("\n")[1:-1])


async def test_all_functions_are_strict_and_parallel_safe(database: asyncpg.Connection) -> None:
    rows = await database.fetch(
        """
        select proname from pg_proc
        where pronamespace = 'extensions'::regnamespace
          and (proparallel <> 's' or not (proisstrict or pronargs = 0 or proname = 'pgcrypto_refuse'))
        """
    )

    assert rows == []


async def test_versions_are_those_that_projects_know(database: asyncpg.Connection) -> None:
    rows = await database.fetch(
        "select extname, extversion, extowner::regrole::text from pg_extension where extname <> 'plpgsql' order by 1"
    )

    assert [tuple(row) for row in rows] == [("pgcrypto", "1.3", "postgres"), ("uuid-ossp", "1.1", "postgres")]


async def test_every_procedural_function_compiles(owner: asyncpg.Connection) -> None:
    # Bodies are not checked while an extension is created.
    checked = await owner.fetch(
        """
        select p.proname, plpgsql_validator(p.oid)::text from pg_proc p join pg_language l on l.oid = p.prolang
        where p.pronamespace = 'extensions'::regnamespace and l.lanname = 'plpgsql'
        """
    )

    assert len(checked) > 20


async def test_every_procedural_function_fixes_its_search_path(database: asyncpg.Connection) -> None:
    rows = await database.fetch(
        """
        select proname from pg_proc p join pg_language l on l.oid = p.prolang
        where p.pronamespace = 'extensions'::regnamespace and l.lanname = 'plpgsql'
          and proconfig is distinct from '{"search_path=pg_catalog, pg_temp"}'
        """
    )

    assert rows == []


async def test_every_sql_function_has_a_parsed_body(database: asyncpg.Connection) -> None:
    rows = await database.fetch(
        """
        select proname from pg_proc p join pg_language l on l.oid = p.prolang
        where p.pronamespace = 'extensions'::regnamespace and l.lanname = 'sql' and prosqlbody is null
        """
    )

    assert rows == []


async def test_both_extensions_share_one_text_of_sha_1(database: asyncpg.Connection) -> None:
    same = await database.fetchval(
        "select a.prosrc = b.prosrc from pg_proc a, pg_proc b where (a.proname, b.proname) = ('pgcrypto_sha1', 'uuid_ossp_sha1')"
    )

    assert same


async def test_the_start_values_of_blowfish_are_the_digits_of_pi(database: asyncpg.Connection) -> None:
    found = await database.fetchval("select pgcrypto_blowfish_pi()")

    assert found == _fraction_of_pi(1042 * 4)


async def test_a_role_without_privileges_may_call_all(owner: asyncpg.Connection) -> None:
    async with owner.transaction():
        await owner.execute(
            "create role visitor; grant usage on schema extensions to visitor; set local role visitor"
        )
        row = await one_row(
            owner,
            "select extensions.crypt('x', extensions.gen_salt('md5')), extensions.uuid_generate_v1(),"
            " extensions.uuid_generate_v5(extensions.uuid_ns_url(), 'x'), extensions.encrypt('x', 'k', 'aes')",
        )
        await owner.execute("reset role; drop owned by visitor; drop role visitor")

    assert None not in row


async def test_a_hostile_search_path_changes_nothing(empty: asyncpg.Connection) -> None:
    await empty.execute("create schema extensions; create schema hostile;" + BOTH.format("extensions"))
    calls = (
        "select extensions.digest('x', 'sha1'), extensions.hmac('x', 'k', 'sha256'), extensions.crypt('x', '$1$salt'),"
        " extensions.encrypt('x', 'k', 'aes'), extensions.uuid_generate_v5(extensions.uuid_nil(), 'x'),"
        " extensions.crypt('x', '$2a$04$CCCCCCCCCCCCCCCCCCCCC.'), extensions.armor('x')"
    )
    expected = await one_row(empty, calls)

    await empty.execute(
        r"""
        create function hostile.mine(bytea, bytea) returns bytea language sql return '\x00'::bytea;
        create function hostile.xor(bigint, bigint) returns bigint language sql return 0::bigint;
        create function hostile.sha256(bytea) returns bytea language sql return '\x00'::bytea;
        create function hostile.md5(bytea) returns text language sql return '00';
        create function hostile.get_byte(bytea, integer) returns integer language sql return 0;
        create function hostile.lower(text) returns text language sql return 'md5'::text;
        create function hostile.pgcrypto_sha1(bytea) returns bytea language sql return '\x00'::bytea;
        create operator hostile.|| (leftarg = bytea, rightarg = bytea, function = hostile.mine);
        create operator hostile.# (leftarg = bigint, rightarg = bigint, function = hostile.xor);
        set search_path = hostile, pg_catalog;
        """
    )

    assert await one_row(empty, calls) == expected


@pytest.mark.parametrize("extension", ["pgcrypto", '"uuid-ossp"'])
async def test_the_extensions_stay_in_their_schemas(
    empty: asyncpg.Connection, server: Server, extension: str
) -> None:
    # Their scripts name the schema, so that nothing is looked up in it; whoever wants them elsewhere makes them anew.
    await empty.execute(BOTH.format("public"))
    mover = await server.connect("supabase_admin", "fresh")
    try:
        with pytest.raises(asyncpg.FeatureNotSupportedError, match="does not support SET SCHEMA"):
            await mover.execute(f"alter extension {extension} set schema pg_catalog")
    finally:
        await mover.close()


async def test_a_dump_restores_with_what_depends_on_the_extensions(
    empty: asyncpg.Connection, owner: asyncpg.Connection, server: Server, tmp_path: Path
) -> None:
    dump = str(tmp_path / "fresh.sql")
    await empty.execute(
        "create schema extensions;"
        + BOTH.format("extensions")
        + """
        comment on extension pgcrypto is 'kept';
        create table people (
          id uuid primary key default extensions.uuid_generate_v4(),
          name text not null,
          secret text not null,
          mark bytea generated always as (extensions.digest(name, 'sha1')) stored
        );
        create index on people (extensions.digest(name, 'sha256'));
        insert into people (name, secret) values ('ada', extensions.crypt('lovelace', extensions.gen_salt('bf', 4)));
        """
    )

    server.client("pg_dump", "fresh", "-f", dump)
    await owner.execute("create database restored owner postgres")
    try:
        server.client("psql", "restored", "-v", "ON_ERROR_STOP=1", "-q", "-f", dump)
        restored = await server.connect(database="restored")
        try:
            row = await one_row(
                restored,
                "select mark, extensions.crypt('lovelace', secret) = secret, obj_description(e.oid, 'pg_extension')"
                " from people, pg_extension e where extname = 'pgcrypto'",
            )
        finally:
            await restored.close()
    finally:
        await owner.execute("drop database restored with (force)")

    assert row == (hashlib.sha1(b"ada").digest(), True, "kept")


async def test_dropping_an_extension_leaves_nothing(empty: asyncpg.Connection) -> None:
    await empty.execute(BOTH.format("public"))

    await empty.execute('drop extension pgcrypto; drop extension "uuid-ossp"')

    assert (
        await empty.fetchval("select count(*) from pg_proc where pronamespace = 'public'::regnamespace") == 0
    )


async def test_functions_work_in_a_parallel_worker(empty: asyncpg.Connection) -> None:
    await empty.execute(BOTH.format("public") + "set debug_parallel_query = on")

    row = await one_row(
        empty,
        "select count(distinct digest(n::text, 'sha1')), count(distinct uuid_generate_v1()),"
        " count(distinct gen_random_bytes(8)) from generate_series(1, 50) as n",
    )

    assert row == (50, 50, 50)


def _fraction_of_pi(size: int) -> bytes:
    """Give the first bytes behind the point of pi, by Machin's formula."""
    spare = 64
    one = 1 << (size * 8 + spare)
    pi = 4 * (4 * _arctangent_of_inverse(5, one) - _arctangent_of_inverse(239, one))
    return ((pi - 3 * one) >> spare).to_bytes(size, "big")


def _arctangent_of_inverse(x: int, one: int) -> int:
    """Give arctan(1/x) as a whole number of 1/one."""
    power = total = one // x
    divisor, sign = 1, 1
    while power:
        power //= x * x
        divisor, sign = divisor + 2, -sign
        total += sign * (power // divisor)
    return total
