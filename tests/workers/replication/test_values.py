"""Values against the server's own `to_jsonb`: the text that the log would have in, the same JSON text out."""

from collections.abc import AsyncIterator
from datetime import UTC

import asyncpg
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.workers.database.server import connected
from workers.database.errors import DatabaseError
from workers.database.sessions.replication import SESSION
from workers.replication import values
from workers.replication.column_types import BUILT_IN, CatalogType, column_types
from workers.replication.conversions import SESSION_ENDED, Conversions
from workers.sql.files import read_statements

_TYPES = read_statements("workers.replication", "tables.sql")["types"]

SAMPLES = {
    "bool": ["true", "false"],
    "int2": ["-32768", "0"],
    "int8": ["9007199254740993", "-9223372036854775808"],
    "float4": ["1.5", "1e20", "1e-7", "-0", "NaN", "Infinity", "-Infinity", "3.4028235e38"],
    "float8": ["0.1", "1e300", "1.5e-9", "-1e-300", "-0", "NaN", "123456789012345680000"],
    "numeric": ["1.50", "-0.000001", "NaN", "Infinity", "-Infinity", "1" * 60, "0.00"],
    "numeric(8,2)": ["3", "-12.345"],
    "text": ["", "plain", 'quote " and \\ back', "tab\tline\nreturn\r\b\f\x01\x1f\x7f", "ünïcödé 🎵", "null"],
    "varchar(5)": ["ab"],
    "char(5)": ["ab"],
    '"char"': ["x"],
    "name": ["x"],
    "jsonb": ['{"b": [1, 2.50, null], "a": "\\u00e9\\n"}', "null", '"text"', "1e2"],
    "date": ["2026-01-02", "infinity", "-infinity", "0044-03-15 BC", "12026-01-02"],
    "timestamp": ["2026-01-02 01:04:05.678", "2026-01-02", "infinity", "0044-03-15 01:02:03 BC"],
    "timestamptz": [
        "2026-01-02 03:04:05.678+02",
        "-infinity",
        "0044-03-15 01:02:03+00 BC",
        "12026-01-02 00:00Z",
    ],
    "time": ["01:02:03.5"],
    "timetz": ["01:02:03+02"],
    "interval": ["1 year 2 days 03:04:05.6", "-1 hour"],
    "uuid": ["b7a3c0de-0000-4000-8000-000000000001"],
    "oid": ["42"],
    "inet": ["10.0.0.1/8"],
    "bit(3)": ["101"],
    "point": ["(1,2)"],
    "box": ["(1,2),(0,0)"],
    "box[]": ["{(1,2),(0,0);(3,3),(2,2)}"],
    "int4range": ["[1,5)", "empty"],
    "int4multirange": ["{[1,5),[7,9)}"],
    "tsvector": ["'a':1 'b':2"],
    "int2vector": ["1 2 3"],
    "regclass": ["pg_catalog.pg_class"],
    "int4[]": ["{}", "{1,2,NULL}", "{{1,2},{3,NULL}}", "[0:1]={5,6}", "[-1:0][2:3]={{1,2},{3,4}}"],
    "float8[]": ["{1e20,NaN,-0}"],
    "bool[]": ["{t,f,NULL}"],
    "text[]": [
        '{a,"b c","d\\"e","f\\\\g","",NULL,"NULL","{x}","a,b"}',
        '{{"a","b"},{"c d",NULL}}',
        "{null_}",
    ],
    "timestamptz[]": ['{"2026-01-02 03:04:05+02",infinity}'],
    "jsonb[]": ['{"{\\"a\\": [1, \\"x\\"]}",1,NULL}'],
    "uuid[]": ["{b7a3c0de-0000-4000-8000-000000000001}"],
    "mood": ["sad", "so so"],
    "mood[]": ['{sad,"so so",NULL}'],
    "small": ["7"],
    "smalls": ["{7,8}"],
    "spans": ["[1,2.5)"],
    "pair": ['(1,"a ""b""",)', "(,,)"],
    "pair[]": ['{"(1,a,2026-01-02)",NULL}'],
    "pairs": ['{"(1,a,2026-01-02)"}'],
}


@pytest.fixture(scope="session")
async def session(replication_pool) -> AsyncIterator[asyncpg.Connection]:
    """A session with the settings of the replication connection, and with types of a project."""
    async with connected(replication_pool.database) as connection:
        await connection.execute("""
            create schema own; grant usage on schema own to service_role;
            create type own.mood as enum ('sad', 'so so');
            create domain own.small as int check (value < 10);
            create domain own.smalls as int[];
            create type own.spans as range (subtype = float8);
            create type own.pair as (a int, b text, c date);
            create domain own.pairs as own.pair[];
        """)
        for name, value in SESSION.items():
            await connection.execute("select set_config($1, $2, false)", name, value)
        yield connection


OWN = {"mood", "small", "smalls", "spans", "pair", "pairs"}


def _named(form: str) -> str:
    return f"own.{form}" if form.removesuffix("[]") in OWN else form


async def _kind(session, form: str):
    oid = await session.fetchval("select to_regtype($1)::oid::int8", _named(form))
    found = column_types(CatalogType(*row) for row in await session.fetch(_TYPES, [oid]))
    return BUILT_IN.get(oid) or found[oid]


