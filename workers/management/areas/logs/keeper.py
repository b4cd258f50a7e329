"""Store the log lines of all processes: from the streams LOGS and FUNCTION_LOGS into the store of this machine.

Each machine that runs the pool management has a store of its own with all lines, so none has to be elected, and any member of
the pool answers a search. Of several processes on one machine the one that holds the store's lock writes; the others try every
five seconds to take over. How far a stream was read is stored with the lines, in one transaction: after a kill, of this process
or of NATS, reading goes on behind the last stored message. Disk and SQLite are used in threads, never by the event loop.
"""

import asyncio
import contextlib
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import ClassVar

from broker import subjects
from broker.backoff import Backoff
from broker.jetstream.ordered_reader import MessagesLost, StoredMessage, StreamReader
from broker.jetstream.streams import ensure_stream, stream_head
from broker.logs.lines import SOURCES
from broker.logs.segment import StreamPosition
from broker.logs.store import LogStore, StoreFull, StoreLimits, StoreLocked
from broker.nats.connection import NatsConnection
from broker.observability.observations import Observation
from broker.observability.observe import gauge, observe
from schemas.errors import Unavailable
from schemas.settings.log import LogStoreSettings
from workers.management.areas.logs.messages import LOGS, ReadLines, read_batches, read_function_lines

_SUBJECTS = (subjects.LOGS_SUBJECTS, subjects.FUNCTION_LOGS_SUBJECTS)
_LOCK_S = 5.0
_GATHER_S = 1.0
_SWEEP_S = 300.0
_LONGEST_QUEUE_S = 24 * 3600.0
_WINDOW_S = 120.0
_FIRST_PAUSE_S, _LAST_PAUSE_S = 0.5, 10.0


class LogStorePaused(Observation, frozen=True):
    """No log lines are stored: they wait in the stream, and the oldest are lost when that is full."""

    level: ClassVar[str] = "error"
    reason: str


class LogStoreResumed(Observation, frozen=True):
    """Log lines are stored again."""


class LogLinesLost(Observation, frozen=True):
    """Log lines left the stream before this store had them; the log files of their processes have them."""

    level: ClassVar[str] = "warning"
    stream: str


class LogLinesUnreadable(Observation, frozen=True):
    """Messages in the stream of log lines are not log lines, and were skipped."""

    level: ClassVar[str] = "warning"
    stream: str
    count: int


