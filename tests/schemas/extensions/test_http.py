"""Extension http: its interface, options and refusals. How requests are sent is told in tests/workers/scheduler."""

import contextlib
import subprocess
import uuid
from collections.abc import AsyncIterator
from pathlib import Path

import asyncpg
import pytest

from services.supervisor.binaries import find_postgres
from tests.schemas.extensions.conftest import PASSWORD, one_row
from tests.workers.database.server import Server, connected, fresh_database

# Name, arguments, result of the functions that projects call.
INTERFACE = """
bytea_to_text|data bytea|text
http_delete|uri character varying, content character varying, content_type character varying|extensions.http_response
http_delete|uri character varying|extensions.http_response
http_get|uri character varying, data jsonb|extensions.http_response
http_get|uri character varying|extensions.http_response
http_header|field character varying, value character varying|extensions.http_header
http_head|uri character varying|extensions.http_response
http_list_curlopt|OUT curlopt text, OUT value text|SETOF record
http_patch|uri character varying, content character varying, content_type character varying|extensions.http_response
http_post|uri character varying, content character varying, content_type character varying|extensions.http_response
http_post|uri character varying, data jsonb|extensions.http_response
http_put|uri character varying, content character varying, content_type character varying|extensions.http_response
http_reset_curlopt||boolean
http_set_curlopt|curlopt character varying, value character varying|boolean
http|request extensions.http_request|extensions.http_response
text_to_bytea|data text|bytea
urlencode|data jsonb|text
urlencode|string bytea|text
urlencode|string character varying|text
"""


@pytest.fixture(scope="module")
async def name(bootstrapped: Server) -> AsyncIterator[str]:
    async with fresh_database(bootstrapped) as one:
        async with connected(bootstrapped.url(database=one)) as admin:
            await admin.execute(f"alter database {one} owner to postgres")
        yield one


@pytest.fixture(scope="module")
async def connection(bootstrapped: Server, name: str) -> AsyncIterator[asyncpg.Connection]:
    async with connected(bootstrapped.url("postgres", PASSWORD, name)) as one:
        await one.execute("create extension if not exists http with schema extensions")
        yield one


@pytest.fixture
async def project(connection: asyncpg.Connection) -> asyncpg.Connection:
    """A connection of role postgres that finds the extension; its settings are as before after each test."""
    await connection.execute("reset all; set search_path = public, extensions")
    return connection


async def test_the_interface_is_that_of_the_original(project: asyncpg.Connection):
    await project.execute("set search_path = ''")
    rows = await project.fetch(
        "select proname || '|' || pg_catalog.pg_get_function_arguments(p.oid) || '|' || pg_catalog.pg_get_function_result(p.oid)"
        " from pg_catalog.pg_depend d join pg_catalog.pg_proc p on p.oid = d.objid and d.classid = 'pg_catalog.pg_proc'::regclass"
        " join pg_catalog.pg_extension e on e.oid = d.refobjid and d.refclassid = 'pg_catalog.pg_extension'::regclass"
        " where e.extname = 'http' and d.deptype = 'e' and proname not like 'http_headwater%'"
    )

    assert sorted(row[0] for row in rows) == sorted(INTERFACE.split("\n")[1:-1])


@pytest.mark.parametrize(
    ("text", "encoded"),
    [
        ("my special string's & things?", "my+special+string%27s+%26+things%3F"),
        ("", ""),
        ("a-b_c.d", "a-b_c.d"),
        ("é€😀", "%C3%A9%E2%82%AC%F0%9F%98%80"),
        ("100%+1/2=", "100%25%2B1%2F2%3D"),
    ],
)
async def test_text_is_encoded_for_urls(project: asyncpg.Connection, text: str, encoded: str):
    assert await project.fetchval("select urlencode($1::varchar)", text) == encoded
    assert await project.fetchval("select urlencode($1::bytea)", text.encode()) == encoded


