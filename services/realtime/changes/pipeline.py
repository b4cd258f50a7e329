"""The pipeline: messages of the stream become deliveries, in the order of the stream.

Theory. Each message gets a slot. What can be evaluated at once is; the rest is queried from the pool, for many slots at the
same time. Deliveries leave only from the first slot on, so no subscriber sees a later change before an earlier one. The number
and the size of the slots are bounded: the reader waits for `wait_for_space` before it admits another message, and meanwhile
the messages stay in the stream.

A slot waits, however long it takes, until the rights of every role that subscribes to its table are known as they were at
the last change of the schema before it (`ChangeBatch.schema_lsn`), and until every query about its rows is answered.
"""

import asyncio
from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from broker.observability.observe import log_buffer, observe, traceback_of
from schemas.changes import ChangeBatch, Gap, Position, Tick
from schemas.realtime import TableGrant
from services.realtime.changes.deliveries import ShapeCache, deliveries_of
from services.realtime.changes.evaluate import JudgedBatch, judge, judge_in_steps, settle
from services.realtime.changes.grants import Grants
from services.realtime.changes.observations import FeedFailed, RequestReachedSockets
from services.realtime.changes.pool_queries import FeedQueries
from services.realtime.changes.subscribers import PipelineSubscriber
from services.realtime.changes.subscription_index import SubscriptionIndex

_MOST_SLOTS = 256
MOST_BYTES = 32 * 1024 * 1024
_DELIVERIES_AT_ONCE = 6000
"""Deliveries in one loop iteration: some 10 ms. Frames of one iteration for one socket leave in one write."""
_LONG_EVALUATION = 2000
"""Shared subscriptions times changes of a batch; above it the batch is evaluated in steps, with loop iterations between."""
_LAST = 0xFFFFFFFF


@dataclass(slots=True, eq=False)
class _Slot:
    """A message in the pipeline, and its result once that is known."""

    seq: int
    position: Position | None
    """None: the same as for the slot before."""
    size: int
    result: "JudgedBatch | _Lost | _Empty | None" = None
    next: int = 0
    """Index of the change that is delivered next."""
    reached: dict[str, int] = field(default_factory=dict)
    """Request id -> deliveries of its changes."""
    task: "asyncio.Task[None] | None" = None
    callbacks: list[Callable[[], None]] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class _Lost:
    """Changes before this slot are lost for these subscribers."""

    since: Position | None
    """None: after the slot before."""
    subscribers: list[PipelineSubscriber] | None = None
    """None: for all."""
    is_recreated: bool = False
    """The stream was recreated: its numbers start again after this slot."""


class _Empty:
    """The slot has only a position."""


_EMPTY = _Empty()


