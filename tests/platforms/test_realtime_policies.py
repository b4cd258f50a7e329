"""Two people and nobody watch a table whose policies change under load: no row reaches who may not read it.

A schedule is drawn at random: rows, and changes of who may read them. Each row is written under known rules, and the next
rules come only when somebody who may read everything has it; so for every row and every watcher it is certain whether it
comes. Other tables are written meanwhile.
"""

import asyncio
import random
import uuid
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass
from typing import Any

import asyncpg
import pytest

from tests.platform import Platform
from tests.platforms.conftest import token
from tests.platforms.realtime_followers import Follower, Writer, following, published

pytestmark = [pytest.mark.process_group("running_platform"), pytest.mark.timeout(240)]

_ADA, _BOB = str(uuid.uuid4()), str(uuid.uuid4())
_EPOCHS = 40


@dataclass(frozen=True)
class Rules:
    """A state of the table's rights: the SQL that brings it about, and who may read a row then."""

    sql: str
    may_read: Callable[[str, str], bool]
    """(who, owner of the row)"""


_RULES = (
    Rules("owner = auth.uid()", lambda who, owner: who == owner),
    Rules("owner = (select auth.uid()) and length(body) > 0", lambda who, owner: who == owner),
    Rules(f"owner <> '{_ADA}'", lambda who, owner: who in (_ADA, _BOB) and owner != _ADA),
    Rules("(auth.jwt() ->> 'team') = 'red'", lambda who, owner: who == _ADA),
    Rules("exists (select from teams where person = auth.uid())", lambda who, owner: who == _BOB),
    Rules("true", lambda who, owner: who in (_ADA, _BOB)),
    Rules("false", lambda who, owner: False),
)


@pytest.fixture
async def writer(running_platform: Platform) -> AsyncIterator[Writer]:
    """Somebody who writes."""
    one = Writer(running_platform.values["DB_URL"])
    yield one
    await one.close()


async def _noise(url: str, table: str) -> None:
    """Write to another table, as fast as it goes."""
    connection = await asyncpg.connect(url)
    try:
        for number in range(1_000_000):
            await connection.execute(f"insert into {table} values ($1, $2, 'noise')", number, _ADA)
            await asyncio.sleep(0.002)
    finally:
        connection.terminate()


async def test_no_row_reaches_who_may_not_read_it_while_policies_change(
    running_platform: Platform, writer: Writer
) -> None:
    await writer.run(
        "create table if not exists teams (person uuid primary key); grant select on teams to authenticated"
    )
    await writer.run("alter table teams disable row level security; truncate teams")
    await writer.run("insert into teams values ($1)", _BOB)
    table, other = (
        await published(writer, policy="true"),
        await published(writer, policy="owner = auth.uid()"),
    )
    entry: dict[str, Any] = {"event": "*", "schema": "public", "table": table}
    server = Follower(running_platform, entry, running_platform.values["SERVICE_ROLE_KEY"])
    watchers = {
        _ADA: Follower(running_platform, entry, token(running_platform, sub=_ADA, team="red")),
        _BOB: Follower(running_platform, entry, token(running_platform, sub=_BOB, team="blue")),
        "nobody": Follower(running_platform, entry),
    }
    noisy = Follower(running_platform, {**entry, "table": other}, token(running_platform, sub=_ADA))
    await writer.run(f"grant select on {table} to service_role")
    expected: dict[str, list[int]] = {who: [] for who in watchers}
    number = 0

    async with following(server, *watchers.values(), noisy):
        noise = asyncio.ensure_future(_noise(running_platform.values["DB_URL"], other))
        for _ in range(_EPOCHS):
            rules = random.choice(_RULES)
            assert await writer.run(f"alter policy p on {table} using ({rules.sql})")
            for _ in range(random.randrange(1, 8)):
                owner = random.choice((_ADA, _BOB, str(uuid.uuid4())))
                assert await writer.run(f"insert into {table} values ($1, $2, 'b')", number, owner)
                for who in watchers:
                    if rules.may_read(who, owner):
                        expected[who].append(number)
                number += 1
            await server.until(lambda: len(server.changes) == number, "the server did not get all")  # noqa: B023 - awaited here
        assert await writer.run(f"alter policy p on {table} to authenticated, anon using (true)")
        assert await writer.run(f"insert into {table} values ($1)", number)
        for who, watcher in watchers.items():
            await watcher.until(lambda w=watcher: w.ids[-1:] == [number], f"the last did not come to {who}")  # type: ignore[misc]  # bound now
        noise.cancel()
        await asyncio.gather(noise, return_exceptions=True)

    assert {who: watcher.ids[:-1] for who, watcher in watchers.items()} == expected
    assert noisy.ids == list(range(len(noisy.ids)))
    assert noisy.ids
    assert not any(watcher.gaps or watcher.errors for watcher in watchers.values())


async def test_rights_on_columns_hold_from_the_moment_they_change(
    running_platform: Platform, writer: Writer
) -> None:
    table = await published(writer)
    follower = Follower(running_platform, {"event": "INSERT", "schema": "public", "table": table})

    async with following(follower):
        for number in range(40):
            if number % 10 == 5:
                assert await writer.run(
                    f"revoke select on {table} from anon; grant select (id) on {table} to anon"
                )
            elif number and number % 10 == 0:
                assert await writer.run(f"grant select on {table} to anon")
            assert await writer.run(f"insert into {table} values ($1, null, 'secret')", number)
            await follower.until(lambda: len(follower.changes) == number + 1, "a change did not come")  # noqa: B023 - awaited here

    assert [number for number in range(40) if "body" in follower.changes[number]["record"]] == [
        number for number in range(40) if number % 10 < 5
    ]
