"""Which other edges are alive: a heartbeat each second, and an edge that is silent for `SILENT_S` is gone.

Theory. Presences of an edge must disappear when it is killed, within 5 s. So every edge publishes a heartbeat, and every
message of an edge counts as one. An edge that was itself cut off from the broker, or whose process stood still, cannot judge
the others: it gives all of them a new `SILENT_S`, announces itself as new, and exchanges the complete state again.
"""

import asyncio
import contextlib
import time
from collections.abc import Callable

import msgspec
from msgspec import Struct

from broker import subjects
from broker.codec import encode
from broker.nats.connection import NatsConnection
from broker.nats.protocol import NatsMessage as BrokerMessage
from broker.nats.subscription import NatsSubscription
from broker.observability.observe import observe
from schemas.errors import Unavailable
from services.realtime.observations import EdgeSilent, MessageUnreadable
from services.realtime.topics.presence_messages import (
    EdgeDeparture,
    EdgeHeartbeat,
    PresenceQuery,
    decode_edge_message,
)

HEARTBEAT_S = 1.0
SILENT_S = 3.5
"""Seconds without a message after which an edge is gone: less than 5 s from its end to the update that clients receive."""


class EdgeMonitor:
    """Sends the heartbeats of this edge and watches those of the others.

    `on_gone` is called with an edge that left or is silent, `on_query` with a query for presences and the subject for the
    answer, `on_reconnected` when the complete state must be exchanged again.
    """

    def __init__(
        self,
        connection: NatsConnection,
        edge: str,
        *,
        on_gone: Callable[[str], None],
        on_query: Callable[[PresenceQuery, str], None],
        on_reconnected: Callable[[], None],
    ) -> None:
        self._connection, self._edge = connection, edge
        self._on_gone, self._on_query, self._on_reconnected = on_gone, on_query, on_reconnected
        self._heard_at: dict[str, float] = {}
        self._task: asyncio.Task[None] | None = None
        self._subscription: NatsSubscription | None = None

    @property
    def edges(self) -> frozenset[str]:
        """Return the other edges that are alive."""
        return frozenset(self._heard_at)

    async def start(self) -> None:
        """Announce this edge and start the heartbeat."""
        self._subscription = self._connection.subscribe(subjects.EDGES.name, self._receive)
        self._connection.on_back.append(self._restart)
        self._publish(EdgeHeartbeat(self._edge, is_new=True))
        self._task = asyncio.get_running_loop().create_task(self._run())
        with contextlib.suppress(Unavailable):
            await self._connection.flush()

    async def close(self) -> None:
        """Announce that this edge stops."""
        self._publish(EdgeDeparture(self._edge))
        self._connection.on_back.remove(self._restart)
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)
        if self._subscription is not None:
            self._subscription.unsubscribe()

    def heard(self, edge: str) -> None:
        """Note that a message of an edge arrived."""
        self._heard_at[edge] = time.monotonic()

    def _publish(self, message: Struct) -> None:
        self._connection.try_publish(subjects.EDGES.name, encode(message))

    def _receive(self, received: BrokerMessage) -> None:
        try:
            message = decode_edge_message(received.payload)
        except (msgspec.DecodeError, UnicodeError, RecursionError) as error:
            observe(MessageUnreadable(received.subject, str(error)))
            return
        if message.edge == self._edge:
            return
        if isinstance(message, EdgeDeparture):
            self._heard_at.pop(message.edge, None)
            self._on_gone(message.edge)
            return
        self.heard(message.edge)
        if isinstance(message, EdgeHeartbeat):
            if message.is_new:
                self._publish(EdgeHeartbeat(self._edge))
        elif subjects.is_inbox(received.reply):
            self._on_query(message, received.reply)

    async def _run(self) -> None:
        last = time.monotonic()
        while True:
            await asyncio.sleep(HEARTBEAT_S)
            now = time.monotonic()
            stood_still = now - last > SILENT_S - HEARTBEAT_S
            last = now
            self._publish(EdgeHeartbeat(self._edge))
            if stood_still:  # the others may have declared this edge gone, and it cannot judge them
                self._restart()
            elif self._connection.is_connected:
                self._drop_silent(now)

    def _drop_silent(self, now: float) -> None:
        for edge in [edge for edge, heard_at in self._heard_at.items() if now - heard_at > SILENT_S]:
            del self._heard_at[edge]
            observe(EdgeSilent(edge))
            self._on_gone(edge)

    def _restart(self) -> None:
        """After a lost connection: wait `SILENT_S` for the other edges again, and exchange the complete state."""
        self._heard_at = dict.fromkeys(self._heard_at, time.monotonic())
        asyncio.get_running_loop().call_soon(
            self._announce
        )  # after the connection restored its subscriptions

    def _announce(self) -> None:
        self._publish(EdgeHeartbeat(self._edge, is_new=True))
        self._on_reconnected()
