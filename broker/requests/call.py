"""Send requests to worker pools and await their replies: the edge's side of a request.

    request --------> one member of the queue group         reply subject: a token of this process's inbox
    reply <---------- Response, or 503 by NATS itself        no member subscribes: Unavailable at once
    cancel ---------> all members of the pool                deadline passed, client gone, body broken
    roll call <-----> all members of the pool                only for calls older than a tick (`broker/requests/pool_tracker.py`)

How often a request is sent, and what a delivery fails with, stands in `broker/requests/delivery.py`. Before that a call is
rejected with `Unavailable` (503) when this edge already waits for too many replies of the pool (`max_in_flight`, shared between
callers as `broker/requests/fair_queue.py` describes). A request that a member did not start because it is overloaded, or could not
begin because it does not reach its database (`Response.rejected_by`), is sent to another member, once.

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
from broker.codec import InvalidMessage, decode_response
from broker.nats.connection import NatsConnection
from broker.observability.observations import RequestFailed
from broker.observability.observe import observe
from broker.observability.spans import Tracing
from broker.observability.tracing import STATE
from broker.requests import body as bodies
from broker.requests.delivery import RequestDelivery, changes_nothing
from broker.requests.fair_queue import PLATFORM, may_take
from broker.requests.open_calls import OpenCall, PoolCalls, RequestUndelivered
from broker.requests.pool_tracker import PoolTracker
from broker.subjects import Subject
from schemas.errors import ApiError, Unavailable
from schemas.http import INLINE_LIMIT, BodyStream, Request, Response


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
        self._max_in_flight = max_in_flight
        self._loop = asyncio.get_running_loop()
        self._tracker = PoolTracker(connection)
        self._delivery = RequestDelivery(connection, self._tracker, repeats_keyed)

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
            is_repeatable = changes_nothing(subject, request, None)
            return self._delivery.publish(subject, pool, request, on_settled, is_repeatable=is_repeatable)
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
        self._delivery.close(call)
        return response

    async def finish(self, subject: Subject, request: Request, call: OpenCall) -> PoolReply:
        """Do what `call` does, for a request that `begin` has sent. Raises: as `call`."""
        return await self._reply_to(subject, call.pool, request, call)

    def give_up(self, call: OpenCall) -> None:
        """Cancel a call of `begin`: its client is gone."""
        call.is_settled = True
        call.why = call.why or "cancelled"
        self._delivery.close(call)

    async def _reply_to(
        self, subject: Subject, pool: PoolCalls, request: Request, sent: OpenCall | None = None
    ) -> PoolReply:
        """Return the reply to a request without a streamed body; a member that is overloaded is passed by once."""
        sent_at = sent.sent_at if sent else self._loop.time()
        reply = self._reply(await self._delivery.deliver(subject, request, None, sent))
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
            return self._reply(
                await self._delivery.send(subject, pool, request, None, member=random.choice(others))
            )
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

    async def _call_with_body(
        self, subject: Subject, pool: PoolCalls, request: Request, body: AsyncIterator[bytes]
    ) -> PoolReply:
        sender = bodies.BodySender(self._connection)
        size = request.stream.size if request.stream else -1
        request = msgspec.structs.replace(request, body=b"", stream=BodyStream(sender.subject, size))
        sending = self._loop.create_task(sender.send(body))
        try:
            reply = self._reply(await self._delivery.deliver(subject, request, sending))
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


def _settle(future: asyncio.Future[bool], result: bool) -> None:
    if not future.done():
        future.set_result(result)


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
