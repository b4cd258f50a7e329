"""Row changes for one operation: the feed tells them in their order, the pool reads the rows, results leave in that order.

What waits is bounded in bytes: an operation that falls behind ends with an error, from which its client goes on with the
position of the last change it has. While the pool is away nothing is lost, it waits.
"""

import asyncio
import random
from collections import deque
from collections.abc import Callable

import msgspec

from broker.observability.observe import observe
from schemas.changes import Position
from schemas.errors import ApiError
from schemas.realtime import Entry
from schemas.subscriptions import MOST_ROWS, Changes, RowsFound
from services.realtime.model import Delivery, Feed
from services.subscriptions.asking import Asking, OperationRefused, Visitor
from services.subscriptions.observed import LiveQueryWaits
from services.subscriptions.protocol import errors_of
from services.subscriptions.render import Change, key_of, read_change, result_of

_EVENTS = ("INSERT", "UPDATE", "DELETE")
_SETTLED_S = 0.01
"""The log tells of a commit a moment before other transactions see it: a row is not read sooner than this."""
_AGAIN_S = (0.02, 0.08, 0.3)
"""Pauses before a row that is not there is looked for again."""
_FIRST_PAUSE_S, _LAST_PAUSE_S = 0.05, 2.0
Waiting = Change | bytes
"""A change, or a result that stands in its place."""


class RowChanges:
    """One subscription to the changes of a table; a subscriber of the feed."""

    def __init__(
        self,
        asking: Asking,
        visitor: Visitor,
        operation: bytes,
        plan: Changes,
        send: Callable[[bytes], None],
        max_waiting: int,
    ) -> None:
        self.role, self.claims = plan.role, plan.claims
        self._asking, self._visitor, self._operation, self._plan = asking, visitor, operation, plan
        self._send, self._max_waiting = send, max_waiting
        self._loop = asyncio.get_running_loop()
        self._waiting: deque[tuple[Waiting, int, float]] = deque()
        self._bytes = 0
        self._something = asyncio.Event()
        self._is_behind = False

    async def run(self, feed: Feed, begun: Callable[[Position], None]) -> None:
        """Send changes until cancelled. `begun` hears from where on every change comes for certain.

        Raises: OperationRefused; Unavailable, DeadlineExceeded if it cannot begin.
        """
        plan = self._plan
        since = None if plan.since is None else Position.parse(plan.since)
        events = ["*"] if set(plan.events) == set(_EVENTS) else plan.events
        entries = [Entry(event, *plan.table, plan.filter, plan.select) for event in events]
        numbers = list(range(1, len(entries) + 1))
        sending = self._loop.create_task(self._send_all())
        beginning = self._loop.create_task(feed.subscribe(self, entries, numbers, since))
        try:
            await asyncio.wait([sending, beginning], return_when=asyncio.FIRST_COMPLETED)
            if beginning.done():
                subscription, checked = beginning.result()
                for each in checked:
                    if each.error:
                        raise OperationRefused(errors_of(each.error))
                begun(subscription.position)
            await sending
        finally:
            for task in (sending, beginning):
                task.cancel()
            await asyncio.wait([sending, beginning])
            if not beginning.cancelled() and beginning.exception() is None:
                beginning.result()[0].close()
            if not sending.cancelled():
                sending.exception()  # looked at: it was told already, or something before it was

    # As a subscriber of the feed

    def deliver(self, delivery: Delivery) -> None:
        """Keep a change until its row is read."""
        change = read_change(delivery.data)
        if change.type in self._plan.events:
            self._put(change, len(delivery.data))

    def gap(self, since: Position | None) -> None:
        """Tell that changes are lost, in their place."""
        extensions = {"code": "GAP", "since": None if since is None else str(since)}
        message = "Changes are lost: read the table anew"
        told = {"data": None, "errors": [{"message": message, "extensions": extensions}]}
        self._put(msgspec.json.encode(told), 0)

    def _put(self, what: Waiting, size: int) -> None:
        self._bytes += size
        if self._bytes > self._max_waiting:
            self._is_behind = True
            self._waiting.clear()
        if not self._is_behind:
            self._waiting.append((what, size, self._loop.time()))
        self._something.set()

    # Towards the client

    async def _send_all(self) -> None:
        while True:
            await self._something.wait()
            self._something.clear()
            while self._waiting:
                await self._send_some()
            if self._is_behind:
                raise OperationRefused(errors_of("Changes come faster than they can be sent", "TOO_SLOW"))

    async def _send_some(self) -> None:
        """Send the first of what waits: what needs no row, or as many changes as are asked for together."""
        batch: list[Change] = []
        keys: list[list[str]] = []
        came_at = 0.0
        while self._waiting and len(batch) < MOST_ROWS:
            what, size, came_at = self._waiting[0]
            if isinstance(what, bytes) or what.errors:
                if batch:
                    break
                self._take(size)
                self._send(what if isinstance(what, bytes) else _untold(what))
                return
            key = self._key_to_read(what)
            if key is None:
                if batch:
                    break
                self._take(size)
                self._send(result_of(self._plan, what, [b"null"] * self._plan.nodes))
                return
            self._take(size)
            batch.append(what)
            keys.append(key)
        if batch:
            await asyncio.sleep(came_at + _SETTLED_S - self._loop.time())
            await self._read(batch, keys, came_at)

    def _take(self, size: int) -> None:
        self._waiting.popleft()
        self._bytes -= size

    def _key_to_read(self, change: Change) -> list[str] | None:
        """Give the key of a row that has to be read; of one that is deleted nothing can be."""
        if change.type == "DELETE" or not (self._plan.nodes or self._plan.is_filtered):
            return None
        return key_of(change, self._plan.primary_key)

    async def _read(self, batch: list[Change], keys: list[list[str]], came_at: float) -> None:
        found = await self._rows(keys)
        for pause_s in _AGAIN_S:
            if not found.missing or self._loop.time() - came_at > sum(_AGAIN_S):
                break
            await asyncio.sleep(pause_s)
            found = await self._rows(keys)
        if found.errors and len(batch) > 1:  # one row is at fault: the others are not
            for change, key in zip(batch, keys, strict=True):
                await self._read([change], [key], came_at)
        elif found.errors:
            self._send(b'{"data":null,"errors":%b}' % found.errors)
        else:
            for change, nodes in zip(batch, found.rows, strict=True):
                if nodes is not None:
                    self._send(result_of(self._plan, change, nodes))

    async def _rows(self, keys: list[list[str]]) -> RowsFound:
        """Read rows, as often as it takes."""
        pause_s = _FIRST_PAUSE_S
        while True:
            try:
                return await self._asking.rows(self._visitor, self._operation, keys)
            except ApiError as error:
                observe(LiveQueryWaits(str(error)))
                await asyncio.sleep(pause_s * random.uniform(0.7, 1.0))
                pause_s = min(2 * pause_s, _LAST_PAUSE_S)


def _untold(change: Change) -> bytes:
    """Give the result for a change that cannot be told."""
    errors = [{"message": each, "extensions": {"position": change.position}} for each in change.errors or ()]
    return msgspec.json.encode({"data": None, "errors": errors})
