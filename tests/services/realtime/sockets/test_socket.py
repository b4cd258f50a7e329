"""One socket: hostile frames, limits, slow and silent clients, and the end of its process."""

import asyncio
import contextlib
import socket as sockets

import aiohttp
import pytest

from schemas.settings.realtime import RealtimeSettings
from tests.broker.server import NatsServer
from tests.services.realtime.edges import KEYS, RealtimeEdges, fresh, running_edge, token, user_push


async def test_hostile_frames_are_dropped_and_the_socket_stays_open(realtime_edges: RealtimeEdges) -> None:
    texts = [
        "",
        "{",
        "[]",
        "null",
        "[" * 50_000,
        '[null,null,"t","e"]',
        "x" * 100_000,
        '{"topic":1}',
        '"\\ud800"',
    ]
    blobs = [
        b"",
        b"\xff",
        b"\x00",
        b"\x03\xff\xff\xff\xff\xff\x01",
        b"\x03" * 500,
        b"\x01\x02",
        b"\x02",
        b"\x04",
        b"\x63",
    ]
    for vsn in ("1.0.0", "2.0.0"):
        async with realtime_edges.client(vsn) as client:
            for text in texts:
                await client.socket.send_str(text)
            for blob in blobs:
                await client.socket.send_bytes(blob)

            assert await client.heartbeat() == []


async def test_hostile_pushes_of_every_event_hurt_nobody(realtime_edges: RealtimeEdges) -> None:
    room = fresh()
    payloads = [
        None,
        1,
        "x",
        [],
        {},
        {"event": None},
        {"type": 1},
        {"payload": []},
        {"access_token": 1},
        [[[[1]]]],
    ]
    events = [
        "access_token",
        "broadcast",
        "presence",
        "phx_join ",
        "phx_close",
        "phx_error",
        "system",
        "",
        "heartbeat",
    ]
    async with realtime_edges.client() as client, realtime_edges.client() as other:
        await client.joined(room)
        await other.joined(room)
        for event in events:
            for payload in payloads:
                await client.send(f"realtime:{room}", event, payload)
                await client.send("phoenix", event, payload)
        await client.heartbeat()

        assert {frame.event for frame in await other.heartbeat()} <= {"broadcast"}


@pytest.mark.parametrize(
    "payload", [None, 1, "x", [], {"config": 1}, {"config": {"private": "?", "presence": []}}]
)
async def test_join_of_any_form_is_a_join(realtime_edges: RealtimeEdges, payload: object) -> None:
    async with realtime_edges.client() as client:
        answer = await client.ask("realtime:" + fresh(), "phx_join", payload)

    assert answer["status"] == "ok"


async def test_frame_of_ten_megabytes_closes_the_socket(realtime_edges: RealtimeEdges) -> None:
    async with realtime_edges.client() as client:
        with contextlib.suppress(ConnectionError):  # the rest of it is not taken in any more
            await client.socket.send_str("x" * 10_000_000)

        code, _ = await client.closed()

    assert code in (1009, 1006, None)


async def test_broadcast_over_the_limit_is_refused_and_the_channel_lives(
    realtime_edges: RealtimeEdges,
) -> None:
    room = fresh()
    async with realtime_edges.client() as client:
        await client.joined(room, {"broadcast": {"ack": True, "self": True}})
        refused = await client.answer(await client.broadcast(room, "e", "x" * 3_100_000))
        await client.socket.send_bytes(
            user_push(f"realtime:{room}", "e", b"x" * 3_000_600, is_json=False, ref="b")
        )
        binary = await client.answer("b")
        fine = await client.answer(await client.broadcast(room, "e", "x" * 2_900_000))

    assert refused == binary == {"status": "error", "response": "payload_size_exceeded"}
    assert fine["status"] == "ok"


async def test_presence_over_the_limit_ends_the_channel(realtime_edges: RealtimeEdges) -> None:
    room = fresh()
    async with realtime_edges.client() as client:
        await client.joined(room, {"presence": {"enabled": True}})
        told = {"type": "presence", "event": "track", "payload": {"x": "y" * 600_000}}
        await client.send(f"realtime:{room}", "presence", told)

        assert (await client.until("system")).payload["message"] == "Track message size exceeded"
        assert (await client.next()).event == "phx_close"


