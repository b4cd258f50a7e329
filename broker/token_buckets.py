"""Token buckets by name (an address, a key, a user). Pure but for the buckets; the clock is an argument.

A bucket holds up to `burst` tokens and fills at `rate` a second; a request takes one. Each process counts for itself.
"""

import hashlib

_MOST_BUCKETS = 100_000
_LONGEST_NAME = 256


class Buckets:
    """One kind of limit. A rate of 0 allows everything."""

    def __init__(self, rate: float, burst: int) -> None:
        self._rate = rate
        self._burst = float(max(burst, 1))
        self._levels: dict[str, tuple[float, float]] = {}

    def take(self, name: str, now: float) -> float:
        """Take a token; give 0, or the seconds until there is one."""
        if self._rate <= 0:
            return 0.0
        if len(name) > _LONGEST_NAME:  # clients choose names, and all of them are kept
            name = hashlib.sha256(name.encode(errors="surrogatepass")).hexdigest()
        level, since = self._levels.pop(name, (self._burst, now))
        level = min(self._burst, level + (now - since) * self._rate)
        wait = 0.0 if level >= 1 else (1 - level) / self._rate
        if len(self._levels) >= _MOST_BUCKETS:
            del self._levels[next(iter(self._levels))]
        self._levels[name] = (level if wait else level - 1, now)
        return wait
