"""Follows the stream of changes for all shapes: one reader, which never holds back the log of Postgres.

A message is taken once; its changes are added to the shapes that they concern, each of which applies them by itself. Where the
stream was read to is written to disk behind the shapes: what is read twice appends nothing twice (`shape.py`). When messages have
left the stream unread, every shape ends, and clients read again: there is never a silent gap.
"""

import asyncio
import contextlib
from collections.abc import Sequence
from pathlib import Path

import msgspec
from msgspec import Struct

from broker import subjects
from broker.backoff import Backoff
from broker.codec import InvalidMessage, MessageDecoder
from broker.jetstream.errors import JetStreamError
from broker.jetstream.ordered_reader import MessagesLost, StoredMessage, StreamReader
from broker.jetstream.streams import next_id, stream_head
from broker.nats.connection import NatsConnection
from broker.observability.observe import observe, traceback_of
from schemas.changes import ChangeBatch, Gap, Tick
from schemas.errors import Unavailable
from schemas.sync import boot_id
from workers.sync.changes import work_of
from workers.sync.observations import SyncCrashed, SyncWaits
from workers.sync.registry import ShapeRegistry

_SUBJECTS = ("changes.>", subjects.GAPS.name)
_HELD_S = 0.1
"""How long a transaction is held whose end has not arrived, so that it is applied as a whole."""
_SAVE_S = 1.0
_decode: MessageDecoder[ChangeBatch | Gap | Tick] = MessageDecoder(ChangeBatch | Gap | Tick)  # type: ignore[arg-type]  # msgspec accepts a union


class StreamPlace(Struct, frozen=True):
    """Up to where the stream was read, and in which run of the machine."""

    boot: str
    stream: str
    seq: int
    reached: int
    fingerprint: str = ""


class StreamFollower:
    """Reads the stream from `start` to `close`."""

    def __init__(self, connection: NatsConnection, registry: ShapeRegistry, file: Path) -> None:
        self._connection, self._registry, self._file = connection, registry, file
        self._stream = ""
        self._task: asyncio.Task[None] | None = None
        self._saving: asyncio.Task[None] | None = None
        self._reader: StreamReader | None = None
        self._held: list[StoredMessage] = []
        """Messages that were read and not applied: their transaction goes on. They outlive a loss of the broker, which does not send them again."""
        self.fingerprint = b""

    async def start(self) -> bool:
        """Find where to read on, and start; return whether the shapes on disk continue there. Raises: Unavailable, JetStreamError."""
        place = self._load()
        head = await stream_head(self._connection, subjects.CHANGES_STREAM)
        self._stream = head.created
        is_continued = (
            place is not None
            and place.boot == boot_id()
            and place.stream == head.created
            and head.first_seq <= place.seq + 1 <= head.last_seq + 1
        )
        registry = self._registry
        if place is not None and is_continued:
            registry.seq, registry.reached = place.seq, place.reached
            self.fingerprint = place.fingerprint.encode()
        else:
            registry.seq = head.last_seq
            last = (
                await next_id(self._connection, subjects.CHANGES_STREAM, head.last_seq)
                if head.last_seq
                else None
            )
            registry.reached = max(registry.reached, _position_of(last[1]) if last else 0)
        return is_continued

    def run(self) -> None:
        """Begin to read; the shapes are loaded."""
        loop = asyncio.get_running_loop()
        self._reader = StreamReader(self._connection, subjects.CHANGES_STREAM, _SUBJECTS, self._registry.seq)
        self._task = loop.create_task(self._follow(self._reader))
        self._saving = loop.create_task(self._save_regularly())

    async def close(self) -> None:
        """Stop reading."""
        for task in (self._task, self._saving):
            if task is not None:
                task.cancel()
                await asyncio.gather(task, return_exceptions=True)
        if self._reader is not None:
            await self._reader.close()
            self._save()

    async def _follow(self, reader: StreamReader) -> None:
        backoff = Backoff(0.05, 1.0, jitter=0.3)
        while True:
            try:
                await self._read(reader, backoff)
            except MessagesLost:
                self._held.clear()
                self._registry.end_all("changes left the stream before they were read")
                self._registry.seq = reader.after
                continue
            except (Unavailable, JetStreamError) as error:
                if self._connection.is_connected and backoff.is_longest:
                    observe(SyncWaits(str(error)))
            except Exception as error:  # no other task would report it
                observe(SyncCrashed(traceback_of(error)))
                self._held.clear()
                self._registry.end_all("the pool failed")
            await backoff.wait()
            await self._connection.connected()

    async def _read(self, reader: StreamReader, backoff: Backoff) -> None:
        reading: asyncio.Task[list[StoredMessage]] | None = None
        try:
            while True:
                reading = reading or asyncio.get_running_loop().create_task(reader.next())
                done, _ = await asyncio.wait({reading}, timeout=_HELD_S if self._held else None)
                if done:
                    finished, reading = reading, None
                    self._held += finished.result()
                    backoff.reset()
                    if self._held and not _ends(self._held[-1]) and len(self._held) < 10_000:
                        continue
                messages, self._held = self._held, []
                self._take(messages, reader)
        finally:
            if reading is not None:
                reading.cancel()
                with contextlib.suppress(asyncio.CancelledError, Exception):
                    await reading

    def _take(self, messages: Sequence[StoredMessage], reader: StreamReader) -> None:
        """Add the changes of some messages to the shapes that they concern."""
        registry = self._registry
        batches: list[ChangeBatch] = []
        reached = registry.reached
        for stored in messages:
            message = _decode(stored.payload)
            if isinstance(message, Gap):
                batches.clear()
                registry.end_all(message.reason)
            elif isinstance(message, ChangeBatch):
                batches.append(message)
            reached = max(reached, message.lsn + 1)
        for shape in registry.index.of(batches):
            work = work_of(shape.resolved, batches, shape.may_concern)
            if work.is_over:
                registry.end(shape, "the table was truncated")
            elif work.is_needed:
                if not shape.is_behind:
                    shape.applied_seq = registry.seq
                shape.add(work.change)
        registry.advance(reached, messages[-1].seq if messages else reader.after)

    def _load(self) -> StreamPlace | None:
        try:
            return msgspec.json.decode(self._file.read_bytes(), type=StreamPlace)
        except (OSError, msgspec.MsgspecError):
            return None

    async def _save_regularly(self) -> None:
        while True:
            await asyncio.sleep(_SAVE_S)
            with contextlib.suppress(OSError):  # the next second tries again
                await asyncio.to_thread(self._save)

    def _save(self) -> None:
        registry = self._registry
        place = StreamPlace(
            boot_id(), self._stream, registry.safe_seq, registry.reached, self.fingerprint.decode()
        )
        draft = self._file.with_suffix(".new")
        draft.write_bytes(msgspec.json.encode(place))
        draft.replace(self._file)


def _ends(stored: StoredMessage) -> bool:
    """Return whether the transaction of a message is complete with it, as far as this message says."""
    try:
        message = _decode(stored.payload)
    except InvalidMessage:
        return True
    return not isinstance(message, ChangeBatch) or message.ends or not message.xid


def _position_of(id: str) -> int:
    try:
        return int(id.split("-")[0], 16) + 1
    except ValueError:
        return 0
