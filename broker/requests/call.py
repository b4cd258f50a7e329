"""Ask a pool and await its reply: the door's side of a request.

    request --------> one member of the queue group         reply subject: a token of our inbox
    reply <---------- Response, or 503 by NATS itself        nobody serves the pool: Unavailable at once
    cancel ---------> all members of the pool                deadline passed, client gone, body broken
    roll call <-----> all members of the pool                only for calls older than a tick (`broker/requests/roll_call.py`)

At most once: a write without an `Idempotency-Key` is handed to a worker once and never again. A call fails with

- `Unavailable` (503) when the pool is full from our side (`max_in_flight`, shared between callers as `broker/requests/fair_queue.py` says),
  or when the request reached no worker: nobody serves the pool, or the broker is not connected. Nothing was done; the client may repeat it. Before that the request
  waits up to `HOLD_S` for a worker or the broker to come back, and is sent then.
- `OutcomeUnknown` (504) when a worker took it and its answer will not come: the worker is gone or silent (`broker/requests/roll_call.py`),
  or the connection to the broker broke. A read is sent a second time instead: it changes nothing. Only areas of
  `subjects.READS_REPEAT` have such reads; `GET /auth/v1/verify` uses up a code. A write with an `Idempotency-Key` is sent a
  second time too (`repeats_keyed`, areas of `subjects.KEYED_WRITES_REPEAT`): its record says whether it was carried out.
- `DeadlineExceeded` (504) when its budget is over.

A read that was sent while the members were all others than now is sent again as soon as those are known to be gone; a write
waits for the roll call, which knows which member took it.
A request that a member did not begin because it has too much to do (`Response.refused_by`) is sent to another member, once.
While a member is silent, requests go to the others by their names: NATS would go on handing every second one to it.

Hot path: no task and no subscription for a call; one future, one timer, one entry in two dictionaries. Asker, server
and worker together take 27 us of CPU for a small request with 32 at a time (tests/bench/broker_hop.py).
"""

import asyncio
import contextlib
import random
from collections.abc import AsyncGenerator, AsyncIterator, Callable

import msgspec

from broker import subjects
from broker.codec import Undecodable, decode_response, decoder, encode
from broker.nats.connection import Connection
from broker.nats.protocol import NO_RESPONDERS, Message
from broker.observability.observations import MemberGone, RequestFailed
from broker.observability.observe import gauge, observe
from broker.observability.tracing import STATE, Tracing
from broker.requests import body as bodies
from broker.requests.fair_queue import PLATFORM, may_take
from broker.requests.open_calls import NotTaken, OpenCall, PoolCalls
from broker.requests.roll_call import Holding, Question
from broker.subjects import Subject
from schemas.errors import ApiError, OutcomeUnknown, Unavailable
from schemas.http import INLINE_LIMIT, Request, Response, Stream, header

TICK_S = 0.15
"""Age at which a call is slow, and pause between two roll calls."""
HOLD_S = 1.0
"""How long a request that reached no worker waits for one, or for the broker, to come back."""
_FIRST_PAUSE_S = 0.05
"""After this a request that reached no worker is sent again, whether or not one was heard; then ever later."""
_GIVE_UP_HOLDING_S = 3.0
"""A pool that has had no worker for so long is answered for at once."""

_READS = frozenset({"GET", "HEAD"})
_KEYED = frozenset({"POST", "PUT", "PATCH", "DELETE"})
"""Methods whose `Idempotency-Key` the workers obey."""

_decode_holding = decoder(Holding)


class Answer:
    """The reply to a call. `chunks` is set when the body follows: read it to its end, or `close` the answer."""

    __slots__ = ("at_close", "chunks", "response")

    def __init__(
        self, response: Response, chunks: AsyncGenerator[bytes] | None = None, *at_close: Callable[[], object]
    ) -> None:
        self.response = response
        self.chunks = chunks
        self.at_close = at_close

    async def close(self) -> None:
        """Read no more: the sender of a body that has not ended is told to stop."""
        if self.chunks is not None:
            await self.chunks.aclose()
            for step in self.at_close:  # a body that nobody began to read has not been closed by that
                step()