class DeliveryPipeline:
    """Delivers the admitted messages to the subscribers of its index."""

    def __init__(
        self,
        queries: FeedQueries,
        grants: Grants,
        *,
        admitted: int,
        position: Position,
        deletes_are_checked: bool,
        most_bytes: int = MOST_BYTES,
    ) -> None:
        self.index = SubscriptionIndex()
        self.admitted = admitted
        """Number of the message that was admitted last."""
        self.position = position
        """The last change that was evaluated and delivered for all subscribers."""
        self._queries, self._grants = queries, grants
        self._deletes_are_checked = deletes_are_checked
        self._loop = asyncio.get_running_loop()
        self._slots: deque[_Slot] = deque()
        self._bytes, self._most_bytes = 0, most_bytes
        self._has_space = asyncio.Event()
        self._has_space.set()
        self._shapes = ShapeCache()
        self._next_run: asyncio.Handle | None = None
        self._is_closed = False

    def admit(self, seq: int, message: ChangeBatch | Gap | Tick, size: int) -> None:
        """Admit the next message of the stream."""
        self.admitted = seq
        slot = _Slot(seq, Position(message.lsn, message.number, _LAST), size)
        match message:
            case ChangeBatch():
                self._evaluate(slot, message)
            case Gap():
                slot.result = _Lost(Position(message.since) if message.since else None)
            case Tick():
                slot.result = _EMPTY
        self._append(slot)

    def lose(self, seq: int, *, is_recreated: bool = False) -> None:
        """Notify all subscribers, in order, that messages up to a number were not read.

        `is_recreated`: the stream is a new one; all its messages are delivered to all subscribers.
        """
        slot = _Slot(max(seq, self.admitted), None, 0)
        slot.result = _Lost(None, is_recreated=is_recreated)
        self.admitted = seq
        self._append(slot)

    async def wait_for_space(self) -> None:
        """Wait until another message may be admitted."""
        await self._has_space.wait()

    def when_reached(self, callback: Callable[[], None]) -> None:
        """Call back when everything that was admitted so far is delivered; at once if it is."""
        if self._slots:
            self._slots[-1].callbacks.append(callback)
        else:
            callback()

    async def reached(self) -> None:
        """Wait until everything that was admitted so far is delivered."""
        is_reached = asyncio.Event()
        self.when_reached(is_reached.set)
        await is_reached.wait()

    async def close(self) -> None:
        """Stop delivering."""
        self._is_closed = True
        if self._next_run is not None:
            self._next_run.cancel()
        tasks = [slot.task for slot in self._slots if slot.task is not None]
        self._slots.clear()
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    # Evaluation

    def _evaluate(self, slot: _Slot, batch: ChangeBatch) -> None:
        """Evaluate a batch now if nothing has to be queried, else in a task."""
        table = (batch.schema, batch.table)
        grants: dict[str, TableGrant] = {}
        for role in self.index.roles(table):
            grant = self._grants.cached(role, table, batch.schema_lsn)
            if grant is None:
                break
            grants[role] = grant
        else:
            if self.index.size_of(table) * len(batch.changes) > _LONG_EVALUATION:
                slot.task = self._loop.create_task(self._settle(slot, batch, None))
                return
            try:
                judged = judge(batch, grants, self.index, deletes_are_checked=self._deletes_are_checked)
            except (
                Exception
            ) as error:  # it is unknown who may see the change: it is delivered to no subscriber
                self._give_up(slot, batch, error)
                return
            if not judged.doubts:
                slot.result = judged
                return
            slot.task = self._loop.create_task(self._settle(slot, batch, judged))
            return
        slot.task = self._loop.create_task(self._settle(slot, batch, None))

    async def _settle(self, slot: _Slot, batch: ChangeBatch, judged: JudgedBatch | None) -> None:
        try:
            if judged is None:
                grants = await self._query_grants(batch)
                judged = await judge_in_steps(
                    batch, grants, self.index, deletes_are_checked=self._deletes_are_checked
                )
            if judged.doubts:
                await settle(judged, self._queries)
            slot.result = judged
        except Exception as error:  # as above
            self._give_up(slot, batch, error)
        slot.task = None
        self._deliver()

    async def _query_grants(self, batch: ChangeBatch) -> dict[str, TableGrant]:
        table, grants = (batch.schema, batch.table), dict[str, TableGrant]()
        while missing := self.index.roles(table) - grants.keys():
            for role in missing:
                grants[role] = await self._grants.table(role, table, batch.schema_lsn)
        return grants

    def _give_up(self, slot: _Slot, batch: ChangeBatch, error: Exception) -> None:
        observe(FeedFailed(traceback_of(error)))
        slot.result = _Lost(None, list(self.index.subscribers_of((batch.schema, batch.table))))

    # Delivery

    def _append(self, slot: _Slot) -> None:
        self._slots.append(slot)
        self._bytes += slot.size
        if len(self._slots) >= _MOST_SLOTS or self._bytes >= self._most_bytes:
            self._has_space.clear()
        if slot is self._slots[0]:
            self._deliver()

    def _deliver(self) -> None:
        """Deliver from the first slot on, until one lacks its result or `_DELIVERIES_AT_ONCE` are made. Hot path."""
        if self._next_run is not None or self._is_closed:
            return
        left = _DELIVERIES_AT_ONCE
        while self._slots and self._slots[0].result is not None:
            slot = self._slots[0]
            if isinstance(slot.result, JudgedBatch):
                left = self._deliver_changes(slot, slot.result, left)
            elif isinstance(slot.result, _Lost):
                left -= self._report_loss(slot, slot.result)
            if left <= 0 and not self._is_delivered(slot):
                self._next_run = self._loop.call_soon(self._run_again)
                return
            self._remove_first(slot)
            if left <= 0 and self._slots:
                self._next_run = self._loop.call_soon(self._run_again)
                return

    def _run_again(self) -> None:
        self._next_run = None
        self._deliver()

    def _is_delivered(self, slot: _Slot) -> bool:
        return not isinstance(slot.result, JudgedBatch) or slot.next >= len(slot.result.batch.changes)

    def _remove_first(self, slot: _Slot) -> None:
        self._slots.popleft()
        self._bytes -= slot.size
        self.position = slot.position or self.position
        if slot.reached and isinstance(slot.result, JudgedBatch):
            _report_reached(slot.reached, slot.result)
        for callback in slot.callbacks:
            callback()
        if len(self._slots) < _MOST_SLOTS and self._bytes < self._most_bytes:
            self._has_space.set()

    def _report_loss(self, slot: _Slot, lost: _Lost) -> int:
        """Report a gap to the subscribers that it concerns; return how many these are."""
        subscribers = list(self.index.subscribers) if lost.subscribers is None else lost.subscribers
        for subscriber in subscribers:
            subscriber.gap(lost.since or self.position, slot.seq)
            if lost.is_recreated:
                subscriber.after = 0
        return len(subscribers)

    def _deliver_changes(self, slot: _Slot, judged: JudgedBatch, left: int) -> int:
        while not self._is_delivered(slot) and left > 0:
            number = slot.next
            slot.next += 1
            left -= 1
            if matched := judged.matched[number]:
                try:
                    deliveries = deliveries_of(
                        judged, number, self._shapes, are_deletes_checked=self._deletes_are_checked
                    )
                except Exception as error:  # the change cannot be written: its subscribers get a gap
                    observe(FeedFailed(traceback_of(error)))
                    for subscriber in {
                        one for shared in matched for one in (*shared.single, *shared.several)
                    }:
                        subscriber.gap(self.position, slot.seq)
                    continue
                taken = 0
                for delivery, subscribers in deliveries:
                    for subscriber in subscribers:
                        taken += subscriber.deliver(delivery, slot.seq)
                    left -= len(subscribers)
                if taken and (request := judged.batch.request_of(number)) is not None:
                    slot.reached[request.id] = slot.reached.get(request.id, 0) + taken
        return left


def _report_reached(reached: Mapping[str, int], judged: JudgedBatch) -> None:
    """Leave a line for each request of a batch, as many a second as requests leave lines."""
    lines = log_buffer()
    table = f"{judged.batch.schema}.{judged.batch.table}"
    for request_id, deliveries in reached.items():
        if lines is not None and lines.samples():
            observe(RequestReachedSockets(request_id, table, deliveries))
