"""Requests in SQL and the webhooks made of them. How they are sent is told in tests/workers/scheduler."""

import json
from collections.abc import AsyncIterator
from typing import Any

import asyncpg
import pytest

from tests.schemas.extensions.conftest import PASSWORD
from tests.workers.database.server import Server, connected, fresh_database

# Name, arguments, result of the functions that projects call.
INTERFACE = """
http_collect_response|request_id bigint, async boolean DEFAULT true|net.http_response_result
http_delete|url text, params jsonb DEFAULT '{}'::jsonb, headers jsonb DEFAULT '{}'::jsonb, timeout_milliseconds integer DEFAULT 5000, body jsonb DEFAULT NULL::jsonb|bigint
http_get|url text, params jsonb DEFAULT '{}'::jsonb, headers jsonb DEFAULT '{}'::jsonb, timeout_milliseconds integer DEFAULT 5000|bigint
http_post|url text, body jsonb DEFAULT '{}'::jsonb, params jsonb DEFAULT '{}'::jsonb, headers jsonb DEFAULT '{"Content-Type": "application/json"}'::jsonb, timeout_milliseconds integer DEFAULT 5000|bigint
"""


@pytest.fixture
async def name(bootstrapped: Server) -> AsyncIterator[str]:
    async with fresh_database(bootstrapped) as one:
        async with connected(bootstrapped.url(database=one)) as admin:
            await admin.execute(f"alter database {one} owner to postgres")
        yield one


@pytest.fixture
async def project(bootstrapped: Server, name: str) -> AsyncIterator[asyncpg.Connection]:
    """A connection of role postgres to a database with the extension."""
    async with connected(bootstrapped.url("postgres", PASSWORD, name)) as one:
        await one.execute("create extension pg_net with schema extensions")
        yield one


async def queued(connection: asyncpg.Connection) -> list[dict[str, Any]]:
    rows = await connection.fetch("select * from net.http_request_queue order by id")
    return [dict(row) for row in rows]


async def test_the_interface_is_that_of_the_original(project: asyncpg.Connection):
    rows = await project.fetch(
        "select proname || '|' || pg_get_function_arguments(oid) || '|' || pg_get_function_result(oid) from pg_proc"
        " where pronamespace = 'net'::regnamespace and proname like 'http%'"
    )

    assert sorted(row[0] for row in rows) == sorted(INTERFACE.split("\n")[1:-1])


async def test_a_request_is_a_row_with_its_parameters_in_the_url(project: asyncpg.Connection):
    id = await project.fetchval(
        'select net.http_get(\'http://h/p\', \'{"a b": "é/~", "n": 1}\', \'{"X": "1"}\', 9)'
    )

    assert await queued(project) == [
        {
            "id": id, "method": "GET", "url": "http://h/p?n=1&a%20b=%C3%A9%2F~", "headers": '{"X": "1"}', "body": None,
            "timeout_milliseconds": 9,
        }
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("headers", "expected"),
    [
        ("{}", {"Content-Type": "application/json"}),
        (
            '{"content-type": "application/json; charset=utf-8"}',
            {"content-type": "application/json; charset=utf-8"},
        ),
        ('{"A": "b"}', {"A": "b", "Content-Type": "application/json"}),
        (None, {"Content-Type": "application/json"}),
    ],
)
async def test_what_is_posted_is_json(
    project: asyncpg.Connection, headers: str | None, expected: dict[str, str]
):
    await project.execute("select net.http_post('http://h', '{\"a\": 1}', '{}', $1)", headers)

    (row,) = await queued(project)
    assert json.loads(row["headers"]) == expected
    assert row["body"] == b'{"a": 1}'
    assert row["timeout_milliseconds"] == 5000


@pytest.mark.parametrize(
    "call",
    [
        "net.http_post('http://h', headers := '{\"Content-Type\": \"text/plain\"}')",
        "net.http_get('http://h', headers := '[]')",
        "net.http_get('http://h', params := '1')",
        "net.http_get(null)",
    ],
)
async def test_what_is_no_request_is_refused(project: asyncpg.Connection, call: str):
    with pytest.raises(asyncpg.DataError):
        await project.execute(f"select {call}")


@pytest.mark.parametrize("role", ["anon", "authenticated", "service_role"])
async def test_the_roles_of_the_api_may_send_and_look_at_nothing(
    project: asyncpg.Connection,
    bootstrapped: Server,
    name: str,
    role: str,
):
    async with connected(bootstrapped.url("authenticator", PASSWORD, name)) as caller:
        await caller.execute(f"set role {role}")
        for number, method in enumerate(("post", "get", "delete"), start=1):
            assert await caller.fetchval(f"select net.http_{method}('http://h')") == number
        for attempt in (
            "select * from net.http_request_queue",
            "select * from net._http_response",
            "insert into net.http_request_queue (method, url, timeout_milliseconds) values ('GET', 'http://h', 1)",
            "select net.http_collect_response(1)",
            "select net.headwater_enqueue('GET', 'http://h', '{}', '{}', null, 1)",
        ):
            with pytest.raises(asyncpg.InsufficientPrivilegeError):
                await caller.execute(attempt)

    assert len(await queued(project)) == 3


