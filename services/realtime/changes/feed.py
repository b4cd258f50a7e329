"""The feed of row changes for the subscribers of one edge process (`interface.py`, `Feed`).

stream CHANGES -> intake   -> pipeline -> deliveries -> subscribers      live, for all
               -> catch-up -> pipeline -> deliveries -> subscribers      for those that resume, until they have caught up

subscribe   the pool checks the subscriptions; the end of the stream is looked up; the subscriber is added to the live
            pipeline above it. With a position it joins a catch-up first
renew       from now on changes are evaluated with the new claims; those that were admitted before, with the old ones
close       nothing more is delivered
"""

import asyncio
from collections.abc import Sequence
from functools import partial

from broker.jetstream.streams import StreamHead, last_up_to
from broker.nats.connection import NatsConnection
from broker.observability.observe import gauge
from broker.requests.call import Calls
from broker.subjects import CHANGES_STREAM
from schemas.changes import Position
from schemas.errors import Unavailable
from schemas.realtime import ChangeSubscription, CheckedSubscription
from schemas.settings.realtime import RealtimeSettings
from services.realtime.changes import catch_up
from services.realtime.changes.catch_up import CatchUps
from services.realtime.changes.claims_groups import ClaimsGroup, group_of
from services.realtime.changes.grants import Grants
from services.realtime.changes.intake import Intake, StreamEnd, order
from services.realtime.changes.interface import Subscriber
from services.realtime.changes.pipeline import MOST_BYTES, DeliveryPipeline
from services.realtime.changes.pool_queries import FeedQueries
from services.realtime.changes.subscribers import (
    PipelineSubscriber,
    ResolvedSubscription,
    resolve_subscription,
)
from services.realtime.limits import LongWorkLock

MOST_SLOW = 20
_TOO_MANY_SLOW = (
    f"At most {MOST_SLOW} entries of a channel may have filters that only the database can compare (patterns, and orders of "
    "other types than numbers)"
)


async def open_feed(connection: NatsConnection, calls: Calls, settings: RealtimeSettings) -> "ChangeFeed":
    """Create the feed of this process. It reads nothing before the first subscription."""
    return ChangeFeed(connection, calls, deletes_are_checked=settings.deletes_under_rls)


class ChangeFeed:
    """Row changes for the subscribers of this process. Created with `open_feed`."""

    def __init__(self, connection: NatsConnection, calls: Calls, *, deletes_are_checked: bool) -> None:
        self._connection = connection
        self._deletes_are_checked = deletes_are_checked
        self.queries = FeedQueries(calls)
        self._long_work = LongWorkLock()
        self._grants = Grants(self.queries)
        self.live = self._pipeline(0, Position(0))
        self.intake = Intake(connection, self.live)
        self._stream_end = StreamEnd(connection)
        self._catch_ups = CatchUps(
            connection, self.live, self.intake, partial(self._pipeline, most_bytes=catch_up.MOST_BYTES)
        )
        self._remove_gauge = gauge(
            "headwater_change_subscriptions",
            "Subscriptions to row changes.",
            lambda: len(self.live.index.subscribers),
        )
        self._is_closed = False

    async def subscribe(
        self,
        subscriber: Subscriber,
        subscriptions: list[ChangeSubscription],
        ids: list[int],
        since: Position | None,
    ) -> tuple["ChangeFeedSubscription", list[CheckedSubscription]]:
        """Start to deliver; a rejected subscription delivers nothing.

        With `since` everything after it comes first, then new changes, without a gap or a repetition; the call returns when
        missed changes are delivered, or the subscriber was notified of a gap. Without `since` every change that is committed
        after the return is delivered. Raises: Unavailable while the pool or the broker is away.
        """
        if self._is_closed:
            raise Unavailable("the edge is going away")
        group = group_of(subscriber.role, subscriber.claims)
        checked = await self.queries.check(group, subscriptions)
        async with self._long_work.hold():
            checked = limit_slow_filters(checked)
            resolved = _resolve(subscriptions, ids, checked)
        head, end = await self._stream_end.find()
        self.intake.start(head)
        if since is not None and resolved:
            after = await self._number_before(since, head, end)
            if after is None:
                subscriber.gap(since)
            else:
                place = await self._catch_ups.resume(
                    PipelineSubscriber(subscriber, group, resolved, after, since)
                )
                feed_subscription = ChangeFeedSubscription(self, subscriber, subscriptions, ids, place, since)
                return feed_subscription, await feed_subscription.renew_if_changed(checked)
        place = PipelineSubscriber(subscriber, group, resolved, max(head.last_seq, self.intake.reached))
        self.live.index.add(place)
        self.intake.grow()
        start = end or max(self.live.position, since or Position(0))
        feed_subscription = ChangeFeedSubscription(self, subscriber, subscriptions, ids, place, start)
        return feed_subscription, await feed_subscription.renew_if_changed(checked)

    async def close(self) -> None:
        """Stop delivering."""
        self._is_closed = True
        self._remove_gauge()
        await self._catch_ups.close()
        await self.intake.close()
        await self.live.close()
        await self._grants.close()
        await self.queries.close()

    def _pipeline(
        self, admitted: int, position: Position, *, most_bytes: int = MOST_BYTES
    ) -> DeliveryPipeline:
        return DeliveryPipeline(
            self.queries,
            self._grants,
            admitted=admitted,
            position=position,
            deletes_are_checked=self._deletes_are_checked,
            most_bytes=most_bytes,
        )

    async def _number_before(self, since: Position, head: StreamHead, end: Position | None) -> int | None:
        """Return a number such that all messages after a position have higher ones; None if some left the stream."""
        place = (since.lsn, since.number)
        if head.last_seq == self.live.admitted:
            # The live pipeline admitted the last message, so its position is known even if the message left the stream.
            end = end or self.live.position
        if end is not None and place > (end.lsn, end.number):
            return None  # a position of another history
        if end is not None and place == (end.lsn, end.number):
            return head.last_seq - 1 if head.first_seq <= head.last_seq else head.last_seq
        if head.first_seq > head.last_seq:
            return 0 if head.last_seq == 0 else None
        number = await last_up_to(self._connection, CHANGES_STREAM, head, order, place)
        if number >= head.first_seq:
            return number - 1  # this message is evaluated again: the position may be within it
        return 0 if head.first_seq == 1 else None


