"""Copy long files to sockets on a few threads beside the loop, so that all cores send and small requests do not wait for them.

    loop     a copy of both descriptors --> the thread with the fewest files --> waits for the end, or abandons it
    thread   waits for sockets that take more --> one piece to each --> reports the end to the loop

`os.sendfile` releases Python's lock. A thread never waits for one client: sockets that are full stay in its selector, and
those that take more get one piece each in turn. Rules:

- Only the thread touches and closes the two descriptors of a file under way, which are duplicates. The loop may close its own
  at any time, and no number can come to mean another connection while a thread sends.
- The loop speaks to a thread by a queue and a byte on a socket pair; the thread answers by `call_soon_threadsafe`.

Little waits unsent in the kernel (`TCP_NOTSENT_LOWAT`; Linux, tcp(7) and net/ipv4/tcp.c). What is on its way to the client is
not bounded by it, so distance costs nothing. Without it a local client takes pieces that lie in long queues and have
left the caches: its copying cost up to 1.6 times as much (docs/decisions.md has the figures).
"""

import asyncio
import contextlib
import os
import selectors
import socket
import threading
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

from services.gateway.objects.conditions import ByteRange
from services.gateway.objects.file_copy import send_piece, wait_while_moving

LONG_FILE = 4 * 1024 * 1024
"""Bytes from which a file is sent by a thread; a shorter one mostly fits into what the kernel takes at once."""
_PIECE = 8 * 1024 * 1024
"""Bytes of one sendfile: others of the thread have their turn between."""
_UNSENT = 1024 * 1024
"""Bytes that wait unsent in the kernel for each client."""
_MOST_THREADS = 4


@dataclass(slots=True, eq=False)
class _LongCopy:
    """A file under way. `at` is written by the thread alone and read by both."""

    loop: asyncio.AbstractEventLoop
    to: socket.socket
    file: int
    at: int
    stop: int
    done: asyncio.Future[None]

    def close(self) -> None:
        """Close both descriptors; called by the thread."""
        self.to.close()
        os.close(self.file)

    def report(self, error: OSError | None) -> None:
        """Let the loop know of the end; called by the thread."""
        with contextlib.suppress(RuntimeError):  # the loop is closed: no coroutine waits any more
            self.loop.call_soon_threadsafe(self._end, error)

    def _end(self, error: OSError | None) -> None:
        if self.done.done():
            return
        if error is None:
            self.done.set_result(None)
        else:
            self.done.set_exception(error)


class FileCopyThreads:
    """Threads that copy long files to sockets. They start with the first file; `close` ends them."""

    def __init__(self, count: int | None = None) -> None:
        self._count = count or min(_MOST_THREADS, os.cpu_count() or 1)
        self._threads: list[_CopyThread] = []
        self._is_closed = False

    async def copy(self, file: int, to: int, span: ByteRange) -> None:
        """Send bytes of a file to a socket that does not block. Raises: ConnectionResetError, TimeoutError, OSError."""
        if self._is_closed:
            raise ConnectionAbortedError("the gateway stops")
        copy = _open_copy(file, to, span)
        thread = self._next_thread()
        thread.add(copy)
        try:
            await wait_while_moving(copy.done, lambda: copy.at)
        finally:
            thread.remove(copy)
            if not copy.done.cancel() and not copy.done.cancelled():
                copy.done.exception()  # the client may be gone in the moment in which the request is cancelled

    async def close(self) -> None:
        """Abandon what is under way, and wait until the threads have ended."""
        self._is_closed = True
        threads, self._threads = self._threads, []
        for thread in threads:
            thread.stop()
        for thread in threads:
            await asyncio.to_thread(thread.join)

    def _next_thread(self) -> "_CopyThread":
        free = min(self._threads, key=lambda thread: thread.count, default=None)
        if free is not None and (free.count == 0 or len(self._threads) >= self._count):
            return free
        thread = _CopyThread(f"file-copy-{len(self._threads)}")
        self._threads.append(thread)
        thread.start()
        return thread


def _open_copy(file: int, to: int, span: ByteRange) -> _LongCopy:
    """Return a copy with descriptors of its own. Raises: OSError if there are no more descriptors."""
    loop = asyncio.get_running_loop()
    own_file = os.dup(file)
    try:
        own_socket = socket.socket(fileno=os.dup(to))
    except OSError:
        os.close(own_file)
        raise
    with contextlib.suppress(OSError):  # not TCP: nothing is bounded
        own_socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NOTSENT_LOWAT, _UNSENT)
    return _LongCopy(loop, own_socket, own_file, span.start, span.stop, loop.create_future())


class _CopyThread(threading.Thread):
    """Sends pieces to those of its sockets that take more. Its public methods are called by the loop."""

    def __init__(self, name: str) -> None:
        super().__init__(
            name=name, daemon=True
        )  # a process that ends without `close` does not wait for clients
        self.count = 0
        """Files under way, as the loop knows."""
        self._orders: deque[Callable[[], None]] = deque()
        self._woken, self._wake = socket.socketpair()
        self._woken.setblocking(False)
        self._wake.setblocking(False)
        self._selector = selectors.DefaultSelector()
        self._selector.register(self._woken, selectors.EVENT_READ)
        self._copies: set[_LongCopy] = set()
        self._is_stopped = False

    def add(self, copy: _LongCopy) -> None:
        """Send a file."""
        self.count += 1
        self._order(partial(self._begin, copy))

    def remove(self, copy: _LongCopy) -> None:
        """Forget a file, whether it is sent or not."""
        self.count -= 1
        if not copy.done.done():
            self._order(partial(self._end, copy, ConnectionAbortedError("the request was cancelled")))

    def stop(self) -> None:
        """Abandon all files and end."""
        self._order(self._stop)

    def run(self) -> None:
        """Take turns until stopped."""
        try:
            while not self._is_stopped:
                for key, _ in self._selector.select():
                    if key.data is None:
                        self._take_orders()
                    elif key.data in self._copies:  # an order of this turn may have ended it
                        self._send(key.data)
        finally:
            for copy in list(self._copies):
                self._end(copy, ConnectionAbortedError("the gateway stops"))
            self._selector.close()
            self._woken.close()
            self._wake.close()

    def _order(self, order: Callable[[], None]) -> None:
        self._orders.append(order)
        with contextlib.suppress(OSError):  # full: it wakes anyway; closed: the thread has ended all
            self._wake.send(b"\0")

    def _take_orders(self) -> None:
        with contextlib.suppress(BlockingIOError):
            self._woken.recv(4096)
        while self._orders:
            self._orders.popleft()()

    def _begin(self, copy: _LongCopy) -> None:
        self._copies.add(copy)
        try:
            self._selector.register(copy.to, selectors.EVENT_WRITE, copy)
        except OSError as error:
            self._end(copy, error)

    def _send(self, copy: _LongCopy) -> None:
        """Send one piece at most."""
        try:
            copy.at += send_piece(copy.to.fileno(), copy.file, copy.at, min(_PIECE, copy.stop - copy.at))
        except (BlockingIOError, InterruptedError):
            return
        except OSError as error:
            self._end(copy, error)
            return
        if copy.at >= copy.stop:
            self._end(copy, None)

    def _end(self, copy: _LongCopy, error: OSError | None) -> None:
        """Let go of a file: out of the selector first, for the loop's own descriptor keeps the connection open."""
        if copy not in self._copies:
            return
        self._copies.remove(copy)
        with contextlib.suppress(KeyError):  # it could not be registered
            self._selector.unregister(copy.to)
        copy.close()
        copy.report(error)

    def _stop(self) -> None:
        self._is_stopped = True
