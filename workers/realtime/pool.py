"""The realtime pool of a process: answers edges on the shared connections, and keeps the partitions of messages."""

import asyncio
import contextlib

from broker.subjects import REALTIME
from workers.realtime.numbers import Numbers
from workers.realtime.partitions import keep_forever
from workers.realtime.worker import RealtimeWorker, kinds
from workers.resources import Resources


async def serve_pool(resources: Resources) -> None:
    """Answer questions of the realtime edges until the process drains."""
    numbers = Numbers()
    hide = numbers.show(kinds())
    keeping = asyncio.get_running_loop().create_task(keep_forever(resources.database))

    async def stop() -> None:
        hide()
        keeping.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await keeping

    resources.process.on_drain(stop)
    await resources.serve(REALTIME, RealtimeWorker(resources.database, numbers).answer)
