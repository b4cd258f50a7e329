"""Hashing in threads: as many at a time as there are cores, a bounded number waiting, the rest refused at once.

The C code of the hashes lets go of the interpreter, so threads use the cores. A caller that goes away takes its waiting
work along; what is begun is finished, and counts until it is. Source: reference page "auth", sections 4.2 and 19.
"""

import asyncio
import os
import secrets
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

from workers.auth.accounts.passwords.passwords import (
    SALT_BYTES,
    Cost,
    StoredHash,
    UnreadableHash,
    Verdict,
    hash_password,
    read_hash,
    verify_password,
)
from workers.auth.model import rejections

T = TypeVar("T")

_RETRY_AFTER_S = 1


class Hashing:
    """The threads that hash passwords for one process. `close` ends them."""

    def __init__(self, cost: Cost | None = None, *, threads: int | None = None, queue: int = 64) -> None:
        """`threads` hashes are made at a time (as many as there are cores), `queue` wait beyond those."""
        self.cost = cost or Cost()
        count = threads or os.cpu_count() or 1
        self._threads = ThreadPoolExecutor(count, thread_name_prefix="hashing")
        self._places = threading.BoundedSemaphore(count + queue)

    async def hash(self, password: str) -> str:
        """Make the text that is stored for a new password.

        Raises: AuthError (503) if too many wait.
        """
        return await self._run(lambda: hash_password(password, self.cost, secrets.token_bytes(SALT_BYTES)))

    async def verify(self, password: str, stored: str | None) -> Verdict:
        """Check a password. Without a stored hash, or with one that cannot be read, the same work is done for nothing,
        so that the time does not tell which accounts exist.

        Raises: AuthError (503) if too many wait.
        """
        known = _read(stored)
        if known is None:
            return await self._run(lambda: _dummy(password, self.cost))
        return await self._run(lambda: verify_password(password, known, self.cost))

    def close(self) -> None:
        """Take nothing more; what waits is dropped, what is begun ends by itself."""
        self._threads.shutdown(wait=False, cancel_futures=True)

    async def _run(self, work: Callable[[], T]) -> T:
        if not self._places.acquire(blocking=False):
            raise rejections.TOO_BUSY(retry_after_s=_RETRY_AFTER_S)
        try:
            running = self._threads.submit(work)
        except RuntimeError:  # closed: the process is about to end
            self._places.release()
            raise rejections.TOO_BUSY(retry_after_s=_RETRY_AFTER_S) from None
        running.add_done_callback(lambda _: self._places.release())
        return await asyncio.wrap_future(running)


def _read(stored: str | None) -> StoredHash | None:
    if not stored:
        return None
    try:
        return read_hash(stored)
    except UnreadableHash:
        return None


def _dummy(password: str, cost: Cost) -> Verdict:
    hash_password(password, cost, bytes(SALT_BYTES))
    return Verdict(is_right=False)
