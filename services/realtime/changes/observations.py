"""What the feed observes. An observation holds no row, claim or filter."""

from typing import ClassVar

from broker.observability.observations import Observation


class RowQueryRetried(Observation, frozen=True):
    """The realtime pool does not answer a query; row changes wait until it does."""

    level: ClassVar[str] = "warning"
    query: str
    reason: str


class RowQueryRejectedByPool(Observation, frozen=True):
    """The realtime pool rejected a query about rows; they were delivered to no subscriber."""

    level: ClassVar[str] = "warning"
    query: str
    status: int


class RequestReachedSockets(Observation, frozen=True):
    """Changes that a request made were delivered to subscribers of this process: channels, event streams, GraphQL subscriptions."""

    level: ClassVar[str] = "debug"
    is_stored: ClassVar[bool] = True
    request_id: str
    table: str
    deliveries: int


class FeedWaits(Observation, frozen=True):
    """The stream of changes cannot be read; row changes wait."""

    level: ClassVar[str] = "warning"
    reason: str


class ChangesMissed(Observation, frozen=True):
    """Row changes left the stream before they were read; subscribers were notified of a gap."""

    level: ClassVar[str] = "warning"
    subscribers: int


class ChangeUnreadable(Observation, frozen=True):
    """A message of the stream of changes could not be decoded; subscribers were notified of a gap."""

    level: ClassVar[str] = "error"
    seq: int
    reason: str


class FeedFailed(Observation, frozen=True):
    """A part of the feed stopped because of an error in our own code; it is restarted."""

    level: ClassVar[str] = "error"
    traceback: str
