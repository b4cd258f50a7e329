"""Stores the log in pieces: reads the stream, seals what has arrived, stores it, and confirms it to the server.

A piece is stored when its first byte has waited for `backup.interval`, or when it has 16 MiB. A put that fails is tried again until it succeeds: the
piece stays in memory, and the slot keeps the log that follows. The stream is closed meanwhile, and `run` returns when the piece is stored, so
that a new session opens it again. Danger: a stream that is open and not read stops the whole server at its limit. Its checkpointer ends the
sender before it gives the log up, and waits; the sender waits until its client reads its last message.
"""

import asyncio
import time
from collections.abc import Awaitable, Callable

from broker.archive.store import ArchiveStoreDown
from broker.backoff import Backoff
from workers.backup.continuous import inventory
from workers.backup.continuous.archive import Archive, CoveredMoment, moment_text, piece_name
from workers.backup.continuous.progress import LOG, ArchiveProgress
from workers.backup.continuous.slots import GIVEN_UP, KeptLog
from workers.backup.continuous.wal_stream import LogBytes, LogEnd, WalStream
from workers.database.sessions.replication import StreamLost

PIECE_BYTES = 16 * 1024 * 1024
PUT_S = 20.0
"""Longest time of one put."""
_COVERED_EVERY_S = 60.0
_LAST_LOOK_S = 0.3
_MARGIN_S = 1.0
"""What the server flushes between its look at the end of the log and at its clock."""


class LogStorer:
    """Stores the log of one archive from a position on; everything committed before `covered` is stored already.

    The moment that a piece covers is the server's clock when the server had nothing more to send. While the reader lags, the moment stays what
    it was, however late the server sends: what was committed before may still be to come.
    """

    def __init__(
        self,
        archive: Archive,
        stream: WalStream,
        position: int,
        covered: float,
        interval_s: float,
        progress: ArchiveProgress,
        slot: Callable[[], Awaitable[KeptLog]],
    ) -> None:
        self._archive, self._stream = archive, stream
        self._interval_s, self._progress, self._slot = interval_s, progress, slot
        self.position = position
        """Everything before it is stored."""
        self._buffer = bytearray()
        self._time = covered
        """Everything that was committed before it is stored or collected."""
        self._server_end = position
        self._stopping = asyncio.Event()
        self._is_closed = False
        self._is_covered_noted = False
        self._covered_written = 0.0
        self.stored = asyncio.Condition()
        """Notified when `position` has grown."""

    def stop(self) -> None:
        """Let `run` store what has arrived, and return."""
        self._stopping.set()

    async def wait_for(self, lsn: int) -> None:
        """Wait until everything before a position is stored."""
        async with self.stored:
            await self.stored.wait_for(lambda: self.position >= lsn)

    async def run(self) -> None:
        """Store the log until `stop` is called, or the stream was closed because the store was away. Raises: StreamLost."""
        due: float | None = None
        while not self._stopping.is_set():
            wait_s = self._interval_s if due is None else max(0.0, due - time.monotonic())
            frames = await self._take(wait_s)
            self._collect(frames)
            if self._buffer and due is None:
                due = time.monotonic() + self._interval_s
            if due is not None and (time.monotonic() >= due or len(self._buffer) >= PIECE_BYTES):
                await self._store_buffer()
                due = None
                if self._is_closed:
                    return
            elif not frames:
                self._stream.confirm(
                    self.position
                )  # requests a keepalive: how far is the server while nothing is written
            self._progress.write_regularly()
            await self._write_covered()
        self._collect(await self._take(_LAST_LOOK_S, until_stop=False))
        if self._buffer:
            await self._store_buffer()
        if not self._is_closed:
            await self._write_covered(at_once=True)
        self._progress.write()

    async def _take(self, wait_s: float, *, until_stop: bool = True) -> list[LogBytes | LogEnd]:
        """Return the frames that arrive within a time; none at the stop."""
        taking = asyncio.ensure_future(self._stream.take())
        stopping = asyncio.ensure_future(self._stopping.wait()) if until_stop else None
        waiting = {taking} if stopping is None else {taking, stopping}
        try:
            await asyncio.wait(waiting, timeout=wait_s, return_when=asyncio.FIRST_COMPLETED)
            return taking.result() if taking.done() else []
        finally:
            for task in waiting:
                task.cancel()
            await asyncio.gather(*waiting, return_exceptions=True)

    def _collect(self, frames: list[LogBytes | LogEnd]) -> None:
        for frame in frames:
            end = self.position + len(self._buffer)
            match frame:
                case LogBytes(start, data, server_end, moment):
                    if start != end:
                        raise StreamLost(f"the server sent the log from {start:X}, expected was {end:X}")
                    self._buffer += data
                    self._server_end = max(self._server_end, server_end)
                    if end + len(data) >= server_end:
                        self._time = max(self._time, moment - _MARGIN_S)
                case LogEnd(lsn, moment):
                    if not self._buffer and max(lsn, self._server_end) <= self.position:
                        self._progress.covered_until = max(self._time, moment - _MARGIN_S)
        self._progress.waiting_bytes = max(0, self._server_end - self.position)

    async def _store_buffer(self) -> None:
        """Store what is collected, trying until it succeeds."""
        end = self.position + len(self._buffer)
        name = piece_name(self.position, end, self._time)
        backoff, since = Backoff(0.5, 10.0), 0.0
        while True:
            try:
                async with asyncio.timeout(PUT_S):
                    size = await self._archive.write(name, self._buffer)
                break
            except (ArchiveStoreDown, TimeoutError) as error:
                since = since or self._progress.server_time()
                self._is_closed = True
                self._stream.close()
                await self._report_store(str(error) or f"no answer within {PUT_S:.0f} s", since)
                if self._stopping.is_set():
                    return
                await backoff.wait()
        self._progress.clear(LOG)
        self._progress.stored_bytes += size
        self._progress.covered_until = self._time
        self._progress.waiting_bytes = max(0, self._server_end - end)
        self.position = end
        self._buffer.clear()
        if not self._is_closed:
            self._stream.confirm(end)
        self._progress.write()
        async with self.stored:
            self.stored.notify_all()

    async def _report_store(self, reason: str, since: float) -> None:
        """Report that the store does not take the log, and whether the server still keeps it."""
        state = await self._slot()
        self._progress.waiting_bytes = state.kept_bytes
        if state.is_lost:
            self._progress.fail(LOG, GIVEN_UP)
        else:
            self._progress.fail(LOG, f"{reason}; since {moment_text(since)[:19]} the database keeps its log")

    async def _write_covered(self, *, at_once: bool = False) -> None:
        """Store how far the archive reaches, about once a minute while nothing is written."""
        covered = self._progress.covered_until
        if covered is None or covered <= self._time:
            return
        if not at_once and time.monotonic() < self._covered_written + _COVERED_EVERY_S:
            return
        self._covered_written = time.monotonic()
        try:
            async with asyncio.timeout(PUT_S):
                await self._archive.write_struct("covered", CoveredMoment(self.position, covered))
                if not self._is_covered_noted:
                    await inventory.note(self._archive, "covered")
                    self._is_covered_noted = True
        except (ArchiveStoreDown, TimeoutError) as error:
            since = self._progress.server_time()
            await self._report_store(str(error) or f"no answer within {PUT_S:.0f} s", since)
        else:
            self._progress.clear(LOG)
            self._progress.write()
