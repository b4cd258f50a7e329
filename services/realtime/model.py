"""The seam between sockets and row changes: who subscribes, and what is delivered to them.

`changes/` (the feed) decides which subscriber gets which change; channels, event streams and GraphQL subscriptions are
subscribers, and turn deliveries into frames of their own. A delivery is shared by all subscribers that get the same, so what
is made of it once (a frame, per topic and version of the protocol) is kept in it.
"""

from dataclasses import dataclass, field
from typing import Protocol, runtime_checkable

from schemas.changes import Position
from schemas.realtime import CheckedEntry, Entry


@dataclass(slots=True)
class Delivery:
    """One change for all subscribers whose subscriptions `ids` match it and who see the same columns."""

    ids: tuple[int, ...]
    """Numbers of the entries that matched, ascending, each once (`entry_id`)."""
    data: bytes
    """JSON text of the member `data` of a `postgres_changes` message."""
    position: Position
    schema: str
    table: str
    frames: dict[object, bytes] = field(default_factory=dict)
    """What subscribers made of it, by what they made."""


class Subscriber(Protocol):
    """Somebody who gets row changes. All methods are called from the event loop and must not block."""

    role: str
    claims: bytes
    """JSON object of the token's claims."""

    def deliver(self, delivery: Delivery) -> None:
        """Take a change; the order is that of the commits. A slow subscriber closes itself, it never makes others wait."""
        ...

    def gap(self, since: Position | None) -> None:
        """Hear that changes after `since` are lost for good: beyond retention, or the slot was made anew."""
        ...


@runtime_checkable
class Paced(Protocol):
    """A subscriber that can say how far its client is behind: what it missed is sent as fast as it is read."""

    @property
    def is_behind(self) -> bool:
        """Whether so much waits for the client that more should wait in the stream."""
        ...

    async def caught_up(self) -> None:
        """Come back when little waits for the client, or it is gone."""
        ...


class Subscription(Protocol):
    """A subscriber's place in the feed."""

    @property
    def position(self) -> Position:
        """The last change that was looked at for it; a resume with it misses nothing and repeats nothing."""
        ...

    async def renew(self) -> list[CheckedEntry]:
        """Take over the subscriber's changed role and claims: entries are checked anew."""
        ...

    def close(self) -> None:
        """Deliver nothing more."""
        ...


class Feed(Protocol):
    """Row changes for subscribers of this process."""

    async def subscribe(
        self, subscriber: Subscriber, entries: list[Entry], ids: list[int], since: Position | None
    ) -> tuple[Subscription, list[CheckedEntry]]:
        """Begin to deliver; entries that were refused deliver nothing. With `since` everything after it comes first, then
        what is new, without a gap or a double; without it what is committed after this returned is delivered for certain.

        Raises: Unavailable while the pool or the broker is away.
        """
        ...
