"""Presence of clients, within one edge and between edges, over a real broker."""

import asyncio
import contextlib
import os
import signal
import subprocess
import sys
import time
from collections.abc import AsyncIterator

import aiohttp

from tests.broker.server import NatsServer, free_port, running_server
from tests.services.realtime.edges import KEYS, Client, RealtimeEdges, fresh, running_edge

ON = {"presence": {"enabled": True}}


def config(key: str) -> dict[str, object]:
    return {"presence": {"enabled": True, "key": key}}


async def test_state_comes_after_the_join_and_first_track_has_only_joins(
    realtime_edges: RealtimeEdges,
) -> None:
    room = fresh()
    async with realtime_edges.client() as ada, realtime_edges.client("1.0.0") as bob:
        await ada.joined(room, config("ada"))
        empty = await ada.next()
        answer = await ada.track(room, {"at": 1})
        diff = await ada.until("presence_diff")
        await bob.joined(room, config("bob"))
        state = await bob.until("presence_state")

    assert (empty.event, empty.payload, empty.join_ref) == ("presence_state", {}, "1")
    assert answer == {"status": "ok", "response": {}}
    assert diff.payload["leaves"] == {}
    (meta,) = diff.payload["joins"]["ada"]["metas"]
    assert (meta["at"], diff.join_ref) == (1, None)
    assert state.payload == {"ada": {"metas": [meta]}}


async def test_second_track_replaces_the_first_and_the_same_one_changes_nothing(
    realtime_edges: RealtimeEdges,
) -> None:
    room = fresh()
    async with realtime_edges.client() as ada:
        await ada.joined(room, config("ada"))
        await ada.track(room, {"at": 1})
        first = (await ada.until("presence_diff")).payload["joins"]["ada"]["metas"][0]
        await ada.track(room, {"at": 1}, event="TRACK")
        await ada.track(room, {"at": 2})
        second = (await ada.until("presence_diff")).payload
        await ada.track(room, {}, event="untrack")
        third = (await ada.until("presence_diff")).payload

    new = second["joins"]["ada"]["metas"][0]
    assert (new["at"], new["phx_ref_prev"]) == (2, first["phx_ref"])
    assert second["leaves"] == {"ada": {"metas": [first]}}
    assert third["joins"] == {}
    assert third["leaves"]["ada"]["metas"][0]["phx_ref"] == new["phx_ref"]


async def test_what_is_no_object_cannot_be_tracked(realtime_edges: RealtimeEdges) -> None:
    room = fresh()
    async with realtime_edges.client() as ada:
        await ada.joined(room, ON)

        answer = await ada.track(room, [1])

    assert answer == {"status": "error", "response": {"reason": "Presence track payload must be a map"}}


async def test_track_switches_presence_on(realtime_edges: RealtimeEdges) -> None:
    room = fresh()
    async with realtime_edges.client() as ada:
        await ada.joined(room)
        assert await ada.heartbeat() == []
        await ada.track(room, {})

        assert (await ada.until("presence_state")).payload == {}
        assert (await ada.until("presence_diff")).payload["leaves"] == {}


async def test_two_sockets_with_one_key_are_two_metas(realtime_edges: RealtimeEdges) -> None:
    room = fresh()
    async with realtime_edges.client() as ada, realtime_edges.client() as bob:
        for number, each in enumerate((ada, bob)):
            await each.joined(room, config("same"))
            await each.track(room, {"n": number})
        async with realtime_edges.client() as cyn:
            await cyn.joined(room, ON)
            state = (await cyn.until("presence_state")).payload

    assert sorted(meta["n"] for meta in state["same"]["metas"]) == [0, 1]


async def test_presence_reaches_other_edges(
    realtime_edges: RealtimeEdges, second_realtime_edges: RealtimeEdges
) -> None:
    room = fresh()
    async with realtime_edges.client() as ada, second_realtime_edges.client() as bob:
        await ada.joined(room, config("ada"))
        await ada.track(room, {"at": 1})
        await bob.joined(room, config("bob"))
        state = (await bob.until("presence_state")).payload
        await bob.track(room, {"at": 2})
        await people(ada, "joins", "bob")
        await ada.send(f"realtime:{room}", "phx_leave", {})
        left = await people(bob, "leaves", "ada")

    assert state["ada"]["metas"][0]["at"] == 1
    assert left["ada"]["metas"][0]["phx_ref"] == state["ada"]["metas"][0]["phx_ref"]


async def test_broadcast_reaches_other_edges(
    realtime_edges: RealtimeEdges, second_realtime_edges: RealtimeEdges
) -> None:
    room, large = fresh(), "x" * 2_000_000
    async with realtime_edges.client() as ada, second_realtime_edges.client() as bob:
        await ada.joined(room)
        await bob.joined(room)
        await ada.broadcast(room, "small", 1)
        await ada.broadcast(room, "large", large)
        await ada.broadcast(room, "last", 3)

        heard = [(await bob.until("broadcast")).payload for _ in range(3)]

    assert [each["event"] for each in heard] == ["small", "large", "last"]
    assert heard[1]["payload"] == large


