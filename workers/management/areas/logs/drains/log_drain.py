"""One drain of one stream: read lines behind the stored place, send them until they are taken, store the place.

What the receiver does not take stays in the stream, which is bounded (`log.store.queue_size`, a day at most) and removes its oldest
messages: so a receiver that is away costs no memory, holds back nobody, and misses the oldest lines, which are counted. Lines are sent at least once: a place is
stored behind what was taken. While the database stores none (its disk is full, say), nothing more is sent, and nothing twice. A drain that is new begins with lines from now on; of a stream that came after it, with the first.
"""

import asyncio
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from broker import subjects
from broker.backoff import Backoff
from broker.jetstream.errors import JetStreamError
from broker.jetstream.ordered_reader import MessagesLost, StoredMessage, StreamReader
from broker.jetstream.streams import NO_STREAM, stream_head
from broker.logs.lines import SOURCES
from broker.nats.connection import NatsConnection
from broker.observability.observe import observe
from schemas.errors import Unavailable
from schemas.logs import LEVELS, LogRecord
from schemas.settings.logs import LogDrain
from workers.database.errors import DatabaseError
from workers.database.passing_errors import is_passing
from workers.database.sessions.leadership import Leadership
from workers.management.areas.logs.drains.observations import (
    LogDrainFailing,
    LogDrainLost,
    LogDrainRecovered,
    LogDrainsLost,
)
from workers.management.areas.logs.drains.receivers import NotTaken, Receiver
from workers.management.areas.logs.messages import LOGS, read_batches, read_function_lines
from workers.sql.files import read_statements

SQL = read_statements("workers.management.areas.logs.drains", "drains.sql")
_SUBJECTS = (subjects.LOGS_SUBJECTS, subjects.FUNCTION_LOGS_SUBJECTS)
_FIRST_PAUSE_S, _LAST_PAUSE_S = 0.5, 30.0
_MOST_RUNS = 10_000
"""Processes whose last batch is remembered, to see that one is missing."""


@dataclass(slots=True)
class DrainFigures:
    """What a drain has done since this process leads; `pending` messages wait in each stream."""

    sent: int = 0
    lost: int = 0
    rejected: int = 0
    failing: set[int] = field(default_factory=set)
    pending: dict[int, int] = field(default_factory=dict)


