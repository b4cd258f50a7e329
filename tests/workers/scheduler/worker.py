"""A process with a scheduler, for tests that kill it: `python -m tests.workers.scheduler.worker DATABASE_URL NATS_URL`."""

import asyncio
import sys

from broker.nats.connection import NatsConnection
from broker.requests.call import Calls
from schemas.settings.tree import Settings
from workers.scheduler.pool import SchedulerCandidate


async def main(url: str, nats_url: str) -> None:
    """Stand until killed; tell when this one leads."""
    connection = await NatsConnection.open(nats_url, name="scheduler")
    scheduler = SchedulerCandidate(url, connection, Calls(connection), Settings())
    scheduler.begin()
    while not scheduler.is_leader:
        await asyncio.sleep(0.01)
    print("leads", flush=True)
    await asyncio.Event().wait()


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
