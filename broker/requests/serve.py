"""Answer requests as one member of a pool: the worker's side of a request.

- At most `concurrency` handlers run. Up to `queue` further requests wait, each for `longest_wait` at most. Both
  numbers are shared fairly between callers (`broker/requests/fair_queue.py`, by `Request.caller_key`). A request that
  cannot wait, or would wait in vain, is rejected before its handler starts: 503 with `Retry-After`.
  `Response.rejected_by` lets the edge send it to another member (`broker/requests/call.py`).
- A request whose time budget ends while it waits is dropped without work, because its edge has given up. A running
  one is cancelled then. It is also cancelled when its edge asks for that (`cancel.<pool>`) and when the connection to
  the broker is lost: the reply could not be delivered, and the database rolls back.
- A request counts as running until its answer (`broker/requests/answer.py`) is sent, unless its body is stored as a whole
  (`StreamedResponse.is_stored`): then it moves to one of `concurrency` places for sending, shared in the same way, so that
  clients that read slowly do not keep other requests of their caller from running. Without a free place it goes on counting
  as running, which bounds the answers that are being sent.
- The member announces itself to edges before it subscribes to requests, and replies to the roll call with the
  requests it holds (`broker/requests/roll_call.py`). Its own subject `member.<name>` tells edges whether its
  connection is open, and takes requests that are addressed to it by name while another member is silent.
"""

import asyncio
import contextlib
import math
import secrets
import sys
from collections.abc import Coroutine

import msgspec

from broker import subjects
from broker.codec import InvalidMessage, decode_request, decoder, encode
from broker.nats.connection import NatsConnection
from broker.nats.protocol import NatsMessage
from broker.nats.subscription import NatsSubscription
from broker.observability.observations import HandlerFailed, RequestAnswered, RequestCancelled, RequestRefused
from broker.observability.observe import gauge, observe, observe_wait
from broker.requests.answer import Answers, Outage, internal_error
from broker.requests.current_request import CURRENT
from broker.requests.fair_queue import PLATFORM, FairQueue, QueueFull
from broker.requests.handler import Handler
from broker.requests.held_request import HeldRequest
from broker.requests.roll_call import LEAVING, RollCallQuery, RollCallReply
from broker.subjects import Subject
from schemas.errors import Unavailable
from schemas.http import Request

_SWEEP_S = 0.25
LONGEST_WAIT_S = 10.0
"""How long a request waits for its handler to start, unless the settings differ."""
_REJECTION_TEXTS = {
    "full": "the {pool} workers have too much to do",
    "share": "too many requests of yours wait for the {pool} workers",
    "late": "the {pool} workers could not begin this request in time: too many of yours are before it",
    "waited": "the {pool} workers did not begin this request in time",
}
"""The error messages for requests whose handler was not started, by the reason of the fair queue."""


_NO_REQUEST = Request("", "", "")
_decode_roll_call = decoder(RollCallQuery)


async def serve(
    connection: NatsConnection,
    subject: Subject,
    handler: Handler,
    *,
    concurrency: int,
    queue: int,
    longest_wait: float = LONGEST_WAIT_S,
    outage: Outage | None = None,
) -> "PoolMember":
    """Answer the requests of a subject with `handler` until drained. Returns when the first one can arrive.

    `outage` names the outage of what the handler needs, by a number that no other outage has; None while there is none.
    Raises: Unavailable if the broker is away.
    """
    member = PoolMember(connection, subject, handler, concurrency, queue, longest_wait, outage)
    await connection.flush()
    return member


