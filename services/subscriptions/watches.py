"""When tables change: one subscription of the feed for each table, however many live queries want to know.

The feed is asked as the service, so that no change is missed; nothing of a change is kept but that there was one. What a
client is shown comes from the query, which runs under the client's own rights.
"""

import asyncio
from collections.abc import Callable

from schemas.changes import Position
from schemas.realtime import Entry
from schemas.subscriptions import Table
from services.realtime.model import Delivery, Feed, Subscription
from services.subscriptions.asking import OperationRefused
from services.subscriptions.protocol import errors_of

Touched = Callable[[], None]


class Watches:
    """The tables that are watched in this process."""

    def __init__(self, feed: Feed) -> None:
        self._feed = feed
        self._watched: dict[Table, _Watch] = {}

    @property
    def tables(self) -> int:
        """How many tables are watched."""
        return len(self._watched)

    async def watch(self, table: Table, touched: Touched) -> None:
        """Call `touched` after changes of a table: after each that is committed when this has returned, for certain.

        Raises: OperationRefused, Unavailable; then nothing is watched.
        """
        watch = self._watched.get(table)
        if watch is None:
            watch = self._watched[table] = _Watch(self._feed, table)
        watch.listeners[touched] = None
        try:
            await asyncio.shield(watch.begun)
        except BaseException:
            self.leave(table, touched)
            raise

    def leave(self, table: Table, touched: Touched) -> None:
        """Call no more."""
        watch = self._watched.get(table)
        if watch is not None and watch.listeners.pop(touched, watch) is None and not watch.listeners:
            del self._watched[table]
            watch.close()


class _Watch:
    """A subscriber of the feed that tells its listeners, once for all that comes at one time."""

    role = "service_role"
    claims = b'{"role":"service_role"}'

    def __init__(self, feed: Feed, table: Table) -> None:
        self.listeners: dict[Touched, None] = {}
        self._loop = asyncio.get_running_loop()
        self._telling: asyncio.Handle | None = None
        self._subscription: Subscription | None = None
        self._is_closed = False
        self.begun = self._loop.create_task(self._begin(feed, table))
        self.begun.add_done_callback(lambda done: done.cancelled() or done.exception())

    def deliver(self, delivery: Delivery) -> None:
        """Note that there was a change."""
        del delivery
        if self._telling is None:
            self._telling = self._loop.call_soon(self._tell)

    def gap(self, since: Position | None) -> None:
        """Take lost changes for one."""
        del since
        if self._telling is None:
            self._telling = self._loop.call_soon(self._tell)

    def close(self) -> None:
        """Hear nothing more."""
        self._is_closed = True
        self.begun.cancel()
        if self._subscription is not None:
            self._subscription.close()

    async def _begin(self, feed: Feed, table: Table) -> None:
        entry = Entry("*", *table)
        subscription, (checked,) = await feed.subscribe(self, [entry], [1], None)
        if self._is_closed or checked.error:
            subscription.close()
        else:
            self._subscription = subscription
        if checked.error:
            raise OperationRefused(errors_of(checked.error))

    def _tell(self) -> None:
        self._telling = None
        for touched in list(self.listeners):
            touched()