class LogKeeper:
    """Keeps the store of this machine from `start` to `close`."""

    def __init__(
        self,
        connection: NatsConnection,
        settings: LogStoreSettings,
        store: LogStore,
        gather_s: float = _GATHER_S,
    ) -> None:
        self._connection, self._settings, self._store, self._gather_s = connection, settings, store, gather_s
        self._task: asyncio.Task[None] | None = None
        self._writing = threading.Lock()
        self._is_writer = False
        self._reason = ""
        self._stored = 0
        self._pending = [0, 0]
        self._last_ms = 0
        self._gauges = _gauges(self)

    @classmethod
    def of(cls, connection: NatsConnection, settings: LogStoreSettings, folder: Path) -> "LogKeeper":
        """Return the keeper of the store in a folder."""
        return cls(connection, settings, LogStore(folder, StoreLimits.of(settings)))

    @property
    def stored(self) -> int:
        """Number of lines that this process has stored."""
        return self._stored

    def start(self) -> None:
        """Start to store lines, once this process has the lock of the store."""
        self._task = asyncio.get_running_loop().create_task(self._run(), name="log store")

    async def close(self) -> None:
        """Stop after the transaction that runs."""
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)
        await asyncio.to_thread(self._close)
        for remove in self._gauges:
            remove()

    def _close(self) -> None:
        with self._writing:
            self._store.close()
            self._is_writer = False

    async def _run(self) -> None:
        """Take the lock and store lines; begin again after an error of the store."""
        backoff = Backoff(_FIRST_PAUSE_S, _LAST_PAUSE_S)
        while True:
            try:
                await self._keep()
            except* StoreLocked:
                await asyncio.sleep(_LOCK_S)
            except* Exception as errors:  # last resort: whatever is wrong with the store, it is tried again
                self._pause(f"{type(errors.exceptions[0]).__name__}: {errors.exceptions[0]}")
                await asyncio.to_thread(self._close)
                await backoff.wait()

    async def _keep(self) -> None:
        """Open the store, and follow the streams. Raises: StoreLocked, sqlite3.Error, OSError."""
        await asyncio.to_thread(self._open)
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(self._sweep())
            for source in range(len(SOURCES)):
                tasks.create_task(self._follow(source))

    def _open(self) -> None:
        with self._writing:
            self._store.open()
            self._is_writer = True

    async def _sweep(self) -> None:
        while True:
            await asyncio.to_thread(self._delete_expired)
            await asyncio.sleep(_SWEEP_S)

    def _delete_expired(self) -> None:
        with self._writing:
            self._store.delete_expired()

    async def _follow(self, source: int) -> None:
        """Read a stream for ever. Raises: sqlite3.Error, OSError of the store."""
        backoff = Backoff(_FIRST_PAUSE_S, _LAST_PAUSE_S)
        while True:
            try:
                if source == LOGS:
                    await self._ensure_stream()
                await self._read(source)
                backoff.reset()
            except (
                Unavailable
            ):  # also: the stream does not exist yet. The connection reports what is wrong with it
                await backoff.wait()

    async def _ensure_stream(self) -> None:
        longest = min(float(self._settings.max_age), _LONGEST_QUEUE_S)
        await ensure_stream(
            self._connection,
            subjects.LOGS_STREAM,
            [subjects.LOGS_SUBJECTS],
            max_age_s=longest,
            max_bytes=int(self._settings.queue_size),
            duplicate_window_s=min(_WINDOW_S, longest),
        )

    async def _read(self, source: int) -> None:
        """Store the messages of a stream behind the stored position, until the stream is another one.

        Where messages left the stream, the same reader goes on behind them: a new one would begin before the gap again, because
        the stored position only moves with messages that are stored. Raises: Unavailable, JetStreamError.
        """
        stream = SOURCES[source]
        head = await stream_head(self._connection, stream)
        position = self._store.positions.get(stream)
        after = position.seq if position is not None and position.created == head.created else 0
        if position is None:
            after = head.first_seq - 1
        reader = StreamReader(self._connection, stream, [_SUBJECTS[source]], after)
        try:
            while True:
                try:
                    messages = await reader.next()
                except MessagesLost as lost:
                    if lost.is_another:
                        return
                    observe(LogLinesLost(stream))
                    continue
                if messages:
                    await self._store_messages(source, head.created, messages)
                    await asyncio.sleep(self._gather_s)
        finally:
            await reader.close()

    async def _store_messages(self, source: int, created: str, messages: list[StoredMessage]) -> None:
        """Store messages; while the disk is full, wait. Raises: sqlite3.Error, OSError."""
        self._pending[source] = messages[-1].pending
        position = {SOURCES[source]: StreamPosition(created, messages[-1].seq)}
        while True:
            try:
                read = await asyncio.to_thread(self._append, source, messages, position)
                break
            except StoreFull as full:
                self._pause(str(full))
                await asyncio.sleep(_LOCK_S)
        self._resume()
        self._stored += len(read.lines)
        if read.lines:
            self._last_ms = read.lines[-1].at_ms
        if read.unreadable:
            observe(LogLinesUnreadable(SOURCES[source], read.unreadable))

    def _append(
        self, source: int, messages: list[StoredMessage], position: dict[str, StreamPosition]
    ) -> ReadLines:
        now_ms = time.time_ns() // 1_000_000
        with self._writing:
            if source == LOGS:
                read = read_batches(messages, self._store.runs, now_ms)
            else:
                read = read_function_lines(messages, {}, now_ms)
            self._store.append(read.lines, position, read.runs if source == LOGS else {})
        return read

    def _pause(self, reason: str) -> None:
        if reason != self._reason:
            self._reason = reason
            observe(LogStorePaused(reason))

    def _resume(self) -> None:
        if self._reason:
            self._reason = ""
            observe(LogStoreResumed())


def _gauges(keeper: LogKeeper) -> list[Callable[[], None]]:
    """Register the metrics of a store; return the functions that remove them."""

    def size() -> float:
        with contextlib.suppress(OSError):
            return keeper._store.size
        return 0.0

    def lag() -> float:
        is_behind = sum(keeper._pending) > 0 and keeper._last_ms
        return max(0.0, time.time() - keeper._last_ms / 1000) if is_behind else 0.0

    return [
        gauge("headwater_log_store_writer", "1: this process writes the store of log lines of its machine.", lambda: keeper._is_writer),
        gauge("headwater_log_store_up", "Whether log lines are stored.", lambda: not keeper._reason),
        gauge("headwater_log_store_bytes", "Bytes of the store of log lines.", size),
        gauge("headwater_log_store_lines", "Log lines that this process has stored.", lambda: keeper._stored),
        gauge("headwater_log_store_pending", "Messages in the streams that are not stored yet.", lambda: sum(keeper._pending)),
        gauge("headwater_log_store_lag_seconds", "Age of the last stored line while messages wait.", lag),
    ]  # fmt: skip
