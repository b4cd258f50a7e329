"""The body of a response, gathered from rows as they arrive.

    connection --rows--> RowBody (memory up to `MAX_IN_MEMORY` bytes, then a temporary file) --pieces--> reader

The server sends each row as its own message, so it never builds the whole result: a `json_agg` of 50 MB takes 200 MB in
its process. The rows are gathered here before the first byte is sent to the client, so that

- the number of rows and bytes is known when the headers are written (`Content-Range`, `Content-Length`);
- every error of the statement can still be answered with its own status;
- the transaction has ended and its connection is free while the client reads: a slow client occupies neither.

The file is unnamed (`O_TMPFILE` where the file system supports it), so it disappears with the process. Threads write and
read it. While more than `MAX_IN_MEMORY` bytes wait to be written, the connection's transport is paused. `BodySpace` limits
the bytes on disk of one process and of one response. Rows beyond a limit are read and dropped, and `complete` raises: so
the connection stays usable, and whether a writing transaction was committed is known.

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
from workers.database.protocol.rows import Row, Rows

MAX_IN_MEMORY = 512 * 1024
"""Bytes of a body that stay in memory; a longer body goes to a file."""
READER_S = 10.0
"""Seconds after which a reader that takes nothing loses the body."""

_PIECE = 256 * 1024

T = TypeVar("T")
_THREADS = 4
"""Threads that write and read files, for all bodies of a process."""


class BodyNotStored(Exception):
    """A body could not be gathered: too long for one response (`is_too_long`), or the space for all bodies or the disk is full."""

    def __init__(self, reason: str, *, is_too_long: bool = False) -> None:
        super().__init__(reason)
        self.reason, self.is_too_long = reason, is_too_long


@dataclass(slots=True)
class BodySpace:
    """Where long bodies are stored, and the limits: `most` bytes of all, `most_each` of one. `folder` None is the system's."""

    folder: str | None = None
    most: int = 8 << 30
    most_each: int = 1 << 30
    used: int = 0
    _threads: ThreadPoolExecutor | None = field(default=None, repr=False)

    @property
    def threads(self) -> Executor:
        """The threads for files; started with the first long body."""
        if self._threads is None:
            self._threads = ThreadPoolExecutor(_THREADS, thread_name_prefix="bodies")
        return self._threads

    def reserve(self, size: int, stored: int) -> None:
        """Reserve bytes for a body that has stored `stored` bytes so far. Raises: BodyNotStored.

        A body may use at most as much as remains free without it, so a few long bodies leave room for shorter ones.
        """
        if stored + size > self.most_each:
            raise BodyNotStored(f"an answer may have {self.most_each} bytes", is_too_long=True)
        if stored + size > self.most - self.used - size:
            raise BodyNotStored(f"answers that are being sent take {self.used} of {self.most} bytes on disk")
        self.used += size


