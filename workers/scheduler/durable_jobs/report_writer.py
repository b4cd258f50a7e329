"""Writes reports about runs through the leader's session: those that arrive while a statement runs are written together by the next one.

A report is acknowledged when it is committed. One that the database refuses is tried alone, so that it holds up no other; one that meets
a lock of the project's, or a statement's time limit, is tried again.
"""

import asyncio
from collections import deque
from typing import NamedTuple

import msgspec
from msgspec import Raw

from workers.database.errors import DatabaseError
from workers.database.sessions.leadership import Leadership
from workers.scheduler.statements import DURABLE_JOBS

_MOST_AT_ONCE = 200
_MOST_BYTES_AT_ONCE = 8 * 1024 * 1024
_MOST_WAITING = 64 * 1024 * 1024
"""Bytes of reports that wait, beyond which no answer is read on."""
_PASSING = frozenset({"40001", "40P01", "53200", "53300", "55P03", "57014"})
"""Codes of what passes: serialization, deadlock, memory, connections, a lock, a time limit."""
_PAUSE_S = 0.5


class _WaitingReport(NamedTuple):
    run: str
    encoded: bytes
    written: "asyncio.Future[str]"


class ReportWriter:
    """Writes from `run` until it is cancelled."""

    def __init__(self, leadership: Leadership) -> None:
        self._leadership = leadership
        self._waiting: deque[_WaitingReport] = deque()
        self._size = 0
        self._has_some, self._is_idle, self._has_room = asyncio.Event(), asyncio.Event(), asyncio.Event()
        self._is_idle.set()
        self._has_room.set()

    def put(self, run: str, attempt: int, report: bytes) -> "asyncio.Future[str]":
        """Write a report after those before it; the result is what it means for the run, or DatabaseError."""
        encoded = msgspec.json.encode({"run": run, "attempt": attempt, "report": Raw(report)})
        written: asyncio.Future[str] = asyncio.get_running_loop().create_future()
        self._waiting.append(_WaitingReport(run, encoded, written))
        self._size += len(encoded)
        if self._size > _MOST_WAITING:
            self._has_room.clear()
        self._is_idle.clear()
        self._has_some.set()
        return written

    async def run(self) -> None:
        """Write what is put. Raises: LeadershipLost."""
        while True:
            await self._has_some.wait()
            batch = self._next()
            if not batch:
                self._has_some.clear()
                self._is_idle.set()
                continue
            if not await self._write(batch) and not (len(batch) > 1 and await self._write_alone(batch)):
                await asyncio.sleep(_PAUSE_S)  # a lock is in the way, or the server is short of something

    async def has_room(self) -> None:
        """Return when what waits is short enough to read more of an answer."""
        await self._has_room.wait()

    async def flush(self) -> None:
        """Return when everything is written."""
        await self._is_idle.wait()

    def _next(self) -> list[_WaitingReport]:
        batch: list[_WaitingReport] = []
        size = 0
        for report in self._waiting:
            size += len(report.encoded)
            if batch and (size > _MOST_BYTES_AT_ONCE or len(batch) == _MOST_AT_ONCE):
                break
            batch.append(report)
        return batch

    async def _write(self, batch: list[_WaitingReport]) -> bool:
        """Write the first reports in one transaction; return whether they are done with."""
        text = b"[" + b",".join(report.encoded for report in batch) + b"]"
        try:
            [(meanings,)] = await self._leadership.ask(DURABLE_JOBS["write"], text.decode())
        except DatabaseError as error:
            if len(batch) > 1 or error.code in _PASSING:
                return False
            self._done(batch[0], error)
            return True
        for report, meaning in zip(batch, meanings, strict=True):
            self._done(report, meaning)
        return True

    def _done(self, report: _WaitingReport, outcome: str | DatabaseError) -> None:
        self._waiting.popleft()
        self._size -= len(report.encoded)
        if self._size <= _MOST_WAITING:
            self._has_room.set()
        _set(report, outcome)

    async def _write_alone(self, batch: list[_WaitingReport]) -> bool:
        """Write reports one by one; one that cannot be written now goes to the end, and those of its run behind it."""
        left: list[_WaitingReport] = []
        for report in batch:
            if any(report.run == other.run for other in left) or not await self._write([report]):
                left.append(self._waiting.popleft())
        self._waiting.extend(left)
        return not left


def _set(report: _WaitingReport, outcome: str | DatabaseError) -> None:
    if report.written.done():  # its task was cancelled meanwhile
        return
    if isinstance(outcome, DatabaseError):
        report.written.set_exception(outcome)
    else:
        report.written.set_result(outcome)
