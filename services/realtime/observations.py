"""What the realtime edge observes."""

from typing import ClassVar

from broker.observability.observations import Observation


class FrameDropped(Observation, frozen=True):
    """A client sent a frame that is not valid; it was dropped."""

    level: ClassVar[str] = "debug"
    reason: str


class InvalidJoinPayload(Observation, frozen=True):
    """Members of a join were of a wrong form; their defaults were used."""

    level: ClassVar[str] = "debug"
    members: tuple[str, ...]


class SlowConsumer(Observation, frozen=True):
    """Too many bytes waited for a client that reads slowly; its socket was closed."""

    level: ClassVar[str] = "warning"
    unsent_bytes: int


class MessageLost(Observation, frozen=True):
    """A message to a topic did not reach the other edges because the broker is not connected."""

    level: ClassVar[str] = "warning"
    size_bytes: int


class MessageUnreadable(Observation, frozen=True):
    """A message on a subject of topics or edges could not be decoded."""

    level: ClassVar[str] = "warning"
    subject: str
    reason: str


class EdgeSilent(Observation, frozen=True):
    """Another edge sent no heartbeat; its presences were removed."""

    level: ClassVar[str] = "warning"
    edge: str


class SocketCrashed(Observation, frozen=True):
    """A socket or a channel ended because of an error in our own code."""

    level: ClassVar[str] = "error"
    traceback: str


class ChangeSubscriptionFailed(Observation, frozen=True):
    """A subscription to row changes failed; it is tried again."""

    level: ClassVar[str] = "warning"
    reason: str


class PositionUnknown(Observation, frozen=True):
    """The realtime pool did not answer with the position of a client that joined again; it receives new changes only."""

    level: ClassVar[str] = "warning"
    reason: str
