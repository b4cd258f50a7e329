"""Estimates how many keys and bytes of callers are stored, per worker. Pure except for the clock argument.

Counting for each write would be slow, and a counter row in the database would serialize all writes of a caller. So a worker
counts in the database at most every `_OLD_S` seconds and adds what it stores itself: a limit may be exceeded by what other
workers store within that time.
"""

from collections.abc import Callable
from dataclasses import dataclass

from schemas.bounded_cache import BoundedCache

_OLD_S = 10.0
_MOST_CALLERS = 10_000


@dataclass(slots=True)
class CallerUsage:
    """Stored keys and bytes of a caller."""

    keys: int
    bytes: int
    counted_at: float
    added: int = 0
    """Keys added since the count; included in `keys`."""


class CallerUsages:
    """Usage of recent callers."""

    def __init__(self, max_keys: int, max_bytes: int, clock: Callable[[], float]) -> None:
        self._max_keys, self._max_bytes, self._clock = max_keys, max_bytes, clock
        self._callers = BoundedCache[bytes, CallerUsage](_MOST_CALLERS)

    def is_full(self, caller: bytes) -> bool:
        """Return whether a caller has as many keys as it may have."""
        usage = self._callers.get(caller)
        return usage is not None and usage.keys >= self._max_keys

    def room(self, caller: bytes) -> int:
        """Return how many bytes may be stored for a caller."""
        usage = self._callers.get(caller)
        return self._max_bytes if usage is None else max(0, self._max_bytes - usage.bytes)

    def is_old(self, caller: bytes, after_s: float = _OLD_S) -> bool:
        """Return whether the caller's records should be counted again."""
        usage = self._callers.get(caller)
        if usage is None or self._clock() - usage.counted_at > after_s:
            return True
        return usage.added >= max(1, self._max_keys // 100)

    def counted(self, caller: bytes, keys: int, size: int) -> None:
        """Note what the database counted."""
        self._callers.put(caller, CallerUsage(keys, size, self._clock()))

    def add(self, caller: bytes, size: int) -> None:
        """Note a record that was stored without a count."""
        usage = self._callers.get(caller)
        if usage is not None:
            usage.keys, usage.bytes, usage.added = usage.keys + 1, usage.bytes + size, usage.added + 1