class Calls:
    """Asks the pools. One for each connection; `max_in_flight` bounds the calls that wait for one pool.

    `repeats_keyed`: the workers obey `Idempotency-Key`, so that writes which carry one may be sent again.
    """

    def __init__(
        self, connection: Connection, *, max_in_flight: int = 1024, repeats_keyed: bool = False
    ) -> None:
        self._connection = connection
        self._repeats_keyed = repeats_keyed
        self._max_in_flight = max_in_flight
        self._loop = asyncio.get_running_loop()
        self._pools: dict[str, PoolCalls] = {}
        self._known: set[str] = set()
        self._tick: asyncio.TimerHandle | None = None
        self._answers = connection.inbox.open(self._hear)
        connection.subscribe(subjects.ALIVE, self._hear)
        connection.on_lost.append(self._forget)

    async def call(
        self, subject: Subject, request: Request, *, body: AsyncIterator[bytes] | None = None
    ) -> Answer:
        """Ask the pool of a subject and give its answer; `body` is sent as chunks when the pool reads it.

        The size of a body, where it is known, is taken from `request.stream`. Cancelling the caller cancels the work.
        Raises: Unavailable, DeadlineExceeded; what `body` raises.
        """
        if STATE.tracing is not None and request.trace is None:
            return await self._traced(STATE.tracing, subject, request, body)
        if len(request.body) > INLINE_LIMIT:
            body, request = _pieces(request.body), _announced(request, len(request.body))
        pool = self._pools.get(subject.pool) or self._join(subject.pool)
        self._check_room(pool, request)
        if body is not None:
            return await self._call_with_body(subject, pool, request, body)
        sent_at = self._loop.time()
        answer = self._answer(await self._ask(subject, pool, request))
        if answer.response.refused_by:
            return await self._elsewhere(subject, pool, request, answer, sent_at)
        return answer

    def _check_room(self, pool: PoolCalls, request: Request) -> None:
        """Refuse a call that is one too many for this edge, or for the caller. Raises: Unavailable."""
        free = self._max_in_flight - len(pool.calls) - pool.held
        if free <= 0:
            observe(RequestFailed(pool.name, request.id, "full"))
            raise Unavailable(f"too many requests wait for the {pool.name} workers")
        key = request.caller_key
        if key != PLATFORM and not may_take(pool.by_caller.get(key, 0), free):
            observe(RequestFailed(pool.name, request.id, "share"))
            raise Unavailable(f"too many requests of yours wait for the {pool.name} workers")

    async def _elsewhere(
        self, subject: Subject, pool: PoolCalls, request: Request, refused: Answer, sent_at: float
    ) -> Answer:
        """Send a request that a member did not begin to another one; its refusal stands where there is none."""
        now = self._loop.time()
        others = pool.others(refused.response.refused_by, now)
        left_ms = request.budget_ms - int((now - sent_at) * 1000)
        if not others or left_ms <= 0:
            return refused
        request = msgspec.structs.replace(request, budget_ms=left_ms)
        try:
            return self._answer(await self._send(subject, pool, request, None, member=random.choice(others)))
        except NotTaken:
            return refused

    async def _traced(
        self, tracing: Tracing, subject: Subject, request: Request, body: AsyncIterator[bytes] | None
    ) -> Answer:
        """Ask inside of a span, and tell the pool of it. What asks for health is not traced."""
        noted = {"messaging.system": "nats", "messaging.destination.name": subject.name}
        begins = subject != subjects.health(subject.pool.removeprefix("health."))
        with tracing.ask(f"ask {subject.pool}", noted, may_begin=begins) as span:
            told = msgspec.structs.replace(request, trace=tracing.headers())
            answer = await self.call(subject, told, body=body)
            span.answered(answer.response.status)
            return answer

    def wake(self, subject: Subject) -> None:
        """Say a word that has no answer to who listens for it, if anybody does."""
        self._connection.tell(subject.name, b"")

    async def is_heard(self, subject: Subject, seconds: float = 1.0) -> bool:
        """Tell whether anybody who listens on a subject answers within that time."""
        heard: asyncio.Future[bool] = self._loop.create_future()
        reply = self._connection.inbox.open(lambda message: _settle(heard, message.status == 0))
        try:
            self._connection.tell(subject.name, b"", reply)
            return await asyncio.wait_for(heard, seconds)
        except TimeoutError:
            return False
        finally:
            self._connection.inbox.close(reply)

    async def _ask(
        self, subject: Subject, pool: PoolCalls, request: Request, sending: "asyncio.Task[None] | None" = None
    ) -> bytes:
        """Send a request and return its answer; send it again where that cannot do anything twice.

        It waits for a worker to come back once, and is sent again once after a worker took it.
        """
        until = self._loop.time() + request.budget_ms / 1000
        is_read = _is_repeatable(subject, request, sending)
        try:
            return await self._send_held(subject, request, sending, until)
        except OutcomeUnknown:
            if not is_read and (sending is not None or not self._is_keyed(subject, request)):
                raise
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._connection.connected(), HOLD_S)
        try:
            return await self._send_held(subject, request, sending, until)
        except NotTaken as error:  # the second time; the first worker may have carried it out
            raise error if is_read else OutcomeUnknown(str(error)) from None
        except OutcomeUnknown as error:
            raise Unavailable(str(error)) if is_read else error from None

    def _is_keyed(self, subject: Subject, request: Request) -> bool:
        """Return whether a request may be sent twice because the workers recognize it."""
        return (
            self._repeats_keyed
            and request.method in _KEYED
            and subject.pool in subjects.KEYED_WRITES_REPEAT
            and header(request.headers, subjects.IDEMPOTENCY_KEY) is not None
        )

    async def _send_held(
        self, subject: Subject, request: Request, sending: "asyncio.Task[None] | None", until: float
    ) -> bytes:
        """Send a request; while it reaches no worker, wait for one and send it again, for `HOLD_S` at most.

        A worker announces itself and then subscribes, so the first request after its announcement may come too early: the
        waits are short, and each is followed by another attempt. Raises: as `_send`.
        """
        give_up_at, pause_s = 0.0, _FIRST_PAUSE_S
        while True:
            pool = self._pools.get(subject.pool) or self._join(subject.pool)
            try:
                return await self._send(subject, pool, request, sending)
            except NotTaken:
                if not self._connection.is_connected:
                    give_up_at = (
                        0.0  # the broker first, then as long again for the worker, which has lost it too
                    )
                give_up_at = give_up_at or self._loop.time() + HOLD_S
                if not await self._hold(pool, min(pause_s, give_up_at - self._loop.time())):
                    raise
            pause_s *= 2
            left = max(1, int((until - self._loop.time()) * 1000))
            request = msgspec.structs.replace(request, budget_ms=left)

    async def _hold(self, pool: PoolCalls, seconds: float) -> bool:
        """Wait for the broker, or for a worker of a pool that had one a moment ago; return whether to send again."""
        now = self._loop.time()
        if seconds <= 0:
            return False
        if not self._connection.is_connected:
            awaited, seconds = self._connection.connected(), HOLD_S
        elif pool.is_known:
            if pool.missing_since is None:
                pool.missing_since = now
                self._look_for(pool)
            if now - pool.missing_since > _GIVE_UP_HOLDING_S:
                return False
            pool.back.clear()
            awaited = _until(pool.back)
        else:
            return False
        pool.held += 1
        try:
            async with asyncio.timeout(seconds):
                await awaited
        except TimeoutError:
            return self._connection.is_connected
        finally:
            pool.held -= 1
        return True

    async def _send(
        self,
        subject: Subject,
        pool: PoolCalls,
        request: Request,
        sending: "asyncio.Task[None] | None",
        *,
        member: str = "",
    ) -> bytes:
        """Publish a request once, to a member where one is named, and return its answer. Raises: NotTaken, OutcomeUnknown, DeadlineExceeded."""
        call = self._open(pool, request)
        call.is_repeatable = _is_repeatable(subject, request, sending)
        if sending is not None:
            sending.add_done_callback(lambda done: _pass_on(done, call))
        try:
            target = subjects.member(member) if member else pool.target(subject.name)
            self._connection.publish(target, encode(request), call.reply)
            return await call.future
        except asyncio.CancelledError:
            call.why = call.why or "cancelled"
            raise
        except ApiError as error:
            if call.why:
                raise
            call.why = "not sent"
            raise NotTaken(str(error)) if isinstance(error, Unavailable) else error from None
        finally:
            self._close(call)

    async def _call_with_body(
        self, subject: Subject, pool: PoolCalls, request: Request, body: AsyncIterator[bytes]
    ) -> Answer:
        sender = bodies.Sender(self._connection)
        size = request.stream.size if request.stream else -1
        request = msgspec.structs.replace(request, body=b"", stream=Stream(sender.subject, size))
        sending = self._loop.create_task(sender.send(body))
        try:
            answer = self._answer(await self._ask(subject, pool, request, sending))
        except BaseException:
            await _stop(sending)
            raise
        if answer.chunks is None:
            await _stop(sending)
        else:
            answer.chunks = _then_stop(answer.chunks, sending)
            answer.at_close = (*answer.at_close, sending.cancel)
        return answer

    def _answer(self, payload: bytes) -> Answer:
        try:
            response = decode_response(payload)
        except Undecodable as error:
            raise Unavailable(
                f"a worker answered in a form that is not understood ({error.expected})"
            ) from None
        if (stream := response.stream) is None:
            return Answer(response)
        connection = self._connection
        return Answer(response, bodies.receive(connection, stream), lambda: bodies.refuse(connection, stream))

    def _open(self, pool: PoolCalls, request: Request) -> OpenCall:
        call = OpenCall(request, pool, self._loop)
        call.reply = self._connection.inbox.open(call.take)
        pool.add(call)
        if self._tick is None:
            self._tick = self._loop.call_later(TICK_S, self._call_rolls)
        return call

    def _close(self, call: OpenCall) -> None:
        call.timer.cancel()
        self._connection.inbox.close(call.reply)
        call.pool.remove(call)
        if call.why:
            self._connection.tell(subjects.cancel(call.pool.name), call.reply.encode())
            observe(RequestFailed(call.pool.name, call.id, call.why))

    # The roll

    def _join(self, name: str) -> PoolCalls:
        """Begin to know a pool: ask who is there. The question arrives before the first request."""
        pool = self._pools[name] = PoolCalls(name, self._loop.time(), is_known=name in self._known)
        gauge("headwater_calls_in_flight", "Calls that wait for a pool.", lambda: len(pool.calls), pool=name)
        self._connection.tell(pool.probe, encode(pool.roll.ask([])), self._answers)
        return pool

    def _forget(self) -> None:
        """After a disconnect every call has failed, and members have to be known anew."""
        self._pools.clear()

    def _call_rolls(self) -> None:
        """Judge the last round and begin the next one, for every pool with slow calls."""
        self._tick = None
        now = self._loop.time()
        for pool in self._pools.values():
            for reply in pool.roll.close(now):
                self._lose(pool, reply)
            slow = []
            for reply, call in pool.calls.items():  # oldest first
                if call.sent_at > now - TICK_S:
                    break
                slow.append(reply)
            question = pool.roll.ask(slow)
            pool.by_name = pool.roll.answering(now) if pool.roll.silent(now) else []
            if slow or pool.by_name:
                self._question(pool, question)
            if (pool.calls or pool.by_name) and self._tick is None:
                self._tick = self._loop.call_later(TICK_S, self._call_rolls)

    def _question(self, pool: PoolCalls, question: Question) -> None:
        self._connection.tell(pool.probe, encode(question), self._answers)
        for member in list(pool.roll.members):
            self._is_there(pool, member)

    def _look_for(self, pool: PoolCalls) -> None:
        """Ask at once which members are gone: a request has found none, or a new one is there."""
        for member in pool.roll.members:
            self._is_there(pool, member)

    def _is_there(self, pool: PoolCalls, member: str) -> None:
        """Ask NATS whether a member is connected: only then does nobody answer."""
        inbox = self._connection.inbox

        def hear(message: Message) -> None:
            inbox.close(reply)
            if message.status == NO_RESPONDERS and member in pool.roll.members:
                observe(MemberGone(pool.name, member))
                for call in [*pool.roll.gone(member), *pool.left_by(member)]:
                    self._lose(pool, call)

        reply = inbox.open(hear)
        self._connection.tell(subjects.member(member), b"", reply)
        self._loop.call_later(TICK_S * 4, inbox.close, reply)

    def _lose(self, pool: PoolCalls, reply: str) -> None:
        if (call := pool.calls.get(reply)) is not None:
            call.fail("lost", OutcomeUnknown("the worker that took this request is gone or does not answer"))

    def _hear(self, message: Message) -> None:
        """Note a member that announces itself, or its answer to a question."""
        if message.status:
            return
        with contextlib.suppress(Undecodable):
            holding = _decode_holding(message.payload)
            if (pool := self._pools.get(holding.pool)) is not None:
                if holding.member not in pool.roll.members and pool.calls:
                    self._look_for(pool)
                pool.heard_since.setdefault(holding.member, self._loop.time())
                pool.roll.heard(holding)
                pool.is_known = True
                self._known.add(pool.name)
                pool.missing_since = None
                pool.back.set()


