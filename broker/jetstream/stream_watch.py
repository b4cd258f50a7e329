"""Check whether a stream stores what is published into it, and report a fault where it does not.

nats-server remembers a failed write: after a full disk a stream stores nothing until the server is restarted,
although there is space again (its file store calls it a critical write error). Version 2.15 does not even answer what
is published, while it answers queries about the stream as if nothing had happened. Older versions reject with code
10077, and some switch JetStream off completely. Only a message that should be stored shows the failure.

So a small message, the canary, is published every few seconds when nothing else was stored. It has its own subject
(`events.canary.<STREAM>`) that no consumer reads, and a time to live of ten seconds (`Nats-TTL`), so a stream holds
two or three of them. The stream CHANGES cannot take canaries, because its messages form a chain with a single writer
(`broker/jetstream/ordered_publisher.py`). Its writer reports the results of its own messages (`stored`, `rejected`,
`unanswered`) and publishes one when it is idle (workers/replication).

Silence is a fault after three seconds; with replicas after ten, because an election takes up to five. A sticky fault
is repaired on one machine by the supervisor, which restarts nats-server as soon as there is space. In a cluster the
leader of the stream CHANGES is asked to step down, so that a server with space takes over. No process has the right
to move the leader of the others.
"""

import asyncio
import contextlib
import os
import shutil
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import ClassVar

import msgspec

from broker.jetstream.api import decode_ack, jetstream_request
from broker.jetstream.errors import JetStreamError
from broker.jetstream.replica_watch import ReplicaWatch
from broker.jetstream.streams import stream_state
from broker.nats.connection import NatsConnection, NoResponders
from broker.nats.protocol import NatsMessage, headers
from broker.observability.faults import FAULTS, Faults
from broker.observability.observations import Observation
from broker.observability.observe import gauge, observe
from broker.subjects import canary
from schemas.errors import Unavailable

EVERY_S = 5.0
_FAULTY_S = 1.0
_ANSWER_S = 1.5
_TTL_S = 10
_SILENT_S, _SILENT_REPLICAS_S = 3.0, 10.0
_STORE_FAILED = 10077
_SWITCHED_OFF_CODES = (10039, 10076)
_STEP_DOWN_EVERY_S = 30.0
SWITCHED_OFF = "JetStream is switched off"
_NO_ANSWER = "no answer"
_LITTLE_SPACE = 16 * 1024 * 1024
_NO_SPACE = "no space left on device"
_FULL = "maximum bytes exceeded"
"""A work queue at its limit answers with the code of a failed write, too; it needs no restart."""


class StreamLeaderAsked(Observation, frozen=True):
    """The leader of a stream that does not store was asked to step down."""

    level: ClassVar[str] = "warning"
    stream: str


