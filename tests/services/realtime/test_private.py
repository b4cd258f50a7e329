"""Private channels, and tokens during a session."""

import asyncio
import time

import pytest

from schemas.realtime import ReplayedMessage
from tests.services.realtime.edges import KEYS, RealtimeEdges, fresh, token, user_push
from tests.services.realtime.pool import Pool

PRIVATE = {"private": True, "broadcast": {"ack": True}}


async def test_reader_hears_and_does_not_send(realtime_edges: RealtimeEdges, pool: Pool) -> None:
    room, ada, bob = fresh(), fresh("ada"), fresh("bob")
    pool.let(ada, read="broadcast", write="broadcast")
    pool.let(bob, read="broadcast")
    async with realtime_edges.client() as writer, realtime_edges.client() as reader:
        await writer.joined(room, PRIVATE, access_token=token(sub=ada))
        await reader.joined(room, PRIVATE, access_token=token(sub=bob))

        ref = await writer.broadcast(room, "a", 1)
        assert (await writer.answer(ref))["status"] == "ok"
        assert (await reader.until("broadcast")).payload["payload"] == 1
        await reader.broadcast(room, "b", 2)

        assert await reader.heartbeat() == []
        assert await writer.heartbeat() == []


async def test_write_permission_is_asked_once_until_the_token_changes(
    realtime_edges: RealtimeEdges, pool: Pool
) -> None:
    room, ada = fresh(), fresh("ada")
    pool.let(ada, read="broadcast", write="broadcast")
    async with realtime_edges.client() as writer:
        await writer.joined(room, PRIVATE, access_token=token(sub=ada))
        pool.asked.clear()
        refs = [await writer.broadcast(room, "a", number) for number in range(5)]
        answers = [await writer.answer(ref) for ref in refs]
        asked = len(pool.asked)
        pool.let(ada, read="broadcast")
        await writer.send(f"realtime:{room}", "access_token", {"access_token": token(sub=ada, n=1)})
        await writer.broadcast(room, "a", 9)

        assert await writer.heartbeat() == []

    assert [answer["status"] for answer in answers] == ["ok"] * 5
    assert asked == 1


async def test_member_for_presence_only_hears_no_broadcast(realtime_edges: RealtimeEdges, pool: Pool) -> None:
    room, ada, bob = fresh(), fresh("ada"), fresh("bob")
    pool.let(ada, read="broadcast", write="broadcast presence")
    pool.let(bob, read="presence")
    config = {**PRIVATE, "presence": {"enabled": True, "key": "k"}}
    async with realtime_edges.client() as writer, realtime_edges.client() as watcher:
        await writer.joined(room, config, access_token=token(sub=ada))
        await watcher.joined(room, config, access_token=token(sub=bob))
        await watcher.until("presence_state")
        await writer.broadcast(room, "a", 1)
        tracked = await writer.track(room, {"x": 1})
        denied = await watcher.track(room, {"x": 2})
        diff = await watcher.until("presence_diff")

        assert tracked["status"] == "ok"
        assert denied == {"status": "error", "response": {}}
        assert diff.payload["joins"]["k"]["metas"][0]["x"] == 1
        assert await watcher.heartbeat() == []
        assert [each.event for each in await writer.heartbeat()] == ["phx_reply"]


async def test_lost_permission_ends_the_channel_with_the_next_token(
    realtime_edges: RealtimeEdges, pool: Pool
) -> None:
    room, ada = fresh(), fresh("ada")
    pool.let(ada, read="broadcast")
    async with realtime_edges.client() as client:
        await client.joined(room, PRIVATE, access_token=token(sub=ada))
        pool.let(ada)
        await client.send(f"realtime:{room}", "access_token", {"access_token": token(sub=ada, n=1)})
        told, closed = await client.next(), await client.next()

    assert told.payload == {
        "extension": "system",
        "status": "error",
        "message": f"You no longer have permission to read from this Channel topic: {room}",
        "channel": room,
    }
    assert closed.event == "phx_close"


async def test_gained_permission_delivers_from_then_on(realtime_edges: RealtimeEdges, pool: Pool) -> None:
    room, ada, bob = fresh(), fresh("ada"), fresh("bob")
    pool.let(ada, read="broadcast", write="broadcast")
    pool.let(bob, read="presence")
    async with realtime_edges.client() as writer, realtime_edges.client() as other:
        await writer.joined(room, PRIVATE, access_token=token(sub=ada))
        await other.joined(room, PRIVATE, access_token=token(sub=bob))
        pool.let(bob, read="broadcast presence")
        await other.send(f"realtime:{room}", "access_token", {"access_token": token(sub=bob, n=1)})
        ref = await other.broadcast(room, "probe", 0)  # waits behind the question
        del ref
        pool.asked.clear()
        while not any(getattr(asked, "extension", "") == "broadcast" for asked in pool.asked):
            await asyncio.sleep(0.01)
        await writer.broadcast(room, "a", 1)

        assert (await other.until("broadcast")).payload["payload"] == 1


