"""The feed of row changes for the subscribers of one edge process (`services/realtime/model.py`, `Feed`).

stream CHANGES -> intake -> pipeline -> deliveries -> subscribers        live, for all
               -> lane   -> pipeline -> deliveries -> subscribers        for those who resume, until they caught up

subscribe   the pool checks the entries; the end of the stream is looked up; a seat above it is taken in the live
            pipeline. With a position: a ride in a lane first
renew       from this moment on changes are judged by the new claims; those that were admitted before, by the old
close       nothing more is delivered
"""

import asyncio
from collections.abc import Sequence
from functools import partial

from broker.jetstream.ordered_reader import Head, last_up_to
from broker.nats.connection import Connection
from broker.observability.observe import gauge
from broker.requests.call import Calls
from broker.subjects import CHANGES_STREAM
from schemas.changes import Position
from schemas.errors import Unavailable
from schemas.realtime import CheckedEntry, Entry
from schemas.settings.realtime import Realtime
from services.realtime.changes import replay
from services.realtime.changes.asking import Asking
from services.realtime.changes.grants import Grants
from services.realtime.changes.groups import Group, group_of
from services.realtime.changes.intake import Ends, Intake, order
from services.realtime.changes.pipeline import MOST_BYTES, Pipeline
from services.realtime.changes.replay import Replays
from services.realtime.changes.seats import Binding, Seat, binding_of
from services.realtime.limits import Turns
from services.realtime.model import Subscriber

MOST_SLOW = 20
_TOO_MANY_SLOW = (
    f"At most {MOST_SLOW} entries of a channel may have filters that only the database can compare (patterns, and orders of "
    "other types than numbers)"
)


async def open_feed(connection: Connection, calls: Calls, settings: Realtime) -> "ChangeFeed":
    """Make the feed of this process. It reads nothing before the first subscription."""
    return ChangeFeed(connection, calls, deletes_are_checked=settings.deletes_under_rls)


class ChangeFeed:
    """Row changes for subscribers of this process. Make one with `open_feed`."""

    def __init__(self, connection: Connection, calls: Calls, *, deletes_are_checked: bool) -> None:
        self._connection = connection
        self._deletes_are_checked = deletes_are_checked
        self.asking = Asking(calls)
        self._turns = Turns()
        self._grants = Grants(self.asking)
        self.live = self._pipeline(0, Position(0))
        self.intake = Intake(connection, self.live)
        self._ends = Ends(connection)
        self._replays = Replays(
            connection, self.live, self.intake, partial(self._pipeline, most_bytes=replay.MOST_BYTES)
        )
        self._forget_gauge = gauge(
            "headwater_change_subscriptions",
            "Subscriptions to row changes.",
            lambda: len(self.live.index.seats),
        )
        self._is_closed = False

    async def subscribe(
        self, subscriber: Subscriber, entries: list[Entry], ids: list[int], since: Position | None
    ) -> tuple["ChangeSubscription", list[CheckedEntry]]:
        """Begin to deliver; entries that were refused deliver nothing. With `since` everything after it comes first, then
        what is new, without a gap or a double; without it what is committed after this returned is delivered for certain.

        With `since` it returns when what was missed is delivered, or the subscriber heard of a gap.
        Raises: Unavailable while the pool or the broker is away.
        """
        if self._is_closed:
            raise Unavailable("the edge is going away")
        group = group_of(subscriber.role, subscriber.claims)
        checked = await self.asking.check(group, entries)
        async with self._turns.take():
            checked = bounded(checked)
            bindings = _bindings(entries, ids, checked)
        head, end = await self._ends.look()
        self.intake.begin(head)
        if since is not None and bindings:
            after = await self._place_of(since, head, end)
            if after is None:
                subscriber.gap(since)
            else:
                seat = await self._replays.ride(Seat(subscriber, group, bindings, after, since))
                subscription = ChangeSubscription(self, subscriber, entries, ids, seat, since)
                return subscription, await subscription.catch_up(checked)
        seat = Seat(subscriber, group, bindings, max(head.last_seq, self.intake.reached))
        self.live.index.add(seat)
        self.intake.grow()
        subscription = ChangeSubscription(
            self, subscriber, entries, ids, seat, end or max(self.live.position, since or Position(0))
        )
        return subscription, await subscription.catch_up(checked)

    async def close(self) -> None:
        """Deliver nothing more."""
        self._is_closed = True
        self._forget_gauge()
        await self._replays.close()
        await self.intake.close()
        await self.live.close()
        await self._grants.close()
        await self.asking.close()

    def _pipeline(self, admitted: int, position: Position, *, most_bytes: int = MOST_BYTES) -> Pipeline:
        return Pipeline(
            self.asking,
            self._grants,
            admitted=admitted,
            position=position,
            deletes_are_checked=self._deletes_are_checked,
            most_bytes=most_bytes,
        )

    async def _place_of(self, since: Position, head: Head, end: Position | None) -> int | None:
        """Give the number of a message before which nothing after a position stands; None where changes are missing."""
        place = (since.lsn, since.number)
        if (
            head.last_seq == self.live.admitted
        ):  # the last message of all passed here, even if it left the stream since
            end = end or self.live.position
        if end is not None and place > (end.lsn, end.number):
            return None  # a position of another history
        if end is not None and place == (end.lsn, end.number):
            return head.last_seq - 1 if head.first_seq <= head.last_seq else head.last_seq
        if head.first_seq > head.last_seq:
            return 0 if head.last_seq == 0 else None
        found = await last_up_to(self._connection, CHANGES_STREAM, head, order, place)
        if found >= head.first_seq:
            return found - 1  # whose changes are looked at once more: the position may be within it
        return 0 if head.first_seq == 1 else None


