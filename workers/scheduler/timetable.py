"""The timetable: schedules by their keys, and when each is due next (pure; the clock is an argument).

What was missed is not caught up: a schedule that was due while nobody looked, or more than `LATE_S` ago, waits for its next
moment. A schedule that changes counts from now; one that does not keeps its next moment.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from schemas.schedules import Every, Schedule

LATE_S = 60.0
"""A moment longer ago than this is missed."""


class Due(NamedTuple):
    """A schedule is due: its key, and the moment for which it is."""

    key: str
    moment: float
    most_waiting: int = 60
    """How many runs may wait behind one that takes too long; one of a schedule in seconds."""


@dataclass(slots=True)
class Timetable:
    """When everything is due next."""

    _next: dict[str, tuple[Schedule, float | None]] = field(default_factory=dict)

    def update(self, wanted: Mapping[str, Schedule], now: float) -> None:
        """Take over all schedules there are."""
        self._next = {key: self._entry(key, schedule, now) for key, schedule in wanted.items()}

    def next_moment(self) -> float | None:
        """Give the first moment at which anything is due; None if nothing ever is."""
        return min((moment for _, moment in self._next.values() if moment is not None), default=None)

    def take(self, now: float) -> tuple[list[Due], list[Due]]:
        """Give what is due, in order, and what was missed; both wait for their next moment then."""
        due: list[Due] = []
        missed: list[Due] = []
        for key, (schedule, moment) in self._next.items():
            if moment is None or moment > now:
                continue
            found = Due(key, moment, 1) if isinstance(schedule, Every) else Due(key, moment)
            (due if now - moment <= LATE_S else missed).append(found)
            following = schedule.next_due(moment)
            if following is not None and following <= now:
                following = schedule.next_due(now)
            self._next[key] = (schedule, following)
        return sorted(due, key=lambda each: each.moment), missed

    def _entry(self, key: str, schedule: Schedule, now: float) -> tuple[Schedule, float | None]:
        known = self._next.get(key)
        return known if known is not None and known[0] == schedule else (schedule, schedule.next_due(now))