async def test_everything_sent_while_a_question_is_open_keeps_its_order(
    realtime_edges: RealtimeEdges, pool: Pool
) -> None:
    room, ada = fresh(), fresh("ada")
    pool.let(ada, read="broadcast", write="broadcast")
    config = {"private": True, "broadcast": {"ack": True, "self": True}}
    pool.hold.clear()
    try:
        async with realtime_edges.client() as client:
            topic = f"realtime:{room}"
            await client.send(topic, "phx_join", {"config": config, "access_token": token(sub=ada)}, "1", "1")
            for number in range(20):
                await client.socket.send_bytes(user_push(topic, "n", b"%d" % number, ref=f"r{number}"))
            assert await client.heartbeat() == []  # the socket does not wait
            pool.hold.set()
            frames = [await client.next() for _ in range(41)]
    finally:
        pool.hold.set()

    assert frames[0].ref == "1"
    heard = [frame.payload["payload"] for frame in frames if frame.event == "broadcast"]
    assert heard == list(range(20))


async def test_stored_messages_come_again_before_anything_else(
    realtime_edges: RealtimeEdges, pool: Pool
) -> None:
    room, ada = fresh(), fresh("ada")
    stored = [
        ReplayedMessage("id-1", "old", b'{"n":1}'),
        ReplayedMessage("id-2", "old", b"\x00", is_binary=True),
    ]
    pool.let(ada, read="broadcast presence", replayed=stored)
    config = {"private": True, "broadcast": {"replay": {"since": 0}}, "presence": {"enabled": True}}
    async with realtime_edges.client() as client:
        await client.joined(room, config, access_token=token(sub=ada))
        frames = [await client.next() for _ in range(3)]

    assert [frame.event for frame in frames] == ["broadcast", "broadcast", "presence_state"]
    assert frames[0].payload == {
        "type": "broadcast", "event": "old", "payload": {"n": 1}, "meta": {"replayed": True, "id": "id-1"},
    }  # fmt: skip
    assert frames[1].payload["payload"] == b"\x00"


async def test_impossible_replay_is_refused(realtime_edges: RealtimeEdges, pool: Pool) -> None:
    room, ada = fresh(), fresh("ada")
    pool.let(ada, read="broadcast")
    wrong = {"private": True, "broadcast": {"replay": {"since": "x"}}}
    async with realtime_edges.client() as client:
        public = await client.join(room, {"broadcast": {"replay": {"since": 0}}})
        stranger = await client.join(room, wrong)
        reader = await client.join(room, wrong, access_token=token(sub=ada))

    assert [answer["response"]["reason"] for answer in (public, stranger, reader)] == [
        "UnableToReplayMessages: Replay is not allowed for public channels",
        f"Unauthorized: You do not have permissions to read from this Channel topic: {room}",
        "UnableToReplayMessages: Replay params are not valid",
    ]


async def test_headers_of_the_socket_are_told_to_policies(realtime_edges: RealtimeEdges, pool: Pool) -> None:
    headers = {"X-Tenant": "t1", "X-Api-Key": KEYS.anon_key, "Other": "no"}
    pool.asked.clear()
    async with realtime_edges.client(headers=headers) as client:
        await client.join(fresh(), PRIVATE)

    assert pool.asked[0].headers == {"x-tenant": "t1"}


@pytest.mark.parametrize("field", ["access_token", "user_token"])
async def test_join_with_a_bad_token_is_refused(realtime_edges: RealtimeEdges, field: str) -> None:
    async with realtime_edges.client() as client:
        malformed = await client.join(fresh(), **{field: "nonsense"})
        forged = await client.join(fresh(), **{field: token()[:-5] + "AAAAA"})
        expired = await client.join(fresh(), **{field: token(expires_in=-100)})
        opaque = await client.join(fresh(), **{field: "sb_publishable_x"})

    assert malformed["response"]["reason"] == "MalformedJWT: The token provided is not a valid JWT"
    assert forged["response"]["reason"] == "JwtSignatureError: Failed to validate JWT signature"
    assert expired["response"]["reason"].startswith("InvalidJWTToken: Token has expired 10")
    assert opaque["status"] == "ok"


async def test_expired_token_closes_its_channel_and_no_other(realtime_edges: RealtimeEdges) -> None:
    short, long = fresh(), fresh()
    async with realtime_edges.client() as client:
        await client.joined(short, access_token=token(expires_in=1.2))
        await client.joined(long, access_token=token())

        told = await client.until("system")
        closed = await client.until("phx_close")
        await client.broadcast(long, "x", 1)

        assert told.payload["message"] == "Token has expired 0 seconds ago"
        assert told.topic == closed.topic == f"realtime:{short}"
        assert await client.heartbeat() == []


async def test_newer_token_lets_a_channel_live_on(realtime_edges: RealtimeEdges) -> None:
    room, until = fresh(), time.time() + 1.2
    async with realtime_edges.client() as client:
        await client.joined(room, access_token=token(expires_in=1.2))
        await client.send(f"realtime:{room}", "access_token", {"access_token": token()})
        await client.send(f"realtime:{room}", "access_token", {"access_token": None})
        await client.joined(fresh(), access_token=token(expires_in=until + 0.2 - time.time()))
        closed = await client.until("phx_close")  # of the other one, which ends later

        assert closed.topic != f"realtime:{room}"


async def test_bad_token_during_a_session_ends_the_channel(realtime_edges: RealtimeEdges) -> None:
    room = fresh()
    async with realtime_edges.client() as client:
        await client.joined(room)
        await client.send(f"realtime:{room}", "access_token", {"access_token": "nonsense"})

        assert (await client.next()).payload["message"] == "The token provided is not a valid JWT"
        assert (await client.next()).event == "phx_close"
