"""Rate limits by token buckets, one bucket for each name (an address, a key, a user). The clock is an argument.

A bucket holds up to `burst` tokens and gains `rate` tokens a second; a request takes one. Each process counts for
itself. The bucket that was used longest ago is forgotten first, which can only allow more requests, never fewer.
"""

import hashlib

from schemas.bounded_cache import BoundedCache

_MOST_BUCKETS = 100_000
_LONGEST_NAME = 256


class Buckets:
    """The buckets of one limit. A rate of 0 allows everything."""

    def __init__(self, rate: float, burst: int) -> None:
        self._rate = rate
        self._burst = float(max(burst, 1))
        self._levels: BoundedCache[str, tuple[float, float]] = BoundedCache(_MOST_BUCKETS)

    def take(self, name: str, now: float) -> float:
        """Take a token; return 0, or the seconds until there is one."""
        if self._rate <= 0:
            return 0.0
        if len(name) > _LONGEST_NAME:  # clients choose names, and the bucket stores them
            name = hashlib.sha256(name.encode(errors="surrogatepass")).hexdigest()
        level, since = self._levels.get(name, (self._burst, now))
        level = min(self._burst, level + (now - since) * self._rate)
        wait = 0.0 if level >= 1 else (1 - level) / self._rate
        self._levels.put(name, (level if wait else level - 1, now))
        return wait
