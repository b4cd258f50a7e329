"""The realtime pool of a process: answers queries on the shared connections, and maintains the partitions of realtime.messages."""

import asyncio
import contextlib
import time
from collections.abc import Callable

from broker.codec import InvalidMessage, MessageDecoder
from broker.nats.connection import NatsConnection
from broker.nats.protocol import NatsMessage
from broker.observability.observe import gauge, observe
from broker.subjects import CLIENT_POSITIONS, REALTIME
from schemas.realtime import ClientPositions
from schemas.settings.realtime import RealtimeSettings
from workers.realtime.client_positions import RememberedPositions
from workers.realtime.metrics import RealtimeMetrics
from workers.realtime.observations import PositionsUnreadable
from workers.realtime.partitions import maintain_partitions
from workers.realtime.worker import RealtimeWorker, query_names
from workers.resources import Resources

_decode_positions = MessageDecoder(ClientPositions)


async def serve_pool(resources: Resources) -> None:
    """Answer queries of the realtime edges until the process drains."""
    metrics = RealtimeMetrics()
    remove_metrics = metrics.register(query_names())
    settings = resources.settings.realtime
    positions = RememberedPositions(min(settings.replay_window, settings.retention))
    stop_listening = _listen(resources.connection, positions, settings)
    maintenance = asyncio.get_running_loop().create_task(maintain_partitions(resources.database))

    async def stop() -> None:
        remove_metrics()
        stop_listening()
        maintenance.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await maintenance

    resources.process.on_drain(stop)
    await resources.serve(REALTIME, RealtimeWorker(resources.database, metrics, positions).answer)


def _listen(
    connection: NatsConnection, positions: RememberedPositions, settings: RealtimeSettings
) -> Callable[[], None]:
    """Receive the reports of edges about their clients' positions; return a function that stops it.

    Edges report all positions when this member joins the pool.
    """
    if not settings.replay_window:
        return lambda: None

    def receive(message: NatsMessage) -> None:
        try:
            positions.update(_decode_positions(message.payload), time.monotonic())
        except InvalidMessage as error:
            observe(PositionsUnreadable(error.reason))

    subscription = connection.subscribe(CLIENT_POSITIONS.name, receive)
    name = "headwater_realtime_client_positions"
    remove_gauge = gauge(
        name, "Positions of clients that are remembered for the next join.", lambda: len(positions)
    )

    def stop() -> None:
        subscription.unsubscribe()
        remove_gauge()

    return stop
