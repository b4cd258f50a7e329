"""Requests that wait for changes of shapes in this edge process, and the questions that the edge asks for them.

A request that waits is a handle, an offset and a deadline. The pool announces which shapes have changed; then one question for each
handle and offset is sent, whoever and how many wait there, and all are answered with the same bytes: each is woken once, with its
answer. The pool checked whose shape it is when the request came; a shape whose callers' rights change ends or is brought up to
date, so the handle alone is enough later.

Race: a change may be announced between the pool's answer that there is nothing and the moment when the request waits. So the request
is registered before it is sent, and compares the number of announcements.
"""

import asyncio
import secrets
from urllib.parse import urlencode

from broker.codec import InvalidMessage, MessageDecoder, encode
from broker.nats.connection import NatsConnection
from broker.nats.protocol import NatsMessage
from broker.observability.observe import gauge
from broker.requests.call import Calls, PoolReply
from broker.subjects import SHAPES_CHANGED, SYNC
from schemas.http import Request, Response
from schemas.sync import CONTINUE, HANDLE, OFFSET, WAIT, ShapesChanged, ShapeWaiters

_BUDGET_MS = 30_000
_LONGEST_HANDLE, _MOST_COUNTED = 64, 5000
_decode = MessageDecoder(ShapesChanged)
WaitingRequest = asyncio.Future[tuple[Response, int]]
"""A request that waits: its answer, and the announcements that it includes."""


class WaitingPlace:
    """The requests that wait behind one offset of a handle. `asked_at`: the announcements before the question that is underway."""

    __slots__ = ("asked_at", "is_asking", "requests")

    def __init__(self) -> None:
        self.requests: dict[WaitingRequest, None] = {}
        self.is_asking = False
        self.asked_at = 0


class ShapeWatch:
    """The requests of one handle. `version` grows with each announcement; `places` has those that wait, by their offset."""

    __slots__ = ("members", "places", "version")

    def __init__(self) -> None:
        self.version = 0
        self.members = 0
        self.places: dict[str, WaitingPlace] = {}


