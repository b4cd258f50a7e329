"""Answer requests as one member of a pool: the worker's side of a request.

- At most `concurrency` handlers run; `queue` further requests wait, for `longest_wait` at most. Both are shared fairly between
  callers (`broker/requests/fair_queue.py`, by `Request.caller_key`). A request that cannot wait, or would wait in vain, is answered with
  503 and `Retry-After`, unbegun; `Response.refused_by` lets the edge send it to another member (`broker/requests/call.py`).
- A request whose budget is over while it waits is dropped without work: its edge has given up. One that is at work
  is cancelled then, and so is one whose door says so (`cancel.<pool>`) and everything when the broker is lost: nobody
  hears the answer, and the database rolls back.
- `ApiError` becomes its own response here and nowhere else; any other exception is a 500 that shows its request id.
- A body longer than `INLINE_LIMIT` leaves as chunks (`broker/requests/body.py`), with the handler's place until it is sent.
- The member announces itself to edges before it listens for requests, reports which requests it holds when asked,
  and listens on a subject of its own: NATS answers edges when nobody does any more (`broker/requests/roll_call.py`), and while another
  member is silent, edges send requests there.
"""

import asyncio
import contextlib
import math
import secrets
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine
from dataclasses import dataclass, field

import msgspec

from broker import subjects
from broker.codec import Undecodable, decode_request, decoder, encode
from broker.nats.connection import Connection, Subscription
from broker.nats.protocol import Message, MessageTooLong
from broker.observability.observations import HandlerFailed, RequestAnswered, RequestCancelled, RequestRefused
from broker.observability.observe import gauge, observe, observe_wait, traceback_of
from broker.observability.tracing import STATE, Tracing
from broker.requests import body as bodies
from broker.requests.current_request import CURRENT
from broker.requests.failure_reasons import failure_words
from broker.requests.fair_queue import PLATFORM, FairQueue, QueueFull, WaitingRequest
from broker.requests.roll_call import LEAVING, Holding, Question
from broker.subjects import Subject
from schemas.errors import ApiError, Unavailable
from schemas.http import INLINE_LIMIT, Headers, Request, Response, Stream

_SWEEP_S = 0.25
LONGEST_WAIT_S = 10.0
"""How long a request waits to be begun, unless the settings say otherwise."""
_WHY = {
    "full": "the {pool} workers have too much to do",
    "share": "too many requests of yours wait for the {pool} workers",
    "late": "the {pool} workers could not begin this request in time: too many of yours are before it",
    "waited": "the {pool} workers did not begin this request in time",
}
"""What a client is told of a request that was not begun."""
_JSON = [("content-type", "application/json; charset=utf-8")]

_ANSWERED = Request("", "", "")
_decode_question = decoder(Question)


class BodyTooLarge(ApiError):
    """The body of a request is longer than its reader allows."""

    status = 413

    def __init__(self, limit: int) -> None:
        super().__init__(f"the body is longer than {limit} bytes")
        self.limit = limit


class RequestBody:
    """The body of a request, inline or following as chunks. It can be read once when it is streamed."""

    __slots__ = ("_connection", "_request")

    def __init__(self, connection: Connection, request: Request) -> None:
        self._connection = connection
        self._request = request

    @property
    def size(self) -> int:
        """Bytes of the body; -1 when it is streamed and nobody has said."""
        stream = self._request.stream
        return len(self._request.body) if stream is None else stream.size

    async def read(self, limit: int) -> bytes:
        """Give the whole body. Raises: BodyTooLarge beyond `limit` bytes; BodyBroken."""
        if self.size > limit:
            raise BodyTooLarge(limit)
        if self._request.stream is None:
            return self._request.body
        pieces, size = [], 0
        async with contextlib.aclosing(bodies.receive(self._connection, self._request.stream)) as chunks:
            async for chunk in chunks:
                size += len(chunk)
                if size > limit:
                    raise BodyTooLarge(limit)
                pieces.append(chunk)
        return b"".join(pieces)

    async def __aiter__(self) -> AsyncIterator[bytes]:
        """Give the body piece by piece. Raises: BodyBroken."""
        if self._request.stream is None:
            if self._request.body:
                yield self._request.body
            return
        async with contextlib.aclosing(bodies.receive(self._connection, self._request.stream)) as chunks:
            async for chunk in chunks:
                yield chunk


