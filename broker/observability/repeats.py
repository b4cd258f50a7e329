"""Count repeated log lines: a fault that lasts an hour causes some dozen lines, not thousands.

The first line of a kind is written. Those that follow within ten seconds are counted. Then one line is written with
their number, the ids of the first twenty, and the fields of the last. While they continue there is one such line a
minute. At most 256 kinds are remembered; a further one replaces the oldest, whose count is written then.
"""

from collections.abc import Hashable
from dataclasses import dataclass, field
from typing import Generic, TypeVar

from schemas.bounded_cache import BoundedCache

FIRST_S, NEXT_S = 10.0, 60.0
_MOST_KINDS, _MOST_IDS = 256, 20

L = TypeVar("L")


@dataclass(slots=True)
class RepeatedLine(Generic[L]):
    """Lines that were counted instead of written: the last line, the count, and the ids of the first ones."""

    line: L
    count: int = 0
    ids: list[str] = field(default_factory=list)


@dataclass(slots=True)
class _Kind(Generic[L]):
    until: float
    counted: RepeatedLine[L]


class RepeatCounter(Generic[L]):
    """The kinds of lines that were written recently, with their counts."""

    def __init__(self, most: int = _MOST_KINDS) -> None:
        self._kinds: BoundedCache[Hashable, _Kind[L]] = BoundedCache(most)
        self._evicted: list[RepeatedLine[L]] = []

    def admit(self, key: Hashable, line: L, now: float, id: str = "") -> bool:
        """Return whether to write a line now; otherwise it is counted. `key` is what lines of one kind share."""
        kind = self._kinds.get(key)
        if kind is not None and (now < kind.until or kind.counted.count):
            kind.counted.line = line
            kind.counted.count += 1
            if id and len(kind.counted.ids) < _MOST_IDS:
                kind.counted.ids.append(id)
            return False
        evicted = self._kinds.put(key, _Kind(now + FIRST_S, RepeatedLine(line)))
        if evicted is not None and evicted[1].counted.count:
            self._evicted.append(evicted[1].counted)
        return True

    def due(self, now: float, *, is_end: bool = False) -> list[RepeatedLine[L]]:
        """Return the counts that are due now; at the end of the process all of them."""
        counts, self._evicted = self._evicted, []
        for key, kind in list(self._kinds.items()):
            if now < kind.until and not is_end:
                continue
            if kind.counted.count:
                counts.append(kind.counted)
                # Replaced in place: a kind that is written again keeps its age.
                kind.until, kind.counted = now + NEXT_S, RepeatedLine(kind.counted.line)
            else:
                self._kinds.pop(key)
        return counts

    def next_at(self) -> float | None:
        """Return when a count is due next; None while nothing is counted."""
        return min((kind.until for _, kind in self._kinds.items() if kind.counted.count), default=None)