class ShapeWaits:
    """Everything that waits in this process."""

    def __init__(self, connection: NatsConnection, calls: Calls) -> None:
        self._connection, self._calls = connection, calls
        self._watches: dict[str, ShapeWatch] = {}
        self._asking: set[asyncio.Task[Response]] = set()
        self._finishing: dict[tuple[str, str], asyncio.Task[Response]] = {}
        self.waiting = 0
        self._is_stopping = False
        self._subscription = connection.subscribe(SHAPES_CHANGED.name, self._receive)
        connection.on_back.append(self._bump_all)
        self._remove_gauge = gauge(
            "headwater_sync_waiting", "Requests that wait for changes of shapes.", lambda: self.waiting
        )

    def enter(self, handle: str) -> ShapeWatch:
        """Register a request of a handle; `leave` ends that."""
        watch = self._watches.get(handle)
        if watch is None:
            watch = self._watches[handle] = ShapeWatch()
        watch.members += 1
        return watch

    def leave(self, handle: str, watch: ShapeWatch) -> None:
        """End the registration of a request."""
        watch.members -= 1
        if not watch.members and self._watches.get(handle) is watch:
            del self._watches[handle]

    async def next_part(
        self, handle: str, offset: str, watch: ShapeWatch, version: int, deadline: float
    ) -> tuple[Response, int]:
        """Wait for what is behind an offset; return it and the announcements that it includes.

        When the deadline (of the event loop's clock) comes first, the response says up to where there is nothing.
        Raises: Unavailable, DeadlineExceeded.
        """
        loop = asyncio.get_running_loop()
        waiting: WaitingRequest = loop.create_future()
        place = watch.places.get(offset)
        if place is None:
            place = watch.places[offset] = WaitingPlace()
        place.requests[waiting] = None
        self.waiting += 1
        timer = loop.call_at(deadline, self._finish, handle, offset, watch, waiting)
        if self._is_stopping:
            self._finish(handle, offset, watch, waiting)
        elif watch.version != version:
            self._ask_for_all(handle, offset, watch, place)
        try:
            return await waiting
        finally:
            self.waiting -= 1
            timer.cancel()
            place.requests.pop(waiting, None)
            if not place.requests and watch.places.get(offset) is place:
                del watch.places[offset]

    def _ask_for_all(self, handle: str, offset: str, watch: ShapeWatch, place: WaitingPlace) -> None:
        """Ask for all requests that wait at an offset. An announcement during a question leads to another one behind it."""
        if place.is_asking:
            return
        place.is_asking, place.asked_at = True, watch.version

        def answer(done: asyncio.Task[Response]) -> None:
            place.is_asking = False
            for waiting in list(place.requests):
                _settle(waiting, done, place.asked_at)
            if _is_wait(done) and watch.version != place.asked_at and place.requests:
                self._ask_for_all(handle, offset, watch, place)

        # Not one that is underway for others: it may be older than the announcement.
        self._ask(handle, offset, is_final=False).add_done_callback(answer)

    def _finish(self, handle: str, offset: str, watch: ShapeWatch, waiting: WaitingRequest) -> None:
        """Ask for a request whose time is over; equal questions at a time are one."""
        key, version = (handle, offset), watch.version
        task = self._finishing.get(key)
        if task is None:
            task = self._finishing[key] = self._ask(handle, offset, is_final=True)
            task.add_done_callback(lambda _: self._finishing.pop(key, None))
        task.add_done_callback(lambda done: _settle(waiting, done, version))

    def _ask(self, handle: str, offset: str, *, is_final: bool) -> asyncio.Task[Response]:
        """Ask the pool what is behind an offset. The task raises: Unavailable, DeadlineExceeded."""
        task = asyncio.get_running_loop().create_task(self._question(handle, offset, is_final=is_final))
        self._asking.add(task)
        task.add_done_callback(self._asked)
        return task

    def _asked(self, task: asyncio.Task[Response]) -> None:
        self._asking.discard(task)
        if not task.cancelled():
            task.exception()  # those that waited have it; if all have left, nobody needs it

    async def _question(self, handle: str, offset: str, *, is_final: bool) -> Response:
        query = urlencode({"handle": handle, "offset": offset, **({"final": "1"} if is_final else {})})
        request = Request(secrets.token_hex(8), "GET", CONTINUE, query, budget_ms=_BUDGET_MS)
        return await whole(await self._calls.call(SYNC, request))

    def _receive(self, message: NatsMessage) -> None:
        if message.reply:
            self._connection.try_publish(message.reply, encode(ShapeWaiters(self._counts())))
        try:
            changed = _decode(message.payload)
        except InvalidMessage:  # of a later version: everything may have changed
            self._bump_all()
            return
        if changed.is_restart:
            self._bump_all()
        for handle in changed.handles:
            if (watch := self._watches.get(handle)) is not None:
                self._bump(handle, watch)

    def _counts(self) -> dict[str, int]:
        """Return how many requests wait, by handle. A handle is a client's text: what no shape can have is left out."""
        found = [
            (handle, watch.members)
            for handle, watch in self._watches.items()
            if len(handle) <= _LONGEST_HANDLE
        ]
        return dict(found[:_MOST_COUNTED])

    def _bump(self, handle: str, watch: ShapeWatch) -> None:
        """Note an announcement, and ask for all that wait."""
        watch.version += 1
        for offset, place in watch.places.items():
            if not self._is_stopping:
                self._ask_for_all(handle, offset, watch, place)
                continue
            for waiting in place.requests:
                self._finish(handle, offset, watch, waiting)

    def _bump_all(self) -> None:
        for handle, watch in list(self._watches.items()):
            self._bump(handle, watch)

    def stop(self) -> None:
        """Answer all that wait with what there is, and let nothing wait from now on."""
        self._is_stopping = True
        self._bump_all()

    async def close(self) -> None:
        """Stop listening to the pool."""
        self._remove_gauge()
        self._connection.remove(self._subscription)
        if self._bump_all in self._connection.on_back:
            self._connection.on_back.remove(self._bump_all)
        for task in list(self._asking):
            task.cancel()


def _is_wait(done: asyncio.Task[Response]) -> bool:
    return not done.cancelled() and done.exception() is None and done.result().status == WAIT


def _settle(waiting: WaitingRequest, done: asyncio.Task[Response], version: int) -> None:
    """Answer a request with what a question gave, unless there is nothing yet."""
    if waiting.done():
        return
    if done.cancelled():
        waiting.cancel()
    elif (error := done.exception()) is not None:
        waiting.set_exception(error)
    elif done.result().status != WAIT:
        waiting.set_result((done.result(), version))


async def whole(reply: PoolReply) -> Response:
    """Return a reply with its whole body. Raises: Unavailable."""
    response = reply.response
    if reply.chunks is None:
        return response
    try:
        body = b"".join([chunk async for chunk in reply.chunks])
    finally:
        await reply.close()
    return Response(response.status, response.headers, body, response.reason)


def place_of(response: Response) -> tuple[str, str]:
    """Return the handle and the offset of an answer."""
    first = dict(reversed(response.headers))
    return first.get(HANDLE, ""), first.get(OFFSET, "")
