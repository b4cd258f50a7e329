"""Row changes as server-sent events, behind a real gateway and a real broker."""

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

import aiohttp
import jwt
import msgspec
import pytest
import pytest_asyncio

from broker.nats.connection import NatsConnection
from schemas.changes import Position
from schemas.realtime import ChangeSubscription, ClaimRule
from schemas.settings.realtime import RealtimeSettings
from services.realtime.sse import parse_changes_request
from tests.broker.server import running_server
from tests.services.realtime.changes.log import Log, inserted
from tests.services.realtime.changes.pool import Pool, running_pool, table
from tests.services.realtime.edges import KEYS, SECRET, RealtimeEdges, running_edge, token

ONE, TWO = "00000000-0000-4000-8000-000000000001", "00000000-0000-4000-8000-000000000002"


@dataclass
class Stage:
    """A gateway, the pool behind it and the log of changes."""

    realtime_edges: RealtimeEdges
    pool: Pool
    log: Log


@pytest_asyncio.fixture
async def stage() -> AsyncIterator[Stage]:
    """All that a stream needs."""
    async with running_server() as server, running_pool(server.url) as pool:
        connection = await NatsConnection.open(server.url, name="test log")
        log = Log(connection)
        await log.make()
        async with running_edge(server.url, RealtimeSettings(max_unsent=64 * 1024)) as realtime_edges:
            yield Stage(realtime_edges, pool, log)
        await connection.close()


@dataclass
class Event:
    """An event as a client sees it."""

    id: str
    name: str
    data: Any


@asynccontextmanager
async def listening(
    realtime_edges: RealtimeEdges, query: str = "table=items", **headers: str
) -> AsyncIterator[AsyncIterator[Event]]:
    """Open a stream and read events."""
    async with realtime_edges.session.get(
        f"{realtime_edges.url}/changes?{query}", headers={"apikey": KEYS.anon_key, **headers}
    ) as answer:
        assert answer.status == 200, await answer.text()
        assert answer.content_type == "text/event-stream"
        yield _events(answer)


async def _events(answer: aiohttp.ClientResponse) -> AsyncIterator[Event]:
    lines: dict[str, str] = {}
    async for raw in answer.content:
        line = raw.decode().rstrip("\n")
        if line:
            name, _, value = line.partition(":")
            lines[name] = value.removeprefix(" ")
        else:
            if "data" in lines:
                yield Event(
                    lines.get("id", ""), lines.get("event", "message"), msgspec.json.decode(lines["data"])
                )
            lines = {}


async def test_changes_come_with_their_positions(stage: Stage) -> None:
    async with listening(stage.realtime_edges) as events:
        subscribed = await anext(events)
        position = await stage.log.commit(inserted(1))
        change = await anext(events)

    assert subscribed.name == "subscribed"
    assert (change.name, change.id) == ("message", str(position))
    assert change.data["record"]["id"] == 1
    assert change.data["position"] == str(position)


async def test_the_last_event_id_resumes(stage: Stage) -> None:
    await stage.log.commit(inserted(1))
    since = await stage.log.commit(inserted(2))
    await stage.log.commit(inserted(3))
    async with listening(stage.realtime_edges, **{"Last-Event-ID": str(since)}) as events:
        first, second = await anext(events), await anext(events)
    async with listening(stage.realtime_edges, f"table=items&since={since}") as events:
        third = await anext(events)

    assert (first.data["record"]["id"], second.name) == (3, "subscribed")
    assert third.data["record"]["id"] == 3


async def test_a_position_that_is_gone_is_told_as_a_gap(stage: Stage) -> None:
    since = await stage.log.commit(inserted(1))
    await stage.log.commit(inserted(2))
    await stage.log.commit(inserted(3))
    await stage.log.empty(keep=1)
    async with listening(stage.realtime_edges, **{"Last-Event-ID": str(since)}) as events:
        names = [(await anext(events)).name, (await anext(events)).name]

    assert names == ["gap", "subscribed"]


async def test_rows_are_those_of_the_token(stage: Stage) -> None:
    stage.pool.tables["authenticated", "items"] = table(ClaimRule("user_id", ["sub"], "uuid"))
    bearer = f"Bearer {token(sub=ONE)}"
    async with listening(stage.realtime_edges, authorization=bearer) as events:
        await anext(events)
        await stage.log.commit(inserted(1, TWO), inserted(2, ONE))
        change = await anext(events)

    assert change.data["record"]["id"] == 2


async def test_a_stream_ends_with_its_token(stage: Stage) -> None:
    short = jwt.encode({"role": "authenticated", "sub": ONE, "exp": time.time() + 1.5}, SECRET, "HS256")
    async with listening(stage.realtime_edges, authorization=f"Bearer {short}") as events:
        names = [event.name async for event in events]

    assert names == ["subscribed", "expired"]


@pytest.mark.parametrize(
    ("query", "headers", "status"),
    [
        ("event=INSERT", {}, 400),
        ("table=items&since=nonsense", {}, 400),
        ("table=secret", {}, 400),
        ("table=items", {"apikey": "wrong"}, 401),
        ("table=items", {"authorization": "Bearer wrong.wrong.wrong"}, 401),
    ],
)
async def test_what_cannot_be_is_refused(
    stage: Stage, query: str, headers: dict[str, str], status: int
) -> None:
    stage.pool.refused["secret"] = "no such table"
    sent = {"apikey": KEYS.anon_key, **headers}
    async with stage.realtime_edges.session.get(
        f"{stage.realtime_edges.url}/changes?{query}", headers=sent
    ) as answer:
        body = await answer.json()

    assert answer.status == status
    assert body


async def test_without_the_pool_it_is_unavailable(stage: Stage) -> None:
    stage.pool.is_away = True
    sent = {"apikey": KEYS.anon_key}
    async with stage.realtime_edges.session.get(
        f"{stage.realtime_edges.url}/changes?table=items", headers=sent
    ) as answer:
        assert answer.status == 503


async def test_who_reads_too_slowly_is_cut_off(stage: Stage) -> None:
    async with listening(stage.realtime_edges) as events:
        await anext(events)
        body = "x" * 400_000
        for number in range(60):
            await stage.log.commit(inserted(number, body=body))
        async with asyncio.timeout(30):
            seen = 0
            try:
                async for _ in events:
                    seen += 1
            except (aiohttp.ClientError, ValueError):  # a line of that length is beyond this client's reader
                pass

    assert seen < 60


async def test_a_browser_may_read_it(stage: Stage) -> None:
    sent = {"apikey": KEYS.anon_key, "origin": "https://app.example.com"}
    async with stage.realtime_edges.session.get(
        f"{stage.realtime_edges.url}/changes?table=items", headers=sent
    ) as answer:
        assert answer.headers["access-control-allow-origin"] == "*"
        assert answer.headers["cache-control"] == "no-cache, no-store"


def test_the_query_is_read_as_an_entry() -> None:
    wanted = parse_changes_request("schema=s&table=t&event=insert&filter=a%3Deq.1&select=id,%20a", "10-0-1")

    assert wanted.subscription == ChangeSubscription("INSERT", "s", "t", "a=eq.1", ["id", "a"])
    assert wanted.since == Position(16, 0, 1)


def test_defaults_of_the_query() -> None:
    assert parse_changes_request("schema=s", None).subscription == ChangeSubscription("*", "s", "*")
    assert parse_changes_request("table=t&event=TRUNCATE", None).subscription == ChangeSubscription(
        "*", "public", "t"
    )