class PoolMember:
    """One member of a pool. Created by `serve`; `drain` or `stop` ends it."""

    def __init__(
        self,
        connection: NatsConnection,
        subject: Subject,
        handler: Handler,
        concurrency: int,
        queue: int,
        longest_wait: float = LONGEST_WAIT_S,
        outage: Outage | None = None,
    ) -> None:
        self.member = f"{subject.pool}-{secrets.token_hex(6)}"
        self.pool = subject.pool
        self._connection = connection
        self._queue: FairQueue[HeldRequest] = FairQueue(concurrency, queue)
        self._sending: FairQueue[HeldRequest] = FairQueue(concurrency, 0)
        self._longest_wait = longest_wait
        self._loop = asyncio.get_running_loop()
        self._held: dict[str, HeldRequest] = {}
        self._answers = Answers(
            connection,
            self.pool,
            self.member,
            handler,
            outage,
            self._held,
            self._move_to_sending,
        )
        self._is_idle = asyncio.Event()
        self._is_idle.set()
        self._is_working = False
        """Whether `_is_idle` is not set."""
        self._sweep_timer: asyncio.TimerHandle | None = None
        connection.on_lost.append(self._cancel_all)
        connection.on_back.append(self._announce)
        self._announce()
        self._side_subscriptions = [
            connection.subscribe(subjects.member(self.member), self._take_by_name),
            connection.subscribe(subjects.probe(self.pool), self._answer_roll_call),
            connection.subscribe(subjects.cancel(self.pool), self._take_cancel),
        ]
        self._request_subscription: NatsSubscription | None = connection.subscribe(
            subject.name, self._take, self.pool
        )
        self._gauges = [
            gauge("headwater_pool_working", "Requests that run.", lambda: self._queue.used, pool=self.pool),
            gauge(
                "headwater_pool_waiting",
                "Requests that wait to be started.",
                lambda: self._queue.waiting,
                pool=self.pool,
            ),
            gauge(
                "headwater_pool_sending",
                "Requests that are done, and whose stored answer is being sent.",
                lambda: self._sending.used,
                pool=self.pool,
            ),
        ]

    async def drain(self, timeout: float) -> bool:
        """Take no further requests and finish the held ones; return False if some had to be cancelled."""
        if self._request_subscription is not None:
            self._connection.remove(self._request_subscription)
            self._request_subscription = None
            self._connection.try_publish(
                subjects.alive(self.pool), encode(RollCallReply(self.pool, self.member, LEAVING, []))
            )
        try:
            async with asyncio.timeout(timeout):
                with contextlib.suppress(Unavailable):
                    await self._connection.flush()  # what was on its way is here now
                await self._is_idle.wait()
        except TimeoutError:
            finished = False
        else:
            finished = True
        await self.stop()
        return finished

    async def stop(self) -> None:
        """Take no further requests and cancel the held ones."""
        for subscription in (
            *self._side_subscriptions,
            *([self._request_subscription] if self._request_subscription else []),
        ):
            self._connection.remove(subscription)
        self._side_subscriptions, self._request_subscription = [], None
        for hook, hooks in (
            (self._cancel_all, self._connection.on_lost),
            (self._announce, self._connection.on_back),
        ):
            if hook in hooks:
                hooks.remove(hook)
        self._cancel_all()
        await self._is_idle.wait()
        if self._sweep_timer is not None:
            self._sweep_timer.cancel()
        for remove in self._gauges:
            remove()

    # Receiving requests

    def _take_by_name(self, message: NatsMessage) -> None:
        """Take a request that was addressed to this member because another one is silent.

        An empty message only tests whether this member is connected, and is not answered.
        """
        if not message.payload:
            return
        if self._request_subscription is None:
            self._answers.reply(
                message.reply, Unavailable(f"this {self.pool} worker is about to stop").response()
            )
            return
        self._take(message)

    def _take(self, message: NatsMessage) -> None:
        if not message.reply:
            return
        try:
            request = decode_request(message.payload)
        except InvalidMessage as error:
            observe(HandlerFailed(self.pool, "", str(error), ""))
            self._answers.reply(message.reply, internal_error(""))
            return
        now = self._loop.time()
        key = request.caller_key
        held = HeldRequest(request, message.reply, now, now + request.budget_ms / 1000, key, pool=self.pool)
        if self._queue.take(key, now):
            self._held[held.reply] = held
            self._start(held, now, is_first=True)
            return
        try:
            held.entry = self._queue.wait(
                key, held, now, longest_s=self._longest_wait, deadline=held.deadline
            )
        except QueueFull as full:
            self._reject(held, full)
        else:
            self._held[held.reply] = held
            if self._sweep_timer is None:
                self._schedule_sweep()

    def _reject(self, held: HeldRequest, full: QueueFull) -> None:
        """Reject a request whose handler was not started: another member may take it, or the client may repeat it."""
        observe(RequestRefused(self.pool, held.request.id, full.reason))
        error = Unavailable(_REJECTION_TEXTS[full.reason].format(pool=self.pool), full.retry_after_s)
        self._answers.reply(held.reply, msgspec.structs.replace(error.response(), rejected_by=self.member))

    def _start(self, held: HeldRequest, now: float, *, is_first: bool) -> None:
        held.started_at = now
        if not self._is_working:
            self._is_working = True
            self._is_idle.clear()
        if self._sweep_timer is None:
            self._schedule_sweep()
        # A queued request is started by the end of another one. Defer it to the next loop iteration to avoid recursion.
        task = (_start_now if is_first else _start_next)(self._work(held), self._loop)
        held.task = None if task.done() else task

    def _schedule_sweep(self) -> None:
        """Start the timer of the next sweep."""
        self._sweep_timer = self._loop.call_later(_SWEEP_S, self._sweep)

    def _finish(self, done: HeldRequest) -> None:
        """Release the place of a request that is over, and start waiting requests that fit now."""
        now = self._loop.time()
        if done.is_sending:
            self._sending.release(done.request.caller_key, done.started_at, now)
        else:
            self._release_slot(done, now)
        if self._queue.used == 0 and self._sending.used == 0:
            self._is_working = False
            self._is_idle.set()

    def _move_to_sending(self, held: HeldRequest) -> None:
        """Let other requests run while the stored answer of this one is sent, if a place for sending is free."""
        now = self._loop.time()
        if self._sending.take(held.request.caller_key, now):
            held.is_sending = True
            self._release_slot(held, now)
            held.started_at = now

    def _release_slot(self, done: HeldRequest, now: float) -> None:
        """Release the slot of a request that has stopped working, and start waiting requests that fit now."""
        self._queue.release(done.request.caller_key, done.started_at, now)
        while self._queue.waiting and (entry := self._queue.next(now)) is not None:
            held = entry.item
            held.entry = (
                None  # the entry holds its request: a cycle, which would cost a collection of garbage
            )
            if held.deadline <= now:
                self._queue.release(entry.key, now, now)
                self._held.pop(held.reply, None)
                observe(RequestCancelled(self.pool, held.request.id, "deadline"))
            else:
                observe_wait(self.pool, now - held.since)
                self._start(held, now, is_first=False)

    # Running handlers

    async def _work(self, held: HeldRequest) -> None:
        held.is_started = True
        CURRENT.set(held)
        try:
            if held.cancel_reason:
                raise asyncio.CancelledError
            status = await self._answers.answer(held)
            now = self._loop.time()
            observe(
                RequestAnswered(
                    self.pool,
                    held.request.id,
                    status,
                    now - held.since,
                    held.failure,
                    held.sql_s,
                    held.request.is_sampled,
                )
            )
        except asyncio.CancelledError:
            observe(RequestCancelled(self.pool, held.request.id, held.cancel_reason))
            if not held.cancel_reason:  # the loop itself is being closed
                raise
        finally:
            self._held.pop(held.reply, None)
            held.caller_key, held.deadline = PLATFORM, math.inf
            self._finish(held)
            held.task = None  # its context holds `held`: a cycle that only the garbage collector would free
            held.request = _NO_REQUEST  # a task of the handler that goes on keeps `held` alive, but not the body of its request

    # Cancelling

    def _take_cancel(self, message: NatsMessage) -> None:
        held = self._held.get(message.payload.decode("ascii", "replace"))
        if held is not None:
            self._cancel(held, "cancelled by the caller")

    def _cancel(self, held: HeldRequest, reason: str) -> None:
        """Stop a request. A waiting one is removed; a started one is cancelled.

        A task that has not run its first step is only marked, and stops itself in that step. If it were cancelled
        before, it would never run, and its slot would never be released.
        """
        held.cancel_reason = held.cancel_reason or reason
        if held.task is None:
            self._held.pop(held.reply, None)
            if held.entry is not None:
                self._queue.discard(held.entry)
                held.entry = None
            observe(RequestCancelled(self.pool, held.request.id, held.cancel_reason))
        elif held.is_started:
            held.task.cancel()

    def _cancel_all(self) -> None:
        for held in list(self._held.values()):
            self._cancel(held, "the broker was lost")

    def _sweep(self) -> None:
        """Cancel requests past their deadline, whose cancel message may be lost, and reject those that wait in vain."""
        self._sweep_timer = None
        now = self._loop.time()
        if self._queue.waiting:
            for entry, full in self._queue.late(now):
                entry.item.entry = None
                self._held.pop(entry.item.reply, None)
                self._reject(entry.item, full)
        for held in list(self._held.values()):
            if held.deadline <= now and not held.cancel_reason:
                self._cancel(held, "deadline")
        if self._held:
            self._schedule_sweep()

    # Announcements and the roll call

    def _announce(self) -> None:
        self._connection.try_publish(
            subjects.alive(self.pool), encode(RollCallReply(self.pool, self.member, 0, []))
        )

    def _answer_roll_call(self, message: NatsMessage) -> None:
        query = _decode_roll_call(message.payload)
        held = [call for call in query.calls if call in self._held]
        self._connection.try_publish(
            message.reply, encode(RollCallReply(self.pool, self.member, query.round, held))
        )


def _start_next(work: Coroutine[object, object, None], loop: asyncio.AbstractEventLoop) -> asyncio.Task[None]:
    return loop.create_task(work)


if sys.version_info >= (3, 12):

    def _start_now(
        work: Coroutine[object, object, None], loop: asyncio.AbstractEventLoop
    ) -> asyncio.Task[None]:
        """Start at once: a handler that never waits is finished before the next message is parsed."""
        return asyncio.Task(work, loop=loop, eager_start=True)
else:
    _start_now = _start_next
