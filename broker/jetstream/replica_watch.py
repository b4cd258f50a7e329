"""Reports replicas of a stream that stay behind its leader.

A stream with three replicas goes on when one server fails: the other two elect a leader and store every message. Measured with
nats-server 2.15 and one full disk: 5.5 s without an acknowledgement, then as before. The failed replica does not heal by
itself, though: its server keeps the error of the failed write until it is restarted, also after there is room again. Until then
the stream has one replica less than it should, and the next failure stops it. Nothing else shows this, because clients
are served; so the replicas are looked at every ten seconds, and one that was behind for half a minute is reported.
"""

import asyncio
import time
from collections.abc import Awaitable, Callable
from typing import ClassVar

import msgspec
from msgspec import Struct

from broker.jetstream.api import JetStreamFault, jetstream_request
from broker.nats.connection import NatsConnection
from broker.observability.observations import Observation
from broker.observability.observe import gauge, observe
from schemas.errors import Unavailable

EVERY_S = 10.0
PATIENCE_S = 30.0
"""How long a replica may be behind before it is reported; a restarted server catches up within this time."""


class StreamReplicaBehind(Observation, frozen=True):
    """A replica of a stream does not follow its leader. Restart the NATS server it is on, after it has room on its disk."""

    level: ClassVar[str] = "error"
    stream: str
    server: str
    reason: str
    missing: int


class StreamReplicaCaughtUp(Observation, frozen=True):
    """A replica that was reported follows its leader again."""

    stream: str
    server: str
    after_s: float


class _Replica(Struct, frozen=True):
    name: str
    current: bool = False
    offline: bool = False
    lag: int = 0


class _Cluster(Struct, frozen=True):
    replicas: list[_Replica] = []


class _Info(Struct, frozen=True):
    error: JetStreamFault | None = None
    cluster: _Cluster | None = None


_INFO = msgspec.json.Decoder(_Info)


class ReplicaWatch:
    """Watches the replicas of one stream; `patience_s` is how long one may be behind."""

    def __init__(self, connection: NatsConnection, stream: str, patience_s: float = PATIENCE_S) -> None:
        self._connection, self._stream, self._patience_s = connection, stream, patience_s
        self._behind_since: dict[str, float] = {}
        self._reported: set[str] = set()
        self._running: asyncio.Task[None] | None = None
        self._remove_gauge = gauge(
            "headwater_stream_replicas_behind",
            "Replicas of the stream that have been behind its leader for half a minute.",
            lambda: float(len(self._reported)),
            stream=stream,
        )

    @property
    def behind(self) -> set[str]:
        """The names of the servers whose replicas were reported and have not caught up."""
        return set(self._reported)

    def start(self) -> Callable[[], Awaitable[None]]:
        """Start looking every ten seconds; return the function that stops it."""
        self._running = asyncio.get_running_loop().create_task(
            self._run(), name=f"replicas of {self._stream}"
        )
        return self.close

    async def look(self) -> None:
        """Ask for the state of the replicas once, and report what has changed."""
        try:
            info = await jetstream_request(self._connection, f"STREAM.INFO.{self._stream}", {}, _INFO)
        except Unavailable:
            return  # no leader answers, or the stream is gone: `StreamWatch` reports that
        now = time.monotonic()
        replicas = info.cluster.replicas if info.cluster else []
        for replica in replicas:
            if replica.current and not replica.offline:
                self._caught_up(replica.name, now)
            else:
                self._fell_behind(replica, now)
        for name in self._behind_since.keys() - {replica.name for replica in replicas}:
            self._caught_up(name, now)  # it leads now, or was removed

    async def close(self) -> None:
        """Stop looking."""
        self._remove_gauge()
        if self._running is not None:
            self._running.cancel()
            await asyncio.gather(self._running, return_exceptions=True)

    async def _run(self) -> None:
        while True:
            await self._connection.connected()
            await self.look()
            await asyncio.sleep(EVERY_S)

    def _fell_behind(self, replica: _Replica, now: float) -> None:
        since = self._behind_since.setdefault(replica.name, now)
        if now - since >= self._patience_s and replica.name not in self._reported:
            self._reported.add(replica.name)
            reason = "its server is away" if replica.offline else "its server does not store"
            observe(StreamReplicaBehind(self._stream, replica.name, reason, replica.lag))

    def _caught_up(self, name: str, now: float) -> None:
        since = self._behind_since.pop(name, None)
        if since is not None and name in self._reported:
            self._reported.discard(name)
            observe(StreamReplicaCaughtUp(self._stream, name, round(now - since, 3)))
