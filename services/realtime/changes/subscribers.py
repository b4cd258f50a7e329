"""Subscriptions and subscribers in a pipeline.

ChangeSubscription (schemas)   what the client wrote
ResolvedSubscription           the same with its number and the meaning of its filter; equal ones compare equal
PipelineSubscriber             a subscriber in one pipeline: its subscriptions, and which messages of the stream it receives
SharedSubscription             all pipeline subscribers with equal subscriptions and claims: evaluated once for all of them
"""

from dataclasses import dataclass, field

from broker.codec import encode
from broker.observability.observe import observe, traceback_of
from schemas.changes import ChangeKind, Position
from schemas.realtime import ChangeSubscription, CheckedSubscription, FilterCondition
from services.realtime.changes.claims_groups import ClaimsGroup
from services.realtime.changes.interface import Delivery, Subscriber
from services.realtime.changes.observations import FeedFailed
from services.realtime.changes.stream_subjects import Pattern

_FOREVER = 1 << 63
_MOST_HELD = 10_000
_MOST_HELD_BYTES = 1024 * 1024
_KINDS = frozenset(kind.value for kind in ChangeKind)


@dataclass(frozen=True, slots=True, eq=False)
class ResolvedSubscription:
    """A subscription whose filter was checked. Created with `resolve_subscription`."""

    key: bytes
    """Equal for equal subscriptions."""
    pattern: Pattern
    id: int
    kind: ChangeKind | None
    """None: any."""
    filters: tuple[FilterCondition, ...]
    select: tuple[str, ...] | None

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ResolvedSubscription) and self.key == other.key

    def __hash__(self) -> int:
        return hash(self.key)


def resolve_subscription(
    subscription: ChangeSubscription, id: int, checked: CheckedSubscription
) -> ResolvedSubscription:
    """Combine a subscription, its number and the pool's answer about its filter."""
    select = None if subscription.select is None else tuple(subscription.select)
    kind = ChangeKind(subscription.event) if subscription.event in _KINDS else None
    pattern = (subscription.schema, subscription.table)
    key = encode([*pattern, id, kind, checked.filters, select])
    return ResolvedSubscription(key, pattern, id, kind, tuple(checked.filters), select)


@dataclass(slots=True, eq=False)
class PipelineSubscriber:
    """A subscriber in a pipeline. It receives the messages of the stream numbered above `after`, up to `until`."""

    subscriber: Subscriber
    group: ClaimsGroup
    subscriptions: tuple[ResolvedSubscription, ...]
    after: int
    since: Position | None = None
    """Changes up to this one were delivered before."""
    until: int = _FOREVER
    held: list[tuple[int, Delivery | None]] | None = None
    """Deliveries that wait until earlier ones are sent, with the numbers of their messages; None stands for a gap."""
    held_bytes: int = 0
    is_overfull: bool = False
    """More deliveries came than can be held; they were dropped."""
    is_closed: bool = False

    def deliver(self, delivery: Delivery, seq: int) -> bool:
        """Deliver a change of the message `seq`, if it is in the range of this subscriber; return whether it was taken. Hot path."""
        if self.is_closed or not self.after < seq <= self.until:
            return False
        if self.since is not None and delivery.position <= self.since:
            return False
        if self.held is not None:
            self._hold(delivery, seq)
            return True
        try:
            self.subscriber.deliver(delivery)
        except Exception as error:  # a subscriber that fails must not stop the others
            self.is_closed = True
            observe(FeedFailed(traceback_of(error)))
            return False
        return True

    def gap(self, since: Position | None, seq: int) -> None:
        """Report that changes before the message `seq` are lost, if it is in the range of this subscriber."""
        if self.is_closed or not self.after < seq <= self.until:
            return
        if self.held is not None:
            self._hold(None, seq)
            return
        try:
            self.subscriber.gap(since)
        except Exception as error:  # as above
            self.is_closed = True
            observe(FeedFailed(traceback_of(error)))

    def release(self) -> None:
        """Deliver what was held, and deliver directly from now on."""
        held, self.held = self.held, None
        for seq, delivery in held or ():
            if delivery is None:
                self.gap(None, seq)
            else:
                self.deliver(delivery, seq)

    def _hold(self, delivery: Delivery | None, seq: int) -> None:
        assert self.held is not None
        self.held_bytes += 0 if delivery is None else len(delivery.data)
        if len(self.held) >= _MOST_HELD or self.held_bytes > _MOST_HELD_BYTES:
            self.is_overfull, self.held = True, []
        if not self.is_overfull:
            self.held.append((seq, delivery))


@dataclass(slots=True, eq=False)
class SharedSubscription:
    """The pipeline subscribers of one claims group with equal subscriptions. The result for one applies to all of them."""

    group: ClaimsGroup
    subscription: ResolvedSubscription
    single: dict[PipelineSubscriber, None] = field(default_factory=dict)
    """Subscribers with this subscription only: their delivery needs no merging of ids."""
    several: dict[PipelineSubscriber, None] = field(default_factory=dict)
    """Subscribers with other subscriptions, too: a change that matches several is delivered once, with all ids."""
