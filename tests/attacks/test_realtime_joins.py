"""Joins, entries, messages and presence without measure over sockets of a client with the public key."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import aiohttp
import pytest

from tests.platform import Platform

_PATIENCE_S = 60


class _Client:
    """A socket that speaks version 2.0.0."""

    def __init__(self, socket: aiohttp.ClientWebSocketResponse) -> None:
        self._socket = socket

    async def send(self, topic: str, event: str, payload: Any, ref: str = "1", join_ref: str = "1") -> None:
        await self._socket.send_str(json.dumps([join_ref, ref, topic, event, payload]))

    async def join(self, topic: str, config: object, ref: str = "1") -> None:
        await self.send(topic, "phx_join", {"config": config}, ref, ref)

    async def next(self, event: str) -> tuple[str, Any]:
        """Return topic and payload of the next frame of an event; the closing code where the socket ends before."""
        async with asyncio.timeout(_PATIENCE_S):
            while True:
                message = await self._socket.receive()
                if message.type is not aiohttp.WSMsgType.TEXT:
                    return "closed", self._socket.close_code
                _, _, topic, what, payload = json.loads(message.data)
                if what == event:
                    return topic, payload

    async def answers(self, count: int) -> list[str]:
        """Return the reasons of so many answers, or their status where there is none."""
        found = []
        for _ in range(count):
            topic, payload = await self.next("phx_reply")
            if topic == "closed":
                return [*found, f"closed {payload}"]
            found.append(payload["response"].get("reason") or payload["status"])
        return found


@asynccontextmanager
async def _client(target: Platform) -> AsyncIterator[_Client]:
    url = f"{target.url}/realtime/v1/websocket?vsn=2.0.0&apikey={target.values['ANON_KEY']}"
    async with aiohttp.ClientSession() as session, session.ws_connect(url, max_msg_size=0) as socket:
        yield _Client(socket)


def _entries(count: int, filter: str = "id=eq.{}") -> dict[str, object]:
    entry = {"event": "*", "schema": "public", "table": "nowhere"}
    return {"postgres_changes": [{**entry, "filter": filter.format(number)} for number in range(count)]}


async def test_entries_of_a_join(target: Platform) -> None:
    async with _client(target) as client:
        await client.join("realtime:a", _entries(100))
        await client.join("realtime:b", _entries(101))
        await client.join("realtime:c", _entries(2000))
        answers = await client.answers(3)

    refused = "ChangesLimitReached: A join has 100 entries of postgres_changes at most"
    assert sorted(answers) == [refused, refused, "ok"]


async def test_one_frame_of_sixty_thousand_entries(target: Platform) -> None:
    async with _client(target) as client:
        await client.join("realtime:a", _entries(60_000, "n=eq.{}"))
        (answer,) = await client.answers(1)

    assert answer.startswith("JoinTooLong: ")


async def test_entries_of_all_channels_of_a_socket(target: Platform) -> None:
    async with _client(target) as client:
        for number in range(12):
            await client.join(f"realtime:room-{number}", _entries(100), str(number))
        answers = await client.answers(12)

    refused = "ChangesLimitReached: A connection has 1000 entries of postgres_changes at most"
    assert sorted(answers) == [refused] * 2 + ["ok"] * 10


async def test_channels_of_a_socket(target: Platform) -> None:
    async with _client(target) as client:
        for number in range(110):
            await client.join(f"realtime:room-{number}", {}, str(number))
        answers = await client.answers(110)

    assert sorted(answers) == ["ChannelRateLimitReached: Too many channels"] * 10 + ["ok"] * 100


async def test_a_storm_of_joins_ends_the_socket(target: Platform) -> None:
    async with _client(target) as client:
        for number in range(300):
            await client.join("realtime:same", _entries(100) if number < 20 else {}, str(number))
        answers = await client.answers(300)

    assert "ClientJoinRateLimitReached: Too many joins per second" in answers
    assert answers[-1] == "closed 1008"


@pytest.mark.parametrize(
    ("topic", "config", "reason"),
    [
        ("realtime:" + "x" * 3000, {}, "TopicNameTooLong"),
        ("realtime:a", {"presence": {"key": "x" * 2000}}, "PresenceKeyTooLong"),
        ("realtime:a", {"x": "x" * 600_000}, "JoinTooLong"),
    ],
)
async def test_names_and_payloads_of_a_join(
    target: Platform, topic: str, config: object, reason: str
) -> None:
    async with _client(target) as client:
        await client.join(topic, config)
        (answer,) = await client.answers(1)

    assert answer.partition(":")[0] == reason


async def test_a_filter_of_many_conditions(target: Platform) -> None:
    target.psql(
        "create table public.filtered (id int primary key, body text); grant select on public.filtered to anon;"
        "alter publication supabase_realtime add table public.filtered;"
    )
    table = {"event": "*", "schema": "public", "table": "filtered"}
    slow = [{**table, "filter": f"body=like.{number}%"} for number in range(30)]
    async with _client(target) as client:
        await client.join(
            "realtime:a", {"postgres_changes": [{**table, "filter": ",".join(["id=gt.1"] * 21)}]}
        )
        _, many = await client.next("system")
        await client.join("realtime:b", {"postgres_changes": slow}, "2")
        _, patterns = await client.next("system")

    assert "filter must not have more than 20 conditions" in many["message"]
    assert patterns["message"].startswith(
        "At most 20 entries of a channel may have filters that only the database"
    )


async def test_a_storm_of_messages_ends_the_channel(target: Platform) -> None:
    async with _client(target) as client:
        await client.join("realtime:a", {})
        await client.answers(1)
        for _ in range(1100):
            await client.send("realtime:a", "broadcast", {"type": "broadcast", "event": "e", "payload": {}})
        _, told = await client.next("system")

    assert told["message"] == "Too many messages per second"


async def test_what_is_tracked(target: Platform) -> None:
    async with _client(target) as client:
        await client.join("realtime:a", {"presence": {"enabled": True}})
        await client.send("realtime:a", "presence", {"event": "track", "payload": {"x": "x" * 70_000}})
        _, size = await client.next("system")
        await client.join("realtime:b", {"presence": {"enabled": True}}, "2")
        for number in range(160):
            payload = {"event": "track", "payload": {"x": number}}
            await client.send("realtime:b", "presence", payload, str(number), "2")
        _, calls = await client.next("system")

    assert size["message"] == "Track message size exceeded"
    assert calls["message"] == "Client presence rate limit exceeded"
