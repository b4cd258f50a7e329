"""Limits of the realtime edge: rates as buckets, counts of sockets by key, and the brake on refusals.

Every limit counts in one edge process; 0 is no limit. Pure but for their own numbers and the brake; the clock is an argument.
Source: reference page "realtime", section 12.
"""

import asyncio
import contextlib
import hashlib
from collections import Counter
from collections.abc import AsyncIterator


class Rate:
    """So many events a second, on average over `over_s` seconds."""

    __slots__ = ("_full", "_left", "_per_s", "_since")

    def __init__(self, per_s: float, over_s: float = 1.0) -> None:
        self._per_s = per_s
        self._full = self._left = max(per_s * over_s, 1.0)
        self._since = 0.0

    def take(self, now: float, count: float = 1) -> bool:
        """Count an event, or so many; False if that is more than there may be: then none is counted."""
        if self._per_s <= 0:
            return True
        self._fill(now)
        if self._left < count:
            return False
        self._left -= count
        return True

    def spend(self, count: int, now: float) -> None:
        """Count events that happen in any case."""
        self._fill(now)
        self._left = max(self._left - count, -self._full)

    def is_spent(self, now: float) -> bool:
        """Tell whether there were as many events as there may be."""
        self._fill(now)
        return self._per_s > 0 and self._left < 1

    def left(self, now: float) -> int:
        """Tell how many events may come now."""
        self._fill(now)
        return int(self._left)

    @property
    def used(self) -> float:
        """Events a second, as far as the bucket tells."""
        over_s = self._full / self._per_s if self._per_s > 0 else 1.0
        return round((self._full - self._left) / over_s, 2)

    def _fill(self, now: float) -> None:
        self._left = min(self._full, self._left + max(now - self._since, 0.0) * self._per_s)
        self._since = now


Name = tuple[str, bytes]
"""What a socket is counted by: the kind, and whose it is."""


class Sockets:
    """How many sockets there are, in all, by API key and by client address."""

    def __init__(self, most: int, most_of_key: int, most_of_address: int = 0) -> None:
        self._most = most
        self._bounds = (most_of_key, most_of_address)
        self._counts: Counter[Name] = Counter()
        self.count = 0

    def enter(self, key: str, address: str = "") -> tuple[Name, Name] | None:
        """Count a socket; give what it leaves with, or None if it is one too many."""
        digest = hashlib.sha256(key.encode(errors="surrogatepass")).digest()[:16]
        names = (("key", digest), ("address", address.encode(errors="surrogatepass")))
        if self.is_full or any(
            0 < most <= self._counts[name] for most, name in zip(self._bounds, names, strict=True)
        ):
            return None
        self.count += 1
        self._counts.update(names)
        return names

    def leave(self, names: tuple[Name, Name]) -> None:
        """Count a socket no more."""
        self.count -= 1
        for name in names:
            self._counts[name] -= 1
            if not self._counts[name]:
                del self._counts[name]

    @property
    def is_full(self) -> bool:
        """Whether there is room for no further socket."""
        return 0 < self._most <= self.count


class Turns:
    """Lets one piece of long work run at a time, with an iteration of the event loop between two of them.

    A thousand joins that arrive together then hold up other clients for the time of one, not of all. Who waits is served in
    the order of coming, and a socket has one piece at a time, so that each socket gets its turn.
    """

    def __init__(self) -> None:
        self._lock = asyncio.Lock()

    @contextlib.asynccontextmanager
    async def take(self) -> AsyncIterator[None]:
        """Wait for the turn; the work inside must not wait for anything else."""
        async with self._lock:
            yield
            await asyncio.sleep(0)


class Brake:
    """Makes those wait a moment who were refused, so that they do not storm back; but never many of them at a time."""

    def __init__(self, wait_s: float = 0.2, most: int = 256) -> None:
        self._wait_s = wait_s
        self._most = most
        self._waiting = 0

    async def wait(self) -> None:
        """Wait before a refusal is told."""
        if self._waiting >= self._most:
            return
        self._waiting += 1
        try:
            await asyncio.sleep(self._wait_s)
        finally:
            self._waiting -= 1
