"""Send requests to worker pools and await their replies: the edge's side of a request.

    request --------> one member of the queue group         reply subject: a token of this process's inbox
    reply <---------- Response, or 503 by NATS itself        no member subscribes: Unavailable at once
    cancel ---------> all members of the pool                deadline passed, client gone, body broken
    roll call <-----> all members of the pool                only for calls older than a tick (`broker/requests/pool_tracker.py`)

Requests are delivered at most once: a write without an `Idempotency-Key` is handed to a worker once and never again.
A call fails with

- `Unavailable` (503) when this edge already waits for too many replies of the pool (`max_in_flight`, shared between
  callers as `broker/requests/fair_queue.py` describes), or when the request reached no worker because the pool lacks
  members or the broker is not connected. Nothing was done and the client may repeat the request. Before it fails the
  request waits up to `HOLD_S` for a worker or the broker to come back, and is sent then.
- `OutcomeUnknown` (504) when a worker took it and the reply will not come: the worker is gone or silent, or the
  connection to the broker broke. A read is sent a second time instead, because it changes nothing. Only pools in
  `subjects.READS_REPEAT` have such reads: `GET /auth/v1/verify` uses up a code. A write with an `Idempotency-Key` is
  sent a second time as well (`repeats_keyed`, pools in `subjects.KEYED_WRITES_REPEAT`): the worker's record of the
  key says whether it was carried out.
- `DeadlineExceeded` (504) when its time budget is over.

A read that was sent before the oldest present member appeared is sent again as soon as the earlier members are known
to be gone. A write waits for the roll call, which finds out which member took it. A request that a member did not
start because it is overloaded, or could not begin because it does not reach its database (`Response.rejected_by`), is sent
to another member, once. While a member is silent,
requests are addressed to the others by name: NATS would go on handing every second one to it.

Hot path: a call needs no task, no timer and no subscription of its own; it costs an entry in two dictionaries, and a
future where a coroutine waits for it. Caller, server and worker together take 27 us of CPU for a small request with 32 at a time
(tests/bench/broker_hop.py).
"""

import asyncio
import contextlib
import random
from collections.abc import AsyncGenerator, AsyncIterator, Callable

import msgspec

from broker import subjects
from broker.backoff import Backoff
from broker.codec import InvalidMessage, decode_response, encode
from broker.nats.connection import NatsConnection
from broker.observability.observations import RequestFailed
from broker.observability.observe import observe
from broker.observability.tracing import STATE, Tracing
from broker.requests import body as bodies
from broker.requests.fair_queue import PLATFORM, may_take
from broker.requests.open_calls import OpenCall, PoolCalls, RequestUndelivered
from broker.requests.pool_tracker import PoolTracker
from broker.subjects import Subject
from schemas.errors import ApiError, OutcomeUnknown, Unavailable
from schemas.http import INLINE_LIMIT, BodyStream, Request, Response, header

HOLD_S = 1.0
"""How long a request that reached no worker waits for one, or for the broker, to come back."""
_FIRST_PAUSE_S = 0.05
"""After this a request that reached no worker is sent again, whether or not a member announced itself; then ever later."""
_GIVE_UP_HOLDING_S = 3.0
"""Requests for a pool that has had no worker for so long fail at once."""

_READS = frozenset({"GET", "HEAD"})
_KEYED = frozenset({"POST", "PUT", "PATCH", "DELETE"})
"""Methods whose `Idempotency-Key` the workers obey."""


class PoolReply:
    """The reply to a call. `chunks` is set when the body follows: read it to its end, or `close` the reply."""

    __slots__ = ("at_close", "chunks", "response")

    def __init__(
        self, response: Response, chunks: AsyncGenerator[bytes] | None = None, *at_close: Callable[[], object]
    ) -> None:
        self.response = response
        self.chunks = chunks
        self.at_close = at_close

    async def close(self) -> None:
        """Stop reading: the sender of a body that has not ended receives an abort."""
        if self.chunks is not None:
            await self.chunks.aclose()
            for step in self.at_close:  # closing a generator that was never started runs none of its code
                step()


