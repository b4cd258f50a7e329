"""Hooks that are functions of the database, called through the pool of the accounts."""

import json
from collections.abc import AsyncIterator

import pytest

from tests.workers.auth.auth_pool import AuthPool
from workers.auth.delivery.hooks.in_database import DatabaseHook
from workers.auth.delivery.hooks.over_http import MOST_BYTES
from workers.auth.model.error_codes import ErrorCode
from workers.auth.model.errors import AuthError, ProjectSqlError

SCHEMA = 'Hooks; "x'
QUOTED = '"Hooks; ""x"'


@pytest.fixture
async def function(whole_auth_pool: AuthPool) -> AsyncIterator[str]:
    await whole_auth_pool.admin.execute(
        f"create schema {QUOTED}; grant usage on schema {QUOTED} to supabase_auth_admin"
    )
    yield 'a"b'
    await whole_auth_pool.admin.execute(f"drop schema {QUOTED} cascade")


def hook(auth_pool: AuthPool, name: str, timeout_s: float = 2.0) -> DatabaseHook:
    return DatabaseHook(SCHEMA, name, auth_pool.context.database, timeout_s)


async def write(auth_pool: AuthPool, body: str, language: str = "plpgsql", returns: str = "jsonb") -> None:
    await auth_pool.admin.execute(
        f'create or replace function {QUOTED}."a""b"(event jsonb) returns {returns} language {language} as $f$ {body} $f$'
    )


async def refused(asked: DatabaseHook) -> AuthError:
    with pytest.raises(AuthError) as raised:
        await asked.ask("id", b"{}")
    return raised.value


async def test_a_function_is_called_as_the_role_of_the_accounts(auth_pool: AuthPool, function: str):
    await write(
        auth_pool,
        """begin return event || jsonb_build_object('who', current_user, 'timeout', current_setting('statement_timeout'),
           'path', current_setting('search_path')); end""",
    )

    answer = json.loads(await hook(auth_pool, function).ask("id", '{"a": "ü"}'.encode()))

    assert answer == {"a": "ü", "who": "supabase_auth_admin", "timeout": "2s", "path": "auth"}


async def test_what_a_function_does_is_kept_and_alone(auth_pool: AuthPool, function: str):
    await auth_pool.admin.execute(
        f"create table {QUOTED}.seen (at bigint); grant all on {QUOTED}.seen to supabase_auth_admin"
    )
    await write(auth_pool, f"begin insert into {QUOTED}.seen values (txid_current()); return null; end")

    assert await hook(auth_pool, function).ask("id", b"{}") == b"null"
    assert await hook(auth_pool, function).ask("id", b"{}") == b"null"

    assert await auth_pool.value(f"select count(distinct at) from {QUOTED}.seen") == 2


async def test_a_slow_function_is_stopped(auth_pool: AuthPool, function: str):
    await write(auth_pool, "begin perform pg_sleep(60); return '{}'; end")

    error = await refused(hook(auth_pool, function, timeout_s=0.05))

    assert (error.code, error.status) == (ErrorCode.HOOK_TIMEOUT, 422)


async def test_a_limit_does_not_outlive_the_call(auth_pool: AuthPool, function: str):
    await write(auth_pool, "begin return '{}'; end")

    await hook(auth_pool, function).ask("id", b"{}")

    async with auth_pool.context.transaction() as transaction:
        assert await transaction.rows("show statement_timeout") != [(b"2s",)]


async def test_words_that_a_function_raises_reach_the_caller(auth_pool: AuthPool, function: str):
    await write(auth_pool, "begin raise exception 'not on a Sunday' using hint = 'come back'; end")

    error = await refused(hook(auth_pool, function))

    assert isinstance(error, ProjectSqlError)
    assert (error.status, error.message, error.extra) == (500, "not on a Sunday", {"hint": "come back"})


async def test_a_function_may_choose_a_status(auth_pool: AuthPool, function: str):
    await write(auth_pool, "begin raise sqlstate 'PT418' using message = 'tea'; end")

    assert (await refused(hook(auth_pool, function))).status == 418


@pytest.mark.parametrize(
    "body", ["begin return 1 / 0; end", "begin return event -> 'x' -> 1 || 'x'::jsonb::int; end"]
)
async def test_a_function_that_stumbles_says_nothing_of_the_inside(
    auth_pool: AuthPool, function: str, body: str
):
    await write(auth_pool, body)

    error = await refused(hook(auth_pool, function))

    assert (error.code, error.status, error.message) == (
        ErrorCode.UNEXPECTED_FAILURE,
        500,
        "The hook's function failed",
    )


async def test_a_function_that_is_not_there_or_not_ours_fails(auth_pool: AuthPool, function: str):
    missing = await refused(hook(auth_pool, "nothing"))
    await write(auth_pool, "begin return '{}'; end")
    await auth_pool.admin.execute(f'revoke execute on function {QUOTED}."a""b"(jsonb) from public')
    forbidden = await refused(hook(auth_pool, function))

    assert missing.message == forbidden.message == "The hook's function failed"
    assert [getattr(each, "sqlstate", "") for each in (missing, forbidden)] == ["42883", "42501"]


async def test_a_long_answer_is_refused(auth_pool: AuthPool, function: str):
    await write(auth_pool, f"begin return jsonb_build_object('a', repeat('x', {MOST_BYTES})); end")

    error = await refused(hook(auth_pool, function))

    assert (error.code, error.status) == (ErrorCode.HOOK_PAYLOAD_OVER_SIZE_LIMIT, 422)


async def test_a_function_may_be_made_anew_with_another_type(auth_pool: AuthPool, function: str):
    asked = hook(auth_pool, function)
    await write(auth_pool, """begin return '{"a": 1}'; end""")
    for _ in range(8):  # as often as every connection of the pool keeps the statement
        assert await asked.ask("id", b"{}") == b'{"a": 1}'
    await auth_pool.admin.execute(f'drop function {QUOTED}."a""b"(jsonb)')
    await write(auth_pool, """begin return '{"a": 2}'; end""", returns="json")

    for _ in range(8):
        assert await asked.ask("id", b"{}") == b'{"a": 2}'
