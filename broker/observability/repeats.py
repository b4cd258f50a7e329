"""Counts lines of a log that repeat: a fault that lasts an hour is some dozen lines, not thousands.

The first line of a kind is written. Those that follow within ten seconds are counted, and then one line is written with
their number, the ids of the first twenty, and the words of the last. While they go on there is one such line a minute. At
most 256 kinds are remembered; a further one takes the place of the oldest, whose count is written then.
"""

from collections.abc import Hashable
from dataclasses import dataclass, field
from typing import Generic, TypeVar

FIRST_S, NEXT_S = 10.0, 60.0
_MOST_KINDS, _MOST_IDS = 256, 20

L = TypeVar("L")


@dataclass(slots=True)
class Repeated(Generic[L]):
    """Lines that were counted instead of written: the last one, how many, and the ids of the first ones."""

    line: L
    count: int = 0
    ids: list[str] = field(default_factory=list)


@dataclass(slots=True)
class _Kind(Generic[L]):
    until: float
    counted: Repeated[L]


class Repeats(Generic[L]):
    """The kinds of lines that were written recently."""

    def __init__(self, most: int = _MOST_KINDS) -> None:
        self._most = most
        self._kinds: dict[Hashable, _Kind[L]] = {}
        self._evicted: list[Repeated[L]] = []

    def admit(self, key: Hashable, line: L, now: float, id: str = "") -> bool:
        """Return whether a line is to be written now; else it is counted. `key` is what lines of one kind share."""
        kind = self._kinds.get(key)
        if kind is not None and (now < kind.until or kind.counted.count):
            kind.counted.line = line
            kind.counted.count += 1
            if id and len(kind.counted.ids) < _MOST_IDS:
                kind.counted.ids.append(id)
            return False
        self._kinds.pop(key, None)
        if len(self._kinds) >= self._most:
            oldest = self._kinds.pop(next(iter(self._kinds)))
            if oldest.counted.count:
                self._evicted.append(oldest.counted)
        self._kinds[key] = _Kind(now + FIRST_S, Repeated(line))
        return True

    def due(self, now: float, *, is_end: bool = False) -> list[Repeated[L]]:
        """Return the counts that are to be written now; at the end of the process all."""
        told, self._evicted = self._evicted, []
        for key, kind in list(self._kinds.items()):
            if now < kind.until and not is_end:
                continue
            if kind.counted.count:
                told.append(kind.counted)
                self._kinds[key] = _Kind(now + NEXT_S, Repeated(kind.counted.line))
            else:
                del self._kinds[key]
        return told

    def next_at(self) -> float | None:
        """Return when a count is due next; None while nothing is counted."""
        return min((kind.until for kind in self._kinds.values() if kind.counted.count), default=None)