class ChangeSubscription:
    """A subscriber's place in the feed (`services/realtime/model.py`, `Subscription`)."""

    def __init__(
        self,
        feed: ChangeFeed,
        subscriber: Subscriber,
        entries: list[Entry],
        ids: list[int],
        seat: Seat,
        position: Position,
    ) -> None:
        self._feed = feed
        self._subscriber = subscriber
        self._entries, self._ids = entries, ids
        self._seat = seat
        self._left: list[Seat] = []
        self._begun = position
        self._renewing = asyncio.Lock()

    @property
    def position(self) -> Position:
        """The last change that was looked at for it; a resume with it misses nothing and repeats nothing."""
        return max(self._begun, self._feed.live.position)

    async def renew(self) -> list[CheckedEntry]:
        """Take over the subscriber's role and claims: entries are checked anew.

        Changes that are admitted from now on are judged by the new claims, even while the pool is away. When this returns,
        those that were admitted before are delivered. Raises: Unavailable, DeadlineExceeded.
        """
        group = group_of(self._subscriber.role, self._subscriber.claims)
        self._move(group, self._seat.bindings)
        async with self._renewing:
            checked = bounded(await self._feed.asking.check(group, self._entries))
            if group == self._seat.group:
                self._move(group, _bindings(self._entries, self._ids, checked))
            await self._feed.live.reached()
        return checked

    def close(self) -> None:
        """Deliver nothing more."""
        for seat in (self._seat, *self._left):
            seat.is_closed = True
            self._feed.live.index.remove(seat)
        self._feed.intake.shrink()

    async def catch_up(self, checked: list[CheckedEntry]) -> list[CheckedEntry]:
        """Renew if the subscriber's claims changed while it was let in; close if that is cancelled."""
        try:
            if group_of(self._subscriber.role, self._subscriber.claims) != self._seat.group:
                return await self.renew()
        except BaseException:
            self.close()
            raise
        return checked

    def _move(self, group: Group, bindings: tuple[Binding, ...]) -> None:
        """Take another seat for what comes; the old one is kept for what is on its way."""
        live, old = self._feed.live, self._seat
        if old.is_closed or (old.group, old.bindings) == (group, bindings):
            return
        old.until = live.admitted
        self._seat = Seat(self._subscriber, group, bindings, max(old.after, live.admitted))
        live.index.add(self._seat)
        self._left.append(old)
        live.when_reached(lambda: self._leave(old))
        self._feed.intake.grow()

    def _leave(self, seat: Seat) -> None:
        self._feed.live.index.remove(seat)
        self._left.remove(seat)


def bounded(checked: Sequence[CheckedEntry]) -> list[CheckedEntry]:
    """Refuse the entries of one subscription beyond the first few whose filters only Postgres can compare.

    Each such filter is a question to the database for every change of its table.
    """
    left, kept = MOST_SLOW, list[CheckedEntry]()
    for entry in checked:
        left -= any(not condition.local for condition in entry.filters)
        kept.append(entry if left >= 0 else CheckedEntry(_TOO_MANY_SLOW))
    return kept


def _bindings(
    entries: Sequence[Entry], ids: Sequence[int], checked: Sequence[CheckedEntry]
) -> tuple[Binding, ...]:
    """Give the bindings of the entries that were not refused."""
    return tuple(
        binding_of(entry, id, found)
        for entry, id, found in zip(entries, ids, checked, strict=True)
        if not found.error
    )
