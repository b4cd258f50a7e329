"""The timetable: when each schedule is due next (pure; the clock is an argument).

Missed runs are not caught up: a schedule that was due without a leader, or more than `LATE_S` ago, waits for its next
moment. A changed schedule counts from now; an unchanged one keeps its next moment.

If the clock is set back by less than a minute, nothing changes: schedules wait until it has caught up. If it is set
back by more, all schedules count from the new time, or jobs would stop for as long as the clock was ahead. A moment can
then come twice. A schedule of intervals (`*/5 * * * *`) runs again, because it is on time by the new clock. A schedule
of times of day does not, if its run started at most three hours ahead of the clock (the rule of Vixie cron). A run that
started further ahead was started by a wrong clock and does not count.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from schemas.schedules import IntervalSchedule, Schedule

_MOST_WAITING = 60
LATE_S = 60.0
"""A moment longer ago than this counts as missed."""
_SET_BACK_S = 60.0
"""If the clock is behind its last reading by more than this, it was set back."""
_NAMED_AGAIN_S = 3 * 3600.0
"""A time of day does not run again while the clock is less than this behind its run."""


class DueRun(NamedTuple):
    """A due schedule: its key, and the moment at which it is due."""

    key: str
    moment: float
    most_waiting: int = _MOST_WAITING
    """How many runs may wait behind a long one; 1 for a schedule in seconds."""
    wrong_ahead_s: float = _SET_BACK_S
    """A run that started further ahead of its moment was started by a clock that was set back since."""

    @property
    def wrong_after(self) -> float:
        """Return the moment after which an earlier run does not count."""
        return self.moment + self.wrong_ahead_s


@dataclass(slots=True)
class Timetable:
    """The next moment of every schedule."""

    _next: dict[str, tuple[Schedule, float | None]] = field(default_factory=dict)
    _read_at: float = float("-inf")

    def update(self, schedules: Mapping[str, Schedule], now: float) -> None:
        """Replace all schedules."""
        self._next = {key: self._entry(key, schedule, now) for key, schedule in schedules.items()}

    def set_back(self, now: float) -> float:
        """Return by how many seconds the clock was set back, 0 if it was not; if it was, all schedules count from now."""
        back_s, self._read_at = self._read_at - now, now
        if back_s <= _SET_BACK_S:
            return 0.0
        self._next = {key: (schedule, schedule.next_due(now)) for key, (schedule, _) in self._next.items()}
        return back_s

    def next_moment(self) -> float | None:
        """Return the first moment at which anything is due, or None."""
        return min((moment for _, moment in self._next.values() if moment is not None), default=None)

    def take(self, now: float) -> tuple[list[DueRun], list[DueRun]]:
        """Return what is due, in order, and what was missed; both then wait for their next moment."""
        due: list[DueRun] = []
        missed: list[DueRun] = []
        for key, (schedule, moment) in self._next.items():
            if moment is None or moment > now:
                continue
            run = DueRun(
                key,
                moment,
                1 if isinstance(schedule, IntervalSchedule) else _MOST_WAITING,
                _NAMED_AGAIN_S if schedule.names_times else _SET_BACK_S,
            )
            (due if now - moment <= LATE_S else missed).append(run)
            following = schedule.next_due(moment)
            if following is not None and following <= now:
                following = schedule.next_due(now)
            self._next[key] = (schedule, following)
        return sorted(due, key=lambda item: item.moment), missed

    def _entry(self, key: str, schedule: Schedule, now: float) -> tuple[Schedule, float | None]:
        entry = self._next.get(key)
        return entry if entry is not None and entry[0] == schedule else (schedule, schedule.next_due(now))
