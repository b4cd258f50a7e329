"""Requests that wait for changes of shapes in this edge process, and the questions that the edge asks for them.

A request that waits is a handle, an offset and a deadline. The pool announces which shapes have changed; then one question for each
handle and offset is sent, whoever and how many wait there, and all are answered with the same bytes. The pool checked whose shape it
is when the request came; a shape whose callers' rights change ends or is brought up to date, so the handle alone is enough later.

Race: a change may be announced between the pool's answer that there is nothing and the moment when the request waits. So the request
is registered before it is sent, and compares the number of announcements.
"""

import asyncio
import contextlib
import secrets
from urllib.parse import urlencode

from broker.codec import InvalidMessage, MessageDecoder
from broker.nats.connection import NatsConnection
from broker.nats.protocol import NatsMessage
from broker.observability.observe import gauge
from broker.requests.call import Calls, PoolReply
from broker.subjects import SHAPES_CHANGED, SYNC
from schemas.http import Request, Response
from schemas.sync import CONTINUE, HANDLE, OFFSET, WAIT, ShapesChanged

_BUDGET_MS = 30_000
_decode = MessageDecoder(ShapesChanged)


class ShapeWatch:
    """The requests of one handle. `version` grows with each announcement."""

    __slots__ = ("changed", "members", "version")

    def __init__(self) -> None:
        self.version = 0
        self.members = 0
        self.changed: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    def bump(self) -> None:
        """Wake all that wait."""
        self.version += 1
        self.changed.set_result(None)
        self.changed = asyncio.get_running_loop().create_future()


class ShapeWaits:
    """Everything that waits in this process."""

    def __init__(self, connection: NatsConnection, calls: Calls) -> None:
        self._connection, self._calls = connection, calls
        self._watches: dict[str, ShapeWatch] = {}
        self._asking: dict[tuple[str, str, bool], asyncio.Task[Response]] = {}
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
        self.waiting += 1
        try:
            while True:
                if watch.version == version and not self._is_stopping:
                    with contextlib.suppress(TimeoutError):
                        async with asyncio.timeout_at(deadline):
                            await asyncio.shield(watch.changed)
                is_final = loop.time() >= deadline or self._is_stopping
                version = watch.version
                response = await self.ask(handle, offset, is_final=is_final)
                if response.status != WAIT:
                    return response, version
        finally:
            self.waiting -= 1

    async def ask(self, handle: str, offset: str, *, is_final: bool) -> Response:
        """Ask the pool what is behind an offset; equal questions at a time are one. Raises: Unavailable, DeadlineExceeded."""
        key = (handle, offset, is_final)
        task = self._asking.get(key)
        if task is None:
            task = asyncio.get_running_loop().create_task(self._ask(*key))
            self._asking[key] = task
            task.add_done_callback(lambda done: self._asked(key, done))
        return await asyncio.shield(task)

    def _asked(self, key: tuple[str, str, bool], task: asyncio.Task[Response]) -> None:
        self._asking.pop(key, None)
        if not task.cancelled():
            task.exception()  # those that waited have it; if all have left, nobody needs it

    async def _ask(self, handle: str, offset: str, is_final: bool) -> Response:
        query = urlencode({"handle": handle, "offset": offset, **({"final": "1"} if is_final else {})})
        request = Request(secrets.token_hex(8), "GET", CONTINUE, query, budget_ms=_BUDGET_MS)
        return await whole(await self._calls.call(SYNC, request))

    def _receive(self, message: NatsMessage) -> None:
        try:
            changed = _decode(message.payload)
        except InvalidMessage:  # of a later version: everything may have changed
            self._bump_all()
            return
        if changed.is_restart:
            self._bump_all()
        for handle in changed.handles:
            if (watch := self._watches.get(handle)) is not None:
                watch.bump()

    def _bump_all(self) -> None:
        for watch in list(self._watches.values()):
            watch.bump()

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
        for task in list(self._asking.values()):
            task.cancel()


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
