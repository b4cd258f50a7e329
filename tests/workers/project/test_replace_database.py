"""A replacement of a database that is killed before each statement it sends: the old one or the new one is there, whole."""

import asyncio
import contextlib
import uuid

import asyncpg
import pytest

from services.supervisor.project.work import with_recovery
from tests.workers.database.server import Server, connected
from tests.workers.project.conftest import value
from tests.workers.project.killing import die, kill_before_statement, run_until_killed
from workers.database.sessions.throwaway_logins import login_as
from workers.project.errors import ProjectRejected
from workers.project.project_connection import in_database, open_as_superuser
from workers.project.replace_database import (
    names_beside,
    recover,
    replace_beside,
    replace_in_place,
    run_recover,
)

_MOST_STATEMENTS = 60
_CONTENT = "select text from content"


@pytest.fixture
def target(project_server: Server):
    """The URL of a database with a row that says that it is the old one; a login may connect to it."""
    name = f"target_{uuid.uuid4().hex[:8]}"
    url = project_server.url(database=name)

    async def make() -> None:
        async with connected(project_server.url()) as connection:
            await connection.execute(f"create database {name}")
        await value(url, "create table content as select 'old'::text as text")

    async def drop() -> None:
        async with connected(project_server.url()) as connection:
            await connection.execute(f"drop database if exists {name} with (force)")

    asyncio.run(make())
    yield url
    asyncio.run(drop())


async def _fill(url: str) -> None:
    async with open_as_superuser(url) as superuser:
        await superuser.execute(
            "create table public.content (text text); insert into public.content values ('new')"
        )


async def _replace(url: str, way: str, told: list[str] | None = None) -> None:
    tell = (told if told is not None else []).append
    if way == "beside":
        await replace_beside(url, _fill, tell)
    else:
        await replace_in_place(url, lambda: _fill(url), tell)


async def _left(url: str) -> list[str]:
    names = names_beside(url.rpartition("/")[2])
    async with connected(in_database(url, "template1")) as connection:
        rows = await connection.fetch(
            "select datname::text from pg_database where datname = any($1) order by 1", names.all[1:]
        )
        return [row[0] for row in rows]


@pytest.mark.parametrize("way", ["beside", "in place"])
def test_a_kill_before_any_statement_leaves_the_old_or_the_new_database(target: str, way: str) -> None:
    seen = []
    for number in range(1, _MOST_STATEMENTS):
        killed = run_until_killed(lambda: _replace(target, way), kill_before_statement(number))
        if way == "beside":  # a platform that goes on running needs no start
            assert asyncio.run(value(target, _CONTENT)) in ("old", "new")

        run_recover({"HEADWATER_MIGRATE_URL": target})

        seen.append(asyncio.run(value(target, "select string_agg(text, ',') from content")))
        assert asyncio.run(_left(target)) == [], number
        if not killed:
            break
        if seen[-1] == "new":
            asyncio.run(value(target, "update content set text = 'old'"))
    assert not killed
    assert set(seen) == {"old", "new"}
    assert seen == sorted(seen, reverse=True), "an old one came back after the exchange"
    assert len(seen) > 15


def test_the_command_puts_the_old_database_back_when_its_worker_was_killed(
    target: str, capfd: pytest.CaptureFixture[str]
) -> None:
    async def fill() -> None:
        await _fill(target)
        die()

    async def work() -> None:
        await replace_in_place(target, fill, lambda _: None)

    assert run_until_killed(work, lambda: None)
    assert asyncio.run(value(target, _CONTENT)) == "new"

    assert with_recovery(-9, {"HEADWATER_MIGRATE_URL": target}) == 1

    assert asyncio.run(value(target, _CONTENT)) == "old"
    assert asyncio.run(_left(target)) == []
    assert "signal 9" in capfd.readouterr().err
    assert with_recovery(2, {}) == 2


