"""Broadcasts over HTTP, and messages that were stored in the database."""

import asyncio
import io
from collections.abc import Mapping
from typing import Any

import msgspec
import pytest

from broker import subjects
from broker.codec import encode
from broker.nats.connection import NatsConnection
from schemas.changes import StoredBroadcast
from schemas.settings.realtime import RealtimeSettings
from services.realtime.broadcasts import BroadcastRequest, HttpBroadcasts
from services.realtime.channels.pool_queries import ChannelQueries
from services.realtime.tokens import RealtimeIdentity
from services.realtime.topics.hub import TopicHub
from tests.broker.server import NatsServer
from tests.services.realtime.edges import KEYS, RealtimeEdges, fresh, running_edge, token
from tests.services.realtime.pool import Pool

JSON = {"Content-Type": "application/json"}


async def post(
    realtime_edges: RealtimeEdges,
    path: str,
    *,
    headers: Mapping[str, str] | None = None,
    key: str = KEYS.anon_key,
    **body: Any,
) -> tuple[int, str, Mapping[str, str]]:
    own = {"apikey": key, **(headers or {})} if key else dict(headers or {})
    async with realtime_edges.session.post(
        f"{realtime_edges.url}/api/broadcast{path}", headers=own, **body
    ) as answer:
        return answer.status, await answer.text(), answer.headers


async def test_batch_reaches_public_rooms_with_its_ids(realtime_edges: RealtimeEdges) -> None:
    one, two = fresh(), fresh()
    messages = [
        {"topic": one, "event": "a", "payload": {"n": 9007199254740993}},
        {"topic": two, "event": "b", "payload": {}, "private": False, "id": "mine"},
    ]
    async with realtime_edges.client() as ada, realtime_edges.client("1.0.0") as bob:
        await ada.joined(one)
        await bob.joined(two)
        status, text, headers = await post(realtime_edges, "", json={"messages": messages})
        first, second = await ada.until("broadcast"), await bob.until("broadcast")

    assert (status, text) == (202, "")
    assert headers["access-control-allow-origin"] == "*"
    assert "x-rate-rolling" in headers
    assert first.payload == {"type": "broadcast", "event": "a", "payload": {"n": 9007199254740993}}
    assert second.payload == {"type": "broadcast", "event": "b", "payload": {}, "meta": {"id": "mine"}}


async def test_single_message_may_be_any_json_or_bytes(realtime_edges: RealtimeEdges) -> None:
    room = fresh("room/ü")
    path = "/room%2F%C3%BC" + room.removeprefix("room/ü") + "/events/e%20v"
    octets = {"Content-Type": "application/octet-stream"}
    async with realtime_edges.client() as ada:
        await ada.joined(room)
        first = await post(realtime_edges, path, json=[1, None])
        second = await post(realtime_edges, path, headers=octets, data=b"\x00\xff")
        heard = [(await ada.until("broadcast")).payload for _ in range(2)]

    assert (first[0], second[0]) == (202, 202)
    assert [(each["event"], each["payload"]) for each in heard] == [("e v", [1, None]), ("e v", b"\x00\xff")]


async def test_private_message_needs_permission(realtime_edges: RealtimeEdges, pool: Pool) -> None:
    room, ada = fresh(), fresh("ada")
    pool.let(ada, read="broadcast", write="broadcast")
    mine = {"Authorization": "Bearer " + token(sub=ada)}
    batch = [{"topic": room, "event": "e", "payload": {"n": n}, "private": True} for n in range(2)]
    async with realtime_edges.client() as client:
        await client.joined(room, {"private": True}, access_token=token(sub=ada))
        denied = await post(realtime_edges, f"/{room}/events/e?private=true", json=1)
        skipped = await post(realtime_edges, "", json={"messages": batch})
        assert await client.heartbeat() == []
        fine = await post(realtime_edges, f"/{room}/events/e?private=true", json=1, headers=mine)
        both = await post(realtime_edges, "", json={"messages": batch}, headers=mine)
        heard = [(await client.until("broadcast")).payload["payload"] for _ in range(3)]

    assert (denied[0], denied[1]) == (403, '{"message":"Unauthorized"}')
    assert [each[0] for each in (skipped, fine, both)] == [202] * 3
    assert heard == [1, {"n": 0}, {"n": 1}]


@pytest.mark.parametrize(
    ("body", "errors"),
    [
        (b"", {"messages": ["is invalid"]}),
        (b"[]", {"messages": ["is invalid"]}),
        (b'{"messages":"\xff"}', {"messages": ["is invalid"]}),
        (b"{}", {"messages": ["can't be blank"]}),
        (b'{"messages":[1]}', {"messages": [{"message": ["is invalid"]}]}),
        (b'{"messages":[{"topic":"t","event":"e","payload":{}},{"topic":"","event":1}]}',
         {"messages": [{}, {"topic": ["can't be blank"], "event": ["is invalid"], "payload": ["can't be blank"]}]}),
    ],
)  # fmt: skip
async def test_malformed_batch_is_told_what_is_wrong(
    realtime_edges: RealtimeEdges, body: bytes, errors: object
) -> None:
    status, text, _ = await post(realtime_edges, "", data=body)

    assert status == 422
    assert msgspec.json.decode(text) == {"errors": errors}


