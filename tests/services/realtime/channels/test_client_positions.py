"""What a client is recognized by, and what its answers to PINGs acknowledge."""

import asyncio
from dataclasses import dataclass
from typing import Any

import msgspec

from broker import subjects
from broker.nats.connection import NatsConnection
from schemas.changes import Position
from schemas.realtime import ClientPositions, PositionAnswer, PositionQuery
from services.realtime.channels.client_positions import (
    Acknowledgements,
    ChannelMemory,
    EdgePositions,
    recognize,
)
from services.realtime.channels.pool_queries import ChannelQueries
from services.realtime.protocol.join import parse_join
from services.realtime.tokens import RealtimeIdentity
from tests.broker.server import NatsServer

CLIENT = b"c" * 16


@dataclass
class Progress:
    sent: Position | None
    delivered: Position | None = None


class OnePositionQueries(ChannelQueries):
    """A pool that remembers one position."""

    def __init__(self, answer: PositionAnswer) -> None:
        self.answer, self.gate = answer, asyncio.Event()
        self.gate.set()

    async def position(self, query: PositionQuery) -> PositionAnswer:
        await self.gate.wait()
        return self.answer


class Edge:
    """The positions of an edge, and what the pool hears of them."""

    def __init__(self, connection: NatsConnection, answer: PositionAnswer) -> None:
        self.asked = OnePositionQueries(answer)
        self.positions = EdgePositions(connection, "edge", self.asked, 60, lambda: ())
        self.reports: list[ClientPositions] = []
        self.heard = asyncio.Event()
        connection.subscribe(subjects.CLIENT_POSITIONS.name, self._hear)

    def _hear(self, arrived: Any) -> None:
        self.reports.append(msgspec.msgpack.decode(arrived.payload, type=ClientPositions))
        self.heard.set()

    async def state(self, number: int, state: str) -> Position:
        """Wait until a channel is reported in a state; return its position."""
        async with asyncio.timeout(60):
            while True:
                for report in self.reports:
                    for channel in report.channels:
                        if (channel.number, channel.state) == (number, state):
                            return channel.position
                self.heard.clear()
                await self.heard.wait()


def recognized(topic: str = "realtime:a", address: str = "1.1.1.1", agent: str = "x", **claims: str) -> bytes:
    table = claims.pop("table", "t")
    join = parse_join(msgspec.json.encode({"config": {"postgres_changes": [{"table": table}]}}))
    identity = RealtimeIdentity("authenticated", msgspec.json.encode(claims))
    return recognize(identity, join, topic, ("2", agent), address)


def test_a_session_is_recognized_wherever_it_comes_from_and_whatever_its_token() -> None:
    same = [
        recognized(session_id="s", sub="ada"),
        recognized(session_id="s", sub="ada", address="2.2.2.2", iat="7"),
    ]
    others = [
        recognized(session_id="s2", sub="ada"),
        recognized(session_id="s", topic="realtime:b"),
        recognized(session_id="s", table="u"),
        recognized(session_id="s", agent="\udcff"),
        recognized(sub="s"),
        recognized(sub="ada"),
        recognized(),
        recognized(address="2.2.2.2"),
    ]

    assert same[0] == same[1]
    assert len({same[0], *others}) == 1 + len(others)


async def test_only_an_answer_to_the_ping_acknowledges_what_was_sent_before_it(nats: NatsServer) -> None:
    connection = await NatsConnection.open(nats.url, name="test")
    edge = Edge(connection, PositionAnswer())
    channel = edge.positions.remember(CLIENT, Position(1))
    pings, progress = Acknowledgements(edge.positions), Progress(Position(4))

    assert pings.next_ping([(channel, progress)], 0.0) is None
    assert channel.position == Position(4)  # it was sent nothing
    progress.sent = progress.delivered = Position(9)
    ping = pings.next_ping([(channel, progress)], 1.0)
    assert ping is not None
    assert ping[:2] == b"\x89\x04"
    progress.sent = progress.delivered = Position(12)
    assert pings.next_ping([(channel, progress)], 2.0) is None
    pings.receive_pong(b"else")
    assert (channel.position, channel.state) == (Position(4), "live")
    assert pings.next_ping([(channel, progress)], 9.0) is None
    assert channel.state == "broken"  # it does not answer
    pings.receive_pong(ping[2:])
    assert (channel.position, channel.state) == (Position(9), "live")
    assert pings.next_ping([(channel, progress)], 10.0) is not None
    edge.positions.end(channel, has_left=False)
    assert await edge.state(channel.number, "broken") == Position(9)
    await connection.close()


async def end_during_the_query(edge: Edge, *, has_left: bool) -> None:
    """End a channel while it waits for the position of its client."""
    edge.asked.gate.clear()
    memory = ChannelMemory(edge.positions, CLIENT)
    recalling = asyncio.ensure_future(memory.recall())
    await asyncio.sleep(0)
    recalling.cancel()
    memory.end(has_left=has_left)
    edge.asked.gate.set()


async def test_a_channel_that_breaks_before_it_has_its_position_uses_none(nats: NatsServer) -> None:
    connection = await NatsConnection.open(nats.url, name="test")
    edge = Edge(connection, PositionAnswer(Position(3), "other", 8))
    await end_during_the_query(edge, has_left=False)

    left = edge.positions.remember(CLIENT, Position(5))
    edge.positions.end(left, has_left=True)
    assert await edge.state(left.number, "left") == Position(5)
    assert [report.used for report in edge.reports if report.used] == []
    await connection.close()


async def test_a_client_that_leaves_before_it_has_its_position_has_used_it(nats: NatsServer) -> None:
    connection = await NatsConnection.open(nats.url, name="test")
    edge = Edge(connection, PositionAnswer(Position(3), "other", 8))
    await end_during_the_query(edge, has_left=True)

    assert await edge.state(1, "left") == Position(3)
    assert [report.used for report in edge.reports if report.used] == [[("other", 8)]]
    await connection.close()


async def test_a_start_is_reported_at_once_and_many_starts_together(nats: NatsServer) -> None:
    connection = await NatsConnection.open(nats.url, name="test")
    edge = Edge(connection, PositionAnswer())
    memories = [ChannelMemory(edge.positions, CLIENT) for _ in range(9)]
    for number, memory in enumerate(memories):
        memory.start(Position(number))
        if number in {0, 8}:
            await memory.reported()

    assert await edge.state(9, "live") == Position(8)
    assert [len(report.channels) for report in edge.reports] == [1, 8]
    await connection.close()
