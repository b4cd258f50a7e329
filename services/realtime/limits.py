"""Limits of the realtime edge: rates as token buckets, counts of sockets, fair turns for long work, and a delay before rejections.

Every limit applies to one edge process; 0: unlimited. The clock is an argument of what counts.
Source: docs/reference/realtime.md, section 12.
"""

import asyncio
import contextlib
import hashlib
from collections import Counter
from collections.abc import AsyncIterator

from schemas.client_networks import client_network


class TokenBucket:
    """Allows `per_s` events a second, on average over `over_s` seconds.

    The bucket holds `per_s * over_s` tokens, each event takes one, and it refills with `per_s` tokens a second.
    """

    __slots__ = ("_full", "_left", "_per_s", "_since")

    def __init__(self, per_s: float, over_s: float = 1.0) -> None:
        self._per_s = per_s
        self._full = self._left = max(per_s * over_s, 1.0)
        self._since = 0.0

    def take(self, now: float, count: float = 1) -> bool:
        """Take tokens for events. Return False, and take none, if there are too few."""
        if self._per_s <= 0:
            return True
        self._fill(now)
        if self._left < count:
            return False
        self._left -= count
        return True

    def spend(self, count: int, now: float) -> None:
        """Take tokens for events that cannot be prevented; the bucket may go below zero."""
        self._fill(now)
        self._left = max(self._left - count, -self._full)

    def is_spent(self, now: float) -> bool:
        """Return whether the bucket is empty."""
        self._fill(now)
        return self._per_s > 0 and self._left < 1

    def left(self, now: float) -> int:
        """Return how many events are allowed now."""
        self._fill(now)
        return int(self._left)

    @property
    def used(self) -> float:
        """Return the rate of the last seconds in events a second, computed from the level of the bucket."""
        over_s = self._full / self._per_s if self._per_s > 0 else 1.0
        return round((self._full - self._left) / over_s, 2)

    def _fill(self, now: float) -> None:
        self._left = min(self._full, self._left + max(now - self._since, 0.0) * self._per_s)
        self._since = now


Name = tuple[str, bytes]
"""What a socket is counted by: "key" or "address", and its value."""


class SocketCounts:
    """Counts sockets: all, by API key, and by client address."""

    def __init__(self, most: int, most_of_key: int, most_of_address: int = 0) -> None:
        self._most = most
        self._bounds = (most_of_key, most_of_address)
        self._counts: Counter[Name] = Counter()
        self.count = 0

    def use(self, most: int, most_of_key: int, most_of_address: int) -> None:
        """Replace the limits; sockets beyond them stay open."""
        self._most = most
        self._bounds = (most_of_key, most_of_address)

    def add(self, key: str, address: str = "") -> tuple[Name, Name] | None:
        """Count a socket; return what `remove` takes, or None if a limit is reached."""
        digest = hashlib.sha256(key.encode(errors="surrogatepass")).digest()[:16]
        names = (("key", digest), ("address", client_network(address).encode(errors="surrogatepass")))
        if self.is_full or any(
            0 < most <= self._counts[name] for most, name in zip(self._bounds, names, strict=True)
        ):
            return None
        self.count += 1
        self._counts.update(names)
        return names

    def remove(self, names: tuple[Name, Name]) -> None:
        """Uncount a socket."""
        self.count -= 1
        for name in names:
            self._counts[name] -= 1
            if not self._counts[name]:
                del self._counts[name]

    @property
    def is_full(self) -> bool:
        """Whether the limit of all sockets is reached."""
        return 0 < self._most <= self.count


class LongWorkLock:
    """A lock for long synchronous work that yields to the event loop after each holder.

    A thousand joins that arrive together then delay other clients for the time of one join, not of all. Waiters get the lock
    in the order of arrival, and a socket waits with one piece of work at a time, so every socket makes progress.
    """

    def __init__(self) -> None:
        self._lock = asyncio.Lock()

    @contextlib.asynccontextmanager
    async def hold(self) -> AsyncIterator[None]:
        """Hold the lock; the work inside must not await anything."""
        async with self._lock:
            yield
            await asyncio.sleep(0)


class RejectionDelay:
    """Delays rejections, so that rejected clients do not reconnect at once. Beyond `most` waiting ones rejections are immediate."""

    def __init__(self, wait_s: float = 0.2, most: int = 256) -> None:
        self._wait_s = wait_s
        self._most = most
        self._waiting = 0

    async def wait(self) -> None:
        """Wait before a rejection is sent."""
        if self._waiting >= self._most:
            return
        self._waiting += 1
        try:
            await asyncio.sleep(self._wait_s)
        finally:
            self._waiting -= 1