@dataclass(frozen=True, slots=True)
class Streamed:
    """An answer whose body is sent as it is made. `size` is its bytes where known."""

    status: int
    headers: Headers
    chunks: AsyncIterator[bytes]
    reason: str = ""
    size: int = -1


Handler = Callable[[Request, RequestBody], Awaitable[Response | Streamed]]


@dataclass(slots=True, eq=False)
class _Held:
    """A request this member has taken: waiting, or at work when it has a task."""

    request: Request
    reply: str
    since: float
    deadline: float
    caller_key: str = PLATFORM
    """Whose places it takes; the platform's when it has been answered (`broker/requests/current_request.py`)."""
    task: asyncio.Task[None] | None = field(default=None)
    why: str = ""
    is_begun: bool = False
    failure: str = ""
    """Why it was answered with a status of 500 or more, for the log."""
    begun_at: float = 0.0
    entry: WaitingRequest["_Held"] | None = None
    """Its place in the queue."""


async def serve(
    connection: Connection,
    subject: Subject,
    handler: Handler,
    *,
    concurrency: int,
    queue: int,
    longest_wait: float = LONGEST_WAIT_S,
) -> "Serving":
    """Answer the requests of a subject with `handler` until drained. Returns when the first one can arrive.

    Raises: Unavailable if the broker is away.
    """
    serving = Serving(connection, subject, handler, concurrency, queue, longest_wait)
    await connection.flush()
    return serving


