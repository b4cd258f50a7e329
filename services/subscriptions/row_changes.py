"""Row changes for one operation: the feed delivers them in order, the pool reads the rows, and results are sent in that order.

What waits is limited in bytes. An operation that falls behind ends with an error; its client resumes with the position of the
last change that it received. While the pool is away changes wait, and none is lost.
"""

import asyncio
from collections import deque
from collections.abc import Callable

import msgspec

from broker.backoff import Backoff
from broker.observability.observe import observe
from schemas.changes import Position
from schemas.errors import ApiError
from schemas.realtime import ChangeSubscription
from schemas.subscriptions import MOST_ROWS, RowChangesPlan, RowsAnswer
from services.realtime.changes.interface import Delivery, Feed
from services.subscriptions.observations import LiveQueryWaits
from services.subscriptions.pool_queries import OperationCaller, OperationQueries, OperationRejected
from services.subscriptions.protocol import errors_of
from services.subscriptions.render import DeliveredChange, key_of, read_change, result_of

_EVENTS = ("INSERT", "UPDATE", "DELETE")
_SETTLED_S = 0.01
"""Least seconds from a change to the read of its row: a commit is in the log a moment before other transactions see it."""
_AGAIN_S = (0.02, 0.08, 0.3)
"""Pauses before a row that was not found is read again."""
_FIRST_PAUSE_S, _LAST_PAUSE_S = 0.05, 2.0
Pending = DeliveredChange | bytes
"""A change, or a result that is sent in its place."""


class RowChanges:
    """One subscription to the changes of a table; a subscriber of the feed."""

    def __init__(
        self,
        queries: OperationQueries,
        caller: OperationCaller,
        operation: bytes,
        plan: RowChangesPlan,
        send: Callable[[bytes], None],
        max_waiting: int,
    ) -> None:
        self.role, self.claims = plan.role, plan.claims
        self._queries, self._caller, self._operation, self._plan = queries, caller, operation, plan
        self._send, self._max_waiting = send, max_waiting
        self._loop = asyncio.get_running_loop()
        self._waiting: deque[tuple[Pending, int, float]] = deque()
        self._bytes = 0
        self._wake = asyncio.Event()
        self._is_behind = False

    async def run(self, feed: Feed, on_start: Callable[[Position], None]) -> None:
        """Send changes until cancelled. `on_start` is called with the position from which on every change is sent.

        Raises: OperationRejected; Unavailable, DeadlineExceeded if the subscription fails.
        """
        plan = self._plan
        since = None if plan.since is None else Position.parse(plan.since)
        events = ["*"] if set(plan.events) == set(_EVENTS) else plan.events
        subscriptions = [ChangeSubscription(event, *plan.table, plan.filter, plan.select) for event in events]
        ids = list(range(1, len(subscriptions) + 1))
        sending = self._loop.create_task(self._send_all())
        subscribing = self._loop.create_task(feed.subscribe(self, subscriptions, ids, since))
        try:
            await asyncio.wait([sending, subscribing], return_when=asyncio.FIRST_COMPLETED)
            if subscribing.done():
                subscription, checked = subscribing.result()
                for outcome in checked:
                    if outcome.error:
                        raise OperationRejected(errors_of(outcome.error))
                on_start(subscription.position)
            await sending
        finally:
            for task in (sending, subscribing):
                task.cancel()
            await asyncio.wait([sending, subscribing])
            if not subscribing.cancelled() and subscribing.exception() is None:
                subscribing.result()[0].close()
            if not sending.cancelled():
                sending.exception()  # retrieved: it was raised above, or an earlier error was

    # As a subscriber of the feed

    def deliver(self, delivery: Delivery) -> None:
        """Queue a change until its row is read."""
        change = read_change(delivery.data)
        if change.type in self._plan.events:
            self._put(change, len(delivery.data))

    def gap(self, since: Position | None) -> None:
        """Queue the result that changes are lost, in order with the changes."""
        extensions = {"code": "GAP", "since": None if since is None else str(since)}
        message = "Changes are lost: read the table anew"
        result = {"data": None, "errors": [{"message": message, "extensions": extensions}]}
        self._put(msgspec.json.encode(result), 0)

    def _put(self, pending: Pending, size: int) -> None:
        self._bytes += size
        if self._bytes > self._max_waiting:
            self._is_behind = True
            self._waiting.clear()
        if not self._is_behind:
            self._waiting.append((pending, size, self._loop.time()))
        self._wake.set()

    # Towards the client

    async def _send_all(self) -> None:
        while True:
            await self._wake.wait()
            self._wake.clear()
            while self._waiting:
                await self._send_some()
            if self._is_behind:
                raise OperationRejected(errors_of("Changes come faster than they can be sent", "TOO_SLOW"))

    async def _send_some(self) -> None:
        """Send the first pending results: one that needs no row, or the changes whose rows are read in one query."""
        batch: list[DeliveredChange] = []
        keys: list[list[str]] = []
        came_at = 0.0
        while self._waiting and len(batch) < MOST_ROWS:
            pending, size, came_at = self._waiting[0]
            if isinstance(pending, bytes) or pending.errors:
                if batch:
                    break
                self._take(size)
                self._send(pending if isinstance(pending, bytes) else _error_result(pending))
                return
            key = self._key_to_read(pending)
            if key is None:
                if batch:
                    break
                self._take(size)
                self._send(result_of(self._plan, pending, [b"null"] * self._plan.nodes))
                return
            self._take(size)
            batch.append(pending)
            keys.append(key)
        if batch:
            await asyncio.sleep(came_at + _SETTLED_S - self._loop.time())
            await self._read(batch, keys, came_at)

    def _take(self, size: int) -> None:
        self._waiting.popleft()
        self._bytes -= size

    def _key_to_read(self, change: DeliveredChange) -> list[str] | None:
        """Return the key of a row that has to be read; None if it needs no row, or was deleted."""
        if change.type == "DELETE" or not (self._plan.nodes or self._plan.is_filtered):
            return None
        return key_of(change, self._plan.primary_key)

    async def _read(self, batch: list[DeliveredChange], keys: list[list[str]], came_at: float) -> None:
        answer = await self._rows(keys)
        for pause_s in _AGAIN_S:
            if not answer.missing or self._loop.time() - came_at > sum(_AGAIN_S):
                break
            await asyncio.sleep(pause_s)
            answer = await self._rows(keys)
        if answer.errors and len(batch) > 1:  # one row may cause the error: read each alone
            for change, key in zip(batch, keys, strict=True):
                await self._read([change], [key], came_at)
        elif answer.errors:
            self._send(b'{"data":null,"errors":%b}' % answer.errors)
        else:
            for change, nodes in zip(batch, answer.rows, strict=True):
                if nodes is not None:
                    self._send(result_of(self._plan, change, nodes))

    async def _rows(self, keys: list[list[str]]) -> RowsAnswer:
        """Read rows; retried until the pool answers."""
        backoff = Backoff(_FIRST_PAUSE_S, _LAST_PAUSE_S, jitter=0.3)
        while True:
            try:
                return await self._queries.rows(self._caller, self._operation, keys)
            except ApiError as error:
                observe(LiveQueryWaits(str(error)))
                await backoff.wait()


def _error_result(change: DeliveredChange) -> bytes:
    """Return the result for a change that has errors instead of a row."""
    errors = [{"message": text, "extensions": {"position": change.position}} for text in change.errors or ()]
    return msgspec.json.encode({"data": None, "errors": errors})
