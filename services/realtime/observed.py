"""What the realtime edge observes."""

from typing import ClassVar

from broker.observability.observations import Observation


class FrameDropped(Observation, frozen=True):
    """A client sent a frame that means nothing: it was dropped."""

    level: ClassVar[str] = "debug"
    reason: str


class InvalidJoinPayload(Observation, frozen=True):
    """Members of a join were of a wrong form: they count as not given."""

    level: ClassVar[str] = "debug"
    members: tuple[str, ...]


class SlowConsumer(Observation, frozen=True):
    """A client reads more slowly than it is sent to: its socket was closed."""

    level: ClassVar[str] = "warning"
    unsent_bytes: int


class MessageLost(Observation, frozen=True):
    """A message to a room did not reach the other edges: the broker is away."""

    level: ClassVar[str] = "warning"
    size_bytes: int


class MessageUnreadable(Observation, frozen=True):
    """What came on a subject of rooms is no message."""

    level: ClassVar[str] = "warning"
    subject: str
    reason: str


class EdgeGone(Observation, frozen=True):
    """Another edge gives no sign of life: who was present there is gone."""

    level: ClassVar[str] = "warning"
    edge: str


class SocketCrashed(Observation, frozen=True):
    """A socket ended by a defect of ours."""

    level: ClassVar[str] = "error"
    traceback: str


class ChangesRefused(Observation, frozen=True):
    """A subscription to row changes could not be made; it is tried again."""

    level: ClassVar[str] = "warning"
    reason: str


class PositionUnknown(Observation, frozen=True):
    """The realtime pool could not say where a client that joined again left off: it gets new changes alone."""

    level: ClassVar[str] = "warning"
    reason: str