async def test_a_replacement_is_left_alone_while_its_process_lives(links, project_server: Server) -> None:
    begun, goes_on = asyncio.Event(), asyncio.Event()

    async def fill(url: str) -> None:
        await _fill(url)
        begun.set()
        await goes_on.wait()

    replacing = asyncio.create_task(replace_beside(links.owner, fill, lambda _: None))
    await begun.wait()
    try:
        waiting = asyncio.create_task(recover(links.owner))
        await asyncio.sleep(0)
        assert await _left(links.owner) == [names_beside(links.owner.rpartition("/")[2]).next]
    finally:
        goes_on.set()
    await replacing
    await waiting
    assert await value(links.owner, _CONTENT) == "new"


async def test_two_replacements_at_once_are_refused(links, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("workers.project.replace_database._LOCK_S", 0.0)

    async def fill(url: str) -> None:
        with pytest.raises(ProjectRejected, match="under way"):
            await replace_beside(links.owner, _fill, lambda _: None)
        assert await recover(links.owner) is False
        await _fill(url)

    await replace_beside(links.owner, fill, lambda _: None)

    assert await value(links.owner, _CONTENT) == "new"


@pytest.mark.parametrize("way", ["beside", "in place"])
async def test_sessions_that_keep_coming_do_not_hinder(links, way: str) -> None:
    """Pools connect again at once, and superusers are kept out by nothing but the lock of the rename."""
    ended = asyncio.Event()

    async def come_again() -> None:
        while not ended.is_set():
            with contextlib.suppress(asyncpg.PostgresError, asyncpg.InterfaceError, OSError):
                async with connected(links.owner) as connection:
                    await connection.execute("select pg_sleep(5)")

    coming = [asyncio.create_task(come_again()) for _ in range(4)]
    await _replace(links.owner, way)
    ended.set()
    for task in coming:
        task.cancel()
    await asyncio.gather(*coming, return_exceptions=True)
    assert await value(links.owner, _CONTENT) == "new"


async def test_a_failure_while_filling_leaves_the_old_database_in_use(links) -> None:
    await value(links.owner, "create table content as select 'old' as text")

    async def fill(url: str) -> None:
        await _fill(url)
        assert await value(links.owner, _CONTENT) == "old"
        raise ValueError("a damaged backup")

    with pytest.raises(ValueError, match="damaged"):
        await replace_beside(links.owner, fill, lambda _: None)

    assert await value(links.owner, _CONTENT) == "old"
    assert await _left(links.owner) == []


async def test_rights_of_everybody_are_those_of_the_old_database(links, project_server: Server) -> None:
    name = links.owner.rpartition("/")[2]
    await value(links.owner, f"revoke connect, temporary on database {name} from public")

    await replace_beside(links.owner, _fill, lambda _: None)

    assert (
        await value(links.owner, "select has_database_privilege('public', current_database(), 'connect')")
        is False
    )


async def test_logins_of_a_database_that_is_gone_are_dropped(links, project_server: Server) -> None:
    async with open_as_superuser(links.owner) as superuser:
        async with login_as(superuser, links.owner, "postgres"):
            await superuser.execute("create role headwater_login_4000000000_00112233aabbccdd login")
            await superuser.execute("create role headwater_login_kept")

            await recover(links.owner)

            rows = await superuser.fetch(
                "select rolname::pg_catalog.text from pg_catalog.pg_roles where rolname like 'headwater_login_%'"
            )
        await superuser.execute("drop role headwater_login_kept")
    names = [row[0] for row in rows]
    assert "headwater_login_4000000000_00112233aabbccdd" not in names
    assert "headwater_login_kept" in names
    assert len(names) == 2, "the login that is in use is left alone"


def test_databases_of_one_server_have_names_of_their_own() -> None:
    assert names_beside("postgres").next == "headwater_next"
    assert not {*names_beside("a").all} & {*names_beside("b").all}
    assert all(len(name) < 64 for name in names_beside("x" * 63).all)