async def test_an_object_is_encoded_as_a_form(project: asyncpg.Connection):
    found = await project.fetchval(
        """select urlencode('{"name": "Colin & James", "rate": 50, "x y": null}'::jsonb)"""
    )

    assert found == "x+y=&name=Colin+%26+James&rate=50"


async def test_bytes_pass_through_text(project: asyncpg.Connection):
    assert await project.fetchval("select text_to_bytea('ü')") == "ü".encode()
    assert await project.fetchval(r"select text_to_bytea(bytea_to_text('\x00ff10'))") == b"\x00\xff\x10"


async def test_a_header_is_a_pair(project: asyncpg.Connection):
    assert await one_row(project, "select (h).field, (h).value from http_header('X-A', 'b') as h") == (
        "X-A",
        "b",
    )


async def test_options_are_set_listed_and_reset(project: asyncpg.Connection):
    await project.execute(
        "select http_set_curlopt('CURLOPT_TIMEOUT', '7'), http_set_curlopt('curlopt_useragent', 'me')"
    )
    assert [tuple(row) for row in await project.fetch("select * from http_list_curlopt()")] == [
        ("CURLOPT_TIMEOUT", "7"),
        ("CURLOPT_USERAGENT", "me"),
    ]

    assert await project.fetchval("select http_reset_curlopt()") is True

    assert await project.fetch("select * from http_list_curlopt()") == []


@pytest.mark.parametrize(
    ("setting", "milliseconds"),
    [
        ("select 1", 5000),
        ("select http_set_curlopt('CURLOPT_TIMEOUT', '7')", 7000),
        ("select http_set_curlopt('CURLOPT_TIMEOUT', '7'), http_set_curlopt('CURLOPT_TIMEOUT_MS', '70')", 70),
        ("set http.timeout_msec = 200", 200),
        ("set http.timeout_msec = 'soon'", 5000),
        ("select http_set_curlopt('CURLOPT_TIMEOUT_MS', '0')", 1),
        ("select http_set_curlopt('CURLOPT_TIMEOUT', '999999')", 600000),
    ],
)
async def test_the_time_limit_comes_from_the_options(
    project: asyncpg.Connection, setting: str, milliseconds: int
):
    await project.execute(setting)

    assert await project.fetchval("select http_headwater_timeout()") == milliseconds


@pytest.mark.parametrize(
    ("option", "value", "words"),
    [
        ("CURLOPT_PROXY", "http://p", "curl option CURLOPT_PROXY is not supported"),
        ("CURLOPT_SSL_VERIFYPEER", "0", "curl option CURLOPT_SSL_VERIFYPEER cannot have that value"),
        ("CURLOPT_TIMEOUT", "soon", "curl option CURLOPT_TIMEOUT cannot have that value"),
    ],
)
async def test_options_that_cannot_be_honoured_are_refused(
    project: asyncpg.Connection, option: str, value: str, words: str
):
    with pytest.raises(asyncpg.PostgresError, match=words):
        await project.execute(f"select http_set_curlopt('{option}', '{value}')")


@pytest.mark.parametrize(
    ("call", "words"),
    [
        ("http_get(null)", "the uri of a request must not be null"),
        ("http((null, 'http://h', null, null, null))", "the method of a request must not be null"),
        ("http_post('http://h', 'x', null)", "a request with content needs a content_type"),
        ("http(('TRACE', 'http://h', null, null, null))", "violates check constraint"),
    ],
)
async def test_requests_that_are_none_are_refused(project: asyncpg.Connection, call: str, words: str):
    with pytest.raises(asyncpg.PostgresError, match=words):
        await project.execute(f"select {call}")


async def test_where_no_scheduler_runs_it_says_so_in_time(
    bootstrapped: Server, name: str, project: asyncpg.Connection
):
    await project.execute("select http_set_curlopt('CURLOPT_TIMEOUT_MS', '50')")

    with pytest.raises(
        asyncpg.ConnectionFailureError,
        match=r"^nobody took the request within 50 ms: no scheduler runs\n",
    ) as caught:
        await project.execute("select http_get('http://127.0.0.1/')")

    assert caught.value.hint == (
        'Requests are sent by the pool "scheduler": see that it runs, and that scheduler.enabled is on.'
    )
    async with connected(bootstrapped.url(database=name)) as admin:
        assert await admin.fetchval("select count(*) from headwater.http_queue") == 0


