"""A stand-in for the replication worker: a test publishes batches into a real stream, in order, each with its id."""

import msgspec

from broker import subjects
from broker.codec import encode
from broker.jetstream.durable_consumer import publish
from broker.jetstream.streams import StreamLimits, create_stream, delete_stream
from broker.nats.connection import NatsConnection
from schemas.changes import ChangeBatch, ChangeColumn, ChangeKind, Gap, Position, RowChange, Tick

ITEMS = [
    ChangeColumn("id", "int8", is_key=True),
    ChangeColumn("user_id", "uuid"),
    ChangeColumn("body", "text"),
    ChangeColumn("amount", "numeric"),
]
MADE = 1_767_225_600_123_456


def json_of(value: object) -> bytes:
    """Give the JSON text of a value as the log has it."""
    return msgspec.json.encode(value)


def item(id: int, user: str | None = None, body: str | None = "b", amount: object = 1) -> list[bytes | None]:
    """Give a row of the table items."""
    return [json_of(id), json_of(user), json_of(body), json_of(amount)]


def inserted(id: int, user: str | None = None, **more: object) -> RowChange:
    """Give the insert of an item."""
    return RowChange(ChangeKind.INSERT, item(id, user, **more), None, 100)  # type: ignore[arg-type]  # values of a test


class Log:
    """Publishes what a database would have done."""

    def __init__(self, connection: NatsConnection) -> None:
        self.connection = connection
        self.lsn = 0x1000
        self.schema_lsn = 0x10

    async def make(self, max_bytes: int = 64 << 20) -> None:
        """Make the stream."""
        limits = StreamLimits(subjects.CHANGES_STREAM, subjects.CHANGES_SUBJECTS, 900.0, max_bytes)
        await create_stream(self.connection, limits, {})

    async def make_anew(self) -> None:
        """Drop the stream and make another."""
        await delete_stream(self.connection, subjects.CHANGES_STREAM)
        await self.make()

    async def empty(self, keep: int = 0) -> None:
        """Let everything, but the last so many, leave the stream."""
        asked = b'{"keep":%d}' % keep if keep else b""
        await self.connection.request(f"$JS.API.STREAM.PURGE.{subjects.CHANGES_STREAM}", asked)

    def batch(
        self, *changes: RowChange, table: str = "items", schema: str = "public", identity: str = "d"
    ) -> ChangeBatch:
        """Give the next transaction."""
        self.lsn += 0x10
        return ChangeBatch(schema, table, self.lsn, 0, MADE, self.schema_lsn, ITEMS, identity, list(changes))

    async def commit(self, *changes: RowChange, **more: str) -> Position:
        """Publish a transaction; give the position of its last change."""
        batch = self.batch(*changes, **more)
        await self.send(batch)
        return Position(batch.lsn, batch.number, len(changes) - 1)

    async def send(self, batch: ChangeBatch) -> None:
        """Publish a batch."""
        subject = subjects.changes(batch.schema, batch.table)
        await publish(self.connection, subject.name, encode(batch), id=f"{batch.lsn:x}-{batch.number:x}")

    async def gap(self, since: int) -> None:
        """Publish a gap."""
        self.lsn += 0x10
        gap = Gap(self.lsn, 0, since, "a test")
        await publish(self.connection, subjects.GAPS.name, encode(gap), id=f"{self.lsn:x}-0")

    async def tick(self) -> Position:
        """Publish a place; give it."""
        self.lsn += 0x10
        tick = Tick(self.lsn, 0)
        await publish(self.connection, subjects.GAPS.name, encode(tick), id=f"{self.lsn:x}-0")
        return Position(self.lsn, 0)

    def migrate(self) -> None:
        """Change the schema: every later batch carries it."""
        self.lsn += 0x10
        self.schema_lsn = self.lsn
