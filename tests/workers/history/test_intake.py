"""The reader of changes for histories, on a real stream; the database is a stand-in that stores what `store` would."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Mapping
from datetime import UTC, datetime

import msgspec
import pytest

from broker.jetstream.durable_consumer import publish
from broker.jetstream.streams import delete_stream, ensure_stream, stream_head
from broker.nats.connection import NatsConnection
from broker.subjects import CHANGES_STREAM
from schemas.changes import RowChange
from tests.broker.server import running_server
from tests.workers.history.test_versions import TABLE, batch, change
from workers.history.intake import HistoryIntake
from workers.history.statements import SQL
from workers.history.versions import TrackedTable

_NAMES = {statement: name for name, statement in SQL.items()}


class StoringLeadership:
    """Keeps the place and counts versions by the rule of the statement `store`."""

    def __init__(self) -> None:
        self.place: tuple[str, int] | None = None
        self.gaps: list[str] = []
        self.versions = 0

    async def ask(self, statement: str, *values: object) -> list[object]:
        match _NAMES[statement], values:
            case "place", _ if self.place is not None:
                return [{"stream": self.place[0], "seq": self.place[1], "lsn": 0}]
            case "partitions", _:
                return [(TABLE.id, datetime(2000, 1, 1, tzinfo=UTC), datetime(2100, 1, 1, tzinfo=UTC))]
            case "keep_place", (str(stream), int(seq), _):
                self.place = stream, seq
            case "store", (str(stream), int(seq), _, str(rows)):
                if self.place is None or self.place[0] != stream or self.place[1] < seq:
                    self.place = stream, seq
                    self.versions += len(msgspec.json.decode(rows))
            case "gap", (_, _, str(reason)):
                self.gaps.append(reason)
        return []


class OneTable:
    """The tables with history: one."""

    by_relation: Mapping[int, TrackedTable] = {99: TABLE}

    async def follow(self) -> None:
        pass

    async def read(self) -> None:
        pass


@pytest.fixture
async def connection() -> AsyncIterator[NatsConnection]:
    async with running_server() as server:
        one = await NatsConnection.open(server.url, name="test")
        yield one
        await one.close()


async def begun(leadership: StoringLeadership) -> None:
    async with asyncio.timeout(30):
        while leadership.place is None:
            await asyncio.sleep(0.02)  # nothing announces a statement of the reader


async def stored(leadership: StoringLeadership, count: int) -> None:
    async with asyncio.timeout(30):
        while leadership.versions < count:
            await asyncio.sleep(0.02)  # nothing announces a statement of the reader


async def test_versions_are_stored_when_the_stream_was_created_again(connection: NatsConnection) -> None:
    async def send(count: int) -> None:
        insert: RowChange = change("INSERT", [b"1", b'"x"', b"null"])
        for _ in range(count):
            await publish(connection, "changes.public.notes", msgspec.msgpack.encode(batch(insert)))

    leadership = StoringLeadership()
    intake = HistoryIntake(connection, leadership, OneTable(), [])  # type: ignore[arg-type]  # as much of both as it uses
    await ensure_stream(connection, CHANGES_STREAM, ["changes.>", "gaps.>"])
    reading = asyncio.ensure_future(intake.run())
    try:
        await begun(leadership)  # what was written before is no history
        await send(3)
        await stored(leadership, 3)
        await delete_stream(connection, CHANGES_STREAM)
        await ensure_stream(connection, CHANGES_STREAM, ["changes.>", "gaps.>"])
        await send(1)
        await stored(leadership, 4)
        head = await stream_head(connection, CHANGES_STREAM)
    finally:
        reading.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await reading

    assert leadership.place == (head.created, 1)
    assert leadership.gaps == ["the stream of changes was created again"]
