"""Copy bytes of a file to a socket by `sendfile`, at the speed in which the client takes them.

    sendfile until the socket is full --> registered with the loop --> writable: one piece, then the others have their turn

The socket stays registered from the first wait to the end, and no coroutine or timer runs for a piece: each of them cost some
80 us that way. Long files go by `file_copy_threads.py`, beside the loop.
"""

import asyncio
import os
from collections.abc import Callable

from services.gateway.objects.conditions import ByteRange

STALL_S = 30.0
"""Seconds in which a client has to take something; one that takes nothing is noticed after twice that time at most."""
_PIECE = 8 * 1024 * 1024
"""Bytes of one sendfile: others have their turn between."""


async def copy_to_socket(file: int, to: int, span: ByteRange) -> None:
    """Send bytes of a file to a socket that does not block. Raises: ConnectionResetError, TimeoutError, OSError."""
    copying = _FileCopy(asyncio.get_running_loop(), file, to, span)
    if not copying.is_done:
        await copying.run()


async def wait_while_moving(done: asyncio.Future[None], position: Callable[[], int]) -> None:
    """Wait for the end of a copy whose position grows. Raises: TimeoutError if it stands still, and what `done` does."""
    at = -1
    while not done.done():
        if at == (now := position()):
            raise TimeoutError("the client takes nothing")
        at = now
        await asyncio.wait([done], timeout=STALL_S)
    done.result()


class _FileCopy:
    """Bytes of a file that the kernel copies to a socket, piece by piece whenever the socket takes more."""

    def __init__(self, loop: asyncio.AbstractEventLoop, file: int, to: int, span: ByteRange) -> None:
        self._loop, self._file, self._to = loop, file, to
        self._at, self._stop = span.start, span.stop
        self._done: asyncio.Future[None] = loop.create_future()
        self._send()

    @property
    def is_done(self) -> bool:
        """Return whether all bytes are sent."""
        return self._at >= self._stop

    async def run(self) -> None:
        """Send the rest. Raises: as `copy_to_socket`."""
        if self._done.done():
            return self._done.result()
        self._loop.add_writer(self._to, self._send)
        try:
            await wait_while_moving(self._done, lambda: self._at)
        finally:
            self._loop.remove_writer(self._to)

    def _send(self) -> None:
        """Send one piece at most: others have their turn between."""
        if self._done.done():
            return
        try:
            self._at += send_piece(self._to, self._file, self._at, min(_PIECE, self._stop - self._at))
        except (BlockingIOError, InterruptedError):
            return
        except OSError as error:
            self._done.set_exception(error)
            return
        if self._at >= self._stop:
            self._done.set_result(None)


def send_piece(to: int, file: int, at: int, size: int) -> int:
    """Return how many bytes the socket took. Raises: BlockingIOError if it is full, ConnectionResetError at the file's end, OSError."""
    count = os.sendfile(to, file, at, size)
    if count == 0:
        raise ConnectionResetError("the file is shorter than it was")
    return count
