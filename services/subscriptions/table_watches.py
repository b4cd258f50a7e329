"""Notifies live queries of changes of tables: one subscription to the feed for each table, however many queries depend on it.

The feed is subscribed as the service role, so that no change is missed. Nothing of a change is stored but that it happened; what
a client sees comes from the query, which runs with the client's own rights.
"""

import asyncio
from collections.abc import Callable

from schemas.changes import Position
from schemas.realtime import ChangeSubscription
from schemas.subscriptions import TableName
from services.realtime.changes.interface import Delivery, Feed, FeedSubscription
from services.subscriptions.pool_queries import OperationRejected
from services.subscriptions.protocol import errors_of

OnChange = Callable[[], None]


class TableWatches:
    """The tables that are watched in this process."""

    def __init__(self, feed: Feed) -> None:
        self._feed = feed
        self._watched: dict[TableName, _Watch] = {}

    @property
    def tables(self) -> int:
        """Return the number of watched tables."""
        return len(self._watched)

    async def watch(self, table: TableName, on_change: OnChange) -> None:
        """Call `on_change` after changes of a table. Every change that is committed after the return is reported.

        Raises: OperationRejected, Unavailable; then the table is not watched for this caller.
        """
        watch = self._watched.get(table)
        if watch is None:
            watch = self._watched[table] = _Watch(self._feed, table)
        watch.listeners[on_change] = None
        try:
            await asyncio.shield(watch.subscribing)
        except BaseException:
            self.leave(table, on_change)
            raise

    def leave(self, table: TableName, on_change: OnChange) -> None:
        """Stop calling `on_change`."""
        watch = self._watched.get(table)
        if watch is not None and watch.listeners.pop(on_change, watch) is None and not watch.listeners:
            del self._watched[table]
            watch.close()


class _Watch:
    """A subscriber of the feed that notifies its listeners, once for all changes of one loop iteration."""

    role = "service_role"
    claims = b'{"role":"service_role"}'

    def __init__(self, feed: Feed, table: TableName) -> None:
        self.listeners: dict[OnChange, None] = {}
        self._loop = asyncio.get_running_loop()
        self._notifying: asyncio.Handle | None = None
        self._subscription: FeedSubscription | None = None
        self._is_closed = False
        self.subscribing = self._loop.create_task(self._subscribe(feed, table))
        self.subscribing.add_done_callback(lambda done: done.cancelled() or done.exception())

    def deliver(self, delivery: Delivery) -> None:
        """Notify the listeners soon."""
        del delivery
        if self._notifying is None:
            self._notifying = self._loop.call_soon(self._notify)

    def gap(self, since: Position | None) -> None:
        """Handle lost changes like a change."""
        del since
        if self._notifying is None:
            self._notifying = self._loop.call_soon(self._notify)

    def close(self) -> None:
        """End the subscription."""
        self._is_closed = True
        self.subscribing.cancel()
        if self._subscription is not None:
            self._subscription.close()

    async def _subscribe(self, feed: Feed, table: TableName) -> None:
        subscription, (checked,) = await feed.subscribe(self, [ChangeSubscription("*", *table)], [1], None)
        if self._is_closed or checked.error:
            subscription.close()
        else:
            self._subscription = subscription
        if checked.error:
            raise OperationRejected(errors_of(checked.error))

    def _notify(self) -> None:
        self._notifying = None
        for on_change in list(self.listeners):
            on_change()