async def _until(event: asyncio.Event) -> None:
    await event.wait()


def _is_repeatable(subject: Subject, request: Request, sending: "asyncio.Task[None] | None") -> bool:
    """Return whether a request may be sent again when its answer is lost, because it changes nothing."""
    return request.method in _READS and subject.pool in subjects.READS_REPEAT and sending is None


def _settle(future: asyncio.Future[bool], result: bool) -> None:
    if not future.done():
        future.set_result(result)


def _pass_on(sending: asyncio.Task[None], call: OpenCall) -> None:
    """Let a call fail with what broke its body."""
    if not sending.cancelled() and (error := sending.exception()) is not None:
        call.fail("body", error)


async def _stop(sending: asyncio.Task[None]) -> None:
    sending.cancel()
    await asyncio.wait([sending])


async def _then_stop(chunks: AsyncGenerator[bytes], sending: asyncio.Task[None]) -> AsyncGenerator[bytes]:
    """Give the chunks of an answer; its request's body is sent no longer than that."""
    try:
        async with contextlib.aclosing(chunks):
            async for chunk in chunks:
                yield chunk
    finally:
        await _stop(sending)


async def _pieces(data: bytes) -> AsyncIterator[bytes]:
    yield data


def _announced(request: Request, size: int) -> Request:
    return msgspec.structs.replace(request, stream=Stream("", size))
