"""A body longer than one message: numbered chunks against credit, the same in both directions.

Each end of a transfer is a token of its process's inbox. The struct that announces the body (`schemas.http.Stream`)
names the sender's end; the receiver's end is named in the reply field of its messages.

    receiver -> sender                                   sender -> receiver
    CREDIT n   send until n bytes in all are sent        CHUNK n, bytes   the n-th chunk, from 0
    ABORT      no more is wanted                         END n            that were n chunks
    PING, PONG                                           ABORT, PING, PONG

- Flat memory: the receiver holds at most `WINDOW` bytes and one chunk; it gives new credit as its reader takes
  chunks, so a slow reader slows the sender, and that its source. Small pieces leave at once: events may be streamed.
- Order and loss: NATS keeps the order of one publisher. A number that is not the next one means loss (the broker
  dropped the connection of a slow process): the transfer is over. Nothing is ever sent again.
- Death: an end that has heard nothing for a moment sends PING. NATS answers at once when the other process is gone,
  its inbox when only that end is closed. A reader that takes nothing for `STALL_S` is given up by the sender.
"""

import asyncio
import contextlib
from collections import deque
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable
from typing import TypeVar

from broker import subjects
from broker.nats.connection import Connection
from broker.nats.protocol import Message
from broker.observability.observations import BodyCut
from broker.observability.observe import observe
from schemas.errors import Unavailable
from schemas.http import Stream

CHUNK = 256 * 1024
"""Bytes of the longest chunk."""
WINDOW = 8 * CHUNK
"""Bytes that may be on the way."""
ALIVE_S = 0.5
"""Seconds of silence after which the other end is asked whether it lives."""
SILENCE_S = 30.0
"""Seconds of silence, questions unanswered, after which the other end is given up."""
STALL_S = 60.0
"""Seconds a sender waits for credit."""

_CHUNK, _END, _ABORT, _CREDIT, _PING, _PONG = range(6)
_HEAD = 9

T = TypeVar("T")


class BodyBroken(Unavailable):
    """A body did not reach its end; `why` tells the cause."""

    def __init__(self, why: str) -> None:
        super().__init__(f"the body was cut short: {why}")
        self.why = why


class _End:
    """One end of a transfer: it speaks, hears, and finds out when the other end is gone."""

    def __init__(
        self, connection: Connection, heard: Callable[[int, int, bytes], None], peer: str = ""
    ) -> None:
        self._connection = connection
        self._heard = heard
        self._loop = asyncio.get_running_loop()
        self.peer = peer
        self.subject = connection.inbox.open(self._take)
        self.failure: BodyBroken | None = None
        self.is_unwanted = False
        self.is_whole = False
        self._waiting: asyncio.Future[None] | None = None
        self._task: asyncio.Task[object] | None = None
        self._last_heard = self._loop.time()
        self._timer = self._loop.call_later(ALIVE_S, self._check)

    def tell(
        self, kind: int, number: int = 0, data: bytes | memoryview = b"", *, wants_reply: bool = True
    ) -> None:
        """Send to the other end. Raises: BodyBroken when the broker is gone."""
        frame = b"".join((kind.to_bytes(1, "big"), number.to_bytes(8, "big"), data))
        if not self._connection.tell(self.peer, frame, self.subject if wants_reply else ""):
            self.fail("the broker is not connected")
            raise BodyBroken("the broker is not connected")

    async def wait(self) -> None:
        """Wait until something is heard. Raises: BodyBroken."""
        if self.failure is None:
            self._waiting = self._loop.create_future()
            try:
                await self._waiting
            finally:
                self._waiting = None
        if self.failure is not None:
            raise self.failure

    async def guard(self, work: Awaitable[T]) -> T:
        """Await something of our own, but not longer than the other end lives. Raises: BodyBroken."""
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
        """Let `wait` return."""
        if self._waiting is not None and not self._waiting.done():
            self._waiting.set_result(None)

    def fail(self, reason: str) -> None:
        """End the transfer: whoever waits gets a BodyBroken. One that has reached its end stays whole."""
        if self.failure is None and not self.is_whole:
            self.failure = BodyBroken(reason)
            self.wake()
            task, self._task = self._task, None
            if task is not None:
                task.cancel()

    def close(self) -> None:
        """Hear nothing more."""
        self._timer.cancel()
        self._connection.inbox.close(self.subject)

    def _take(self, message: Message) -> None:
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
                self.tell(_PONG, wants_reply=False)
        elif kind == _ABORT:
            self.is_unwanted = True
            self.fail("the other side gave it up")
        elif kind != _PONG:
            self._heard(kind, int.from_bytes(frame[1:_HEAD], "big"), frame[_HEAD:])

    def _check(self) -> None:
        silent = self._loop.time() - self._last_heard
        if silent > SILENCE_S:
            self.fail(f"nothing was heard for {SILENCE_S:.0f} s")
            return
        if silent >= ALIVE_S and self.peer:
            with contextlib.suppress(BodyBroken):
                self.tell(_PING)
        if self.failure is None:
            self._timer = self._loop.call_later(ALIVE_S, self._check)


