"""The realtime edge behind the gateway: handshakes, joins, broadcasts, in both versions of the protocol."""

import re

import jwt
import pytest

from tests.services.realtime.edges import KEYS, SECRET, RealtimeEdges, fresh, token, user_push

BOTH = pytest.mark.parametrize("vsn", ["1.0.0", "2.0.0"])


@BOTH
async def test_heartbeat_is_answered_with_its_ref(realtime_edges: RealtimeEdges, vsn: str) -> None:
    async with realtime_edges.client(vsn) as client:
        ref = await client.send("phoenix", "heartbeat", {}, ref="77")

        frame = await client.next()

    assert (frame.topic, frame.event, frame.ref) == ("phoenix", "phx_reply", ref)
    assert frame.payload == {"status": "ok", "response": {}}


@BOTH
async def test_join_and_leave_are_answered_in_full(realtime_edges: RealtimeEdges, vsn: str) -> None:
    topic = "realtime:" + fresh()
    async with realtime_edges.client(vsn) as client:
        await client.send(topic, "phx_join", {"config": {}}, "1", "1")
        joined = await client.next()
        await client.send(topic, "phx_leave", {}, "1", "2")
        left, closed = await client.next(), await client.next()

    join_ref = "1" if vsn == "2.0.0" else None
    assert joined.payload == {"status": "ok", "response": {"postgres_changes": []}}
    assert (joined.join_ref, joined.ref, joined.topic) == (join_ref, "1", topic)
    assert (left.join_ref, left.ref, left.payload) == (join_ref, "2", {"status": "ok", "response": {}})
    assert (closed.join_ref, closed.ref, closed.event, closed.payload) == (join_ref, "1", "phx_close", {})


async def test_broadcast_reaches_others_and_not_its_sender(realtime_edges: RealtimeEdges) -> None:
    room = fresh()
    async with realtime_edges.client() as ada, realtime_edges.client("1.0.0") as bob:
        await ada.joined(room)
        await bob.joined(room)

        await ada.broadcast(room, "hello", {"n": 9007199254740993})
        heard = await bob.until("broadcast")

        assert heard.payload == {"type": "broadcast", "event": "hello", "payload": {"n": 9007199254740993}}
        assert await ada.heartbeat() == []


async def test_sender_hears_itself_and_gets_its_answer_when_it_asks_for_them(
    realtime_edges: RealtimeEdges,
) -> None:
    room = fresh()
    async with realtime_edges.client() as ada:
        await ada.joined(room, {"broadcast": {"self": "TRUE", "ack": True}})

        ref = await ada.broadcast(room, "hello", [1])

        assert await ada.answer(ref) == {"status": "ok", "response": {}}
        assert (await ada.until("broadcast")).payload["payload"] == [1]


async def test_binary_broadcast_arrives_binary_and_as_text_for_the_first_version(
    realtime_edges: RealtimeEdges,
) -> None:
    room = fresh()
    async with (
        realtime_edges.client() as ada,
        realtime_edges.client() as bob,
        realtime_edges.client("1.0.0") as cyn,
    ):
        for each in (ada, bob, cyn):
            await each.joined(room)

        await ada.socket.send_bytes(user_push(f"realtime:{room}", "move", b'{"x": 1}'))
        await ada.socket.send_bytes(user_push(f"realtime:{room}", "raw", b"\x00\xff", is_json=False))
        await ada.socket.send_bytes(user_push(f"realtime:{room}", "move", b'"last"'))
        first, second, third = [await bob.until("broadcast") for _ in range(3)]
        texts = [await cyn.until("broadcast") for _ in range(2)]

    assert first.is_binary
    assert first.payload == {"type": "broadcast", "event": "move", "payload": {"x": 1}}
    assert (second.payload["event"], second.payload["payload"]) == ("raw", b"\x00\xff")
    assert third.payload["payload"] == "last"
    assert [text.payload["payload"] for text in texts] == [{"x": 1}, "last"]
    assert texts[0].raw == (
        f'{{"topic":"realtime:{room}","event":"broadcast",'
        '"payload":{"event":"move","payload":{"x": 1},"type":"broadcast"},"ref":null}'
    )


async def test_acknowledged_binary_broadcast_echoes_its_refs(realtime_edges: RealtimeEdges) -> None:
    room = fresh()
    async with realtime_edges.client() as ada:
        await ada.joined(room, {"broadcast": {"ack": True}})

        await ada.socket.send_bytes(user_push(f"realtime:{room}", "m", b"1", ref="9", join_ref="1"))
        frame = await ada.next()

    assert (frame.join_ref, frame.ref, frame.payload["status"]) == ("1", "9", "ok")


