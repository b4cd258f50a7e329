"""When a schedule is due: text of cron -> moments (pure).

Five fields (minute, hour, day, month, weekday; `$` is the last day of a month), names such as `@daily`, or `30 seconds`.
Times of day hold in the zone of the schedule. A time that the clocks skip in spring comes when they have jumped, one that
they show twice in autumn comes once (as cron of Debian does). Moments are seconds since 1970.
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


class BadSchedule(ValueError):
    """The text is no schedule, or names no time zone."""


@dataclass(frozen=True, slots=True)
class Every:
    """So many seconds from one run to the next."""

    seconds: int

    @property
    def names_times(self) -> bool:
        """Whether it names times of day."""
        return False

    def next_due(self, after: float) -> float | None:
        """Give the first moment after another."""
        return after + self.seconds


@dataclass(frozen=True, slots=True)
class Calendar:
    """Minutes of the calendar, five fields, in a time zone."""

    fields: str
    zone: str

    @property
    def names_times(self) -> bool:
        """Whether it names times of day (`0 3 * * *`), and not only a pace (`*/5 * * * *`, `0 * * * *`)."""
        minute, hour = self.fields.split()[:2]
        return not minute.startswith("*") and not hour.startswith("*")

    def next_due(self, after: float) -> float | None:
        """Give the first moment after another; None if there is none, as on the 30th of February."""
        zone = UTC if self.zone in ("GMT", "UTC") else ZoneInfo(self.zone)
        try:
            return float(next(CronSim(self.fields, datetime.fromtimestamp(after, zone))).timestamp())
        except (CronSimError, StopIteration):
            return None


Schedule = Every | Calendar


_LONGEST = 1000


def parse_schedule(text: str, zone: str) -> Schedule:
    """Read a schedule. Raises: BadSchedule."""
    if len(text) > _LONGEST:  # a number in it may be too long to be read at all
        raise BadSchedule(f"invalid schedule: longer than {_LONGEST} characters")
    plain = text.strip().lower()
    if found := _SECONDS.fullmatch(plain):
        return Every(int(found[1]))
    fields = _NAMED.get(plain, plain).split()
    if len(fields) != 5:
        raise BadSchedule(f"invalid schedule: {text}")
    day = ",".join("L" if item == "$" else item for item in fields[2].split(","))
    whole = " ".join([*fields[:2], day, *fields[3:]])
    try:
        ZoneInfo(zone)
    except (ValueError, OSError, LookupError):
        raise BadSchedule(f"there is no time zone {zone}") from None
    minute, hour, _, month, weekday = whole.split()
    try:  # days and months apart: the 30th of February is a schedule, which never comes
        CronSim(f"{minute} {hour} {day} * {weekday}", datetime(2024, 1, 1, tzinfo=UTC))
        CronSim(f"0 0 * {month} *", datetime(2024, 1, 1, tzinfo=UTC))
    except CronSimError:
        raise BadSchedule(f"invalid schedule: {text}") from None
    return Calendar(whole, zone)