async def test_single_message_of_a_wrong_form_is_refused(realtime_edges: RealtimeEdges) -> None:
    path = f"/{fresh()}/events/e"

    assert (await post(realtime_edges, path, data=b"x", headers={"Content-Type": "text/plain"}))[0] == 415
    assert (await post(realtime_edges, path, data=b"{", headers=JSON))[0] == 422
    assert (await post(realtime_edges, path, data=io.BytesIO(b"1" * 3_100_000), headers=JSON))[0] == 422
    assert (await post(realtime_edges, "/", data=b""))[0] == 422
    assert (await post(realtime_edges, "/a/b", json=1))[0] == 404


async def test_caller_without_a_key_or_with_a_bad_token_is_refused(realtime_edges: RealtimeEdges) -> None:
    path = f"/{fresh()}/events/e"

    assert (await post(realtime_edges, path, json=1, key=""))[0] == 401
    assert (await post(realtime_edges, path, json=1, key="nonsense"))[0] == 401
    assert (await post(realtime_edges, path, json=1, headers={"Authorization": "Bearer a.b.c"}))[0] == 401
    assert (await post(realtime_edges, path, json=1, key="", headers={"Authorization": "Bearer " + token()}))[
        0
    ] == 202


async def test_browsers_may_send(realtime_edges: RealtimeEdges) -> None:
    headers = {"Origin": "https://example.com", "Access-Control-Request-Method": "POST"}
    async with realtime_edges.session.options(
        f"{realtime_edges.url}/api/broadcast", headers=headers
    ) as answer:
        assert answer.status == 200
        assert answer.headers["access-control-allow-origin"] == "*"


async def test_rate_limit_tells_what_is_left(nats: NatsServer) -> None:
    message = {"topic": "t", "event": "e", "payload": {}}
    async with running_edge(nats.url, RealtimeSettings(max_broadcasts_per_second=1.0)) as realtime_edges:
        fine = await post(realtime_edges, "", json={"messages": [message] * 8})
        large = await post(realtime_edges, "", json={"messages": [message] * 8})
        rest = [await post(realtime_edges, "/t/events/e", json=1) for _ in range(3)]

    assert (fine[0], fine[2]["x-rate-limit"], fine[2]["x-rate-limit-remaining"]) == (202, "1", "2")
    assert (large[0], large[1]) == (
        429, '{"message":"Too many messages to broadcast, please reduce the batch size"}'
    )  # fmt: skip
    assert (rest[-1][0], rest[-1][1]) == (429, '{"message":"You have exceeded your rate limit"}')


class HeldQueries(ChannelQueries):
    """Answers when the gate is open."""

    def __init__(self) -> None:
        self.gate = asyncio.Event()
        self.waiting = 0

    async def may_write(self, *_: object) -> bool:
        self.waiting += 1
        await self.gate.wait()
        return True


class CountingHub(TopicHub):
    """Counts what is sent."""

    def __init__(self) -> None:
        self.sent = 0

    def send(self, *_: object) -> None:
        self.sent += 1


async def test_requests_that_wait_for_rights_count_already() -> None:
    queries, hub = HeldQueries(), CountingHub()
    broadcasts = HttpBroadcasts(hub, queries, 1000, 1.0)
    body = b'{"messages":[{"topic":"t","event":"e","payload":{},"private":true}]}'
    request = BroadcastRequest(
        "/api/broadcast", "", "application/json", body, RealtimeIdentity("r", b"{}"), {}, "key"
    )
    answers = [asyncio.ensure_future(broadcasts.answer(request, 100.0)) for _ in range(15)]
    await asyncio.sleep(0)
    queries.gate.set()

    assert sorted(answer.status for answer in await asyncio.gather(*answers)) == [202] * 10 + [429] * 5
    assert hub.sent == 10


async def test_rights_of_a_batch_are_asked_for_together() -> None:
    queries, hub = HeldQueries(), CountingHub()
    broadcasts = HttpBroadcasts(hub, queries, 100_000, 100.0)
    messages = [b'{"topic":"t%d","event":"e","payload":{},"private":true}' % number for number in range(10)]
    body = b'{"messages":[%b]}' % b",".join(messages)
    request = BroadcastRequest(
        "/api/broadcast", "", "application/json", body, RealtimeIdentity("r", b"{}"), {}, "key"
    )

    answer = asyncio.ensure_future(broadcasts.answer(request, 100.0))
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    asked = queries.waiting
    queries.gate.set()

    assert ((await answer).status, asked, hub.sent) == (202, 8, 10)


async def test_stored_message_is_delivered_once_in_the_order_of_commits(
    realtime_edges: RealtimeEdges, nats: NatsServer
) -> None:
    room, other = fresh(), fresh()
    connection = await NatsConnection.open(nats.url, name="the worker that reads the log")
    try:
        async with realtime_edges.client() as ada, realtime_edges.client("1.0.0") as bob:
            await ada.joined(room)
            await bob.joined(other)
            for lsn, topic in ((5, room), (5, room), (4, other), (6, other), (5, room), (7, room)):
                sent = StoredBroadcast(lsn, 0, f"id-{lsn}", topic, False, "e", b'{"lsn":%d}' % lsn)
                connection.publish(subjects.messages(topic, is_private=False).name, encode(sent))
            heard = [(await ada.until("broadcast")).payload for _ in range(2)]
            first = (await bob.until("broadcast")).payload

            assert await ada.heartbeat() == await bob.heartbeat() == []
    finally:
        await connection.close()

    assert [each["payload"]["lsn"] for each in heard] == [5, 7]
    assert heard[0]["meta"] == {"id": "id-5"}
    assert first["payload"] == {"lsn": 6}