async def test_an_answer_is_collected_when_it_is_there(project: asyncpg.Connection):
    await project.execute("select net.http_get('http://h')")
    pending = await project.fetchval("select net.http_collect_response(1)")
    await project.execute(
        "insert into net._http_response (id, status_code, headers, content) values (1, 200, '{\"a\": \"b\"}', 'text');"
        " insert into net._http_response (id, error_msg) values (2, 'no answer')"
    )
    there = await project.fetchval("select net.http_collect_response(1, async := false)")
    failed = await project.fetchval("select net.http_collect_response(2)")
    unknown = await project.fetchval("select net.http_collect_response(3)")

    assert (pending["status"], there["status"], failed["status"], unknown["status"]) == (
        "PENDING",
        "SUCCESS",
        "ERROR",
        "ERROR",
    )
    assert tuple(there["response"]) == (200, '{"a": "b"}', "text")
    assert failed["message"] == "no answer"
    assert await project.fetchval("select net._await_response(1)") is True


async def test_a_webhook_sends_each_change_and_notes_it(project: asyncpg.Connection):
    await project.execute(
        "create table notes (id int primary key, text text);"
        " create trigger told after insert or update or delete on notes for each row execute function"
        ' supabase_functions.http_request(\'http://h/hook\', \'POST\', \'{"Content-Type":"application/json","X":"1"}\', \'{"a":"1"}\', \'2000\');'
        " insert into notes values (1, 'a'); update notes set text = 'b'; delete from notes"
    )

    sent = await queued(project)
    payloads = [json.loads(row["body"]) for row in sent]
    old, new = {"id": 1, "text": "a"}, {"id": 1, "text": "b"}
    table = {"table": "notes", "schema": "public"}
    assert payloads == [
        {"type": "INSERT", "record": old, "old_record": None, **table},
        {"type": "UPDATE", "record": new, "old_record": old, **table},
        {"type": "DELETE", "record": None, "old_record": new, **table},
    ]
    assert {(row["url"], row["timeout_milliseconds"]) for row in sent} == {("http://h/hook?a=1", 2000)}
    hooks = await project.fetch(
        "select hook_table_id::regclass::text, hook_name, request_id from supabase_functions.hooks"
    )
    assert [tuple(row) for row in hooks] == [("notes", "told", row["id"]) for row in sent]


async def test_arguments_of_a_webhook_have_defaults(project: asyncpg.Connection):
    await project.execute(
        "create table notes (id int); create trigger told after insert on notes for each row execute function"
        " supabase_functions.http_request('http://h', 'GET', 'null', 'null', 'null'); insert into notes values (1)"
    )

    (row,) = await queued(project)
    assert (row["method"], row["timeout_milliseconds"], row["body"]) == ("GET", 1000, None)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ("", "url argument is missing"),
        ("'null', 'POST'", "url"),
        ("'http://h'", "method"),
        ("'http://h', 'PUT'", "PUT is invalid"),
    ],
)
async def test_a_webhook_that_cannot_be_sent_says_why(
    project: asyncpg.Connection, arguments: str, words: str
):
    with pytest.raises(asyncpg.RaiseError, match=words):
        await project.execute(
            "create table notes (id int); create trigger told after insert on notes for each row execute function"
            f" supabase_functions.http_request({arguments}); insert into notes values (1)"
        )


async def test_a_webhook_without_pg_net_says_what_to_do(project: asyncpg.Connection):
    await project.execute("drop extension pg_net")

    with pytest.raises(asyncpg.UndefinedObjectError, match="pg_net") as caught:
        await project.execute(
            "create table notes (id int); create trigger told after insert on notes for each row execute function"
            " supabase_functions.http_request('http://h', 'POST'); insert into notes values (1)"
        )

    assert caught.value.hint == "create extension pg_net;"


async def test_a_webhook_works_for_a_caller_of_the_api(
    project: asyncpg.Connection,
    bootstrapped: Server,
    name: str,
):
    await project.execute(
        "create table notes (id int); grant insert on notes to anon; create trigger told after insert on notes for each row"
        " execute function supabase_functions.http_request('http://h', 'POST')"
    )
    async with connected(bootstrapped.url("authenticator", PASSWORD, name)) as caller:
        await caller.execute("set role anon; insert into notes values (1)")
        with pytest.raises(asyncpg.InsufficientPrivilegeError):
            await caller.execute("select * from supabase_functions.hooks")

    assert len(await queued(project)) == 1
