"""Clients that cannot name a position join again after a break: with `realtime.replay_window` they miss nothing."""

import asyncio
import json
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from typing import Any

import aiohttp
import pytest

from tests.platform import Platform, platform
from tests.platforms.conftest import token
from tests.platforms.realtime_followers import Follower, Writer, following, kill, published

pytestmark = [pytest.mark.process_group("missed changes"), pytest.mark.timeout(300)]

_PATIENCE_S = 60
_ROWS, _KILLS = 900, 3


class PlainFollower(Follower):
    """A follower that joins again without a position, as supabase-js does."""

    def _take(self, event: str, payload: dict[str, Any]) -> None:
        super()._take(event, payload)
        self.position = ""


class Client:
    """One socket with one channel of row changes."""

    def __init__(self, socket: aiohttp.ClientWebSocketResponse, join: dict[str, Any]) -> None:
        self.socket, self._join = socket, join
        self.ids: list[int] = []

    async def join(self, ref: str = "1") -> None:
        """Join, and wait until the subscription is there; what was missed is sent before."""
        await self.socket.send_json([ref, ref, "realtime:plain", "phx_join", self._join])
        await self._until(lambda event, payload: event == "system" and payload["status"] == "ok")

    async def leave(self, ref: str) -> None:
        await self.socket.send_json(["1", ref, "realtime:plain", "phx_leave", {}])
        await self._until(lambda event, _: event == "phx_close")

    async def until(self, id: int) -> None:
        """Wait for the change of a row."""
        if id not in self.ids:
            await self._until(lambda event, _: event == "postgres_changes" and id in self.ids)

    def break_off(self) -> None:
        """End the connection without a word."""
        connection = self.socket._response.connection
        assert connection is not None
        assert connection.transport is not None
        connection.transport.abort()

    async def _until(self, is_it: Any) -> None:
        async with asyncio.timeout(_PATIENCE_S):
            while True:
                message = await self.socket.receive()
                assert message.type is aiohttp.WSMsgType.TEXT, message
                event, payload = json.loads(message.data)[3:]
                if event == "postgres_changes":
                    self.ids.append(payload["data"]["record"]["id"])
                if is_it(event, payload):
                    return


class Table:
    """A published table, and clients that follow it."""

    def __init__(
        self, running_platform: Platform, writer: Writer, name: str, session: aiohttp.ClientSession
    ) -> None:
        self._place, self._writer, self._session = running_platform, writer, session
        self.name = name
        self._last = 0
        self._observer: Client | None = None

    async def insert(self) -> int:
        """Insert a row and return its id. When this returns, the edge has processed the change: who joins now gets later ones."""
        if self._observer is None:
            self._observer = await self.joined("observer")
        self._last += 1
        assert await self._writer.run(f"insert into public.{self.name} values ($1)", self._last)
        await self._observer.until(self._last)
        return self._last

    async def client(self, user: str = "", table: str = "") -> Client:
        """Open a socket that has not joined yet."""
        running_platform = self._place
        url = f"{running_platform.url}/realtime/v1/websocket?vsn=2.0.0&apikey={running_platform.values['ANON_KEY']}"
        entry = {"event": "INSERT", "schema": "public", "table": table or self.name}
        join: dict[str, Any] = {"config": {"postgres_changes": [entry]}}
        if user:
            join["access_token"] = token(running_platform, sub=user)
        return Client(await self._session.ws_connect(url), join)

    async def joined(self, user: str = "") -> Client:
        client = await self.client(user)
        await client.join()
        return client


@pytest.fixture(scope="module")
def remembering() -> Iterator[Platform]:
    with platform(environment={"HEADWATER_REALTIME_REPLAY_WINDOW": "2m"}) as running_platform:
        yield running_platform


@asynccontextmanager
async def table_of(running_platform: Platform) -> AsyncIterator[Table]:
    writer = Writer(running_platform.values["DB_URL"])
    async with aiohttp.ClientSession() as session:
        try:
            yield Table(running_platform, writer, await published(writer), session)
        finally:
            await writer.close()


async def test_killed_edges_and_broken_connections_cost_a_plain_client_no_change(
    remembering: Platform,
) -> None:
    writer = Writer(remembering.values["DB_URL"])
    table = await published(writer)
    follower = PlainFollower(remembering, {"event": "INSERT", "schema": "public", "table": table})
    async with following(follower):
        breaks = 0
        for number in range(_ROWS):
            if number % (_ROWS // _KILLS) in (100, 200):
                # Only a joined follower has a connection to break: wait until it is back from the last break.
                await follower.until(lambda: follower.joins > breaks, "the follower did not join again")  # noqa: B023
                breaks += 1
                await (
                    follower.hang_up() if number % (_ROWS // _KILLS) == 200 else kill(remembering, "edges")
                )
            assert await writer.run(f"insert into public.{table} values ($1)", number)
        await follower.until(lambda: len(set(follower.ids)) == _ROWS, "changes are missing")
    await writer.close()

    assert follower.joins > 2 * _KILLS
    assert follower.gaps == follower.errors == []
    # Each change comes for the first time in the order of the commits; what comes twice comes in order, too.
    assert list(dict.fromkeys(follower.ids)) == list(range(_ROWS))


async def test_what_was_committed_during_a_break_is_sent_to_its_client_once(remembering: Platform) -> None:
    async with table_of(remembering) as table:
        client = await table.joined("ada")
        client.break_off()
        missed = await table.insert()
        other = await table.joined("bob")
        again = await table.joined("ada")
        second = await table.joined("ada")
        new = await table.insert()
        for each in (other, again, second):
            await each.until(new)

    assert again.ids == [missed, new]
    assert other.ids == second.ids == [new]


async def test_who_left_or_subscribes_to_something_else_is_sent_nothing_old(remembering: Platform) -> None:
    async with table_of(remembering) as table:
        left = await table.joined("ada")
        await left.leave("2")
        closed = await table.joined("bob")
        await closed.socket.close()
        broken = await table.joined("cyd")
        broken.break_off()
        await table.insert()
        await left.join("3")
        bob = await table.joined("bob")
        cyd = await table.client("cyd", table="*")
        await cyd.join()
        new = await table.insert()
        for each in (left, bob, cyd):
            await each.until(new)

    assert left.ids == bob.ids == cyd.ids == [new]


async def test_without_the_setting_a_plain_client_is_sent_what_is_new(running_platform: Platform) -> None:
    async with table_of(running_platform) as table:
        client = await table.joined("ada")
        client.break_off()
        await table.insert()
        again = await table.joined("ada")
        new = await table.insert()
        await again.until(new)

    assert again.ids == [new]


async def test_a_join_while_no_pool_can_be_asked_gets_what_is_new(remembering: Platform) -> None:
    async with table_of(remembering) as table:
        client = await table.client("ada")
        await kill(remembering, "changes")
        await client.join()
        new = await table.insert()
        await client.until(new)

    assert client.ids == [new]
