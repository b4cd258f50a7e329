"""Send a body longer than one message: numbered chunks with flow-control credit, the same in both directions.

Each end of a transfer is a token of its process's inbox. The struct that announces the body (`schemas.http.BodyStream`)
names the sender's end; the reply field of the receiver's messages names the receiver's end.

Credit works as in HTTP/2 or TCP: the receiver grants a number of bytes, counted from the start of the body, and the
sender sends until that count is reached. The receiver raises the count as its reader consumes chunks.

    receiver -> sender                                   sender -> receiver
    CREDIT n   send until n bytes in all are sent        CHUNK n, bytes   the n-th chunk, from 0
    ABORT      stop sending                              END n            the body had n chunks
    PING, PONG                                           ABORT, PING, PONG

- Flat memory: the receiver holds at most `WINDOW` bytes and one chunk. A slow reader grants no credit, which slows
  the sender, and the sender slows its source. Small pieces are sent at once, so events can be streamed.
- Order and loss: NATS keeps the order of one publisher. A chunk number that is not the next one means loss (the broker
  dropped the connection of a slow process), and the transfer fails. Chunks are never sent again.
- Failure detection: an end that has received nothing for `ALIVE_S` sends PING. NATS answers at once when the other
  process is gone; the other process's inbox answers when only that end is closed. The sender gives up a reader that
  grants no credit for `STALL_S`.
"""

import asyncio
import contextlib
from collections import deque
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable
from typing import TypeVar

from broker import subjects
from broker.nats.connection import NatsConnection
from broker.nats.protocol import NatsMessage
from broker.observability.observations import BodyCut
from broker.observability.observe import observe
from schemas.errors import Unavailable
from schemas.http import BodyStream

CHUNK = 256 * 1024
"""Bytes of the longest chunk."""
WINDOW = 8 * CHUNK
"""Bytes that may be underway: the largest credit beyond what the reader consumed."""
ALIVE_S = 0.5
"""Seconds of silence after which a PING is sent."""
SILENCE_S = 30.0
"""Seconds of silence, with PINGs unanswered, after which the transfer fails."""
STALL_S = 60.0
"""Seconds a sender waits for credit."""

_CHUNK, _END, _ABORT, _CREDIT, _PING, _PONG = range(6)
_HEAD = 9

T = TypeVar("T")


class BodyBroken(Unavailable):
    """A body did not reach its end; `why` is the cause."""

    def __init__(self, why: str) -> None:
        super().__init__(f"the body was cut short: {why}")
        self.why = why


class _Endpoint:
    """One end of a transfer: sends and receives frames, and detects when the other end is gone."""

    def __init__(
        self, connection: NatsConnection, on_frame: Callable[[int, int, bytes], None], peer: str = ""
    ) -> None:
        self._connection = connection
        self._on_frame = on_frame
        self._loop = asyncio.get_running_loop()
        self.peer = peer
        self.subject = connection.inbox.open(self._take)
        self.failure: BodyBroken | None = None
        self.is_aborted = False
        self.is_whole = False
        self._waiting: asyncio.Future[None] | None = None
        self._task: asyncio.Task[object] | None = None
        self._last_heard = self._loop.time()
        self._timer = self._loop.call_later(ALIVE_S, self._check)

    def send(
        self, kind: int, number: int = 0, data: bytes | memoryview = b"", *, wants_reply: bool = True
    ) -> None:
        """Send a frame to the other end. Raises: BodyBroken when the broker is not connected."""
        frame = b"".join((kind.to_bytes(1, "big"), number.to_bytes(8, "big"), data))
        if not self._connection.try_publish(self.peer, frame, self.subject if wants_reply else ""):
            self.fail("the broker is not connected")
            raise BodyBroken("the broker is not connected")

    async def wait(self) -> None:
        """Wait until `wake` is called. Raises: BodyBroken."""
        if self.failure is None:
            self._waiting = self._loop.create_future()
            try:
                await self._waiting
            finally:
                self._waiting = None
        if self.failure is not None:
            raise self.failure

    async def guard(self, work: Awaitable[T]) -> T:
        """Await the next piece of the source; stop waiting when the transfer fails. Raises: BodyBroken.

        `fail` cancels the waiting task; here that cancellation is turned into the failure. `uncancel` returns the
        number of cancellations that remain: with one of the caller's own, the task stays cancelled.
        """
        if self.failure is not None:
            raise self.failure
        self._task = asyncio.current_task()
        try:
            return await work
        except asyncio.CancelledError:
            if self.failure is not None and self._task is None:
                current = asyncio.current_task()
                if current is not None and current.uncancel() == 0:
                    raise self.failure from None
            raise
        finally:
            self._task = None

    def wake(self) -> None:
        """Make `wait` return."""
        if self._waiting is not None and not self._waiting.done():
            self._waiting.set_result(None)

    def fail(self, reason: str) -> None:
        """Fail the transfer: `wait` and `guard` raise BodyBroken. A transfer that has reached its end is not changed."""
        if self.failure is None and not self.is_whole:
            self.failure = BodyBroken(reason)
            self.wake()
            task, self._task = self._task, None
            if task is not None:
                task.cancel()

    def close(self) -> None:
        """Stop receiving."""
        self._timer.cancel()
        self._connection.inbox.close(self.subject)

    def _take(self, message: NatsMessage) -> None:
        self._last_heard = self._loop.time()
        frame = message.payload
        if message.status or len(frame) < _HEAD:
            self.fail("the other side is gone")
            return
        if subjects.is_inbox(message.reply):
            self.peer = message.reply
        kind = frame[0]
        if kind == _PING:
            with contextlib.suppress(BodyBroken):
                self.send(_PONG, wants_reply=False)
        elif kind == _ABORT:
            self.is_aborted = True
            self.fail("the other side gave it up")
        elif kind != _PONG:
            self._on_frame(kind, int.from_bytes(frame[1:_HEAD], "big"), frame[_HEAD:])

    def _check(self) -> None:
        silent = self._loop.time() - self._last_heard
        if silent > SILENCE_S:
            self.fail(f"nothing was heard for {SILENCE_S:.0f} s")
            return
        if silent >= ALIVE_S and self.peer:
            with contextlib.suppress(BodyBroken):
                self.send(_PING)
        if self.failure is None:
            self._timer = self._loop.call_later(ALIVE_S, self._check)


