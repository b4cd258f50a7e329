"""What comes out of the stream of changes goes into the pipeline: one reader for all tables with local subscribers.

Why the stream, and not the same subjects as plain subscriptions: the stream numbers its messages, so that nothing is lost
unnoticed (a broken connection, a server of a cluster that ends), subscribers join and leave at exact numbers, and a backlog
waits in the stream, not here. A subscription needs no word of Postgres either: what is committed after `subscribe` returned
is published, and numbered, after the end of the stream that was looked up before it returned; the reader reads everything
of its table from there on.
"""

import asyncio
import random

from broker.codec import Decoder, Undecodable
from broker.jetstream.ordered_reader import Head, MessagesLost, StreamReader, next_id, stream_head
from broker.nats.connection import Connection
from broker.observability.observe import observe, traceback_of
from broker.subjects import CHANGES_STREAM
from schemas.changes import Batch, Gap, Position, Tick
from schemas.errors import Unavailable
from services.realtime.changes.interest import Pattern, subjects_for
from services.realtime.changes.observed import ChangesMissed, ChangeUnreadable, FeedFailed, FeedWaits
from services.realtime.changes.pipeline import Pipeline

LAST = 0xFFFFFFFF
"""Index of a position that stands behind all changes of its message."""
_PAUSE_S, _LAST_PAUSE_S = 0.05, 1.0
_LINGER_S = 10.0

decode: Decoder[Batch | Gap | Tick] = Decoder(Batch | Gap | Tick)  # type: ignore[arg-type]  # a union is no class; msgspec takes it


class Intake:
    """Reads the stream for the live pipeline, from the moment of the first subscription."""

    def __init__(self, connection: Connection, pipeline: Pipeline) -> None:
        self._connection, self._pipeline = connection, pipeline
        self._loop = asyncio.get_running_loop()
        self._reader: StreamReader | None = None
        self._task: asyncio.Task[None] | None = None
        self._watched: set[Pattern] = set()
        self._shrinking: asyncio.TimerHandle | None = None

    @property
    def reached(self) -> int:
        """Number of the message up to which nothing more is read; what is above will be."""
        return max(self._pipeline.admitted, self._reader.after if self._reader else 0)

    def begin(self, head: Head) -> None:
        """Read what comes after the end of the stream, unless it is read already."""
        if self._task is None:
            self._reader = StreamReader(self._connection, CHANGES_STREAM, subjects_for(()), head.last_seq)
            self._task = self._loop.create_task(self._read(self._reader))

    def grow(self) -> None:
        """Read the tables of new seats too: everything above `reached`."""
        new = set(self._pipeline.index.patterns) - self._watched
        if new and self._reader is not None:
            self._watched |= new
            self._reader.watch(subjects_for(self._watched))

    def shrink(self) -> None:
        """After a while, read only what is still subscribed to: those who left may be about to come back."""
        if self._shrinking is None:
            self._shrinking = self._loop.call_later(_LINGER_S, self._shrink)

    async def close(self) -> None:
        """Read nothing more."""
        if self._shrinking is not None:
            self._shrinking.cancel()
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)
        if self._reader is not None:
            await self._reader.close()

    def _shrink(self) -> None:
        self._shrinking = None
        self._watched = set(self._pipeline.index.patterns)
        if self._reader is not None:
            self._reader.watch(subjects_for(self._watched))

    async def _read(self, reader: StreamReader) -> None:
        pause_s = _PAUSE_S
        while True:
            try:
                await self._pipeline.room()
                for kept in await reader.next():
                    await self._pipeline.room()
                    admit(self._pipeline, kept.seq, kept.payload)
                pause_s = _PAUSE_S
                continue
            except MessagesLost as lost:
                observe(ChangesMissed(len(self._pipeline.index.seats)))
                self._pipeline.lose(reader.after, is_another=lost.is_another)
                continue
            except Unavailable as error:
                if self._connection.is_connected and pause_s >= _LAST_PAUSE_S:
                    observe(FeedWaits(str(error)))
            except Exception as error:  # the rim of a task that nobody else watches
                observe(FeedFailed(traceback_of(error)))
                self._pipeline.lose(reader.after)  # the rest of what was taken will not come again
            await asyncio.sleep(pause_s * random.uniform(0.7, 1.0))
            pause_s = min(2 * pause_s, _LAST_PAUSE_S)
            await self._connection.connected()


def admit(pipeline: Pipeline, seq: int, payload: bytes) -> None:
    """Decode a message and put it into a pipeline."""
    try:
        message = decode(payload)
    except Undecodable as error:
        observe(ChangeUnreadable(seq, error.reason))
        pipeline.lose(seq)
    else:
        pipeline.admit(seq, message, len(payload))


def order(id: str) -> tuple[int, int]:
    """Give the place of a message from its id. One that is not of us stands before all."""
    try:
        position = Position.parse(f"{id}-0")
    except ValueError:
        return 0, 0
    return position.lsn, position.number


class Ends:
    """Looks up where the stream ends; many who ask at the same time are answered together."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._next: asyncio.Task[tuple[Head, Position | None]] | None = None
        self._underway = asyncio.Lock()

    async def look(self) -> tuple[Head, Position | None]:
        """Give the end of the stream as it is now or later, and the position of its last message if it is there.

        Raises: Unavailable.
        """
        if self._next is None:
            self._next = asyncio.get_running_loop().create_task(self._ask())
        return await asyncio.shield(self._next)

    async def _ask(self) -> tuple[Head, Position | None]:
        async with self._underway:
            self._next = None  # who comes from here on needs a later look
            head = await stream_head(self._connection, CHANGES_STREAM)
            if head.first_seq > head.last_seq:
                return head, None
            found = await next_id(self._connection, CHANGES_STREAM, head.last_seq)
            return head, Position(*order(found[1]), LAST) if found else None