class DrainedStream:
    """A drain of the stream `SOURCES[source]`."""

    def __init__(
        self,
        name: str,
        drain: LogDrain,
        source: int,
        connection: NatsConnection,
        leadership: Leadership,
        receiver: Receiver,
        figures: DrainFigures,
    ) -> None:
        self._name, self._drain, self._source = name, drain, source
        self._connection, self._leadership, self._receiver = connection, leadership, receiver
        self._figures = figures
        self._levels = frozenset(LEVELS[LEVELS.index(drain.level) :])
        self._runs: dict[str, int] = {}
        self._is_older_than_stream = False
        self._is_failure_stored = False

    async def run(self) -> None:
        """Send for as long as this process leads. Raises: DatabaseError, LeadershipLost."""
        backoff = Backoff(_FIRST_PAUSE_S, _LAST_PAUSE_S)
        while True:
            try:
                await self._follow(backoff)
            except Unavailable as error:
                # At a start the stream is created a moment later; that the broker is away is reported by the connection.
                if isinstance(error, JetStreamError) and error.code == NO_STREAM:
                    self._is_older_than_stream = True
                if self._connection.is_connected and backoff.is_longest:
                    observe(LogDrainsLost(f"{SOURCES[self._source]}: {error}"))
                await backoff.wait()

    async def _follow(self, backoff: Backoff) -> None:
        stream = SOURCES[self._source]
        head = await stream_head(self._connection, stream)
        rows = await self._leadership.ask(SQL["place"], self._name, stream)
        if not rows or rows[0][0] != head.created:
            after = head.first_seq - 1 if rows or self._is_older_than_stream else head.last_seq
            await self._leadership.ask(SQL["begin"], self._name, stream, head.created, after)
        else:
            after = rows[0][1]
        reader = StreamReader(self._connection, stream, [_SUBJECTS[self._source]], after)
        try:
            while True:
                try:
                    messages = await reader.next()
                except MessagesLost as lost:
                    if lost.is_another:
                        return
                    continue
                backoff.reset()
                if messages:
                    after = await self._send(messages, after)
                    await asyncio.sleep(self._drain.gather)
        finally:
            await reader.close()

    async def _send(self, messages: list[StoredMessage], after: int) -> int:
        """Send the lines of messages and store the place behind them, which is returned."""
        now_ms = time.time_ns() // 1_000_000
        read = (
            read_batches(messages, self._runs, now_ms)
            if self._source == LOGS
            else read_function_lines(messages, self._runs, now_ms)
        )
        # The stream of function lines has messages of its watch, too, so a gap in its numbers says nothing.
        lost = messages[-1].seq - after - len(messages) if self._source == LOGS else read.missing
        self._runs |= read.runs
        for run in list(self._runs)[:-_MOST_RUNS]:
            del self._runs[run]
        records = [line.record for line in read.lines if line.record.level in self._levels]
        self._figures.pending[self._source] = messages[-1].pending
        rejected = 0
        for start in range(0, len(records), self._drain.batch):
            rejected += await self._deliver(records[start : start + self._drain.batch])
        if lost:
            observe(LogDrainLost(self._name, SOURCES[self._source], lost))
        self._figures.sent += len(records) - rejected
        self._figures.rejected += rejected
        self._figures.lost += lost
        place = messages[-1].seq
        await self._store(place, len(records) - rejected, rejected, lost)
        return place

    async def _store(self, place: int, sent: int, rejected: int, lost: int) -> None:
        """Store a place; wait for a database that cannot. Raises: DatabaseError for what never passes, LeadershipLost."""
        backoff = Backoff(_FIRST_PAUSE_S, _LAST_PAUSE_S)
        while True:
            try:
                await self._leadership.ask(
                    SQL["sent"], self._name, SOURCES[self._source], place, sent, rejected, lost
                )
            except DatabaseError as error:
                if not is_passing(error):
                    raise
                observe(LogDrainsLost(f"{SOURCES[self._source]}: SQLSTATE {error.code}"))
                await backoff.wait()
                continue
            self._is_failure_stored = False
            return

    async def _deliver(self, records: Sequence[LogRecord]) -> int:
        """Send lines until they are taken; return how many were rejected."""
        backoff = Backoff(_FIRST_PAUSE_S, _LAST_PAUSE_S)
        rejected = 0
        while True:
            try:
                rejected += await self._receiver.send(records)
            except NotTaken as error:
                records, rejected = records[error.done :], rejected + error.rejected
                await self._note_failure(str(error))
                await asyncio.sleep(max(backoff.next_s(), error.wait_s))
                continue
            if self._source in self._figures.failing:
                self._figures.failing.discard(self._source)
                observe(LogDrainRecovered(self._name))
            return rejected

    async def _note_failure(self, reason: str) -> None:
        if self._source not in self._figures.failing:
            self._figures.failing.add(self._source)
            observe(LogDrainFailing(self._name, reason))
        if self._is_failure_stored:
            return
        try:
            await self._leadership.ask(SQL["failing"], self._name, SOURCES[self._source], reason)
            self._is_failure_stored = True
        except DatabaseError as error:  # of a full disk, say: it is stored with the next failure
            if not is_passing(error):
                raise


def gauges_of(figures: DrainFigures) -> list[tuple[str, str, Callable[[], float]]]:
    """Return the metrics of a drain: name, help, value."""
    return [
        ("headwater_log_drain_up", "1: the receiver takes lines.", lambda: not figures.failing),
        ("headwater_log_drain_sent", "Lines that the receiver took since this process leads.", lambda: figures.sent),
        ("headwater_log_drain_rejected", "Lines that the receiver rejected for good.", lambda: figures.rejected),
        ("headwater_log_drain_lost", "Messages that left the stream before they were sent.", lambda: figures.lost),
        ("headwater_log_drain_pending", "Messages that wait to be sent.", lambda: sum(figures.pending.values())),
    ]  # fmt: skip
