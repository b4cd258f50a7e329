"""Limits of the realtime edge: rates as buckets, counts of sockets by key, and the brake on refusals.

Every limit counts in one edge process; 0 is no limit. Pure but for their own numbers and the brake; the clock is an argument.
Source: reference page "realtime", section 12.
"""

import asyncio
import hashlib
from collections import Counter


class Rate:
    """So many events a second, on average over `over_s` seconds."""

    __slots__ = ("_full", "_left", "_per_s", "_since")

    def __init__(self, per_s: float, over_s: float = 1.0) -> None:
        self._per_s = per_s
        self._full = self._left = max(per_s * over_s, 1.0)
        self._since = 0.0

    def take(self, now: float) -> bool:
        """Count an event; False if it is one too many."""
        if self._per_s <= 0:
            return True
        self._fill(now)
        if self._left < 1:
            return False
        self._left -= 1
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


class Sockets:
    """How many sockets there are, in all and by API key."""

    def __init__(self, most: int, most_of_key: int) -> None:
        self._most = most
        self._most_of_key = most_of_key
        self._by_key: Counter[bytes] = Counter()
        self.count = 0

    def enter(self, key: str) -> bytes | None:
        """Count a socket; give what it leaves with, or None if it is one too many."""
        name = hashlib.sha256(key.encode(errors="surrogatepass")).digest()[:16]
        if self.is_full or 0 < self._most_of_key <= self._by_key[name]:
            return None
        self.count += 1
        self._by_key[name] += 1
        return name

    def leave(self, name: bytes) -> None:
        """Count a socket no more."""
        self.count -= 1
        self._by_key[name] -= 1
        if not self._by_key[name]:
            del self._by_key[name]

    @property
    def is_full(self) -> bool:
        """Whether there is room for no further socket."""
        return 0 < self._most <= self.count


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