async def test_token_of_another_does_not_leak_into_other_channels(realtime_edges: RealtimeEdges) -> None:
    first, second = fresh(), fresh()
    async with realtime_edges.client() as client:
        await client.joined(first, access_token=token(sub="ada"))
        await client.joined(second)
        await client.send(f"realtime:{first}", "access_token", {"access_token": "bad.bad.bad"})
        told, closed = await client.next(), await client.next()
        await client.broadcast(second, "x", 1)

        assert told.topic == closed.topic == f"realtime:{first}"
        assert closed.event == "phx_close"
        assert await client.heartbeat() == []


async def test_limits_of_the_settings_hold(nats: NatsServer) -> None:
    limits = RealtimeSettings(
        max_concurrent_users=2, max_sockets_per_key=1, max_channels_per_client=2, max_events_per_second=1.0,
        private_only=False,
    )  # fmt: skip
    async with running_edge(nats.url, limits) as realtime_edges:
        async with realtime_edges.client() as client:
            per_key = await realtime_edges.refusal(f"apikey={KEYS.anon_key}")
            async with realtime_edges.client(key=KEYS.publishable_key):
                in_all = await realtime_edges.refusal(f"apikey={KEYS.secret_key}")
            rooms = [fresh() for _ in range(3)]
            answers = [await client.join(room) for room in rooms]
            again = await client.join(rooms[0])
            for number in range(11):
                await client.broadcast(rooms[0], "x", number)
            told = await client.until("system")

            assert (await client.until("phx_close", f"realtime:{rooms[0]}")).ref == "1"

        async with realtime_edges.client():
            pass

    assert per_key == in_all == (429, {"error": "Too many connected users"})
    assert [answer["status"] for answer in answers] == ["ok", "ok", "error"]
    assert again["status"] == "ok"
    assert told.payload["message"] == "Too many messages per second"


@pytest.mark.parametrize("limit", ["max_joins_per_second", "max_joins_per_client"])
async def test_flood_of_joins_disconnects(nats: NatsServer, limit: str) -> None:
    settings = RealtimeSettings(**{limit: 0.3})
    async with running_edge(nats.url, settings) as realtime_edges, realtime_edges.client() as client:
        for number in range(4):
            await client.send("realtime:" + fresh(), "phx_join", {}, str(number), str(number))
        refused = await client.answer("3")
        code, reason = await client.closed()

    assert refused["response"]["reason"] == "ClientJoinRateLimitReached: Too many joins per second"
    assert (code, reason) == (1008, "Too many joins per second")


async def test_project_may_allow_private_channels_only(nats: NatsServer) -> None:
    async with (
        running_edge(nats.url, RealtimeSettings(private_only=True)) as realtime_edges,
        realtime_edges.client() as client,
    ):
        answer = await client.join(fresh())

    assert answer["response"] == {"reason": "PrivateOnly: This project only allows private channels"}


async def test_presence_may_be_on_by_default_and_its_calls_limited(nats: NatsServer) -> None:
    settings = RealtimeSettings(presence_enabled=True, max_presence_calls_per_second=0.1)
    async with running_edge(nats.url, settings) as realtime_edges, realtime_edges.client() as client:
        room = fresh()
        await client.joined(room)
        await client.until("presence_state")
        for number in range(4):
            await client.send(
                f"realtime:{room}",
                "presence",
                {"type": "presence", "event": "track", "payload": {"n": number}},
            )

        assert (await client.until("system")).payload["message"] == "Client presence rate limit exceeded"


async def test_deliveries_of_presence_may_be_limited(nats: NatsServer) -> None:
    settings = RealtimeSettings(presence_enabled=True, max_presence_events_per_second=0.1)
    async with running_edge(nats.url, settings) as realtime_edges, realtime_edges.client() as client:
        room = fresh()
        await client.joined(room)
        await client.until("presence_state")
        for awaited in ("presence_diff", "system"):
            told = {"type": "presence", "event": "track", "payload": {"n": awaited}}
            await client.send(f"realtime:{room}", "presence", told)
            heard = await client.until(awaited)

        assert heard.payload["message"] == "Too many presence messages per second"


