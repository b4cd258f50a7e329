"""A small realtime pool behind the edges: it answers CHANNEL and WRITE from rules that a test sets, over a real broker, and has no stored settings."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import msgspec

from broker import subjects
from broker.codec import decoder, encode
from broker.nats.connection import NatsConnection
from broker.requests.handler import RequestBody
from broker.requests.serve import serve
from schemas.edge_settings import EdgeSettings
from schemas.http import Request, Response
from schemas.realtime import CHANNEL, ChannelQuery, ChannelRights, ReplayedMessage, WriteAnswer, WriteQuery


class Pool:
    """What people may do, by the `sub` of their claims. Nobody else may do anything."""

    def __init__(self) -> None:
        self.reads: dict[str, ChannelRights] = {}
        self.writes: dict[str, set[str]] = {}
        self.asked: list[ChannelQuery | WriteQuery] = []
        self.hold = asyncio.Event()
        self.hold.set()

    def let(
        self, sub: str, *, read: str = "", write: str = "", replayed: list[ReplayedMessage] | None = None
    ) -> None:
        """Let somebody read and write: `broadcast presence`."""
        self.reads[sub] = ChannelRights("broadcast" in read, "presence" in read, replayed or [])
        self.writes[sub] = set(write.split())

    async def answer(self, request: Request, body: RequestBody) -> Response:
        data = await body.read(1 << 20)
        await self.hold.wait()
        if request.path == CHANNEL:
            asked = decoder(ChannelQuery)(data)
            self.asked.append(asked)
            found = self.reads.get(_sub(asked.claims), ChannelRights(False, False))
            replayed = found.replayed[-asked.replay.limit :] if asked.replay else []
            return Response(200, body=encode(msgspec.structs.replace(found, replayed=replayed)))
        wanted = decoder(WriteQuery)(data)
        self.asked.append(wanted)
        return Response(
            200, body=encode(WriteAnswer(wanted.extension in self.writes.get(_sub(wanted.claims), set())))
        )


async def _no_settings(request: Request, body: RequestBody) -> Response:
    del request, body
    return Response(200, body=msgspec.json.encode(EdgeSettings(0, {})))


def _sub(claims: bytes) -> str:
    return str(msgspec.json.decode(claims).get("sub", ""))


@asynccontextmanager
async def running_pool(nats_url: str) -> AsyncIterator[Pool]:
    """Serve the questions of edges until the end of the block."""
    pool = Pool()
    connection = await NatsConnection.open(nats_url, name="test pool")
    serving = await serve(connection, subjects.REALTIME, pool.answer, concurrency=16, queue=64)
    stored = await serve(connection, subjects.EDGE_SETTINGS, _no_settings, concurrency=1, queue=64)
    try:
        yield pool
    finally:
        await serving.stop()
        await stored.stop()
        await connection.close()
