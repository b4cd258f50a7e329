"""An upgrade with pending migrations that is killed: the next one continues, and the database is what a new one is.

The killed processes die before a statement whose number comes from a seed, so between any two statements: inside of a part,
between two parts, between the last part and its row in the history. Another test kills the server, which loses commits that
were not on the disk yet.
"""

import asyncio
import os
import random

import pytest

from schemas.settings.tree import Settings
from tests.workers.database.migrations.test_upgrade import _MADE
from tests.workers.database.own_server import own_server
from tests.workers.database.released import apply_released
from tests.workers.database.server import Server, connected, temporary_server
from tests.workers.project.killing import kill_before_statement, run_until_killed
from workers.database.migrations.migrate import migrate, read_migrations
from workers.database.migrations.upgrade import upgrade
from workers.project.replace_database import recover

pytestmark = [pytest.mark.process_group("upgrade killed"), pytest.mark.timeout(300)]

SEED = int(os.environ.get("FAULTS_SEED", "1"))
_KILLS = 40 if os.environ.get("FAULTS_LONG") else 6
_CRASHES = 5 if os.environ.get("FAULTS_LONG") else 1
_STATEMENTS_A_RUN = 45
"""A run that dies before one of so many statements applies some of the pending migrations."""
_COUNT = "select count(*) from headwater.migrations"
_LOGINS = "select count(*) from pg_roles where rolname like 'headwater_login_%'"


async def _made(url: str) -> dict[tuple[str, str], str]:
    async with connected(url) as connection:
        return {(row[0], row[1]): row[2] for row in await connection.fetch(_MADE)}


async def _value(url: str, sql: str) -> int:
    async with connected(url) as connection:
        return int(await connection.fetchval(sql))


async def _prepare(server: Server) -> dict[tuple[str, str], str]:
    """Make a database of the release before, and a new one to compare with; return what the new one has."""
    async with connected(server.url()) as connection:
        for name in ("killed", "whole"):
            await connection.execute(f"create database {name}")
    await apply_released(server.url(database="killed"))
    await migrate(server.url(database="whole"), Settings())
    return await _made(server.url(database="whole"))


def test_an_upgrade_that_is_killed_again_and_again_is_finished_by_the_next_one() -> None:
    chosen = random.Random(SEED)
    with temporary_server() as server:
        whole = asyncio.run(_prepare(server))
        url = server.url(database="killed")
        progress = [asyncio.run(_value(url, _COUNT))]
        for number in (chosen.randrange(8, _STATEMENTS_A_RUN) for _ in range(_KILLS)):
            if not run_until_killed(lambda: upgrade(url, Settings()), kill_before_statement(number)):
                break
            progress.append(asyncio.run(_value(url, _COUNT)))
        assert progress == sorted(progress)
        assert progress[-1] > progress[0], "no run came to a migration: the test tries nothing"

        done = asyncio.run(upgrade(url, Settings()))
        asyncio.run(recover(url))

        assert progress[-1] + len(done.migrations) == len(read_migrations())
        assert asyncio.run(upgrade(url, Settings())).migrations == []
        asyncio.run(migrate(url, Settings()))  # as the next start does, which also updates extensions
        assert asyncio.run(_made(url)) == whole
        assert asyncio.run(_value(url, _LOGINS)) == 0


async def test_a_server_that_crashes_during_the_first_migrations_is_brought_up_by_the_next_run() -> None:
    """Parts of migrations commit without waiting for the disk: a crash takes the last of them, together with their rows."""
    chosen = random.Random(SEED)
    async with own_server(wal_level="logical", max_connections="50") as server:
        for at in sorted(chosen.sample(range(5, len(read_migrations()) - 5), _CRASHES)):
            running = asyncio.create_task(migrate(server.url, Settings()))
            while not running.done() and await _count_if_there(server.url) < at:
                await asyncio.sleep(0)
            server.stop()
            assert isinstance((await asyncio.gather(running, return_exceptions=True))[0], Exception)
            await server.start()
            assert await _count_if_there(server.url) < len(read_migrations())

        await migrate(server.url, Settings())

        assert await _count_if_there(server.url) == len(read_migrations())
        killed = await _made(server.url)
        async with connected(server.url) as connection:
            await connection.execute("create database whole")
        whole_url = server.url.replace("/postgres", "/whole")
        await migrate(whole_url, Settings())
        assert killed == await _made(whole_url)
        assert await _value(server.url, _LOGINS) == 0


async def _count_if_there(url: str) -> int:
    async with connected(url) as connection:
        if await connection.fetchval("select to_regclass('headwater.migrations') is null"):
            return 0
        return int(await connection.fetchval(_COUNT))
