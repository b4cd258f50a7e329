"""Hand a request to a member of a pool, once or again where that can do nothing twice, and await the reply.

Requests are delivered at most once: a write without an `Idempotency-Key` is handed to a worker once and never again.
A delivery fails with

- `RequestUndelivered` (503) when the request reached no worker because the pool lacks members or the broker is not
  connected. Nothing was done and the client may repeat the request. Before it fails the request waits up to `HOLD_S` for a
  worker or the broker to come back, and is sent then.
- `OutcomeUnknown` (504) when a worker took it and the reply will not come: the worker is gone or silent, or the
  connection to the broker broke. A read is sent a second time instead, because it changes nothing. Only pools in
  `subjects.READS_REPEAT` have such reads: `GET /auth/v1/verify` uses up a code. A write with an `Idempotency-Key` is
  sent a second time as well (`repeats_keyed`, pools in `subjects.KEYED_WRITES_REPEAT`): the worker's record of the
  key says whether it was carried out.
- `DeadlineExceeded` (504) when its time budget is over.

A read that was sent before the oldest present member appeared is sent again as soon as the earlier members are known
to be gone. A write waits for the roll call, which finds out which member took it (`broker/requests/pool_tracker.py`). While a
member is silent, requests are addressed to the others by name: NATS would go on handing every second one to it.
"""

import asyncio
import contextlib
from collections.abc import Callable

import msgspec

from broker import subjects
from broker.backoff import Backoff
from broker.codec import encode
from broker.nats.connection import NatsConnection
from broker.observability.observations import RequestFailed
from broker.observability.observe import observe
from broker.requests.open_calls import OpenCall, PoolCalls, RequestUndelivered
from broker.requests.pool_tracker import PoolTracker
from broker.subjects import Subject
from schemas.errors import ApiError, OutcomeUnknown, Unavailable
from schemas.http import Request, header

HOLD_S = 1.0
"""How long a request that reached no worker waits for one, or for the broker, to come back."""
_FIRST_PAUSE_S = 0.05
"""After this a request that reached no worker is sent again, whether or not a member announced itself; then ever later."""
_GIVE_UP_HOLDING_S = 3.0
"""Requests for a pool that has had no worker for so long fail at once."""

_READS = frozenset({"GET", "HEAD"})
_KEYED = frozenset({"POST", "PUT", "PATCH", "DELETE"})
"""Methods whose `Idempotency-Key` the workers obey."""


class RequestDelivery:
    """Sends the requests of one connection. `repeats_keyed`: the workers obey `Idempotency-Key`."""

    def __init__(self, connection: NatsConnection, tracker: PoolTracker, repeats_keyed: bool) -> None:
        self._connection = connection
        self._repeats_keyed = repeats_keyed
        self._loop = asyncio.get_running_loop()
        self._tracker = tracker

    async def deliver(
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
        is_read = changes_nothing(subject, request, sending)
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
        Therefore the waits are short and each is followed by another attempt. Raises: as `send`.
        """
        give_up_at, backoff = 0.0, Backoff(_FIRST_PAUSE_S, HOLD_S, jitter=0.0)
        while True:
            pool = self._tracker.pool(subject.pool)
            try:
                if sent is not None:
                    return await self._payload(sent)
                return await self.send(subject, pool, request, sending)
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

    async def send(
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
        is_repeatable = changes_nothing(subject, request, sending)
        call = self.publish(subject, pool, request, _ignore, is_repeatable=is_repeatable, member=member)
        if sending is not None:
            sending.add_done_callback(lambda done: _fail_with_body(done, call))
        return await self._payload(call)

    def publish(
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
        now, budget_ms = self._loop.time(), request.budget_ms
        call = OpenCall(
            request.id,
            request.caller_key,
            pool,
            budget_ms,
            now,
            now + budget_ms / 1000,
            on_settled,
            is_repeatable,
        )
        call.reply = self._connection.inbox.open(call.take)
        is_alone = not pool.calls
        pool.add(call)
        self._tracker.watch_calls()
        try:
            target = subjects.member(member) if member else pool.target(subject.name)
            self._connection.publish(target, encode(request), call.reply, at_once=is_alone)
        except ApiError as error:
            call.why = "not sent"
            self.close(call)
            raise RequestUndelivered(str(error)) if isinstance(error, Unavailable) else error from None
        except BaseException:
            self.close(call)
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
            self.close(call)

    def close(self, call: OpenCall) -> None:
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


def changes_nothing(subject: Subject, request: Request, sending: "asyncio.Task[None] | None") -> bool:
    """Return whether a request may be sent again when its answer is lost, because it changes nothing."""
    return request.method in _READS and subject.pool in subjects.READS_REPEAT and sending is None


def _fail_with_body(sending: asyncio.Task[None], call: OpenCall) -> None:
    """Fail a call with the exception that broke its request body."""
    if not sending.cancelled() and (error := sending.exception()) is not None:
        call.fail("body", error)
