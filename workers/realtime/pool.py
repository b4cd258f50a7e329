"""The realtime pool of a process: answers edges on the shared connections, and keeps the partitions of messages."""

import asyncio
import contextlib
import time
from collections.abc import Callable

from broker.codec import Decoder, Undecodable
from broker.nats.connection import Connection
from broker.nats.protocol import Message
from broker.observability.observe import gauge, observe
from broker.subjects import CLIENT_POSITIONS, REALTIME
from schemas.realtime import ClientPositions
from schemas.settings.realtime import Realtime
from workers.realtime.client_positions import RememberedPositions
from workers.realtime.numbers import Numbers
from workers.realtime.observations import PositionsUnreadable
from workers.realtime.partitions import keep_forever
from workers.realtime.worker import RealtimeWorker, kinds
from workers.resources import Resources

_decode_positions = Decoder(ClientPositions)


async def serve_pool(resources: Resources) -> None:
    """Answer questions of the realtime edges until the process drains."""
    numbers = Numbers()
    hide = numbers.show(kinds())
    settings = resources.settings.realtime
    positions = RememberedPositions(min(settings.replay_window, settings.retention))
    forget = _listen(resources.connection, positions, settings)
    keeping = asyncio.get_running_loop().create_task(keep_forever(resources.database))

    async def stop() -> None:
        hide()
        forget()
        keeping.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await keeping

    resources.process.on_drain(stop)
    await resources.serve(REALTIME, RealtimeWorker(resources.database, numbers, positions).answer)


def _listen(connection: Connection, positions: RememberedPositions, settings: Realtime) -> Callable[[], None]:
    """Take over what edges report of their clients' positions; return how to stop. Edges report all as this member joins."""
    if not settings.replay_window:
        return lambda: None

    def hear(arrived: Message) -> None:
        try:
            positions.update(_decode_positions(arrived.payload), time.monotonic())
        except Undecodable as error:
            observe(PositionsUnreadable(error.reason))

    subscription = connection.subscribe(CLIENT_POSITIONS.name, hear)
    name = "headwater_realtime_client_positions"
    hide = gauge(name, "Positions of clients that are remembered for the next join.", lambda: len(positions))

    def stop() -> None:
        subscription.unsubscribe()
        hide()

    return stop
