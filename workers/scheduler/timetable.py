"""The timetable: schedules by their keys, and when each is due next (pure; the clock is an argument).

What was missed is not caught up: a schedule that was due while nobody looked, or more than `LATE_S` ago, waits for its next
moment. A schedule that changes counts from now; one that does not keeps its next moment.

A clock that is set back by less than a minute changes nothing: schedules wait until it has caught up. Set back by more, they
count from the new time, or jobs would stand still for as long as the clock was ahead. Then a moment can come a second time: of
a schedule that only names a pace it is run again, as it is on time by the new clock; of one that names times of day it is not,
if it was begun at most three hours ahead of the clock (the rule of Vixie cron). What was begun even further ahead was begun by
a clock that was wrong, and is not counted.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from schemas.schedules import Every, Schedule

_MOST_WAITING = 60
LATE_S = 60.0
"""A moment longer ago than this is missed."""
_SET_BACK_S = 60.0
"""A clock that is behind its last reading by more than this was set back."""
_NAMED_AGAIN_S = 3 * 3600.0
"""A time of day that was run is not run again while the clock is less than this behind it."""


class Due(NamedTuple):
    """A schedule is due: its key, and the moment for which it is."""

    key: str
    moment: float
    most_waiting: int = _MOST_WAITING
    """How many runs may wait behind one that takes too long; one of a schedule in seconds."""
    wrong_ahead_s: float = _SET_BACK_S
    """A run that was begun for a moment further ahead than this was begun by a clock that was set back since."""

    @property
    def wrong_after(self) -> float:
        """Return the moment behind which a run begun earlier does not count."""
        return self.moment + self.wrong_ahead_s


@dataclass(slots=True)
class Timetable:
    """When everything is due next."""

    _next: dict[str, tuple[Schedule, float | None]] = field(default_factory=dict)
    _read_at: float = float("-inf")

    def update(self, wanted: Mapping[str, Schedule], now: float) -> None:
        """Take over all schedules there are."""
        self._next = {key: self._entry(key, schedule, now) for key, schedule in wanted.items()}

    def set_back(self, now: float) -> float:
        """Return by how many seconds the clock was set back, 0 if it was not; if it was, all schedules count from now."""
        back_s, self._read_at = self._read_at - now, now
        if back_s <= _SET_BACK_S:
            return 0.0
        self._next = {key: (schedule, schedule.next_due(now)) for key, (schedule, _) in self._next.items()}
        return back_s

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
            found = Due(
                key,
                moment,
                1 if isinstance(schedule, Every) else _MOST_WAITING,
                _NAMED_AGAIN_S if schedule.names_times else _SET_BACK_S,
            )
            (due if now - moment <= LATE_S else missed).append(found)
            following = schedule.next_due(moment)
            if following is not None and following <= now:
                following = schedule.next_due(now)
            self._next[key] = (schedule, following)
        return sorted(due, key=lambda each: each.moment), missed

    def _entry(self, key: str, schedule: Schedule, now: float) -> tuple[Schedule, float | None]:
        known = self._next.get(key)
        return known if known is not None and known[0] == schedule else (schedule, schedule.next_due(now))
