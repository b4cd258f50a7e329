"""Cron schedules: parse a text, compute the next moment (pure).

Five fields (minute, hour, day, month, weekday; `$` is the last day of a month), names such as `@daily`, or `30
seconds`. Times of day are those of the schedule's time zone. A time that a clock change skips in spring is due right
after the change; one that occurs twice in autumn is due once (as in Debian's cron). Moments are seconds since 1970.
"""

import re
from dataclasses import dataclass
from datetime import UTC, datetime
from zoneinfo import ZoneInfo

from cronsim import CronSim, CronSimError

_SECONDS = re.compile(r"([1-9]|[1-5][0-9])\s+seconds?", re.IGNORECASE)
_NAMED = {
    "@yearly": "0 0 1 1 *",
    "@annually": "0 0 1 1 *",
    "@monthly": "0 0 1 * *",
    "@weekly": "0 0 * * 0",
    "@daily": "0 0 * * *",
    "@midnight": "0 0 * * *",
    "@hourly": "0 * * * *",
}


class InvalidSchedule(ValueError):
    """The text is not a valid schedule, or the time zone is unknown."""


@dataclass(frozen=True, slots=True)
class IntervalSchedule:
    """A fixed number of seconds between two runs."""

    seconds: int

    @property
    def names_times(self) -> bool:
        """Whether it names times of day."""
        return False

    def next_due(self, after: float) -> float | None:
        """Return the first moment after another."""
        return after + self.seconds


@dataclass(frozen=True, slots=True)
class CalendarSchedule:
    """Minutes of the calendar, five fields, in a time zone."""

    fields: str
    zone: str

    @property
    def names_times(self) -> bool:
        """Whether it names times of day (`0 3 * * *`), and not only an interval (`*/5 * * * *`, `0 * * * *`)."""
        minute, hour = self.fields.split()[:2]
        return not minute.startswith("*") and not hour.startswith("*")

    def next_due(self, after: float) -> float | None:
        """Return the first moment after another; None if there is none, as for the 30th of February."""
        zone = UTC if self.zone in ("GMT", "UTC") else ZoneInfo(self.zone)
        try:
            return float(next(CronSim(self.fields, datetime.fromtimestamp(after, zone))).timestamp())
        except (CronSimError, StopIteration):
            return None


Schedule = IntervalSchedule | CalendarSchedule


def schedule_in_words(schedule: Schedule) -> str:
    """Return a schedule in English words, such as `At 03:00 on Monday`; `Never` for a day that no month has."""
    if isinstance(schedule, IntervalSchedule):
        return "Every second" if schedule.seconds == 1 else f"Every {schedule.seconds} seconds"
    try:
        return str(CronSim(schedule.fields, datetime(2024, 1, 1, tzinfo=UTC)).explain())
    except CronSimError:
        return "Never"


def next_times(schedule: Schedule, after: float, count: int) -> list[float]:
    """Return the first `count` moments after another; fewer if there are no more."""
    times: list[float] = []
    while len(times) < count and (due := schedule.next_due(times[-1] if times else after)) is not None:
        times.append(due)
    return times


_LONGEST = 1000


def parse_schedule(text: str, zone: str) -> Schedule:
    """Parse a schedule. Raises: InvalidSchedule."""
    if len(text) > _LONGEST:  # a number in it may be too long to convert
        raise InvalidSchedule(f"invalid schedule: longer than {_LONGEST} characters")
    plain = text.strip().lower()
    if match := _SECONDS.fullmatch(plain):
        return IntervalSchedule(int(match[1]))
    fields = _NAMED.get(plain, plain).split()
    if len(fields) != 5:
        raise InvalidSchedule(f"invalid schedule: {text}")
    day = ",".join("L" if item == "$" else item for item in fields[2].split(","))
    whole = " ".join([*fields[:2], day, *fields[3:]])
    try:
        ZoneInfo(zone)
    except (ValueError, OSError, LookupError):
        raise InvalidSchedule(f"there is no time zone {zone}") from None
    minute, hour, _, month, weekday = whole.split()
    try:  # days and months are checked apart: the 30th of February is valid, and never due
        CronSim(f"{minute} {hour} {day} * {weekday}", datetime(2024, 1, 1, tzinfo=UTC))
        CronSim(f"0 0 * {month} *", datetime(2024, 1, 1, tzinfo=UTC))
    except CronSimError:
        raise InvalidSchedule(f"invalid schedule: {text}") from None
    return CalendarSchedule(whole, zone)
