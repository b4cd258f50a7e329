"""The reader of changes for webhooks, on a real stream; the database is a stand-in that keeps the place."""

import asyncio
import contextlib
from types import SimpleNamespace

import msgspec

from broker.jetstream.durable_consumer import publish
from broker.jetstream.streams import delete_stream, ensure_stream, stream_head
from broker.nats.connection import NatsConnection
from broker.subjects import CHANGES_STREAM
from schemas.changes import ChangeBatch, ChangeColumn, ChangeKind, RowChange
from tests.broker.server import running_server
from workers.webhooks.intake import ChangeIntake
from workers.webhooks.row_events import RowWebhook
from workers.webhooks.statements import SQL

_NAMES = {statement: name for name, statement in SQL.items()}
WEBHOOK = RowWebhook("1", "public", "notes", frozenset({"insert"}), (), None, False, False, 0)


class StoringLeadership:
    """Keeps the place and counts deliveries."""

    def __init__(self) -> None:
        self.place: tuple[object, ...] = ()
        self.stored = asyncio.Queue[int]()
        self.followed = asyncio.Event()

    async def ask(self, statement: str, *values: object) -> list[tuple[object, ...]]:
        match _NAMES[statement], values:
            case "place", _ if self.place:
                return [(*self.place, 0)]
            case "keep_place", (stream, int(seq), _):
                self.place = stream, seq
            case "followed", _:
                self.followed.set()
            case "store", (stream, int(seq), _, list(webhooks), *_):
                self.place = stream, seq
                self.stored.put_nowait(len(webhooks))
        return []


class OneWebhook:
    """The webhooks: one, which is followed unless it is new."""

    of_tables = {("public", "notes"): [WEBHOOK]}  # noqa: RUF012 - nothing changes it

    def __init__(self, *, is_followed: bool = True) -> None:
        self.gaps: list[str] = []
        self.stored = {WEBHOOK.id: SimpleNamespace(is_followed=is_followed)}

    async def read(self) -> None:
        pass

    async def note_gap(self, _: list[str], reason: str) -> None:
        self.gaps.append(reason)


async def test_the_place_is_that_of_the_stream_that_was_created_again() -> None:
    change = RowChange(ChangeKind.INSERT, [b"1"], None)
    batch = ChangeBatch("public", "notes", 16, 2, 0, 0, [ChangeColumn("a", "int4", True)], "f", [change])
    async with running_server() as server:
        connection = await NatsConnection.open(server.url, name="test")
        leadership, webhooks = StoringLeadership(), OneWebhook()
        intake = ChangeIntake(connection, leadership, webhooks)  # type: ignore[arg-type]  # as much of both as it uses
        await ensure_stream(connection, CHANGES_STREAM, ["changes.>", "gaps.>"])
        leadership.place = (await stream_head(connection, CHANGES_STREAM)).created, 0
        reading = asyncio.ensure_future(intake.run())
        try:
            async with asyncio.timeout(30):
                await publish(connection, "changes.public.notes", msgspec.msgpack.encode(batch))
                await leadership.stored.get()
                await delete_stream(connection, CHANGES_STREAM)
                await ensure_stream(connection, CHANGES_STREAM, ["changes.>", "gaps.>"])
                await publish(connection, "changes.public.notes", msgspec.msgpack.encode(batch))
                await leadership.stored.get()
            head = await stream_head(connection, CHANGES_STREAM)
        finally:
            reading.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await reading
            await connection.close()

    assert leadership.place == (head.created, 1)
    assert webhooks.gaps == ["changes left the stream before they were read"]


async def test_a_webhook_that_is_followed_has_a_place_though_its_leader_is_killed_at_once() -> None:
    change = RowChange(ChangeKind.INSERT, [b"1"], None)
    batch = ChangeBatch("public", "notes", 16, 2, 0, 0, [ChangeColumn("a", "int4", True)], "f", [change])
    async with running_server() as server:
        connection = await NatsConnection.open(server.url, name="test")
        leadership, webhooks = StoringLeadership(), OneWebhook(is_followed=False)
        await ensure_stream(connection, CHANGES_STREAM, ["changes.>", "gaps.>"])
        killed = asyncio.ensure_future(ChangeIntake(connection, leadership, webhooks).run())  # type: ignore[arg-type]  # as above
        await leadership.followed.wait()
        killed.cancel()
        await asyncio.wait([killed])
        await publish(connection, "changes.public.notes", msgspec.msgpack.encode(batch))

        following = OneWebhook()
        reading = asyncio.ensure_future(ChangeIntake(connection, leadership, following).run())  # type: ignore[arg-type]  # as above
        try:
            async with asyncio.timeout(30):
                assert await leadership.stored.get() == 1
        finally:
            reading.cancel()
            await asyncio.wait([reading])
            await connection.close()

    assert following.gaps == []
