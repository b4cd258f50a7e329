import asyncio

import asyncpg
import pytest

from tests.workers.database.own_server import OwnServer
from workers.database.errors import DatabaseError, Disconnected
from workers.database.sessions.script import run_script


async def run(server: OwnServer, script: str, **options: object) -> str:
    return await run_script(server.url, script, role="tester", name="test", **options)  # type: ignore[arg-type]  # named by the test


async def test_the_tag_of_the_last_command_is_the_result(server: OwnServer):
    assert await run(server, "select 1; select generate_series(1, 3)") == "SELECT 3"
    assert await run(server, "") == ""


async def test_the_session_begins_as_the_role_and_stays_in_it(server: OwnServer):
    connection = await asyncpg.connect(server.url)
    await connection.execute("create role singer")
    script = "reset role; do $$ begin if current_user <> 'singer' then raise 'it is %', current_user; end if; end $$"
    try:
        assert await run_script(server.url, script, role="singer", name="test") == "DO"
    finally:
        await connection.execute("drop role singer")
        await connection.close()


async def test_settings_are_set_where_they_may_be(server: OwnServer):
    script = "do $$ begin if current_setting('search_path') <> 'a, b' then raise 'no'; end if; end $$"
    settings = [("no.such", "x"), ("search_path", "a, b"), ("block_size", "1"), ("nonsense", "1")]

    assert await run(server, script, settings=settings) == "DO"


async def test_a_failure_of_a_command_undoes_all(server: OwnServer):
    with pytest.raises(DatabaseError) as caught:
        await run(server, "create table undone (); select 1/0")

    assert caught.value.code == "22012"
    with pytest.raises(DatabaseError, match="does not exist"):
        await run(server, "select from undone")


async def test_a_script_that_is_out_of_time_is_stopped(server: OwnServer):
    pids: list[int] = []

    async def note(pid: int) -> None:
        pids.append(pid)

    with pytest.raises(TimeoutError):
        await run(server, "select pg_sleep(100)", timeout_s=0.2, on_start=note)

    await gone(server, pids[0])


async def test_a_script_whose_caller_goes_away_is_stopped(server: OwnServer):
    started: asyncio.Future[int] = asyncio.get_running_loop().create_future()

    async def note(pid: int) -> None:
        started.set_result(pid)

    task = asyncio.create_task(run(server, "select pg_sleep(100)", on_start=note))
    pid = await started
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task

    await gone(server, pid)


async def test_a_session_that_is_ended_is_a_lost_connection(server: OwnServer):
    with pytest.raises((Disconnected, DatabaseError)):
        await run(server, "select pg_terminate_backend(pg_backend_pid()), pg_sleep(100)")


async def test_who_is_not_let_in_learns_the_code(server: OwnServer):
    with pytest.raises(Disconnected) as caught:
        await run_script(
            server.url.replace("tester:tester", "tester:wrong"), "select 1", role="tester", name="test"
        )

    assert caught.value.code == "28P01"


async def gone(server: OwnServer, pid: int) -> None:
    connection = await asyncpg.connect(server.url)
    async with asyncio.timeout(60):
        while await connection.fetchval("select count(*) from pg_stat_activity where pid = $1", pid):
            await asyncio.sleep(0.02)
    await connection.close()