class BodySender:
    """The sending end of a body. Announce its `subject` in a `BodyStream`, then call `send`."""

    def __init__(self, connection: NatsConnection) -> None:
        self._connection = connection
        self._endpoint = _Endpoint(connection, self._take_frame)
        self._granted = 0
        self.subject = self._endpoint.subject

    async def send(self, source: AsyncIterator[bytes]) -> None:
        """Send all chunks of a source, and close the source in any case. Returns early after an ABORT of the receiver.

        Raises: BodyBroken when the other end or the broker is gone; what the source raises.
        """
        try:
            await self._send(source)
        except BaseException as error:
            observe(BodyCut("sender", str(error) or type(error).__name__))
            if error is self._endpoint.failure and self._endpoint.is_aborted:
                return
            if self._endpoint.peer:
                with contextlib.suppress(BodyBroken):
                    self._endpoint.send(_ABORT, wants_reply=False)
            raise
        finally:
            self._endpoint.close()
            if (close := getattr(source, "aclose", None)) is not None:
                await close()

    async def _send(self, source: AsyncIterator[bytes]) -> None:
        number = sent = 0
        await self._await_credit(1)
        while True:
            try:
                piece = await self._endpoint.guard(anext(source))
            except StopAsyncIteration:
                self._endpoint.send(_END, number)
                return
            for start in range(0, len(piece), CHUNK):
                chunk = memoryview(piece)[start : start + CHUNK]
                if sent >= self._granted:
                    await self._await_credit(sent + 1)
                self._endpoint.send(_CHUNK, number, chunk)
                number, sent = number + 1, sent + len(chunk)
                await self._connection.writable()

    async def _await_credit(self, granted: int) -> None:
        """Wait until the receiver has granted this number of bytes. Raises: BodyBroken after `STALL_S`."""
        try:
            async with asyncio.timeout(STALL_S):
                while self._granted < granted:
                    await self._endpoint.wait()
        except TimeoutError:
            raise BodyBroken(f"the reader took nothing for {STALL_S:.0f} s") from None

    def _take_frame(self, kind: int, number: int, _: bytes) -> None:
        if kind == _CREDIT and number > self._granted:
            self._granted = number
            self._endpoint.wake()


async def receive_body(connection: NatsConnection, stream: BodyStream) -> AsyncGenerator[bytes]:
    """Yield the chunks of a body in order. Closing the iterator early sends ABORT to the sender.

    Raises: BodyBroken when the body does not reach its end.
    """
    receiver = _BodyReceiver(connection, stream)
    try:
        while (chunk := await receiver.next()) is not None:
            yield chunk
    finally:
        receiver.close()


def reject_body(connection: NatsConnection, stream: BodyStream) -> None:
    """Send ABORT to the sender of a body that will not be read. Harmless when the body has ended."""
    if subjects.is_inbox(stream.id):
        connection.try_publish(stream.id, bytes([_ABORT]) + bytes(_HEAD - 1))


class _BodyReceiver:
    """The receiving end of a body."""

    def __init__(self, connection: NatsConnection, stream: BodyStream) -> None:
        if not subjects.is_inbox(stream.id):
            raise BodyBroken("its sender is not named rightly")
        self._endpoint = _Endpoint(connection, self._take_frame, stream.id)
        self._chunks: deque[bytes] = deque()
        self._next = 0
        self._consumed = 0
        self._granted = 0

    async def next(self) -> bytes | None:
        """Return the next chunk, None at the end. Each call grants credit for what was consumed before."""
        if not self._endpoint.is_whole and self._granted <= self._consumed + WINDOW - CHUNK:
            self._granted = self._consumed + WINDOW
            self._endpoint.send(_CREDIT, self._granted)
        while not self._chunks:
            if self._endpoint.is_whole:
                return None
            await self._endpoint.wait()
        chunk = self._chunks.popleft()
        self._consumed += len(chunk)
        return chunk

    def close(self) -> None:
        """Stop receiving; send ABORT if the body has not ended."""
        if not self._endpoint.is_whole and self._endpoint.failure is None:
            observe(BodyCut("receiver", "closed early"))
            with contextlib.suppress(BodyBroken):
                self._endpoint.send(_ABORT, wants_reply=False)
        self._endpoint.close()

    def _take_frame(self, kind: int, number: int, data: bytes) -> None:
        if kind not in (_CHUNK, _END) or self._endpoint.is_whole:
            return
        if number != self._next:  # a chunk was lost; continuing would corrupt the body
            self._endpoint.fail(f"chunk {self._next} is missing")
            return
        if kind == _END:
            self._endpoint.is_whole = True
        else:
            self._next += 1
            self._chunks.append(data)
        self._endpoint.wake()
