"""Writes reports about runs through the leader's session: those that arrive while a statement runs are written together by the next one.

A report is acknowledged when it is committed. Where the database refuses reports together, each is tried alone, so that one that cannot be
written holds up no other; those of the same run behind it are refused with it.
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
            elif (error := await self._write(batch)) is not None:
                await self._write_alone(batch, error)

    async def has_room(self) -> None:
        """Return when what waits is short enough to read more of an answer."""
        await self._has_room.wait()

    async def flush(self) -> None:
        """Return when everything is written, or was refused."""
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

    async def _write(self, batch: list[_WaitingReport]) -> DatabaseError | None:
        """Write the first reports that wait in one transaction; return the error that refuses them all."""
        text = b"[" + b",".join(report.encoded for report in batch) + b"]"
        try:
            [(meanings,)] = await self._leadership.ask(DURABLE_JOBS["write"], text.decode())
        except DatabaseError as error:
            return error
        for meaning in meanings:
            self._done(meaning)
        return None

    async def _write_alone(self, batch: list[_WaitingReport], error: DatabaseError) -> None:
        """Write reports one by one; those behind a refused one of their run are refused with it."""
        refused: dict[str, DatabaseError] = {batch[0].run: error} if len(batch) == 1 else {}
        for report in batch:
            failure = refused.get(report.run) or await self._write([report])
            if failure is not None:
                refused[report.run] = failure
                self._done(failure)

    def _done(self, outcome: str | DatabaseError) -> None:
        report = self._waiting.popleft()
        self._size -= len(report.encoded)
        if self._size <= _MOST_WAITING:
            self._has_room.set()
        if report.written.done():  # its task was cancelled meanwhile
            return
        if isinstance(outcome, DatabaseError):
            report.written.set_exception(outcome)
        else:
            report.written.set_result(outcome)