class Serving:
    """One member of a pool at work. Made by `serve`; `drain` or `stop` ends it."""

    def __init__(
        self,
        connection: Connection,
        subject: Subject,
        handler: Handler,
        concurrency: int,
        queue: int,
        longest_wait: float = LONGEST_WAIT_S,
    ) -> None:
        self.member = f"{subject.pool}-{secrets.token_hex(6)}"
        self.pool = subject.pool
        self._connection = connection
        self._handler = handler
        self._queue: FairQueue[_Held] = FairQueue(concurrency, queue)
        self._longest_wait = longest_wait
        self._loop = asyncio.get_running_loop()
        self._held: dict[str, _Held] = {}
        self._is_idle = asyncio.Event()
        self._is_idle.set()
        self._sweeping: asyncio.TimerHandle | None = None
        connection.on_lost.append(self._give_up_all)
        connection.on_back.append(self._announce)
        self._announce()
        self._answering = [
            connection.subscribe(subjects.member(self.member), self._take_by_name),
            connection.subscribe(subjects.probe(self.pool), self._say_what_is_held),
            connection.subscribe(subjects.cancel(self.pool), self._hear_cancel),
        ]
        self._taking: Subscription | None = connection.subscribe(subject.name, self._take, self.pool)
        self._gauges = [
            gauge("headwater_pool_working", "Requests at work.", lambda: self._queue.used, pool=self.pool),
            gauge(
                "headwater_pool_waiting",
                "Requests that wait for work.",
                lambda: self._queue.waiting,
                pool=self.pool,
            ),
        ]

    async def drain(self, timeout: float) -> bool:
        """Take nothing more, finish what is begun; give False if some of it had to be cancelled."""
        if self._taking is not None:
            self._connection.remove(self._taking)
            self._taking = None
            self._connection.tell(
                subjects.alive(self.pool), encode(Holding(self.pool, self.member, LEAVING, []))
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
        """Take nothing more and cancel what is begun."""
        for subscription in (*self._answering, *([self._taking] if self._taking else [])):
            self._connection.remove(subscription)
        self._answering, self._taking = [], None
        for told, hooks in (
            (self._give_up_all, self._connection.on_lost),
            (self._announce, self._connection.on_back),
        ):
            if told in hooks:
                hooks.remove(told)
        self._give_up_all()
        await self._is_idle.wait()
        if self._sweeping is not None:
            self._sweeping.cancel()
        for remove in self._gauges:
            remove()

    # Taking

    def _take_by_name(self, message: Message) -> None:
        """Take a request that was sent to this member because another one is silent. An empty message asks who is there."""
        if not message.payload:
            return
        if self._taking is None:
            self._reply(message.reply, Unavailable(f"this {self.pool} worker is about to stop").response())
            return
        self._take(message)

    def _take(self, message: Message) -> None:
        if not message.reply:
            return
        try:
            request = decode_request(message.payload)
        except Undecodable as error:
            observe(HandlerFailed(self.pool, "", str(error), ""))
            self._reply(message.reply, _internal_error(""))
            return
        now = self._loop.time()
        key = request.caller_key
        held = _Held(request, message.reply, now, now + request.budget_ms / 1000, key)
        if self._queue.take(key, now):
            self._held[held.reply] = held
            self._begin(held, now, is_first=True)
            return
        try:
            held.entry = self._queue.wait(
                key, held, now, longest_s=self._longest_wait, deadline=held.deadline
            )
        except QueueFull as full:
            self._refuse(held, full)
        else:
            self._held[held.reply] = held
            if self._sweeping is None:
                self._watch()

    def _refuse(self, held: _Held, full: QueueFull) -> None:
        """Answer a request that is not begun: another member may take it, or the client may repeat it."""
        observe(RequestRefused(self.pool, held.request.id, full.reason))
        error = Unavailable(_WHY[full.reason].format(pool=self.pool), full.retry_after_s)
        self._reply(held.reply, msgspec.structs.replace(error.response(), refused_by=self.member))

    def _begin(self, held: _Held, now: float, *, is_first: bool) -> None:
        held.begun_at = now
        self._is_idle.clear()
        if self._sweeping is None:
            self._watch()
        # One that comes from the queue is begun by the end of another: in the next turn, or they would pile up.
        held.task = (_start_now if is_first else _start_next)(self._work(held), self._loop)

    def _watch(self) -> None:
        """Look through what is held from time to time."""
        self._sweeping = self._loop.call_later(_SWEEP_S, self._sweep)

    def _next(self, done: _Held) -> None:
        """Give back the place of a request, and begin those that may have one now."""
        now = self._loop.time()
        self._queue.release(done.request.caller_key, done.begun_at, now)
        while self._queue.waiting and (entry := self._queue.next(now)) is not None:
            held = entry.item
            if held.deadline <= now:
                self._queue.release(entry.key, now, now)
                self._held.pop(held.reply, None)
                observe(RequestCancelled(self.pool, held.request.id, "deadline"))
            else:
                observe_wait(self.pool, now - held.since)
                self._begin(held, now, is_first=False)
        if self._queue.used == 0:
            self._is_idle.set()

    # Working

    async def _work(self, held: _Held) -> None:
        held.is_begun = True
        CURRENT.set(held)
        try:
            if held.why:
                raise asyncio.CancelledError
            if STATE.tracing is None or not held.request.trace:
                status = await self._answer(held)
            else:
                status = await self._traced(STATE.tracing, held, held.request.trace)
            now = self._loop.time()
            observe(RequestAnswered(self.pool, held.request.id, status, now - held.since, held.failure))
        except asyncio.CancelledError:
            observe(RequestCancelled(self.pool, held.request.id, held.why))
            if not held.why:  # the loop itself is being closed
                raise
        finally:
            self._held.pop(held.reply, None)
            held.caller_key, held.deadline = PLATFORM, math.inf
            self._next(held)
            held.request = _ANSWERED  # a task that goes on keeps `held`, but not the body of its request

    async def _traced(self, tracing: Tracing, held: _Held, trace: Headers) -> int:
        request = held.request
        noted = {"http.request.method": request.method, "headwater.request_id": request.id}
        with tracing.serve(f"answer {self.pool}", trace, noted) as span:
            status = await self._answer(held)
            span.answered(status)
            return status

    async def _answer(self, held: _Held) -> int:
        request = held.request
        try:
            response = await self._handler(request, RequestBody(self._connection, request))
        except ApiError as error:
            response = error.response()
        except Exception as error:  # the rim of a served message
            observe(HandlerFailed(self.pool, request.id, repr(error), traceback_of(error)))
            response = _internal_error(request.id)
        if isinstance(response, Response):
            if response.status >= 500:
                held.failure = failure_words(response.status, response.body)
            if len(response.body) <= INLINE_LIMIT:
                self._reply(held.reply, response)
                return response.status
            response = _in_pieces(response)
        await self._send(held.reply, request.id, response)
        return response.status

    async def _send(self, reply: str, id: str, answer: Streamed) -> None:
        sender = bodies.Sender(self._connection)
        stream = Stream(sender.subject, answer.size)
        self._reply(reply, Response(answer.status, answer.headers, b"", answer.reason, stream))
        try:
            await sender.send(answer.chunks)
        except bodies.BodyBroken:
            pass  # observed where it broke; the door knows as well
        except Exception as error:  # the rim of a served message: the source of a body is the handler's
            observe(HandlerFailed(self.pool, id, repr(error), traceback_of(error)))

    def _reply(self, reply: str, response: Response) -> None:
        try:
            self._connection.tell(reply, encode(response))
        except (MessageTooLong, TypeError, ValueError) as error:  # a handler's answer that cannot be written
            observe(HandlerFailed(self.pool, "", repr(error), ""))
            self._connection.tell(reply, encode(_internal_error("")))

    # Giving up

    def _hear_cancel(self, message: Message) -> None:
        held = self._held.get(message.payload.decode("ascii", "replace"))
        if held is not None:
            self._give_up(held, "not wanted any more")

    def _give_up(self, held: _Held, why: str) -> None:
        """Stop work on a request. One that has not begun is marked and ends in its turn.

        A task cancelled before its first step would never run, and never give its place to the next.
        """
        held.why = held.why or why
        if held.task is None:
            self._held.pop(held.reply, None)
            if held.entry is not None:
                self._queue.discard(held.entry)
            observe(RequestCancelled(self.pool, held.request.id, held.why))
        elif held.is_begun:
            held.task.cancel()

    def _give_up_all(self) -> None:
        for held in list(self._held.values()):
            self._give_up(held, "nobody can hear the answer")

    def _sweep(self) -> None:
        """Give up what is over its deadline: its edge did so already, but its cancel may be lost. Refuse what waits in vain."""
        self._sweeping = None
        now = self._loop.time()
        if self._queue.waiting:
            for entry, full in self._queue.late(now):
                self._held.pop(entry.item.reply, None)
                self._refuse(entry.item, full)
        for held in list(self._held.values()):
            if held.deadline <= now and not held.why:
                self._give_up(held, "deadline")
        if self._held:
            self._watch()

    # The roll

    def _announce(self) -> None:
        self._connection.tell(subjects.alive(self.pool), encode(Holding(self.pool, self.member, 0, [])))

    def _say_what_is_held(self, message: Message) -> None:
        question = _decode_question(message.payload)
        held = [call for call in question.calls if call in self._held]
        self._connection.tell(message.reply, encode(Holding(self.pool, self.member, question.round, held)))


def _start_next(work: Coroutine[object, object, None], loop: asyncio.AbstractEventLoop) -> asyncio.Task[None]:
    return loop.create_task(work)


if sys.version_info >= (3, 12):

    def _start_now(
        work: Coroutine[object, object, None], loop: asyncio.AbstractEventLoop
    ) -> asyncio.Task[None]:
        """Begin at once: a handler that never waits is done before the next message is looked at."""
        return asyncio.Task(work, loop=loop, eager_start=True)
else:
    _start_now = _start_next


async def _pieces(data: bytes) -> AsyncIterator[bytes]:
    yield data


def _in_pieces(response: Response) -> Streamed:
    body = response.body
    return Streamed(response.status, response.headers, _pieces(body), response.reason, len(body))


def _internal_error(id: str) -> Response:
    shown = {"message": "An internal error occurred.", "request_id": id}
    return Response(500, list(_JSON), msgspec.json.encode(shown))
