"""Subscriptions as the pipeline sees them: a seat for each, a node for all seats that want and may see the same."""

from dataclasses import dataclass, field

from broker.codec import encode
from broker.observability.observe import observe, traceback_of
from schemas.changes import Kind, Position
from schemas.realtime import CheckedEntry, Entry, Filter
from services.realtime.changes.groups import Group
from services.realtime.changes.interest import Pattern
from services.realtime.changes.observed import FeedFailed
from services.realtime.model import Delivery, Subscriber

_FOREVER = 1 << 63
_MOST_HELD = 10_000
_MOST_HELD_BYTES = 1024 * 1024
_KINDS = frozenset(kind.value for kind in Kind)


@dataclass(frozen=True, slots=True, eq=False)
class Binding:
    """One entry of a subscription. Make one with `binding_of`."""

    key: bytes
    """Equal for equal bindings."""
    pattern: Pattern
    id: int
    kind: Kind | None
    """None: any."""
    filters: tuple[Filter, ...]
    select: tuple[str, ...] | None

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Binding) and self.key == other.key

    def __hash__(self) -> int:
        return hash(self.key)


def binding_of(entry: Entry, id: int, checked: CheckedEntry) -> Binding:
    """Bring together an entry, its number and what the pool says it means."""
    select = None if entry.select is None else tuple(entry.select)
    kind = Kind(entry.event) if entry.event in _KINDS else None
    key = encode([entry.schema, entry.table, id, kind, checked.filters, select])
    return Binding(key, (entry.schema, entry.table), id, kind, tuple(checked.filters), select)


@dataclass(slots=True, eq=False)
class Seat:
    """A subscription in a pipeline: it gets the messages of the stream above `after`, up to `until`."""

    subscriber: Subscriber
    group: Group
    bindings: tuple[Binding, ...]
    after: int
    since: Position | None = None
    """Changes up to this one were delivered before."""
    until: int = _FOREVER
    held: list[tuple[int, Delivery | None]] | None = None
    """Deliveries that wait for those before them, with the numbers of their messages; None stands for a gap."""
    held_bytes: int = 0
    is_overfull: bool = False
    """More had to be held than is good: what was held is forgotten."""
    is_closed: bool = False

    def take(self, delivery: Delivery, seq: int) -> None:
        """Deliver a change of the message `seq`, if it is for this seat."""
        if self.is_closed or not self.after < seq <= self.until:
            return
        if self.since is not None and delivery.position <= self.since:
            return
        if self.held is not None:
            self._hold(delivery, seq)
            return
        try:
            self.subscriber.deliver(delivery)
        except Exception as error:  # the rim of a socket: one that fails must not stop the others
            self.is_closed = True
            observe(FeedFailed(traceback_of(error)))

    def gap(self, since: Position | None, seq: int) -> None:
        """Tell that changes before the message `seq` are lost, if that is for this seat."""
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
        """Deliver what was held, and from now on at once."""
        held, self.held = self.held, None
        for seq, delivery in held or ():
            if delivery is None:
                self.gap(None, seq)
            else:
                self.take(delivery, seq)

    def _hold(self, delivery: Delivery | None, seq: int) -> None:
        assert self.held is not None
        self.held_bytes += 0 if delivery is None else len(delivery.data)
        if len(self.held) >= _MOST_HELD or self.held_bytes > _MOST_HELD_BYTES:
            self.is_overfull, self.held = True, []
        if not self.is_overfull:
            self.held.append((seq, delivery))


@dataclass(slots=True, eq=False)
class Node:
    """All seats of a group with an equal binding. What is found out for one holds for all."""

    group: Group
    binding: Binding
    single: dict[Seat, None] = field(default_factory=dict)
    """Seats that have no other binding: nothing has to be put together for them."""
    several: dict[Seat, None] = field(default_factory=dict)
