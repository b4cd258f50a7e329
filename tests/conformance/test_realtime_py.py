"""The Python client on the realtime interface of a running platform: rooms, presence, row changes, private channels."""

import asyncio
import time
import uuid
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import Any

import httpx
import jwt
import pytest
from realtime import AsyncRealtimeChannel
from supabase import AsyncClient, AsyncClientOptions, acreate_client

from tests.platform import Platform

HERE = Path(__file__).parent
WRITER, READER, EXCLUDED = (f"00000000-0000-0000-0000-00000000000{last}" for last in "abc")
PATIENCE_S = 15

pytestmark = [pytest.mark.process_group("clients"), pytest.mark.timeout(120)]
Connect = Callable[..., Awaitable[AsyncClient]]


@pytest.fixture(scope="module")
def tables(client_platform: Platform) -> Platform:
    """The platform with the tables and rooms of these tests."""
    for name in ("realtime_schema.sql", "realtime_changes.sql"):
        done = client_platform.command("psql", "-v", "ON_ERROR_STOP=1", "-qf", str(HERE / name))
        assert done.returncode == 0, done.stderr
    client_platform.wait_for_catalog("ticker")
    return client_platform


@pytest.fixture
async def connect(tables: Platform) -> AsyncIterator[Connect]:
    """Make clients of a person, of nobody, or of a trusted server, whose sockets end with the test."""
    made: list[AsyncClient] = []
    http = httpx.AsyncClient()

    async def one(user: str | None = None, *, key: str = "ANON_KEY") -> AsyncClient:
        options = AsyncClientOptions(httpx_client=http, auto_refresh_token=False)
        client = await acreate_client(tables.url, tables.values[key], options)
        made.append(client)
        if user is not None:
            claims = {"role": "authenticated", "sub": user, "exp": int(time.time()) + 3600}
            await client.realtime.set_auth(jwt.encode(claims, tables.values["JWT_SECRET"], "HS256"))
        return client

    yield one
    for client in made:
        await client.remove_all_channels()
        await client.realtime.close()
    await http.aclose()


class CallbackArguments(list[Any]):
    """What a callback was called with."""

    def __call__(self, *given: Any) -> None:
        self.append(given[0] if len(given) == 1 else given)

    def __bool__(self) -> bool:
        return True  # the client asks whether there is a callback

    async def has(self, count: int) -> None:
        """Wait until it was called so often."""
        async with asyncio.timeout(PATIENCE_S):
            while len(self) < count:
                await asyncio.sleep(0.02)


async def joined(channel: AsyncRealtimeChannel) -> list[str]:
    """Subscribe; give the states that were told, until one is final."""
    states = CallbackArguments()
    await channel.subscribe(lambda state, error: states((state.value, error)))
    await states.has(1)
    return [state for state, _ in states]


async def live(channel: AsyncRealtimeChannel) -> None:
    """Subscribe to row changes, and wait until none is missed."""
    told = CallbackArguments()
    channel.on_system(told)
    assert await joined(channel) == ["SUBSCRIBED"]
    await told.has(1)


async def test_a_broadcast_reaches_the_others(connect: Connect) -> None:
    name, heard, own = str(uuid.uuid4()), CallbackArguments(), CallbackArguments()
    sender = (await connect()).channel(name)
    other = (await connect(key="PUBLISHABLE_KEY")).channel(name)
    sender.on_broadcast("move", own)
    other.on_broadcast("move", heard)
    assert [await joined(each) for each in (sender, other)] == [["SUBSCRIBED"]] * 2

    await sender.send_broadcast("move", {"x": 1, "s": "ü"})
    await heard.has(1)

    assert heard[0]["payload"] == {"x": 1, "s": "ü"}
    assert own == []


async def test_one_hears_oneself_where_one_wants_to(connect: Connect) -> None:
    heard = CallbackArguments()
    channel = (await connect()).channel(
        str(uuid.uuid4()), {"config": {"broadcast": {"ack": True, "self": True}}}
    )
    channel.on_broadcast("e", heard)
    await joined(channel)

    await channel.send_broadcast("e", {"n": 1})
    await heard.has(1)

    assert heard[0]["payload"] == {"n": 1}


