"""What the edge of GraphQL subscriptions observes."""

from typing import ClassVar

from broker.observability.observations import Observation


class SubscriptionCrashed(Observation, frozen=True):
    """A GraphQL operation over a socket ended because of an error in our own code."""

    level: ClassVar[str] = "error"
    traceback: str


class LiveQueryWaits(Observation, frozen=True):
    """A live query or the rows of a change could not be read; it is tried again."""

    level: ClassVar[str] = "warning"
    reason: str


class SlowSubscriber(Observation, frozen=True):
    """Too many bytes waited for a client of subscriptions that reads slowly; its socket was closed."""

    level: ClassVar[str] = "warning"
    unsent_bytes: int