class RowBody:
    """Rows joined by a separator. The connection fills it; its owner calls `complete`, `wrap`, and iterates over the result.

    Iteration raises BodyNotStored or Disconnected. An owner that does not read to the end calls `abandon`.
    """

    # Most bodies are short: fields that only long ones use start as class attributes, which saves setting them each time.
    count = 0
    """Number of rows."""
    _prefix = _suffix = b""
    _buffered_size = _stored = _read_to = _reserved = 0
    _file: FileIO | None = None
    _file_work: asyncio.Future[object] | None = None
    _is_paused = _is_over = False
    _failure: BodyNotStored | Disconnected | None = None
    _timer: asyncio.TimerHandle | None = None

    def __init__(self, separator: bytes, space: BodySpace, transport: asyncio.ReadTransport) -> None:
        self._separator, self._space, self._transport = separator, space, transport
        self._buffered: list[bytes] = []

    def __del__(self) -> None:
        # A caller that is cancelled between two steps drops the body without `abandon`: its bytes must not stay reserved.
        if self._reserved:
            self._release()

    @property
    def size(self) -> int:
        """Bytes of the body, including those that `wrap` added."""
        return len(self._prefix) + self._stored + self._buffered_size + len(self._suffix)

    # Called by the connection (backend_reader.RowSink)

    def add(self, rows: list[bytes]) -> None:
        """Add complete rows."""
        if self.count:
            self._put(self._separator)
        self.count += len(rows)
        self._put(self._separator.join(rows))

    def begin_value(self, piece: bytes) -> None:
        """Add the first piece of a row that is still arriving."""
        self.add([piece])

    def continue_value(self, piece: bytes) -> None:
        """Add the next piece of the row that `begin_value` started."""
        self._put(piece)

    def _put(self, data: bytes) -> None:
        if self._is_over:
            return
        self._buffered.append(data)
        self._buffered_size += len(data)
        if self._buffered_size <= MAX_IN_MEMORY:
            return
        if self._file_work is None:
            self._start_writing()
        elif not self._is_paused and not self._transport.is_closing():
            self._is_paused = True
            self._transport.pause_reading()

    def _start_writing(self) -> None:
        """Write the buffered rows in a thread."""
        try:
            self._space.reserve(self._buffered_size, self._stored)
        except BodyNotStored as error:
            self._fail(error)
            return
        held, self._buffered = self._buffered, []
        self._reserved += self._buffered_size
        self._stored += self._buffered_size
        self._buffered_size = 0
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
        elif not self._is_over and self._buffered_size > MAX_IN_MEMORY:
            self._start_writing()
        self._resume()

    def _resume(self) -> None:
        if self._is_paused and not self._transport.is_closing():
            self._transport.resume_reading()
        self._is_paused = False

    # Called by the reader

    async def complete(self) -> None:
        """Wait until all rows are stored. Raises: BodyNotStored."""
        while self._file_work is not None:
            await asyncio.wait((self._file_work,))
        if self._failure is not None:
            raise self._failure

    def wrap(self, before: bytes, after: bytes) -> "bytes | RowBody":
        """Add bytes before and after the rows; return the body as bytes if it fitted in memory."""
        if self._stored == 0 and not self._is_over:
            return b"".join((before, *self._buffered, after))
        self._prefix, self._suffix = before, after
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
            last = b"".join((self._take_prefix(), *self._buffered, self._suffix))
            self._close()
            return last
        # Shielded: if the caller is cancelled, the file must not be closed while the thread still reads it.
        piece = await asyncio.shield(self._in_thread(self._read))
        if not piece:
            raise BodyNotStored("the file of a long answer is shorter than what was written")
        piece = self._take_prefix() + piece
        self._timer = asyncio.get_running_loop().call_later(READER_S, self._give_up_reader)
        return piece

    def _take_prefix(self) -> bytes:
        before, self._prefix = self._prefix, b""
        return before

    def _read(self) -> bytes:
        if self._file is None:
            return b""
        piece = os.pread(self._file.fileno(), _PIECE, self._read_to)
        self._read_to += len(piece)
        return piece

    async def aclose(self) -> None:
        """Stop reading. Does nothing if all was read."""
        self.abandon()

    def abandon(self) -> None:
        """Drop the body; rows that still arrive are thrown away."""
        self._fail(Disconnected("the body was abandoned"))

    def _give_up_reader(self) -> None:
        self._fail(Disconnected(f"the reader of a long answer took nothing for {READER_S:g} s"))

    # Internal

    def _in_thread(
        self, work: Callable[[], T], done: "Callable[[asyncio.Future[T]], None] | None" = None
    ) -> "asyncio.Future[T]":
        """Run file work in a thread. `_close` waits for it before the file is closed."""
        working = asyncio.get_running_loop().run_in_executor(self._space.threads, work)
        self._file_work = working  # type: ignore[assignment]  # its result is not used here

        def over(future: "asyncio.Future[T]") -> None:
            self._file_work = None
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
        """Free memory, disk and reserved space: now, or once the thread that works on the file has finished."""
        self._is_over = True
        self._buffered.clear()
        self._buffered_size = 0
        if self._timer is not None:
            self._timer.cancel()
        if self._file_work is None:
            self._release()

    def _release(self) -> None:
        if self._file is not None:
            self._file.close()
        self._space.used -= self._reserved
        self._reserved = 0


def _new_file(folder: str | None) -> FileIO:
    """Open an unnamed temporary file."""
    return tempfile.TemporaryFile(dir=folder, buffering=0)  # the body closes it


class GatheredRows(list[Row]):
    """A result whose rows were gathered: `body` has the first values, the list the rows whose first value is NULL."""

    def __init__(self, rows: Rows, body: RowBody) -> None:
        super().__init__(rows)
        self.body = body