async def test_presence_of_three(connect: Connect) -> None:
    name, keys, leaves = str(uuid.uuid4()), ["ada", "bob", "cyn"], CallbackArguments()
    channels = []
    for key in keys:
        channel = (await connect()).channel(name, {"config": {"presence": {"key": key, "enabled": True}}})
        channel.on_presence_sync(CallbackArguments())
        if key == "ada":
            channel.on_presence_leave(leaves)
        await joined(channel)
        channels.append(channel)

    for place, channel in enumerate(channels):
        await channel.track({"at": place})
    async with asyncio.timeout(PATIENCE_S):
        while any(len(channel.presence_state()) < 3 for channel in channels):
            await asyncio.sleep(0.02)
    await channels[1].untrack()
    await leaves.has(1)

    assert sorted(channels[0].presence_state()) == ["ada", "cyn"]
    assert leaves[0][0] == "bob"


async def test_a_private_channel_lets_members_in(connect: Connect) -> None:
    heard, event = CallbackArguments(), str(uuid.uuid4())
    writer, reader, excluded = [
        (await connect(user)).channel("club", {"config": {"private": True}})
        for user in (WRITER, READER, EXCLUDED)
    ]
    reader.on_broadcast(event, heard)

    assert [await joined(each) for each in (writer, reader)] == [["SUBSCRIBED"]] * 2
    assert await joined(excluded) == ["CHANNEL_ERROR"]
    await reader.send_broadcast(event, {"n": 0})
    await writer.send_broadcast(event, {"n": 1})
    await heard.has(1)
    assert heard[0]["payload"] == {"n": 1}


async def test_row_changes_of_all_kinds(connect: Connect) -> None:
    batch, server = str(uuid.uuid4()), await connect(key="SERVICE_ROLE_KEY")
    every, big, gone = CallbackArguments(), CallbackArguments(), CallbackArguments()
    channel = (await connect()).channel(str(uuid.uuid4()))
    channel.on_postgres_changes("*", every, table="readings_live", schema="public")
    channel.on_postgres_changes("INSERT", big, "readings_live", "public", f"batch=eq.{batch},num=gte.10")
    channel.on_postgres_changes("DELETE", gone, table="readings_live", schema="public")
    await live(channel)

    made = await server.table("readings_live").insert([{"batch": batch, "num": n} for n in (1, 10)]).execute()
    ids = [row["id"] for row in made.data]
    await server.table("readings_live").update({"ok": True}).eq("id", ids[0]).execute()
    await server.table("readings_live").delete().in_("id", ids).execute()
    await gone.has(2)

    data = [each["data"] for each in every]
    assert [each["type"] for each in data] == ["INSERT", "INSERT", "UPDATE", "DELETE", "DELETE"]
    assert [each["data"]["record"]["num"] for each in big] == [10]
    assert data[2]["record"]["ok"] is True
    assert [each["data"]["old_record"]["id"] for each in gone] == ids


async def test_two_people_get_their_own_rows(connect: Connect) -> None:
    server, body = await connect(key="SERVICE_ROLE_KEY"), str(uuid.uuid4())
    heard = {user: CallbackArguments() for user in (WRITER, READER)}
    for user, told in heard.items():
        channel = (await connect(user)).channel(str(uuid.uuid4()))
        channel.on_postgres_changes("INSERT", told, table="ticker", schema="public")
        await live(channel)

    owners = [WRITER, READER, EXCLUDED, READER]
    await server.table("ticker").insert([{"owner": owner, "body": body} for owner in owners]).execute()
    await heard[READER].has(2)
    await heard[WRITER].has(1)

    for user, told in heard.items():
        assert {each["data"]["record"]["owner"] for each in told} == {user}


async def test_an_entry_that_is_refused_is_told(connect: Connect) -> None:
    states = CallbackArguments()
    channel = (await connect()).channel(str(uuid.uuid4()))
    channel.on_postgres_changes("*", CallbackArguments(), table="no_such_table", schema="public")

    await channel.subscribe(states)
    await states.has(2)  # this client takes the message for an error of the channel

    assert [state.value for state, _ in states[:2]] == ["SUBSCRIBED", "CHANNEL_ERROR"]
    assert "no_such_table" in str(states[1][1])


async def test_a_removed_channel_hears_nothing(connect: Connect) -> None:
    name, heard = str(uuid.uuid4()), CallbackArguments()
    client = await connect()
    channel, sender = client.channel(name), (await connect()).channel(name)
    later = (await connect()).channel(name)
    channel.on_broadcast("e", heard)
    still = CallbackArguments()
    later.on_broadcast("e", still)
    for each in (channel, sender, later):
        await joined(each)

    await sender.send_broadcast("e", {"n": 1})
    await heard.has(1)
    await client.remove_channel(channel)
    await sender.send_broadcast("e", {"n": 2})
    await still.has(2)

    assert [each["payload"]["n"] for each in heard] == [1]