class ChangeFeedSubscription:
    """The subscriptions of one subscriber (`interface.py`, `FeedSubscription`)."""

    def __init__(
        self,
        feed: ChangeFeed,
        subscriber: Subscriber,
        subscriptions: list[ChangeSubscription],
        ids: list[int],
        place: PipelineSubscriber,
        start: Position,
    ) -> None:
        self._feed = feed
        self._subscriber = subscriber
        self._subscriptions, self._ids = subscriptions, ids
        self._place = place
        self._former: list[PipelineSubscriber] = []
        """Places with earlier claims, until what was admitted for them is delivered."""
        self._start = start
        self._renewing = asyncio.Lock()

    @property
    def position(self) -> Position:
        """Return the last change that was evaluated for it. Resuming from it neither misses nor repeats a change."""
        return max(self._start, self._feed.live.position)

    async def renew(self) -> list[CheckedSubscription]:
        """Check the subscriptions again with the subscriber's role and claims.

        Changes that are admitted from now on are evaluated with the new claims, even while the pool is away. When this
        returns, those that were admitted before are delivered. Raises: Unavailable, DeadlineExceeded.
        """
        group = group_of(self._subscriber.role, self._subscriber.claims)
        self._move(group, self._place.subscriptions)
        async with self._renewing:
            checked = limit_slow_filters(await self._feed.queries.check(group, self._subscriptions))
            if group == self._place.group:
                self._move(group, _resolve(self._subscriptions, self._ids, checked))
            await self._feed.live.reached()
        return checked

    def close(self) -> None:
        """Stop delivering."""
        for place in (self._place, *self._former):
            place.is_closed = True
            self._feed.live.index.remove(place)
        self._feed.intake.shrink()

    async def renew_if_changed(self, checked: list[CheckedSubscription]) -> list[CheckedSubscription]:
        """Renew if the subscriber's claims changed during `subscribe`; close if that is cancelled."""
        try:
            if group_of(self._subscriber.role, self._subscriber.claims) != self._place.group:
                return await self.renew()
        except BaseException:
            self.close()
            raise
        return checked

    def _move(self, group: ClaimsGroup, subscriptions: tuple[ResolvedSubscription, ...]) -> None:
        """Take a new place for later changes; the former one stays for those that are already admitted."""
        live, former = self._feed.live, self._place
        if former.is_closed or (former.group, former.subscriptions) == (group, subscriptions):
            return
        former.until = live.admitted
        after = max(former.after, live.admitted)
        self._place = PipelineSubscriber(self._subscriber, group, subscriptions, after)
        live.index.add(self._place)
        self._former.append(former)
        live.when_reached(lambda: self._remove(former))
        self._feed.intake.grow()

    def _remove(self, former: PipelineSubscriber) -> None:
        self._feed.live.index.remove(former)
        self._former.remove(former)


def limit_slow_filters(checked: Sequence[CheckedSubscription]) -> list[CheckedSubscription]:
    """Reject all but the first `MOST_SLOW` of the subscriptions whose filters only Postgres can compare.

    Each such filter causes a query to the database for every change of its table.
    """
    left, limited = MOST_SLOW, list[CheckedSubscription]()
    for outcome in checked:
        left -= any(not condition.local for condition in outcome.filters)
        limited.append(outcome if left >= 0 else CheckedSubscription(_TOO_MANY_SLOW))
    return limited


def _resolve(
    subscriptions: Sequence[ChangeSubscription], ids: Sequence[int], checked: Sequence[CheckedSubscription]
) -> tuple[ResolvedSubscription, ...]:
    """Resolve the subscriptions that were not rejected."""
    return tuple(
        resolve_subscription(subscription, id, outcome)
        for subscription, id, outcome in zip(subscriptions, ids, checked, strict=True)
        if not outcome.error
    )
