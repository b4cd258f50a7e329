"""The body of an answer, made of rows that arrive one after the other.

    connection --rows--> RowBody (memory up to `HOLD` bytes, then a temporary file) --pieces--> reader

The server sends each row as a message of its own, so it never holds the whole result: a `json_agg` of 50 MB takes 200 MB
in its process. The rows are gathered here before the first byte is sent to the client. Therefore

- the number of rows and bytes is known when the headers are written (`Content-Range`, `Content-Length`);
- every error of the statement is still an answer with a status of its own;
- the transaction has ended and its connection is free while the client reads: a slow client keeps neither.

The file has no name (`O_TMPFILE` where the file system has it), so it vanishes with the process. Threads write and read it.
While more than `HOLD` bytes wait to be written, nothing more is read from the connection. `BodySpace` bounds the bytes on
disk of one process and of one answer. What exceeds a bound is read and dropped, and `complete` raises: the connection stays usable,
and it is known whether a transaction that wrote was committed.

Not thread-safe; only `_write` and `_read` run in threads, one at a time.
"""

import asyncio
import os
import tempfile
from collections.abc import Callable
from concurrent.futures import Executor, ThreadPoolExecutor
from dataclasses import dataclass, field
from io import FileIO
from typing import Self, TypeVar

from workers.database.errors import Disconnected

HOLD = 512 * 1024
"""Bytes of a body that are kept in memory; what is longer goes to a file."""
READER_S = 10.0
"""A reader that takes nothing for so long loses the body."""

_PIECE = 256 * 1024

T = TypeVar("T")
_ALLOWED_TOGETHER = 4
"""Threads that write and read, for all bodies of a process."""


class BodyNotStored(Exception):
    """A body could not be gathered: `is_too_long` for one answer, else the space for all of them or the disk is full."""

    def __init__(self, reason: str, *, is_too_long: bool = False) -> None:
        super().__init__(reason)
        self.reason, self.is_too_long = reason, is_too_long


@dataclass(slots=True)
class BodySpace:
    """Where long bodies are stored and how many bytes of them: `most` in all, `most_each` of one. No folder: the system's."""

    folder: str | None = None
    most: int = 8 << 30
    most_each: int = 1 << 30
    used: int = 0
    _threads: ThreadPoolExecutor | None = field(default=None, repr=False)

    @property
    def threads(self) -> Executor:
        """Return the threads for files; they start with the first long body."""
        if self._threads is None:
            self._threads = ThreadPoolExecutor(_ALLOWED_TOGETHER, thread_name_prefix="bodies")
        return self._threads

    def reserve(self, size: int, stored: int) -> None:
        """Count bytes that a body with `stored` bytes is going to store. Raises: BodyNotStored.

        A body may have no more than what stays free beside it, so a few long ones leave room for shorter ones.
        """
        if stored + size > self.most_each:
            raise BodyNotStored(f"an answer may have {self.most_each} bytes", is_too_long=True)
        if stored + size > self.most - self.used - size:
            raise BodyNotStored(f"answers that are being sent take {self.used} of {self.most} bytes on disk")
        self.used += size