class Calls:
    """Sends requests to the pools, one object for each connection; `max_in_flight` bounds the calls that wait for one
    pool.

    `repeats_keyed`: the workers obey `Idempotency-Key`, so that writes which carry one may be sent again.
    """

    def __init__(
        self, connection: NatsConnection, *, max_in_flight: int = 1024, repeats_keyed: bool = False
    ) -> None:
        self._connection = connection
        self._repeats_keyed = repeats_keyed
        self._max_in_flight = max_in_flight
        self._loop = asyncio.get_running_loop()
        self._tracker = PoolTracker(connection)

    async def call(
        self, subject: Subject, request: Request, *, body: AsyncIterator[bytes] | None = None
    ) -> PoolReply:
        """Send a request to the pool of a subject and return the reply; `body` is sent as chunks when the pool reads
        it.

        The size of a body, where it is known, is taken from `request.stream`. Cancelling the caller cancels the work.
        Raises: Unavailable, DeadlineExceeded; what `body` raises.
        """
        if STATE.tracing is not None and request.trace is None:
            return await self._traced(STATE.tracing, subject, request, body)
        if len(request.body) > INLINE_LIMIT:
            body, request = _pieces(request.body), _with_stream(request, len(request.body))
        pool = self._tracker.pool(subject.pool)
        self._check_room(pool, request)
        if body is not None:
            return await self._call_with_body(subject, pool, request, body)
        return await self._reply_to(subject, pool, request)

    def begin(
        self, subject: Subject, request: Request, on_settled: Callable[[OpenCall], None]
    ) -> OpenCall | None:
        """Send a request whose body is part of the message, without a task or a future that waits for the reply.

        `on_settled` is called when the reply is here or will not come. Then `quick_response` returns the response, or
        None: whoever sent the request then awaits `finish`, or calls `give_up`. Return None, and send nothing, where
        `call` is needed from the beginning: the request could not be sent now, or it is traced.
        """
        pool = self._tracker.pool(subject.pool)
        if STATE.tracing is not None or len(request.body) > INLINE_LIMIT:
            return None
        try:
            self._check_room(pool, request)
            is_repeatable = _is_repeatable(subject, request, None)
            return self._publish(subject, pool, request, on_settled, is_repeatable=is_repeatable)
        except ApiError:
            return None

    def quick_response(self, call: OpenCall) -> Response | None:
        """Return the response to a settled call, if it is whole and final, and close the call; else None."""
        if call.error is not None:
            return None
        try:
            response = decode_response(call.payload)
        except InvalidMessage:
            return None
        if response.stream is not None or response.rejected_by:
            return None
        self._close(call)
        return response

    async def finish(self, subject: Subject, request: Request, call: OpenCall) -> PoolReply:
        """Do what `call` does, for a request that `begin` has sent. Raises: as `call`."""
        return await self._reply_to(subject, call.pool, request, call)

    def give_up(self, call: OpenCall) -> None:
        """Cancel a call of `begin`: its client is gone."""
        call.is_settled = True
        call.why = call.why or "cancelled"
        self._close(call)

    async def _reply_to(
        self, subject: Subject, pool: PoolCalls, request: Request, sent: OpenCall | None = None
    ) -> PoolReply:
        """Return the reply to a request without a streamed body; a member that is overloaded is passed by once."""
        sent_at = sent.sent_at if sent else self._loop.time()
        reply = self._reply(await self._deliver(subject, request, None, sent))
        if reply.response.rejected_by:
            return await self._send_elsewhere(subject, pool, request, reply, sent_at)
        return reply

    def _check_room(self, pool: PoolCalls, request: Request) -> None:
        """Reject a call that is one too many for this edge, or for the caller's share. Raises: RequestUndelivered."""
        free = self._max_in_flight - len(pool.calls) - pool.held
        if free <= 0:
            observe(RequestFailed(pool.name, request.id, "full"))
            raise RequestUndelivered(f"too many requests wait for the {pool.name} workers")
        key = request.caller_key
        if key != PLATFORM and not may_take(pool.by_caller.get(key, 0), free):
            observe(RequestFailed(pool.name, request.id, "share"))
            raise RequestUndelivered(f"too many requests of yours wait for the {pool.name} workers")

    async def _send_elsewhere(
        self, subject: Subject, pool: PoolCalls, request: Request, rejected: PoolReply, sent_at: float
    ) -> PoolReply:
        """Send a request that a member did not start to another one; return the first reply where no other answers."""
        now = self._loop.time()
        others = pool.others(rejected.response.rejected_by, now)
        left_ms = request.budget_ms - int((now - sent_at) * 1000)
        if not others or left_ms <= 0:
            return rejected
        request = msgspec.structs.replace(request, budget_ms=left_ms)
        try:
            return self._reply(await self._send(subject, pool, request, None, member=random.choice(others)))
        except RequestUndelivered:
            return rejected

    async def _traced(
        self, tracing: Tracing, subject: Subject, request: Request, body: AsyncIterator[bytes] | None
    ) -> PoolReply:
        """Call inside a span and send the span's headers along. A health check does not start a trace of its own."""
        attributes = {"messaging.system": "nats", "messaging.destination.name": subject.name}
        may_begin = subject != subjects.health(subject.pool.removeprefix("health."))
        with tracing.client_span(f"ask {subject.pool}", attributes, may_begin=may_begin) as span:
            traced = msgspec.structs.replace(request, trace=tracing.headers())
            reply = await self.call(subject, traced, body=body)
            span.answered(reply.response.status)
            return reply

    def wake(self, subject: Subject) -> None:
        """Publish an empty message on a subject; it gets no reply, and is lost without a subscriber."""
        self._connection.try_publish(subject.name, b"")

    async def is_heard(self, subject: Subject, seconds: float = 1.0) -> bool:
        """Return whether a subscriber of a subject answers an empty message within that time."""
        answered: asyncio.Future[bool] = self._loop.create_future()
        reply = self._connection.inbox.open(lambda message: _settle(answered, message.status == 0))
        try:
            self._connection.try_publish(subject.name, b"", reply)
            async with asyncio.timeout(seconds):
                return await answered
        except TimeoutError:
            return False
        finally:
            self._connection.inbox.close(reply)

    async def _deliver(
        self,
        subject: Subject,
        request: Request,
        sending: "asyncio.Task[None] | None" = None,
        sent: OpenCall | None = None,
    ) -> bytes:
        """Send a request and return its reply; send it again where that cannot do anything twice.

        A request that reached no worker waits for one (`_send_held`). One that a worker took is sent again at most
        once. `sent` is the call of a request that was sent already.
        """
        until = (sent.sent_at if sent else self._loop.time()) + request.budget_ms / 1000
        is_read = _is_repeatable(subject, request, sending)
        try:
            return await self._send_held(subject, request, sending, until, sent)
        except OutcomeUnknown:
            if not is_read and (sending is not None or not self._is_keyed(subject, request)):
                raise
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(HOLD_S):
                    await self._connection.connected()
        try:
            return await self._send_held(subject, request, sending, until)
        except RequestUndelivered as error:  # the second time; the first worker may have carried it out
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
        self,
        subject: Subject,
        request: Request,
        sending: "asyncio.Task[None] | None",
        until: float,
        sent: OpenCall | None = None,
    ) -> bytes:
        """Send a request; while it reaches no worker, wait for one and send it again, for `HOLD_S` at most.

        A worker announces itself before it subscribes, so the first request after its announcement may come too early.
        Therefore the waits are short and each is followed by another attempt. Raises: as `_send`.
        """
        give_up_at, backoff = 0.0, Backoff(_FIRST_PAUSE_S, HOLD_S, jitter=0.0)
        while True:
            pool = self._tracker.pool(subject.pool)
            try:
                if sent is not None:
                    return await self._payload(sent)
                return await self._send(subject, pool, request, sending)
            except RequestUndelivered:
                sent = None
                if not self._connection.is_connected:
                    give_up_at = (
                        0.0  # first the broker returns; then a worker, which lost it too, gets as long again
                    )
                give_up_at = give_up_at or self._loop.time() + HOLD_S
                if not await self._hold(pool, min(backoff.next_s(), give_up_at - self._loop.time())):
                    raise
            left = max(1, int((until - self._loop.time()) * 1000))
            request = msgspec.structs.replace(request, budget_ms=left)

    async def _hold(self, pool: PoolCalls, seconds: float) -> bool:
        """Wait for the broker, or for a worker of a pool that had one recently; return whether to send again."""
        now = self._loop.time()
        if seconds <= 0:
            return False
        if not self._connection.is_connected:
            awaited, seconds = self._connection.connected(), HOLD_S
        elif pool.is_known:
            if pool.missing_since is None:
                pool.missing_since = now
                self._tracker.check_members(pool)
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
        """Publish a request once, to a member if one is named, and return the payload of the reply.

        Raises: RequestUndelivered, OutcomeUnknown, DeadlineExceeded; what broke the request's body.
        """
        is_repeatable = _is_repeatable(subject, request, sending)
        call = self._publish(subject, pool, request, _ignore, is_repeatable=is_repeatable, member=member)
        if sending is not None:
            sending.add_done_callback(lambda done: _fail_with_body(done, call))
        return await self._payload(call)

    def _publish(
        self,
        subject: Subject,
        pool: PoolCalls,
        request: Request,
        on_settled: Callable[[OpenCall], None],
        *,
        is_repeatable: bool,
        member: str = "",
    ) -> OpenCall:
        """Publish a request once and return its open call. Raises: RequestUndelivered; ApiError if it cannot be sent."""
        call = OpenCall(request, pool, self._loop.time(), on_settled)
        call.is_repeatable = is_repeatable
        call.reply = self._connection.inbox.open(call.take)
        is_alone = not pool.calls
        pool.add(call)
        self._tracker.watch_calls()
        try:
            target = subjects.member(member) if member else pool.target(subject.name)
            self._connection.publish(target, encode(request), call.reply, at_once=is_alone)
        except ApiError as error:
            call.why = "not sent"
            self._close(call)
            raise RequestUndelivered(str(error)) if isinstance(error, Unavailable) else error from None
        except BaseException:
            self._close(call)
            raise
        return call

    async def _payload(self, call: OpenCall) -> bytes:
        """Wait until a call is settled, close it, and return the payload of its reply. Raises: the error it failed with."""
        try:
            if not call.is_settled:
                settled: asyncio.Future[None] = self._loop.create_future()
                call.on_settled = lambda _: None if settled.done() else settled.set_result(None)
                await settled
            if call.error is not None:
                raise call.error
            return call.payload
        except asyncio.CancelledError:
            call.why = call.why or "cancelled"
            raise
        finally:
            self._close(call)

    async def _call_with_body(
        self, subject: Subject, pool: PoolCalls, request: Request, body: AsyncIterator[bytes]
    ) -> PoolReply:
        sender = bodies.BodySender(self._connection)
        size = request.stream.size if request.stream else -1
        request = msgspec.structs.replace(request, body=b"", stream=BodyStream(sender.subject, size))
        sending = self._loop.create_task(sender.send(body))
        try:
            reply = self._reply(await self._deliver(subject, request, sending))
        except BaseException:
            await _stop(sending)
            raise
        if reply.chunks is None:
            await _stop(sending)
        else:
            reply.chunks = _read_then_stop(reply.chunks, sending)
            reply.at_close = (*reply.at_close, sending.cancel)
        return reply

    def _reply(self, payload: bytes) -> PoolReply:
        try:
            response = decode_response(payload)
        except InvalidMessage as error:
            raise Unavailable(
                f"a worker answered in a form that is not understood ({error.expected})"
            ) from None
        if (stream := response.stream) is None:
            return PoolReply(response)
        connection = self._connection
        return PoolReply(
            response, bodies.receive_body(connection, stream), lambda: bodies.reject_body(connection, stream)
        )

    def _close(self, call: OpenCall) -> None:
        """Forget a call; cancel it at its worker if it ends without a reply. A closed call stays closed."""
        self._connection.inbox.close(call.reply)
        call.pool.remove(call)
        call.on_settled = (
            _ignore  # it may lead back to the call: a circle would wait for the garbage collector
        )
        if call.why:
            self._connection.try_publish(subjects.cancel(call.pool.name), call.reply.encode())
            observe(RequestFailed(call.pool.name, call.id, call.why))


