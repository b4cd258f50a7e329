"""A database, a broker and a replication between them, for tests and benchmarks."""

import asyncio
import base64
import contextlib
import itertools
from collections.abc import AsyncIterator
from dataclasses import dataclass
from urllib.parse import quote, urlsplit, urlunsplit

import asyncpg
import msgspec

from broker.nats.connection import NatsConnection
from broker.subjects import CHANGES_STREAM
from schemas.changes import ChangeBatch, ChangeKind, Gap, RowChange, StoredBroadcast, Tick
from schemas.errors import Unavailable
from schemas.settings.realtime import RealtimeSettings
from schemas.settings.tree import Settings
from tests.broker.server import NatsServer
from tests.workers.database.server import TRUSTING, connected
from workers.database.migrations.migrate import migrate
from workers.replication.pool import Replication

_LONGEST_S = 60.0
Kept = ChangeBatch | StoredBroadcast | Gap | Tick
_DECODE = msgspec.msgpack.Decoder(Kept).decode
_NUMBERS = itertools.count(1)


class _Message(msgspec.Struct):
    subject: str
    seq: int
    hdrs: str = ""
    data: str = ""


class _StoredMessageReply(msgspec.Struct):
    message: _Message | None = None


@dataclass(frozen=True, slots=True)
class StreamMessage:
    """A message of the stream."""

    seq: int
    subject: str
    id: str
    kept: Kept


@dataclass
class ReplicationPool:
    """All that belongs to one replication. `admin` is a connection of the superuser."""

    database: str
    nats: NatsServer
    broker: NatsConnection
    admin: asyncpg.Connection
    settings: RealtimeSettings
    replication: Replication

    @property
    def url(self) -> str:
        return login_url(self.database, self.settings.login, Settings().db.password.reveal())

    @property
    def values_url(self) -> str:
        return values_url(self.database)

    def another(self) -> Replication:
        """Give one more process's replication of the same slot; begin and close it."""
        return Replication(self.broker, self.url, self.settings, self.values_url)

    async def table(self, columns: str, *, more: str = "") -> str:
        """Make a published table and give its name."""
        name = f"t{next(_NUMBERS)}"
        await self.admin.execute(
            f"create table public.{name} ({columns}); {more.format(name=name)};"
            f"alter publication supabase_realtime add table public.{name}"
        )
        return name

    async def changes(self, table: str, count: int) -> list[RowChange]:
        """Wait until the stream has so many changes of a table and give all there are."""
        return [change for batch in await self.batches(table, count) for change in batch.changes]

    async def changes_or_away(self, table: str, count: int) -> None:
        """Wait until the stream has so many changes, while the broker comes and goes."""
        while True:
            with contextlib.suppress(Unavailable):
                await self.changes(table, count)
                return
            await self.broker.connected()

    async def batches(self, table: str, count: int) -> list[ChangeBatch]:
        """The same, as they were cut."""
        async with asyncio.timeout(_LONGEST_S):
            while True:
                found = [
                    stored.kept
                    for stored in await self.stored()
                    if isinstance(stored.kept, ChangeBatch) and stored.kept.table == table
                ]
                if sum(len(batch.changes) for batch in found) >= count:
                    return found
                await asyncio.sleep(0.02)

    async def last_row(self, table: str, count: int) -> dict[str, object]:
        """Give the new row of the last of so many changes, values read as JSON."""
        batch = (await self.batches(table, count))[-1]
        row = batch.changes[-1].new
        assert row is not None
        return {
            column.name: value if value is None else msgspec.json.decode(value)
            for column, value in zip(batch.columns, row, strict=True)
        }

    async def stored(self) -> list[StreamMessage]:
        """Give all messages of the stream that tell of something, oldest first."""
        return [each for each in await self.everything() if not isinstance(each.kept, Tick)]

    async def everything(self) -> list[StreamMessage]:
        """Give all messages of the stream, oldest first."""
        found: list[StreamMessage] = []
        seq = 1
        while True:
            asked = msgspec.json.encode({"seq": seq, "next_by_subj": ">"})
            reply = await self.broker.request(f"$JS.API.STREAM.MSG.GET.{CHANGES_STREAM}", asked)
            message = msgspec.json.decode(reply.payload, type=_StoredMessageReply).message
            if message is None:
                return found
            found.append(_stored(message))
            seq = message.seq + 1

    async def drop_slot(self) -> None:
        """Drop the slot as soon as its last reader is gone from it, which may be a moment after it hung up."""
        async with asyncio.timeout(_LONGEST_S):
            while True:
                with contextlib.suppress(asyncpg.ObjectInUseError):
                    await self.admin.execute("select pg_drop_replication_slot($1)", self.settings.slot_name)
                    return
                await asyncio.sleep(0.02)

    async def streams(self) -> None:
        """Wait until the replication reads the log; the slot is active too while it is being made."""
        async with asyncio.timeout(_LONGEST_S):
            while not await self.admin.fetchval(
                "select exists (select from pg_replication_slots as s join pg_stat_replication as r on r.pid = s.active_pid"
                " where s.slot_name = $1)",
                self.settings.slot_name,
            ):
                await asyncio.sleep(0.02)


def _stored(message: _Message) -> StreamMessage:
    heads = dict(
        line.split(": ", 1)
        for line in base64.b64decode(message.hdrs).decode().split("\r\n")[1:]
        if ": " in line
    )
    return StreamMessage(
        message.seq, message.subject, heads.get("Nats-Msg-Id", ""), _DECODE(base64.b64decode(message.data))
    )


def operations(changes: list[RowChange]) -> list[ChangeKind]:
    return [change.kind for change in changes]


def values_url(url: str) -> str:
    """Give the URL of a database for the interface's login."""
    return login_url(url, Settings().db.authenticator, Settings().db.password.reveal())


def login_url(url: str, role: str, password: str) -> str:
    parts = urlsplit(url)
    place = parts.netloc.rpartition("@")[2]
    return urlunsplit(parts._replace(netloc=f"{quote(role)}:{quote(password)}@{place}"))


@contextlib.asynccontextmanager
async def replication_pool_of(database: str, nats: NatsServer) -> AsyncIterator[ReplicationPool]:
    """Return a pool replication on two running servers, by the superuser's URL; its replication reads the log."""
    await migrate(database, TRUSTING)
    settings = RealtimeSettings()
    broker = await NatsConnection.open(nats.url, name="replication")
    url = login_url(database, settings.login, Settings().db.password.reveal())
    replication = Replication(broker, url, settings, values_url(database))
    try:
        async with connected(database) as admin:
            replication_pool = ReplicationPool(database, nats, broker, admin, settings, replication)
            replication.start()
            await replication_pool.streams()
            yield replication_pool
    finally:
        await replication.close()
        await broker.close()
