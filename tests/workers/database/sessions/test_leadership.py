import asyncio

import pytest

from tests.workers.database.own_server import OwnServer
from workers.database.errors import DatabaseError, Disconnected
from workers.database.sessions.leadership import Leadership, LeadershipLost, lead

LOCK = (7, 7)


def never() -> None:
    raise AssertionError


async def test_one_leads_and_the_other_follows_when_it_ends(server: OwnServer):
    order: list[str] = []
    may_end, waits = asyncio.Event(), asyncio.Event()

    async def first(leadership: Leadership) -> None:
        order.append("first")
        await may_end.wait()
        order.append("first ends")

    async def second(leadership: Leadership) -> None:
        order.append("second")

    one = asyncio.create_task(lead(server.url, LOCK, first, never, name="one"))
    while not order:
        await asyncio.sleep(0.01)
    two = asyncio.create_task(lead(server.url, LOCK, second, waits.set, name="two"))
    await waits.wait()
    may_end.set()
    await asyncio.gather(one, two)

    assert order == ["first", "first ends", "second"]


async def test_different_locks_have_different_leaders(server: OwnServer):
    async def outer(_: Leadership) -> None:
        await lead(server.url, (7, 8), inner, never, name="inner")

    async def inner(_: Leadership) -> None:
        seen.append("inner")

    seen: list[str] = []
    await lead(server.url, LOCK, outer, never, name="outer")

    assert seen == ["inner"]


async def test_work_ends_when_the_session_is_ended(server: OwnServer):
    async def work(leadership: Leadership) -> None:
        pid = (await leadership.ask("select pg_backend_pid()"))[0][0]
        await leadership.work(asyncio.Event().wait, lambda: end(pid))  # type: ignore[arg-type]  # its result is not read

    async def end(pid: int) -> None:
        await lead(server.url, (7, 9), lambda other: kill(other, pid), never, name="killer")
        await asyncio.Event().wait()

    async def kill(other: Leadership, pid: int) -> None:
        await other.ask("select pg_terminate_backend($1)", pid)

    with pytest.raises(LeadershipLost):
        await lead(server.url, LOCK, work, never, name="work")


async def test_an_error_of_the_server_keeps_its_code_and_the_lead(server: OwnServer):
    async def work(leadership: Leadership) -> None:
        with pytest.raises(DatabaseError) as caught:
            await leadership.ask("select 1/0")
        assert (caught.value.code, caught.value.message) == ("22012", "division by zero")
        assert (await leadership.ask("select $1::int", 5))[0][0] == 5

    await lead(server.url, LOCK, work, never, name="work")


async def test_notices_are_heard(server: OwnServer):
    heard = asyncio.Event()

    async def work(leadership: Leadership) -> None:
        await leadership.listen("news", heard.set)
        await leadership.ask("select pg_notify('news', '')")
        await asyncio.wait_for(heard.wait(), 60)

    await lead(server.url, LOCK, work, never, name="work")

    assert heard.is_set()


async def test_who_is_not_let_in_learns_the_code(server: OwnServer):
    with pytest.raises(Disconnected) as caught:
        await lead(server.url.replace("tester:tester", "tester:wrong"), LOCK, never_led, never, name="x")

    assert caught.value.code == "28P01"


async def test_where_no_server_is_there_is_no_connection():
    with pytest.raises(Disconnected):
        await lead("postgresql://a:b@127.0.0.1:1/x", LOCK, never_led, never, name="x")


async def never_led(_: Leadership) -> None:
    raise AssertionError
