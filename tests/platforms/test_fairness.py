"""One caller's slow queries leave others their share of workers and connections, and are answered in words that are true."""

import asyncio
import json
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass

import aiohttp
import asyncpg
import pytest

from tests.platform import Platform
from tests.platforms.conftest import token

_KEY = 15_10
_SLOW = 200
_CALL = "/rest/v1/rpc/wait_in_line"
_SCHEMA = f"""
create or replace function public.wait_in_line() returns int language sql as
  'select 1 from pg_advisory_xact_lock_shared({_KEY})';
notify pgrst;
"""


@dataclass(frozen=True, slots=True)
class Answered:
    """The answer to a request."""

    status: int
    headers: Mapping[str, str]
    body: bytes


Client = aiohttp.ClientSession


async def ask(client: Client, path: str, headers: Mapping[str, str]) -> Answered:
    """Read what is at a path, or call the slow function; return the answer, whatever its status."""
    is_call = path == _CALL
    async with client.request(
        "POST" if is_call else "GET", path, json={} if is_call else None, headers=headers
    ) as answer:
        return Answered(answer.status, answer.headers, await answer.read())


@pytest.fixture
async def client(running_platform: Platform) -> AsyncIterator[Client]:
    async with aiohttp.ClientSession(running_platform.url, connector=aiohttp.TCPConnector(limit=0)) as one:
        yield one


def of_user(running_platform: Platform, sub: str) -> dict[str, str]:
    """Return the headers of a signed-in user."""
    return {
        "apikey": running_platform.values["ANON_KEY"],
        "authorization": f"Bearer {token(running_platform, sub=sub)}",
    }


@pytest.fixture
async def database(
    running_platform: Platform, client: Client
) -> AsyncIterator["asyncpg.Connection[asyncpg.Record]"]:
    """A connection to a database that has the slow function, which the interface knows."""
    connection = await asyncpg.connect(running_platform.values["DB_URL"])
    await connection.execute(_SCHEMA)
    async with asyncio.timeout(60):
        while (await ask(client, _CALL, of_user(running_platform, "one"))).status == 404:
            await asyncio.sleep(0.1)
    yield connection
    await connection.close()


@asynccontextmanager
async def locked(running_platform: Platform) -> AsyncIterator[None]:
    """Let the slow queries wait for a lock as long as the block runs."""
    connection = await asyncpg.connect(running_platform.values["DB_URL"])
    try:
        await connection.execute("select pg_advisory_lock($1)", _KEY)
        yield
    finally:
        await connection.close()


async def running(connection: "asyncpg.Connection[asyncpg.Record]") -> int:
    """Return how many slow queries hold a connection."""
    return int(
        await connection.fetchval(
            "select count(*) from pg_locks where locktype = 'advisory' and objid = $1 and not granted", _KEY
        )
    )


async def test_others_are_answered_while_the_slow_queries_of_one_caller_run(
    running_platform: Platform,
    client: Client,
    database: "asyncpg.Connection[asyncpg.Record]",
    service: dict[str, str],
) -> None:
    anonymous = {"apikey": running_platform.values["ANON_KEY"]}
    async with asyncio.timeout(120):
        async with locked(running_platform):
            slow = [asyncio.ensure_future(ask(client, _CALL, service)) for _ in range(_SLOW)]
            while await running(database) < 8:
                await asyncio.sleep(0.02)
            of_others = [
                await ask(client, path, headers)
                for _ in range(5)
                for headers in (
                    of_user(running_platform, "one"),
                    of_user(running_platform, "other"),
                    anonymous,
                )
                for path in ("/rest/v1/journal?select=id&limit=1", "/graphql/v1?query={__typename}")
            ]
            still_running = await running(database)
        answered = await asyncio.gather(*slow)

    assert {each.status for each in of_others} == {200}
    assert still_running == 8
    statuses = {each.status for each in answered}
    assert 200 in statuses
    assert statuses <= {200, 503}
    for each in answered:
        if each.status == 503:
            assert int(each.headers["retry-after"]) >= 1
            assert json.loads(each.body)["message"]


async def test_sign_in_and_storage_answer_while_the_slow_queries_of_one_caller_run(
    running_platform: Platform,
    client: Client,
    database: "asyncpg.Connection[asyncpg.Record]",
    service: dict[str, str],
) -> None:
    async with asyncio.timeout(120):
        async with locked(running_platform):
            slow = [asyncio.ensure_future(ask(client, _CALL, service)) for _ in range(20)]
            while await running(database) < 8:
                await asyncio.sleep(0.02)
            settings = await ask(client, "/auth/v1/settings", service)
            buckets = await ask(client, "/storage/v1/bucket", of_user(running_platform, "one"))
            own = asyncio.ensure_future(ask(client, "/rest/v1/journal?select=id&limit=1", service))
            another = await ask(
                client, "/rest/v1/journal?select=id&limit=1", of_user(running_platform, "one")
            )
            own_waits = not own.done()
        answered = await asyncio.gather(*slow, own)

    assert [settings.status, buckets.status, another.status] == [200, 200, 200]
    assert own_waits
    assert {each.status for each in answered} == {200}
