"""The official Python client (version 1.0.0 of the protocol) on the realtime interface of a running platform."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any
from uuid import uuid4

import pytest
from realtime import AsyncRealtimeChannel, AsyncRealtimeClient, RealtimeSubscribeStates

from tests.platform import Platform

PATIENCE_S = 60

pytestmark = [pytest.mark.process_group("clients"), pytest.mark.timeout(120)]


@asynccontextmanager
async def connected(platform: Platform, key: str = "ANON_KEY") -> AsyncIterator[AsyncRealtimeClient]:
    client = AsyncRealtimeClient(f"{platform.url}/realtime/v1", platform.values[key], auto_reconnect=False)
    await client.connect()
    try:
        yield client
    finally:
        await client.close()


async def subscribed(channel: AsyncRealtimeChannel) -> AsyncRealtimeChannel:
    state: asyncio.Future[RealtimeSubscribeStates] = asyncio.get_running_loop().create_future()
    await channel.subscribe(lambda status, _: None if state.done() else state.set_result(status))
    assert await asyncio.wait_for(state, PATIENCE_S) is RealtimeSubscribeStates.SUBSCRIBED
    return channel


async def until(check: Callable[[], Any]) -> None:
    async with asyncio.timeout(PATIENCE_S):
        while not check():
            await asyncio.sleep(0.01)


async def test_broadcast_reaches_the_others(client_platform: Platform) -> None:
    name, heard = str(uuid4()), []
    async with connected(client_platform) as ada, connected(client_platform, "PUBLISHABLE_KEY") as bob:
        other = bob.channel(name)
        other.on_broadcast("move", heard.append)
        await subscribed(other)
        sender = await subscribed(ada.channel(name))

        await sender.send_broadcast("move", {"x": 1})
        await until(lambda: heard)

    assert heard[0]["payload"] == {"x": 1}


async def test_presence_is_seen_by_the_others(client_platform: Platform) -> None:
    name = str(uuid4())
    async with connected(client_platform) as ada, connected(client_platform) as bob:
        channels = []
        for client, key in ((ada, "ada"), (bob, "bob")):
            channel = client.channel(name, {"config": {"presence": {"key": key, "enabled": True}}})
            channel.on_presence_sync(lambda: None)
            channels.append(await subscribed(channel))
            await channels[-1].track({"who": key})
        for channel in channels:
            await until(lambda channel=channel: set(channel.presence_state()) == {"ada", "bob"})
        await channels[0].untrack()

        await until(lambda: set(channels[1].presence_state()) == {"bob"})
