"""A mapping with an upper bound on its entries, for caches and counters whose keys clients choose.

A Python dictionary keeps the order of insertion, so its first key is the oldest one. Storing a key again moves it to
the end. A caller that only stores gets "first in, first out"; a caller that stores an entry again whenever it uses it
(or calls `refresh`) gets "least recently used". Both cost one dictionary operation more than a plain dictionary.
"""

from collections.abc import ItemsView, Iterator
from typing import Generic, TypeVar, overload

K = TypeVar("K")
V = TypeVar("V")
D = TypeVar("D")


class BoundedCache(Generic[K, V]):
    """At most `most` entries; a further one evicts the oldest."""

    __slots__ = ("_entries", "_most")

    def __init__(self, most: int) -> None:
        if most < 1:
            raise ValueError("a cache holds at least one entry")
        self._most = most
        self._entries: dict[K, V] = {}

    def __len__(self) -> int:
        return len(self._entries)

    def __contains__(self, key: object) -> bool:
        return key in self._entries

    def __iter__(self) -> Iterator[K]:
        return iter(self._entries)

    @overload
    def get(self, key: K) -> V | None: ...
    @overload
    def get(self, key: K, default: D) -> V | D: ...
    def get(self, key: K, default: D | None = None) -> V | D | None:
        """Return the value of a key, or `default`. The age of the entry does not change."""
        return self._entries.get(key, default)

    def refresh(self, key: K) -> V | None:
        """Return the value of a key and make its entry the newest one; None if the key is missing."""
        if key not in self._entries:
            return None
        value = self._entries[key] = self._entries.pop(key)
        return value

    def put(self, key: K, value: V) -> tuple[K, V] | None:
        """Store a value as the newest entry; return the entry that was evicted for it."""
        self._entries.pop(key, None)
        evicted = None
        if len(self._entries) >= self._most:
            oldest = next(iter(self._entries))
            evicted = (oldest, self._entries.pop(oldest))
        self._entries[key] = value
        return evicted

    @overload
    def pop(self, key: K) -> V | None: ...
    @overload
    def pop(self, key: K, default: D) -> V | D: ...
    def pop(self, key: K, default: D | None = None) -> V | D | None:
        """Remove an entry and return its value, or `default` if there is none."""
        return self._entries.pop(key, default)

    def items(self) -> ItemsView[K, V]:
        """Return the entries, the oldest first."""
        return self._entries.items()

    def clear(self) -> None:
        """Remove all entries."""
        self._entries.clear()
