"""Reads the stream of changes into the live pipeline: one reader for all tables that are subscribed to in this process.

Why the stream, and not plain subscriptions of the same subjects: the stream numbers its messages. So a loss is noticed (a
broken connection, a server of a cluster that stops), subscribers start and end at exact numbers, and a backlog waits in the
stream, not in memory. A subscription needs no answer of Postgres: what is committed after `subscribe` returned is published
after the end of the stream that was looked up before the return; the reader reads everything of its table from there on.
"""

import asyncio

from broker.backoff import Backoff
from broker.codec import InvalidMessage, MessageDecoder
from broker.jetstream.ordered_reader import MessagesLost, StreamReader
from broker.jetstream.streams import StreamHead, next_id, stream_head
from broker.nats.connection import NatsConnection
from broker.observability.observe import observe, traceback_of
from broker.subjects import CHANGES_STREAM
from schemas.changes import ChangeBatch, Gap, Position, Tick
from schemas.errors import Unavailable
from services.realtime.changes.observations import ChangesMissed, ChangeUnreadable, FeedFailed, FeedWaits
from services.realtime.changes.pipeline import DeliveryPipeline
from services.realtime.changes.stream_subjects import Pattern, subjects_for

LAST = 0xFFFFFFFF
"""Index of a position behind all changes of its message."""
_PAUSE_S, _LAST_PAUSE_S = 0.05, 1.0
_LINGER_S = 10.0

decode: MessageDecoder[ChangeBatch | Gap | Tick] = MessageDecoder(ChangeBatch | Gap | Tick)  # type: ignore[arg-type]  # msgspec accepts a union


class Intake:
    """Reads the stream for the live pipeline, from the first subscription on."""

    def __init__(self, connection: NatsConnection, pipeline: DeliveryPipeline) -> None:
        self._connection, self._pipeline = connection, pipeline
        self._loop = asyncio.get_running_loop()
        self._reader: StreamReader | None = None
        self._task: asyncio.Task[None] | None = None
        self._watched: set[Pattern] = set()
        self._shrink_timer: asyncio.TimerHandle | None = None

    @property
    def reached(self) -> int:
        """Return the number up to which all messages are read; those above it will be."""
        return max(self._pipeline.admitted, self._reader.after if self._reader else 0)

    def start(self, head: StreamHead) -> None:
        """Start reading after the end of the stream, unless it is read already."""
        if self._task is None:
            self._reader = StreamReader(self._connection, CHANGES_STREAM, subjects_for(()), head.last_seq)
            self._task = self._loop.create_task(self._read(self._reader))

    def grow(self) -> None:
        """Read the tables of new subscribers, too: everything above `reached`."""
        new = set(self._pipeline.index.patterns) - self._watched
        if new and self._reader is not None:
            self._watched |= new
            self._reader.watch(subjects_for(self._watched))

    def shrink(self) -> None:
        """After `_LINGER_S` read only tables that still have subscribers: a client may reconnect before."""
        if self._shrink_timer is None:
            self._shrink_timer = self._loop.call_later(_LINGER_S, self._shrink)

    async def close(self) -> None:
        """Stop reading."""
        if self._shrink_timer is not None:
            self._shrink_timer.cancel()
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)
        if self._reader is not None:
            await self._reader.close()

    def _shrink(self) -> None:
        self._shrink_timer = None
        self._watched = set(self._pipeline.index.patterns)
        if self._reader is not None:
            self._reader.watch(subjects_for(self._watched))

    async def _read(self, reader: StreamReader) -> None:
        backoff = Backoff(_PAUSE_S, _LAST_PAUSE_S, jitter=0.3)
        while True:
            try:
                await self._pipeline.wait_for_space()
                for stored in await reader.next():
                    await self._pipeline.wait_for_space()
                    admit(self._pipeline, stored.seq, stored.payload)
                backoff.reset()
                continue
            except MessagesLost as lost:
                observe(ChangesMissed(len(self._pipeline.index.subscribers)))
                self._pipeline.lose(reader.after, is_recreated=lost.is_another)
                continue
            except Unavailable as error:
                if self._connection.is_connected and backoff.is_longest:
                    observe(FeedWaits(str(error)))
            except Exception as error:  # no other task would report it
                observe(FeedFailed(traceback_of(error)))
                self._pipeline.lose(
                    reader.after
                )  # the rest of the messages that were read will not be read again
            await backoff.wait()
            await self._connection.connected()


def admit(pipeline: DeliveryPipeline, seq: int, payload: bytes) -> None:
    """Decode a message and admit it to a pipeline."""
    try:
        message = decode(payload)
    except InvalidMessage as error:
        observe(ChangeUnreadable(seq, error.reason))
        pipeline.lose(seq)
    else:
        pipeline.admit(seq, message, len(payload))


def order(id: str) -> tuple[int, int]:
    """Return the place of a message by its id. An id that is not ours is before all others."""
    try:
        position = Position.parse(f"{id}-0")
    except ValueError:
        return 0, 0
    return position.lsn, position.number


class StreamEnd:
    """Looks up where the stream ends; concurrent callers share one look-up."""

    def __init__(self, connection: NatsConnection) -> None:
        self._connection = connection
        self._next: asyncio.Task[tuple[StreamHead, Position | None]] | None = None
        self._underway = asyncio.Lock()

    async def find(self) -> tuple[StreamHead, Position | None]:
        """Return the end of the stream as it is now or later, and the position of its last message if it has one.

        Raises: Unavailable.
        """
        if self._next is None:
            self._next = asyncio.get_running_loop().create_task(self._find())
        return await asyncio.shield(self._next)

    async def _find(self) -> tuple[StreamHead, Position | None]:
        async with self._underway:
            self._next = None  # a caller that comes from here on needs a later look-up
            head = await stream_head(self._connection, CHANGES_STREAM)
            if head.first_seq > head.last_seq:
                return head, None
            last = await next_id(self._connection, CHANGES_STREAM, head.last_seq)
            return head, Position(*order(last[1]), LAST) if last else None
