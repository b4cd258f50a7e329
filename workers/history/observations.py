"""Observations of history: names of tables and reasons, never a value or a name of a person."""

from typing import ClassVar

from broker.observability.observations import Observation


class HistoryLost(Observation, frozen=True):
    """The leader of history lost the database, the broker or its lead; it retries, and nothing is lost."""

    level: ClassVar[str] = "warning"
    reason: str


class HistoryCrashed(Observation, frozen=True):
    """Writing history failed because of an error in our own code; it is tried again."""

    level: ClassVar[str] = "error"
    traceback: str


class HistoryGapNoted(Observation, frozen=True):
    """Versions of these tables may be missing; the gap is shown with their history."""

    level: ClassVar[str] = "error"
    tables: str
    reason: str


class HistorySwitched(Observation, frozen=True):
    """A table has a history from now on, or no longer."""

    table: str
    is_on: bool


class HistoryRejected(Observation, frozen=True):
    """The comment of a table asks for a history that it cannot have."""

    level: ClassVar[str] = "warning"
    table: str
    reason: str