class StreamWatch:
    """Watches one stream. `recreate` creates it again when it is gone; `may_move`: this user may ask its leader to step down."""

    def __init__(
        self,
        connection: NatsConnection,
        stream: str,
        recreate: Callable[[], Awaitable[object]] | None = None,
        faults: Faults = FAULTS,
        *,
        may_move: bool = False,
    ) -> None:
        self._connection, self._stream, self._recreate, self._faults = connection, stream, recreate, faults
        self._may_move = may_move
        self._stored_at = 0.0
        self._reason = ""
        self._silent_since: float | None = None
        self._step_down_at = -_STEP_DOWN_EVERY_S
        self._running: asyncio.Task[None] | None = None
        self._replicas: ReplicaWatch | None = None
        self._stepping: asyncio.Task[None] | None = None
        self._remove_gauge = gauge(
            "headwater_stream_stores",
            "Whether the stream stores what this process publishes.",
            lambda: float(not self._reason),
            stream=stream,
        )

    @property
    def part(self) -> str:
        """The name of the stream in faults."""
        return f"stream {self._stream}"

    @property
    def reason(self) -> str:
        """Why the stream does not store; empty if it does."""
        return self._reason

    @property
    def stored_s(self) -> float:
        """Seconds since a message was last known to be stored."""
        return time.monotonic() - self._stored_at

    def stored(self) -> None:
        """Record that the stream has stored a message."""
        self._stored_at, self._silent_since = time.monotonic(), None
        if self._reason:
            self._reason = ""
            self._faults.clear(self.part)

    def rejected(self, code: int, description: str) -> None:
        """Note that the stream has refused a message, with JetStream's number and words."""
        if code == _STORE_FAILED and _FULL not in description:
            self._fail(f"does not store: {public_reason(description)}", is_sticky=True)
            self._ask_to_step_down()
        elif code in _SWITCHED_OFF_CODES:
            self._fail(f"does not store: {SWITCHED_OFF}", is_sticky=True)
        else:
            self._fail(f"does not store: {public_reason(description)}")

    def unanswered(self, reason: str = "", *, is_sticky: bool = False) -> None:
        """Record that the stream did not acknowledge a message; silence that lasts is a fault."""
        now = time.monotonic()
        if not self._connection.is_connected:  # a fault of its own, which every edge reports
            self._silent_since = None
            return
        if self._silent_since is None:
            self._silent_since = now
        limit_s = _SILENT_S if self._connection.replicas == 1 else _SILENT_REPLICAS_S
        if now - self._silent_since >= limit_s:
            self._fail(f"does not store: {reason or self.why_silent()}", is_sticky=is_sticky)
            if is_sticky:
                self._ask_to_step_down()

    def start(self) -> Callable[[], Awaitable[None]]:
        """Start to publish canaries, and to look at the replicas; return the function that stops both."""
        if self._connection.replicas > 1:
            self._replicas = ReplicaWatch(self._connection, self._stream)
            self._replicas.start()
        self._running = asyncio.get_running_loop().create_task(self.run(), name=f"watch of {self._stream}")
        return self.close

    async def run(self) -> None:
        """Publish canaries until cancelled."""
        while True:
            await self._connection.connected()
            if self._reason or self._silent_since is not None or self.stored_s >= EVERY_S * 0.9:
                await self.check()
            is_well = not self._reason and self._silent_since is None
            await asyncio.sleep(EVERY_S if is_well else _FAULTY_S)

    async def check(self) -> None:
        """Publish one canary and record the result."""
        head = headers({"Nats-TTL": f"{_TTL_S}s"})
        try:
            reply = await self._connection.request(canary(self._stream).name, b"", _ANSWER_S, head=head)
        except NoResponders:
            await self._look_for_stream()
        except Unavailable:
            await self._ask_about_stream()
        else:
            self._record(reply)

    async def close(self) -> None:
        """Stop the watch and clear its fault and gauge."""
        self._remove_gauge()
        self._faults.clear(self.part)
        tasks = [task for task in (self._running, self._stepping) if task is not None]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        if self._replicas is not None:
            await self._replicas.close()

    def _record(self, reply: NatsMessage) -> None:
        try:
            ack = decode_ack.decode(reply.payload)
        except msgspec.MsgspecError:
            return
        if ack.error is None:
            self.stored()
        else:
            self.rejected(ack.error.err_code, ack.error.description)

    async def _look_for_stream(self) -> None:
        """The canary's subject lacks a subscriber: the stream is gone, or JetStream is switched off."""
        try:
            state = await stream_state(self._connection, self._stream)
            if state is None and self._recreate is not None:
                await self._recreate()
        except NoResponders:
            self.unanswered(SWITCHED_OFF, is_sticky=True)
        except JetStreamError as error:
            self.rejected(error.code, error.description)
        except Unavailable:
            self.unanswered(_NO_ANSWER)

    async def _ask_about_stream(self) -> None:
        """The canary was not answered. If queries about the stream are, the server works and its store does not."""
        try:
            await stream_state(self._connection, self._stream)
        except Unavailable:
            self.unanswered(_NO_ANSWER)
        else:
            self.unanswered(is_sticky=True)

    def why_silent(self) -> str:
        """Return the reason for the silence of a store, as far as this process can find it out."""
        folder = os.environ.get("HEADWATER_DATA", "")
        with contextlib.suppress(OSError):
            if folder and (Path(folder) / "nats").is_dir() and shutil.disk_usage(folder).free < _LITTLE_SPACE:
                return _NO_SPACE
        return "its server answers, and the stream does not (most often after a full disk)"

    def _fail(self, reason: str, *, is_sticky: bool = False) -> None:
        self._reason = reason
        self._faults.report(self.part, reason, is_sticky=is_sticky)

    def _ask_to_step_down(self) -> None:
        """Ask the leader of a stream with replicas to step down: its disk may be the only full one."""
        now = time.monotonic()
        if (
            self._may_move
            and self._connection.replicas > 1
            and now - self._step_down_at >= _STEP_DOWN_EVERY_S
        ):
            self._step_down_at = now
            self._stepping = asyncio.get_running_loop().create_task(self._step_down())

    async def _step_down(self) -> None:
        try:
            await jetstream_request(
                self._connection, f"STREAM.LEADER.STEPDOWN.{self._stream}", {}, decode_ack
            )
        except Unavailable:
            return  # another server is missing; the fault is reported in any case
        observe(StreamLeaderAsked(self._stream))


def public_reason(description: str) -> str:
    """Return JetStream's reason without file paths of its server (pure)."""
    if _NO_SPACE in description:
        return _NO_SPACE
    if _FULL in description:
        return "it is full"
    return description.rpartition(": ")[2].strip() or "without a reason"