async def test_edge_that_is_killed_takes_its_entries_along(
    realtime_edges: RealtimeEdges, nats: NatsServer
) -> None:
    room = fresh()
    async with (
        realtime_edges.client() as ada,
        other_process(nats.url) as (process, url),
        aiohttp.ClientSession() as session,
    ):
        await ada.joined(room, config("ada"))
        async with session.ws_connect(f"{url}/websocket?vsn=2.0.0&apikey={KEYS.anon_key}") as socket:
            bob = Client(socket, "2.0.0")
            await bob.joined(room, config("bob"))
            await bob.track(room, {})
            await people(ada, "joins", "bob")
            process.send_signal(signal.SIGKILL)
            killed = time.monotonic()
            await people(ada, "leaves", "bob")

    assert time.monotonic() - killed < 5


async def test_edge_that_ends_in_order_sends_its_clients_elsewhere(
    realtime_edges: RealtimeEdges, nats: NatsServer
) -> None:
    room = fresh()
    async with (
        realtime_edges.client() as ada,
        other_process(nats.url) as (process, url),
        aiohttp.ClientSession() as session,
    ):
        await ada.joined(room, config("ada"))
        async with session.ws_connect(f"{url}/websocket?vsn=2.0.0&apikey={KEYS.anon_key}") as socket:
            bob = Client(socket, "2.0.0")
            await bob.joined(room, config("bob"))
            await bob.track(room, {})
            await people(ada, "joins", "bob")
            process.send_signal(signal.SIGTERM)

            assert await bob.closed() == (1001, "Server requested disconnect")
            assert list(await people(ada, "leaves", "bob")) == ["bob"]
            assert await asyncio.to_thread(process.wait, 10) == 0


async def test_edge_that_stood_still_is_there_again(realtime_edges: RealtimeEdges, nats: NatsServer) -> None:
    room = fresh()
    async with (
        realtime_edges.client() as ada,
        other_process(nats.url) as (process, url),
        aiohttp.ClientSession() as session,
    ):
        await ada.joined(room, config("ada"))
        async with session.ws_connect(f"{url}/websocket?vsn=2.0.0&apikey={KEYS.anon_key}") as socket:
            bob = Client(socket, "2.0.0")
            await bob.joined(room, config("bob"))
            await bob.track(room, {})
            await people(ada, "joins", "bob")
            process.send_signal(signal.SIGSTOP)
            await people(ada, "leaves", "bob")
            process.send_signal(signal.SIGCONT)

            await people(ada, "joins", "bob")


async def test_broker_that_was_away_costs_nobody_his_presence() -> None:
    room = fresh()
    async with (
        running_server() as server,
        running_edge(server.url) as one,
        running_edge(server.url) as two,
        one.client() as ada,
        two.client() as bob,
    ):
        await ada.joined(room, config("ada"))
        await ada.track(room, {})
        await bob.joined(room, config("bob"))
        assert list((await bob.until("presence_state")).payload) == ["ada"]
        server.kill()
        await bob.track(room, {"while": "away"})
        await server.start()

        await people(ada, "joins", "bob")
        assert "leaves" not in [name for frame in ada.passed for name in frame.payload if frame.payload[name]]


async def people(client: Client, kind: str, key: str) -> dict[str, dict[str, list[dict[str, object]]]]:
    """Read to the difference in which somebody comes or goes; give that part of it."""
    while True:
        diff = (await client.until("presence_diff")).payload
        if key in diff[kind]:
            return diff[kind]  # type: ignore[no-any-return]  # JSON


@contextlib.asynccontextmanager
async def other_process(nats_url: str) -> AsyncIterator[tuple["subprocess.Popen[bytes]", str]]:
    """Run a gateway in a process of its own."""
    port = free_port()
    environment = {
        **os.environ,
        "HEADWATER_BROKER_URL": nats_url,
        "HEADWATER_API_PORT": str(port),
        "HEADWATER_AUTH_ENABLED": "false",
        "HEADWATER_STORAGE_ENABLED": "false",
    }
    process = subprocess.Popen(
        [sys.executable, "-P", "-m", "services", "gateway"], env=environment, stderr=subprocess.DEVNULL
    )
    try:
        async with asyncio.timeout(30):
            while True:
                try:
                    _, writer = await asyncio.open_connection("127.0.0.1", port)
                except OSError:
                    assert process.poll() is None, "the gateway ended"
                    await asyncio.sleep(0.05)
                else:
                    writer.close()
                    break
        yield process, f"http://127.0.0.1:{port}/realtime/v1"
    finally:
        process.kill()
        process.wait()
