"""Hashes passwords in threads: one per core at a time, a bounded number waiting; further requests get 503 at once.

The C code of the hashes releases the GIL, so threads use all cores. If a request is cancelled while its hash waits, the work
is dropped; a hash that has started runs to its end and occupies its place until then.
Source: docs/reference/auth.md, sections 4.2 and 19.
"""

import asyncio
import os
import secrets
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

from workers.auth.model import rejections
from workers.auth.model.errors import AuthError
from workers.credentials.password_hashes import (
    SALT_BYTES,
    Cost,
    StoredHash,
    UnreadableHash,
    Verdict,
    hash_password,
    read_hash,
    verify_password,
)

T = TypeVar("T")

_RETRY_AFTER_S = 1


class Hashing:
    """The threads that hash passwords of one process. `close` stops them."""

    def __init__(self, cost: Cost | None = None, *, threads: int | None = None, queue: int = 64) -> None:
        """Start with `threads` concurrent hashes (default: one per core); `queue` more may wait."""
        self.cost = cost or Cost()
        count = threads or _cores()
        self._threads = ThreadPoolExecutor(count, thread_name_prefix="hashing")
        self._slots = threading.BoundedSemaphore(count + queue)

    async def hash(self, password: str) -> str:
        """Return the text that is stored for a new password.

        Raises: AuthError (503) if too many requests wait.
        """
        return await self._run(lambda: hash_password(password, self.cost, secrets.token_bytes(SALT_BYTES)))

    async def renew(self, password: str) -> str | None:
        """Return the text that replaces the outdated hash of a password; None if too many requests wait: the old one serves until then."""
        try:
            return await self.hash(password)
        except AuthError:
            return None

    async def verify(self, password: str, stored: str | None) -> Verdict:
        """Check a password. Without a stored hash, or with an unreadable one, a hash is computed anyway, so that the response time
        does not reveal which addresses are registered.

        Raises: AuthError (503) if too many requests wait.
        """
        stored_hash = _read(stored)
        if stored_hash is None:
            return await self._run(lambda: _dummy(password, self.cost))
        return await self._run(lambda: verify_password(password, stored_hash, self.cost))

    def close(self) -> None:
        """Accept no more work; waiting work is dropped, running work finishes."""
        self._threads.shutdown(wait=False, cancel_futures=True)

    async def _run(self, work: Callable[[], T]) -> T:
        if not self._slots.acquire(blocking=False):
            raise rejections.TOO_BUSY(retry_after_s=_RETRY_AFTER_S)
        try:
            running = self._threads.submit(work)
        except RuntimeError:  # closed: the process is stopping
            self._slots.release()
            raise rejections.TOO_BUSY(retry_after_s=_RETRY_AFTER_S) from None
        # Released by the thread, not by the request: a cancelled request does not free a hash that is running.
        running.add_done_callback(lambda _: self._slots.release())
        return await asyncio.wrap_future(running)


def _cores() -> int:
    """Return the number of cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


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