def _ignore(call: OpenCall) -> None:
    """Do nothing: whoever waits for the call looks at it."""
    del call


async def _until(event: asyncio.Event) -> None:
    await event.wait()


def _is_repeatable(subject: Subject, request: Request, sending: "asyncio.Task[None] | None") -> bool:
    """Return whether a request may be sent again when its answer is lost, because it changes nothing."""
    return request.method in _READS and subject.pool in subjects.READS_REPEAT and sending is None


def _settle(future: asyncio.Future[bool], result: bool) -> None:
    if not future.done():
        future.set_result(result)


def _fail_with_body(sending: asyncio.Task[None], call: OpenCall) -> None:
    """Fail a call with the exception that broke its request body."""
    if not sending.cancelled() and (error := sending.exception()) is not None:
        call.fail("body", error)


async def _stop(sending: asyncio.Task[None]) -> None:
    sending.cancel()
    await asyncio.wait([sending])


async def _read_then_stop(
    chunks: AsyncGenerator[bytes], sending: asyncio.Task[None]
) -> AsyncGenerator[bytes]:
    """Yield the chunks of a reply, and stop sending the request's body when they end or the reader stops."""
    try:
        async with contextlib.aclosing(chunks):
            async for chunk in chunks:
                yield chunk
    finally:
        await _stop(sending)


async def _pieces(data: bytes) -> AsyncIterator[bytes]:
    yield data


def _with_stream(request: Request, size: int) -> Request:
    return msgspec.structs.replace(request, stream=BodyStream("", size))
