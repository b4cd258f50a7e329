"""The interface between row changes and their receivers: who subscribes, and what is delivered.

The feed (`feed.py`) decides which subscriber receives which change. Channels, event streams and GraphQL subscriptions are
subscribers and build frames of their own. All subscribers that receive the same change with the same columns share one
delivery, which caches what was built of it (a frame for each topic and protocol version).
"""

from dataclasses import dataclass, field
from typing import Protocol, runtime_checkable

from schemas.changes import Position
from schemas.realtime import ChangeSubscription, CheckedSubscription


@dataclass(slots=True)
class Delivery:
    """One change for all subscribers whose subscriptions `ids` match it and that may see the same columns."""

    ids: tuple[int, ...]
    """Numbers of the subscriptions that matched, ascending, each once (`subscription_id`)."""
    data: bytes
    """JSON text of the member `data` of a `postgres_changes` message."""
    position: Position
    schema: str
    table: str
    frames: dict[object, bytes] = field(default_factory=dict)
    """Frames that subscribers built of it; the key says which."""


class Subscriber(Protocol):
    """A receiver of row changes. All methods are called from the event loop and must not block."""

    role: str
    claims: bytes
    """JSON object of the token's claims."""

    def deliver(self, delivery: Delivery) -> None:
        """Receive a change, in commit order. A slow subscriber closes itself; it must never delay others."""
        ...

    def gap(self, since: Position | None) -> None:
        """Handle that changes after `since` are lost: they left the stream, or the slot was recreated."""
        ...


@runtime_checkable
class PacedSubscriber(Protocol):
    """A subscriber that reports how far its client is behind. Missed changes are sent as fast as the client reads."""

    @property
    def is_behind(self) -> bool:
        """Whether the client is so far behind that missed changes should wait in the stream."""
        ...

    async def caught_up(self) -> None:
        """Wait until few bytes wait for the client, or the client is gone."""
        ...


class FeedSubscription(Protocol):
    """All subscriptions that one subscriber made in one call of `Feed.subscribe`."""

    @property
    def position(self) -> Position:
        """Return the last change that was evaluated for it. Resuming from it neither misses nor repeats a change."""
        ...

    async def renew(self) -> list[CheckedSubscription]:
        """Check the subscriptions again with the subscriber's changed role and claims."""
        ...

    def close(self) -> None:
        """Stop delivering."""
        ...


class Feed(Protocol):
    """Row changes for the subscribers of this process."""

    async def subscribe(
        self,
        subscriber: Subscriber,
        subscriptions: list[ChangeSubscription],
        ids: list[int],
        since: Position | None,
    ) -> tuple[FeedSubscription, list[CheckedSubscription]]:
        """Start to deliver; a rejected subscription delivers nothing.

        With `since` everything after it comes first, then new changes, without a gap or a repetition. Without it every
        change that is committed after the return is delivered. Raises: Unavailable while the pool or the broker is away.
        """
        ...