async def test_message_to_a_topic_that_is_not_joined_is_unmatched(realtime_edges: RealtimeEdges) -> None:
    async with realtime_edges.client() as client:
        answer = await client.ask("realtime:" + fresh(), "broadcast", {})
        other = await client.ask("other:" + fresh(), "phx_join", {})
        left = await client.ask("realtime:" + fresh(), "phx_leave", {})

    assert answer == {"status": "error", "response": {"reason": "unmatched topic"}}
    assert other == answer
    assert left == {"status": "ok", "response": {}}


async def test_topic_without_a_name_is_refused(realtime_edges: RealtimeEdges) -> None:
    async with realtime_edges.client() as client:
        answer = await client.join("")

    assert answer["response"] == {"reason": "TopicNameRequired: You must provide a topic name"}


async def test_joining_again_closes_the_first_channel(realtime_edges: RealtimeEdges) -> None:
    room = fresh()
    async with realtime_edges.client() as client:
        await client.send(f"realtime:{room}", "phx_join", {}, "1", "1")
        await client.answer("1")
        await client.send(f"realtime:{room}", "phx_join", {}, "2", "2")
        closed, joined = await client.next(), await client.next()
        await client.broadcast(room, "x", {})

        assert (closed.event, closed.join_ref, closed.ref) == ("phx_close", "1", "1")
        assert (joined.event, joined.ref, joined.payload["status"]) == ("phx_reply", "2", "ok")
        assert await client.heartbeat() == []


async def test_public_and_private_rooms_are_apart(realtime_edges: RealtimeEdges) -> None:
    room = fresh()
    async with realtime_edges.client() as ada, realtime_edges.client() as bob:
        await ada.joined(room)
        answer = await bob.join(room, {"private": True})

    assert answer["status"] == "error"
    assert answer["response"]["reason"] == (
        f"Unauthorized: You do not have permissions to read from this Channel topic: {room}"
    )


async def test_changes_of_the_join_are_named_in_the_answer_as_they_were_sent(
    realtime_edges: RealtimeEdges,
) -> None:
    wanted = [
        {"event": "*", "schema": "public", "table": "a"},
        None,
        {"event": "INSERT", "schema": "public", "filter": "id=eq.1", "table": "b", "extra": {"x": [1]}},
        {"event": "*", "schema": "public", "table": "a"},
    ]
    async with realtime_edges.client() as client:
        answer = await client.join(fresh(), {"postgres_changes": wanted})

    told = answer["response"]["postgres_changes"]
    ids = [each.pop("id") for each in told]
    assert told == [each for each in wanted if each]
    assert ids[0] == ids[2] != ids[1]
    assert all(isinstance(each, int) and 0 < each < 2**27 for each in ids)


async def test_without_a_feed_the_client_is_told_that_changes_do_not_come(
    realtime_edges: RealtimeEdges,
) -> None:
    async with realtime_edges.client() as client:
        await client.joined(fresh(), {"postgres_changes": [{"schema": "public"}, {"event": "*"}]})

        told = [(await client.until("system")).payload for _ in range(2)]

    assert told[0]["message"].startswith("No subscription params provided.")
    assert {each["extension"] for each in told} == {"postgres_changes"}


@pytest.mark.parametrize(
    ("key", "status", "text"),
    [
        ("", 401, "API key is missing"),
        ("nonsense", 401, "The token provided is not a valid JWT"),
        ("sb_publishable_wrong", 401, "The token provided is not a valid JWT"),
        ("a.b.c", 401, "The token provided is not a valid JWT"),
        (KEYS.anon_key[:-6] + "AAAAAA", 401, "Failed to validate JWT signature"),
    ],
    ids=["none", "nonsense", "opaque", "parts", "signature"],
)
async def test_handshake_without_a_valid_key_is_refused(
    realtime_edges: RealtimeEdges, key: str, status: int, text: str
) -> None:
    found = await realtime_edges.refusal(f"apikey={key}&vsn=2.0.0")

    assert found == (status, {"error": text})


async def test_handshake_with_an_expired_key_says_so(realtime_edges: RealtimeEdges) -> None:
    status, told = await realtime_edges.refusal("apikey=" + token(expires_in=-100))

    assert status == 401
    assert re.fullmatch(r"Token has expired 10\d seconds ago", told["error"])


