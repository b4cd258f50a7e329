"""What the edge of GraphQL subscriptions observes."""

from typing import ClassVar

from broker.observability.observations import Observation


class SubscriptionCrashed(Observation, frozen=True):
    """A GraphQL operation over a socket ended by a defect of ours."""

    level: ClassVar[str] = "error"
    traceback: str


class LiveQueryWaits(Observation, frozen=True):
    """A live query or the rows of a change could not be read; it is tried again."""

    level: ClassVar[str] = "warning"
    reason: str


class SlowSubscriber(Observation, frozen=True):
    """A client of subscriptions reads more slowly than it is sent to: its socket was closed."""

    level: ClassVar[str] = "warning"
    unsent_bytes: int