class RowBody:
    """Rows joined by a separator. Filled by the connection; then `complete`, `wrap`, and read as an asynchronous iterator.

    Iteration raises BodyNotStored or Disconnected. Whoever does not read it to its end calls `abandon`.
    """

    # Most bodies are short and need little: what only long ones use has its first value here, once.
    count = 0
    """Number of rows."""
    _before = _behind = b""
    _held_size = _stored = _read_to = _reserved = 0
    _file: FileIO | None = None
    _working: asyncio.Future[object] | None = None
    _is_paused = _is_over = False
    _failure: BodyNotStored | Disconnected | None = None
    _timer: asyncio.TimerHandle | None = None

    def __init__(self, separator: bytes, space: BodySpace, transport: asyncio.ReadTransport) -> None:
        self._separator, self._space, self._transport = separator, space, transport
        self._held: list[bytes] = []

    def __del__(self) -> None:
        # A caller that is cancelled between two steps drops the body: its bytes must not stay reserved.
        if self._reserved:
            self._release()

    @property
    def size(self) -> int:
        """Bytes of the body with what `wrap` put around it."""
        return len(self._before) + self._stored + self._held_size + len(self._behind)

    # The connection's side

    def add(self, rows: list[bytes]) -> None:
        """Add whole rows."""
        if self.count:
            self._put(self._separator)
        self.count += len(rows)
        self._put(self._separator.join(rows))

    def begin(self, piece: bytes) -> None:
        """Add the first piece of a row that is still arriving."""
        self.add([piece])

    def go_on(self, piece: bytes) -> None:
        """Add the next piece of the row that `begin` started."""
        self._put(piece)

    def _put(self, data: bytes) -> None:
        if self._is_over:
            return
        self._held.append(data)
        self._held_size += len(data)
        if self._held_size <= HOLD:
            return
        if self._working is None:
            self._start_writing()
        elif not self._is_paused and not self._transport.is_closing():
            self._is_paused = True
            self._transport.pause_reading()

    def _start_writing(self) -> None:
        """Hand what is held to a thread that writes it."""
        try:
            self._space.reserve(self._held_size, self._stored)
        except BodyNotStored as error:
            self._fail(error)
            return
        held, self._held = self._held, []
        self._reserved += self._held_size
        self._stored += self._held_size
        self._held_size = 0
        self._in_thread(lambda: self._write(held), self._written)

    def _write(self, pieces: list[bytes]) -> None:
        if self._file is None:
            self._file = _new_file(self._space.folder)
        data = memoryview(b"".join(pieces))
        while data:
            data = data[self._file.write(data) or 0 :]

    def _written(self, writing: asyncio.Future[None]) -> None:
        error = writing.exception()
        if error is not None:
            self._fail(BodyNotStored(f"the disk for long answers: {error}"))
        elif not self._is_over and self._held_size > HOLD:
            self._start_writing()
        self._resume()

    def _resume(self) -> None:
        if self._is_paused and not self._transport.is_closing():
            self._transport.resume_reading()
        self._is_paused = False

    # The reader's side

    async def complete(self) -> None:
        """Wait until what came is stored. Raises: BodyNotStored."""
        while self._working is not None:
            await asyncio.wait((self._working,))
        if self._failure is not None:
            raise self._failure

    def wrap(self, before: bytes, behind: bytes) -> "bytes | RowBody":
        """Put something before the rows and behind them; return the body as bytes if it was never too long for memory."""
        if self._stored == 0 and not self._is_over:
            return b"".join((before, *self._held, behind))
        self._before, self._behind = before, behind
        return self

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> bytes:
        """Return the next piece. Raises: BodyNotStored, Disconnected."""
        if self._timer is not None:
            self._timer.cancel()
        if self._is_over:
            raise self._failure or StopAsyncIteration
        if self._read_to >= self._stored:
            last = b"".join((self._first(), *self._held, self._behind))
            self._close()
            return last
        # Shielded: a cancelled caller must not make the file be closed while the thread still reads it.
        piece = await asyncio.shield(self._in_thread(self._read))
        if not piece:
            raise BodyNotStored("the file of a long answer is shorter than what was written")
        piece = self._first() + piece
        self._timer = asyncio.get_running_loop().call_later(READER_S, self._give_up_reader)
        return piece

    def _first(self) -> bytes:
        before, self._before = self._before, b""
        return before

    def _read(self) -> bytes:
        if self._file is None:
            return b""
        piece = os.pread(self._file.fileno(), _PIECE, self._read_to)
        self._read_to += len(piece)
        return piece

    async def aclose(self) -> None:
        """Read no more. Harmless when all was read."""
        self.abandon()

    def abandon(self) -> None:
        """Drop the body: what is still to come is not kept."""
        self._fail(Disconnected("the body is not wanted any more"))

    def _give_up_reader(self) -> None:
        self._fail(Disconnected(f"the reader of a long answer took nothing for {READER_S:g} s"))

    # Both

    def _in_thread(
        self, work: Callable[[], T], done: "Callable[[asyncio.Future[T]], None] | None" = None
    ) -> "asyncio.Future[T]":
        """Run file work in a thread. The file is closed only when no thread works on it."""
        working = asyncio.get_running_loop().run_in_executor(self._space.threads, work)
        self._working = working  # type: ignore[assignment]  # its result does not matter here

        def over(future: "asyncio.Future[T]") -> None:
            self._working = None
            if done is not None:
                done(future)
            if self._is_over:
                self._close()

        working.add_done_callback(over)
        return working

    def _fail(self, failure: BodyNotStored | Disconnected) -> None:
        if not self._is_over:
            self._failure = failure
        self._close()
        self._resume()

    def _close(self) -> None:
        """Free memory, disk and what was reserved: now, or when the thread that works on the file is done."""
        self._is_over = True
        self._held.clear()
        self._held_size = 0
        if self._timer is not None:
            self._timer.cancel()
        if self._working is None:
            self._release()

    def _release(self) -> None:
        if self._file is not None:
            self._file.close()
        self._space.used -= self._reserved
        self._reserved = 0


def _new_file(folder: str | None) -> FileIO:
    """Return a file without a name."""
    return tempfile.TemporaryFile(dir=folder, buffering=0)  # the body closes it