async def test_key_without_an_end_is_no_token(realtime_edges: RealtimeEdges) -> None:
    found = await realtime_edges.refusal("apikey=" + jwt.encode({"role": "authenticated"}, SECRET, "HS256"))

    assert found == (401, {"error": "Fields `role` and `exp` are required in JWT"})


@pytest.mark.parametrize(
    "key",
    [KEYS.anon_key, KEYS.service_role_key, KEYS.publishable_key, KEYS.secret_key, token()],
    ids=["anon", "service", "publishable", "secret", "person"],
)
async def test_every_kind_of_key_opens_a_socket(realtime_edges: RealtimeEdges, key: str) -> None:
    async with realtime_edges.client(key=key) as client:
        await client.joined(fresh())


async def test_header_with_a_key_wins_over_the_query(realtime_edges: RealtimeEdges) -> None:
    async with realtime_edges.client(key="wrong", headers={"x-api-key": KEYS.anon_key}) as client:
        assert await client.heartbeat() == []


async def test_the_path_of_the_original_opens_a_socket(realtime_edges: RealtimeEdges) -> None:
    async with realtime_edges.session.ws_connect(
        f"{realtime_edges.url}/socket/websocket?apikey={KEYS.anon_key}"
    ) as socket:
        await socket.send_str('{"topic":"phoenix","event":"heartbeat","payload":{},"ref":"1"}')

        assert (await socket.receive_json())["payload"] == {"status": "ok", "response": {}}


async def test_a_join_of_the_first_generation_subscribes_by_its_topic(realtime_edges: RealtimeEdges) -> None:
    async with realtime_edges.client(vsn="1.0.0") as client:
        ref = await client.send("realtime:public:todos", "phx_join", {"user_token": token()})

        assert await client.answer(ref) == {"status": "ok", "response": {"postgres_changes": []}}
        assert (await client.until("system")).payload["extension"] == "postgres_changes"


async def test_unknown_version_and_a_plain_request_are_refused(realtime_edges: RealtimeEdges) -> None:
    unknown = await realtime_edges.refusal(f"apikey={KEYS.anon_key}&vsn=3.0.0")
    async with realtime_edges.session.get(f"{realtime_edges.url}/websocket?apikey={KEYS.anon_key}") as plain:
        body = await plain.json()

    assert unknown[0] == plain.status == 400
    assert "error" in unknown[1]
    assert "error" in body


async def test_channels_of_one_socket_are_bounded(realtime_edges: RealtimeEdges) -> None:
    async with realtime_edges.client() as client:
        names = [fresh("many") for _ in range(150)]
        for name in names:
            await client.send(f"realtime:{name}", "phx_join", {}, name, name)
        answers = [await client.answer(name) for name in names]

    refused = [answer for answer in answers if answer["status"] == "error"]
    assert len(refused) == 50
    assert refused[0]["response"]["reason"] == "ChannelRateLimitReached: Too many channels"


async def test_vanished_client_leaves_its_rooms(realtime_edges: RealtimeEdges) -> None:
    room = fresh()
    async with realtime_edges.client() as bob:
        await bob.joined(room, {"presence": {"enabled": True}})
        async with realtime_edges.client() as ada:
            await ada.joined(room, {"presence": {"key": "ada"}})
            await ada.track(room, {})
            await bob.until("presence_diff")
            transport = ada.socket._response.connection.transport  # type: ignore[union-attr]  # it is open
            transport.abort()  # type: ignore[union-attr]

            gone = await bob.until("presence_diff")

    assert list(gone.payload["leaves"]) == ["ada"]


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("GET", "/api/tenants"),
        ("POST", "/api/tenants/"),
        ("PUT", "/api/tenants/realtime-dev"),
        ("DELETE", "/api/tenants/realtime-dev"),
        ("POST", "/api/tenants/realtime-dev/reload"),
        ("POST", "/api/tenants/realtime-dev/health"),
        ("GET", "/api/openapi"),
    ],
)
async def test_the_administration_of_tenants_is_closed(
    realtime_edges: RealtimeEdges, method: str, path: str
) -> None:
    headers = {"apikey": KEYS.service_role_key}
    async with realtime_edges.session.request(method, realtime_edges.url + path, headers=headers) as answer:
        assert (answer.status, await answer.read()) == (403, b"")


async def test_what_is_nowhere_is_not_found(realtime_edges: RealtimeEdges) -> None:
    headers = {"apikey": KEYS.anon_key}
    async with realtime_edges.session.get(f"{realtime_edges.url}/api/tenantsx", headers=headers) as answer:
        assert answer.status == 404
