"""Observations of streams: names of streams and tables, counts and reasons, never an address, a value or a secret."""

from typing import ClassVar

from broker.observability.observations import Observation


class StreamsLost(Observation, frozen=True):
    """The leader of streams lost the database, the broker or its lead; it retries, and goes on from what each target has."""

    level: ClassVar[str] = "warning"
    reason: str


class StreamsCrashed(Observation, frozen=True):
    """Streams ended because of an error in our own code; they are tried again."""

    level: ClassVar[str] = "error"
    traceback: str


class StreamTargetAway(Observation, frozen=True):
    """A target takes nothing. Changes wait in the stream of changes, whose oldest ones go; nothing of the platform waits."""

    level: ClassVar[str] = "warning"
    stream: str
    table: str
    reason: str


class StreamRejected(Observation, frozen=True):
    """A table cannot be copied as it is set."""

    level: ClassVar[str] = "error"
    stream: str
    table: str
    reason: str


class StreamSnapshot(Observation, frozen=True):
    """All rows of a table are copied, because the target has none or cannot follow from where it is."""

    stream: str
    table: str
    reason: str


class StreamFollowing(Observation, frozen=True):
    """A target has taken all rows, or takes changes again."""

    stream: str
    table: str
    rows: int
