"""Observations of drains: names and reasons, never an address, a header or a line."""

from typing import ClassVar

from broker.observability.observations import Observation


class LogDrainFailing(Observation, frozen=True):
    """A receiver of log lines does not take them; they wait in the stream."""

    level: ClassVar[str] = "warning"
    drain: str
    reason: str


class LogDrainRecovered(Observation, frozen=True):
    """A receiver takes log lines again."""

    drain: str


class LogDrainLost(Observation, frozen=True):
    """Log lines left the stream before a receiver had taken them; the store of the platform may have them."""

    level: ClassVar[str] = "warning"
    drain: str
    stream: str
    messages: int


class LogDrainsLost(Observation, frozen=True):
    """The leader that sends log lines lost the database or its lead, or a stream of lines stays away; it goes on from the stored place."""

    level: ClassVar[str] = "warning"
    reason: str


class LogDrainsCrashed(Observation, frozen=True):
    """Sending log lines ended because of an error in our own code; it is tried again."""

    level: ClassVar[str] = "error"
    traceback: str