async def test_silent_client_is_disconnected(nats: NatsServer) -> None:
    async with (
        running_edge(nats.url, RealtimeSettings(idle_timeout=0.3)) as realtime_edges,
        realtime_edges.client() as client,
    ):
        assert await client.closed() == (1000, "idle timeout")


async def test_slow_consumer_is_disconnected_and_others_hear_everything(nats: NatsServer) -> None:
    room, total = fresh(), 60
    async with (
        running_edge(nats.url, RealtimeSettings(max_unsent=256 * 1024)) as realtime_edges,
        realtime_edges.client() as ada,
        realtime_edges.client() as bob,
        aiohttp.ClientSession() as session,
    ):
        slow = await session.ws_connect(f"{realtime_edges.url}/websocket?apikey={KEYS.anon_key}&vsn=2.0.0")
        await slow.send_str(f'["1","1","realtime:{room}","phx_join",{{}}]')
        await slow.receive()
        raw = slow._response.connection.transport  # type: ignore[union-attr]  # it is open
        raw.get_extra_info("socket").setsockopt(sockets.SOL_SOCKET, sockets.SO_RCVBUF, 4096)
        raw.pause_reading()
        await ada.joined(room)
        await bob.joined(room)
        for number in range(total):
            await ada.broadcast(room, "n", [number, "x" * 100_000])
        heard = [(await bob.until("broadcast")).payload["payload"][0] for _ in range(total)]
        async with asyncio.timeout(60):
            while not (left := await _metric(realtime_edges, "headwater_realtime_slow_consumers")):
                await asyncio.sleep(0.02)
        raw.abort()
        await slow.close()

    assert heard == list(range(total))
    assert left == 1


async def test_end_of_the_process_sends_clients_elsewhere(nats: NatsServer) -> None:
    room = fresh()
    async with running_edge(nats.url) as realtime_edges, realtime_edges.client() as client:
        await client.joined(room)
        realtime_edges.process.stop("a deployment")
        code, reason = await client.closed()

    assert (code, reason) == (1001, "Server requested disconnect")
    assert client.passed[-1].payload == {
        "extension": "system", "status": "ok", "message": "Server requested disconnect", "channel": room,
    }  # fmt: skip


async def test_switched_off_there_is_no_realtime(nats: NatsServer) -> None:
    async with (
        running_edge(nats.url, RealtimeSettings(enabled=False)) as realtime_edges,
        realtime_edges.session.get(f"{realtime_edges.url}/websocket?apikey={KEYS.anon_key}") as answer,
    ):
        assert answer.status == 501


async def test_health_and_metrics_tell_of_sockets(nats: NatsServer) -> None:
    async with running_edge(nats.url) as realtime_edges, realtime_edges.client() as client:
        await client.joined(fresh())
        headers = {"apikey": KEYS.anon_key}
        async with realtime_edges.session.get(f"{realtime_edges.url}/api/ping", headers=headers) as ping:
            assert (ping.status, await ping.json()) == (200, {"message": "Success"})
        async with realtime_edges.session.get(
            f"{realtime_edges.url}/api/tenants/realtime-dev/health", headers=headers
        ) as health:
            told = (await health.json())["data"]
        sockets_now = await _metric(realtime_edges, "headwater_realtime_sockets")

    assert told["healthy"] is True
    assert told["connected_cluster"] >= 1
    assert sockets_now >= 1


async def _metric(realtime_edges: RealtimeEdges, name: str) -> float:
    address, secret = f"http://127.0.0.1:{realtime_edges.port}/metrics", {"apikey": KEYS.secret_key}
    async with realtime_edges.session.get(address, headers=secret) as answer:
        lines = (await answer.text()).splitlines()
    values = [float(line.rpartition(" ")[2]) for line in lines if line.startswith(name + "{")]
    return max(values, default=0.0)
