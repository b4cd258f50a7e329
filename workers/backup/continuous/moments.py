"""Parses what a user writes as the moment of a restore (pure).

2026-11-22 10:15            a time, with or without seconds; without a zone (Z, UTC, +01:00) it is UTC
2 hours ago                 before the last hour, before the last 30 minutes: the same, said differently
latest                      everything that the archive has
transaction 7312            with this transaction; `before transaction 7312` without it
before migration 2026...    without this migration of the project; `migration 2026...` with it
lsn 0/3000148               a position of the log
"""

import re
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

_UNITS = {"second": 1, "minute": 60, "hour": 3600, "day": 86400, "week": 604800}
_AGO = re.compile(
    r"(?:(?P<count>\d{1,6})\s*(?P<unit>second|minute|hour|day|week)s?\s+ago"
    r"|before the last\s+(?:(?P<last>\d{1,6})\s+)?(?P<period>second|minute|hour|day|week)s?)",
    re.ASCII | re.IGNORECASE,
)
_NAMED = re.compile(
    r"(?P<before>before\s+)?(?P<kind>transaction|migration)\s+(?P<value>\d{1,32})", re.ASCII | re.IGNORECASE
)
_LSN = re.compile(r"lsn\s+(?P<high>[0-9a-f]{1,8})/(?P<low>[0-9a-f]{1,8})", re.ASCII | re.IGNORECASE)
_ZONE_NAME = re.compile(r"\s*(UTC|GMT)$", re.IGNORECASE)
_MOST_TRANSACTION = 2**32 - 1

FORMS = (
    "'2026-11-22 10:15' (UTC, or with a zone such as +01:00), '2 hours ago', 'before the last hour', 'latest', "
    "'transaction 7312', 'before transaction 7312', 'before migration 20261122101500' or 'lsn 0/3000148'"
)


class MomentRejected(Exception):
    """A moment cannot be restored, or is not one: why, and what to do, in one sentence."""


@dataclass(frozen=True, slots=True)
class TimeMoment:
    """A time, in seconds since 1970."""

    time: float


@dataclass(frozen=True, slots=True)
class LatestMoment:
    """Everything."""


@dataclass(frozen=True, slots=True)
class TransactionMoment:
    """A transaction: its id, and whether it is part of the result."""

    id: str
    is_included: bool


@dataclass(frozen=True, slots=True)
class MigrationMoment:
    """A migration of the project: its version, and whether it is part of the result."""

    version: str
    is_included: bool


@dataclass(frozen=True, slots=True)
class PositionMoment:
    """A position of the log."""

    lsn: int


Moment = TimeMoment | LatestMoment | TransactionMoment | MigrationMoment | PositionMoment


def parse_moment(text: str, now: float) -> Moment:
    """Parse a moment. Raises: MomentRejected."""
    text = text.strip()
    if text.lower() in ("latest", "now"):
        return LatestMoment()
    if match := _AGO.fullmatch(text):
        unit = match["unit"] or match["period"]
        count = int(match["count"] or match["last"] or 1)
        if (time := now - count * _UNITS[unit.lower()]) < 0:
            raise MomentRejected(f"'{text}' is before 1970: there was no archive yet.")
        return TimeMoment(time)
    if match := _NAMED.fullmatch(text):
        is_included = match["before"] is None
        if match["kind"].lower() == "migration":
            return MigrationMoment(match["value"], is_included)
        if int(match["value"]) > _MOST_TRANSACTION:
            raise MomentRejected(f"A transaction has a number up to {_MOST_TRANSACTION}, as xmin shows it.")
        return TransactionMoment(match["value"], is_included)
    if match := _LSN.fullmatch(text):
        return PositionMoment(int(match["high"], 16) << 32 | int(match["low"], 16))
    return TimeMoment(_parse_time(text, now))


def _parse_time(text: str, now: float) -> float:
    try:
        moment = datetime.fromisoformat(_ZONE_NAME.sub("+00:00", text))
        moment = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
        moment.astimezone(UTC) - timedelta(days=1)
        time = moment.timestamp()
    except (ValueError, OverflowError):
        raise MomentRejected(f"'{text[:60]}' is no moment: write {FORMS}.") from None
    if len(text) < len("2026-11-22 10"):
        raise MomentRejected(f"'{text}' names a day: add the time, as in '{text} 10:15'.")
    if time > now:
        raise MomentRejected(
            f"{text} is in the future: it is {datetime.fromtimestamp(now, UTC):%Y-%m-%d %H:%M:%S} UTC now."
        )
    return time