class Sender:
    """The end that a body leaves from. Announce its `subject` in a `Stream`, then `send`."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._end = _End(connection, self._heard)
        self._granted = 0
        self.subject = self._end.subject

    async def send(self, source: AsyncIterator[bytes]) -> None:
        """Send all that a source gives, closing it in any case. Returns early when no more is wanted.

        Raises: BodyBroken when the other end or the broker is gone; what the source raises.
        """
        try:
            await self._send(source)
        except BaseException as error:
            observe(BodyCut("sender", str(error) or type(error).__name__))
            if error is self._end.failure and self._end.is_unwanted:
                return
            if self._end.peer:
                with contextlib.suppress(BodyBroken):
                    self._end.tell(_ABORT, wants_reply=False)
            raise
        finally:
            self._end.close()
            if (close := getattr(source, "aclose", None)) is not None:
                await close()

    async def _send(self, source: AsyncIterator[bytes]) -> None:
        number = sent = 0
        await self._credit(1)
        while True:
            try:
                piece = await self._end.guard(anext(source))
            except StopAsyncIteration:
                self._end.tell(_END, number)
                return
            for start in range(0, len(piece), CHUNK):
                chunk = memoryview(piece)[start : start + CHUNK]
                if sent >= self._granted:
                    await self._credit(sent + 1)
                self._end.tell(_CHUNK, number, chunk)
                number, sent = number + 1, sent + len(chunk)
                await self._connection.writable()

    async def _credit(self, wanted: int) -> None:
        """Wait until so many bytes may be sent."""
        try:
            async with asyncio.timeout(STALL_S):
                while self._granted < wanted:
                    await self._end.wait()
        except TimeoutError:
            raise BodyBroken(f"the reader took nothing for {STALL_S:.0f} s") from None

    def _heard(self, kind: int, number: int, _: bytes) -> None:
        if kind == _CREDIT and number > self._granted:
            self._granted = number
            self._end.wake()


async def receive(connection: Connection, stream: Stream) -> AsyncGenerator[bytes]:
    """Give the chunks of a body in their order. Closing the iterator early tells the sender to stop.

    Raises: BodyBroken when the body does not reach its end.
    """
    receiver = _Receiver(connection, stream)
    try:
        while (chunk := await receiver.next()) is not None:
            yield chunk
    finally:
        receiver.close()


def refuse(connection: Connection, stream: Stream) -> None:
    """Tell the sender of a body that nobody will read it. Harmless when the body has ended."""
    if subjects.is_inbox(stream.id):
        connection.tell(stream.id, bytes([_ABORT]) + bytes(_HEAD - 1))


class _Receiver:
    """The end that a body arrives at."""

    def __init__(self, connection: Connection, stream: Stream) -> None:
        if not subjects.is_inbox(stream.id):
            raise BodyBroken("its sender is not named rightly")
        self._end = _End(connection, self._heard, stream.id)
        self._chunks: deque[bytes] = deque()
        self._next = 0
        self._taken = 0
        self._granted = 0

    async def next(self) -> bytes | None:
        """Give the next chunk, None at the end; taking one gives credit for another."""
        if not self._end.is_whole and self._granted <= self._taken + WINDOW - CHUNK:
            self._granted = self._taken + WINDOW
            self._end.tell(_CREDIT, self._granted)
        while not self._chunks:
            if self._end.is_whole:
                return None
            await self._end.wait()
        chunk = self._chunks.popleft()
        self._taken += len(chunk)
        return chunk

    def close(self) -> None:
        """Hear nothing more; tell the sender to stop if it has not ended."""
        if not self._end.is_whole and self._end.failure is None:
            observe(BodyCut("receiver", "closed early"))
            with contextlib.suppress(BodyBroken):
                self._end.tell(_ABORT, wants_reply=False)
        self._end.close()

    def _heard(self, kind: int, number: int, data: bytes) -> None:
        if kind not in (_CHUNK, _END) or self._end.is_whole:
            return
        if number != self._next:
            self._end.fail(f"chunk {self._next} is missing")
            return
        if kind == _END:
            self._end.is_whole = True
        else:
            self._next += 1
            self._chunks.append(data)
        self._end.wake()