async def test_a_statement_timeout_ends_the_wait(project: asyncpg.Connection):
    await project.execute("set statement_timeout = '100ms'")

    with pytest.raises(asyncpg.QueryCanceledError):
        await project.execute("select http_get('http://127.0.0.1/')")


async def test_its_login_may_exchange_requests_and_nothing_else(
    bootstrapped: Server, name: str, project: asyncpg.Connection
):
    async with connected(bootstrapped.url(database=name)) as admin:
        role, password = await one_row(admin, "select role, password from extensions.http_headwater_login")

    async with connected(bootstrapped.url(role, password, name)) as login:
        for statement in (
            "select * from auth.users",
            "select * from extensions.http_headwater_login",
            "update headwater.http_queue set url = ''",
            "set role postgres",
            "create table public.mine ()",
        ):
            with pytest.raises(asyncpg.InsufficientPrivilegeError):
                await login.execute(statement)


@pytest.mark.parametrize(
    "statement",
    [
        "select * from extensions.http_headwater_login",
        "select extensions.http_headwater_connection()",
        "select * from extensions.http_headwater_link('', '') as t (a text)",
        "select * from headwater.http_queue",
        "select * from headwater.http_answers",
    ],
)
async def test_the_roles_of_the_api_see_nothing_of_the_login(
    bootstrapped: Server, name: str, project: asyncpg.Connection, statement: str
):
    async with connected(bootstrapped.url(database=name)) as admin:
        await admin.execute("set role authenticated")

        with pytest.raises(asyncpg.InsufficientPrivilegeError):
            await admin.execute(statement)


async def test_it_is_dropped_and_made_anew(project: asyncpg.Connection):
    async with project.transaction():
        await project.execute(
            "comment on extension http is 'x'; drop extension http; create extension http with schema public"
        )
        assert await project.fetchval("select public.urlencode('a b'::varchar)") == "a+b"
        await project.execute("drop extension http; create extension http with schema extensions")


async def test_it_stays_in_its_schema(bootstrapped: Server, name: str, project: asyncpg.Connection):
    """Its functions are bound to each other; whoever wants it elsewhere makes it anew."""
    async with connected(bootstrapped.url(database=name)) as admin:
        with pytest.raises(asyncpg.FeatureNotSupportedError, match="does not support SET SCHEMA"):
            await admin.execute("alter extension http set schema public")


async def test_a_dump_of_the_whole_database_restores(
    bootstrapped: Server, name: str, project: asyncpg.Connection, tmp_path: Path
):
    dump = tmp_path / "whole.sql"
    url = bootstrapped.url(database=name)
    done = subprocess.run(
        [find_postgres() / "pg_dump", "-d", url, "-f", dump], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    await project.execute("reset all")
    async with fresh_database_of(bootstrapped, "template0") as other:
        done = subprocess.run(
            [
                find_postgres() / "psql",
                "-d",
                bootstrapped.url(database=other),
                "-v",
                "ON_ERROR_STOP=1",
                "-qf",
                dump,
            ],
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        async with connected(bootstrapped.url("postgres", PASSWORD, other)) as restored:
            with pytest.raises(asyncpg.ConnectionFailureError, match="nobody took the request"):
                await restored.execute(
                    "set http.timeout_msec = 20; select extensions.http_get('http://127.0.0.1/')"
                )


@contextlib.asynccontextmanager
async def fresh_database_of(server: Server, template: str) -> AsyncIterator[str]:
    name = f"fresh_{uuid.uuid4().hex}"
    async with connected(server.url()) as admin:
        await admin.execute(f"create database {name} template {template}")
        yield name
        await admin.execute(f"drop database {name} with (force)")
