"""Times and durations of XML Schema. Pure. Source: XML Schema 1.1, part 2, 3.3.6 and 3.3.7; SAML core, 1.3.3."""

import re
from datetime import UTC, datetime, timedelta, timezone

_MOMENT = re.compile(
    r"([0-9]{4})-([0-9]{2})-([0-9]{2})T([0-9]{2}):([0-9]{2}):([0-9]{2})(?:\.([0-9]{1,12}))?"
    r"(Z|([+-])([0-9]{2}):([0-9]{2}))?",
    re.ASCII,
)
_SPAN = re.compile(
    r"P(?:([0-9]{1,4})Y)?(?:([0-9]{1,5})M)?(?:([0-9]{1,6})D)?"
    r"(?:T(?:([0-9]{1,7})H)?(?:([0-9]{1,8})M)?(?:([0-9]{1,9})(?:\.[0-9]{1,12})?S)?)?",
    re.ASCII,
)
_IN_DAYS = (365, 30, 1)


class BadTime(ValueError):
    """A text is not a time."""


def read_time(text: str) -> datetime | None:
    """Parse a time; without a zone it is UTC. None for an empty text. Raises: BadTime."""
    if not text:
        return None
    match = _MOMENT.fullmatch(text)
    if match is None:
        raise BadTime
    year, month, day, hour, minute, second = (int(group) for group in match.groups()[:6])
    micros = int((match[7] or "")[:6].ljust(6, "0"))
    try:
        moment = datetime(year, month, day, hour, minute, second, micros, _zone(match))
        return moment.astimezone(UTC)
    except (ValueError, OverflowError):
        raise BadTime from None


def read_duration(text: str) -> timedelta | None:
    """Parse a duration; months have 30 days, years 365. None if it is malformed or negative."""
    match = _SPAN.fullmatch(text)
    if match is None or text.endswith(("P", "T")):
        return None
    days = sum(int(match[at] or 0) * length for at, length in enumerate(_IN_DAYS, 1))
    hours, minutes, seconds = (int(match[at] or 0) for at in (4, 5, 6))
    try:
        return timedelta(days=days, hours=hours, minutes=minutes, seconds=seconds)
    except OverflowError:
        return None


def write_time(moment: datetime) -> str:
    """Format a time in UTC, with seconds."""
    return moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def _zone(found: re.Match[str]) -> timezone:
    if not found[9]:
        return UTC
    offset = timedelta(hours=int(found[10]), minutes=int(found[11]))
    return timezone(-offset if found[9] == "-" else offset)