@pytest.mark.parametrize("form", list(SAMPLES))
async def test_values_are_written_as_to_jsonb_writes_them(session, form):
    kind = await _kind(session, form)
    for sample in SAMPLES[form]:
        # concat() calls the type's output function, as the log does.
        text, wanted = await session.fetchrow(
            f"select concat(v), to_jsonb(v)::text from (select $1::text::{_named(form)}) as given (v)", sample
        )

        if kind.convert is None:
            assert form in {"pair", "pair[]", "pairs", "int2vector"}
        else:
            assert kind.convert(text.encode()).decode() == wanted, sample


async def test_values_of_a_table_are_published_as_to_jsonb_writes_them(replication_pool, session):
    """All of it at once, with what only SQL can convert."""
    columns = {f"c{number}": form for number, form in enumerate(SAMPLES)}
    typed = ", ".join(f"{name} {_named(form)}" for name, form in columns.items())
    table = await replication_pool.table(f"id int primary key, {typed}")
    for number in range(max(map(len, SAMPLES.values()))):
        values = [samples[number % len(samples)] for samples in SAMPLES.values()]
        given = ", ".join(f"${at}::text::{_named(form)}" for at, form in enumerate(columns.values(), 1))
        await replication_pool.admin.execute(f"insert into {table} values ({number}, {given})", *values)
    wanted = await session.fetch(
        f"select {', '.join(f'to_jsonb({name})::text' for name in columns)} from public.{table} order by id"
    )

    changes = await replication_pool.changes(table, len(wanted))

    found = [[value.decode() for value in change.new[1:]] for change in changes]
    for got, row in zip(found, wanted, strict=True):
        assert dict(zip(columns.values(), got, strict=True)) == dict(zip(columns.values(), row, strict=True))


async def test_types_with_a_cast_to_json_are_published_as_it_says(replication_pool):
    await replication_pool.admin.execute("create extension if not exists hstore schema extensions")
    table = await replication_pool.table("id int primary key, h extensions.hstore, hs extensions.hstore[]")
    await replication_pool.admin.execute(
        f"""insert into {table} values (1, 'a=>1,b=>NULL', array['x=>"y z"'::extensions.hstore])"""
    )

    row = await replication_pool.last_row(table, 1)

    assert row == {"id": 1, "h": {"a": "1", "b": None}, "hs": [{"x": "y z"}]}


async def test_values_whose_cast_ends_its_session_are_published_as_texts(replication_pool):
    await replication_pool.admin.execute("""
        create type public.ending as enum ('a', 'b');
        create function public.ends(public.ending) returns json language plpgsql as
          $$ begin execute 'set role none'; perform pg_terminate_backend(pg_backend_pid()); return '1'; end $$;
        create cast (public.ending as json) with function public.ends(public.ending);
    """)
    conversions = Conversions(replication_pool.values_url)
    with pytest.raises(DatabaseError) as ended:
        await conversions.ask("select to_jsonb('a'::public.ending)")
    assert (ended.value.code, await conversions.ask("select 1")) == (SESSION_ENDED, [(1,)])
    await conversions.close()
    table = await replication_pool.table("id int primary key, e public.ending")
    await replication_pool.admin.execute(f"insert into {table} values (1, 'a'), (2, 'a'), (3, 'b')")

    assert (await replication_pool.last_row(table, 3)) == {"id": 3, "e": "b"}


async def test_bytea_comes_as_hexadecimal_digits_alone(session):
    assert values.binary(b"\\x00ff") == b'"00ff"'
    kind = await _kind(session, "bytea[]")
    text = await session.fetchval("select array['\\x00ff'::bytea, null]::text")
    assert kind.convert(text.encode()) == b'["00ff", null]'


def test_json_comes_as_it_was_stored_on_one_line():
    assert values.plain_json(b'{"a" :\n 1e2, "a": 2}') == b'{"a" :  1e2, "a": 2}'


TEXTS = st.text(st.characters(blacklist_characters="\0", blacklist_categories=["Cs"]), max_size=12)
NUMBERS = st.floats(allow_nan=True, allow_infinity=True)
_ONCE = settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])


async def _compare(session, form: str, value: object) -> None:
    kind = await _kind(session, form)
    text, wanted = await session.fetchrow(
        f"select concat(v), to_jsonb(v)::text from (select $1::{form}) as given (v)", value
    )

    assert kind.convert is not None
    assert kind.convert(text.encode()).decode() == wanted


@_ONCE
@given(st.lists(st.one_of(st.none(), TEXTS), max_size=5))
async def test_any_array_of_texts_is_written_as_to_jsonb_writes_it(session, value):
    await _compare(session, "text[]", value)


@_ONCE
@given(TEXTS)
async def test_any_text_is_written_as_to_jsonb_writes_it(session, value):
    await _compare(session, "text", value)


@_ONCE
@given(st.lists(NUMBERS, max_size=4))
async def test_any_float_is_written_as_to_jsonb_writes_it(session, value):
    await _compare(session, "float8[]", value)


@_ONCE
@given(st.datetimes(timezones=st.just(UTC)))
async def test_any_time_is_written_as_to_jsonb_writes_it(session, value):
    await _compare(session, "timestamptz", value)


@_ONCE
@given(st.decimals(allow_nan=False))
async def test_any_numeric_is_written_as_to_jsonb_writes_it(session, value):
    await _compare(session, "numeric", value)
