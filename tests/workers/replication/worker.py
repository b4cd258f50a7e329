"""A process with nothing but replication, for tests that kill it: `python -m tests.workers.replication.worker DB NATS`."""

import asyncio
import sys

from uvloop import new_event_loop

from broker.nats.connection import NatsConnection
from broker.observability.observe import configure
from schemas.settings.realtime import RealtimeSettings
from workers.replication.pool import Replication


async def main(database: str, broker: str) -> None:
    """Replicate until killed."""
    configure("warning", "json", "replication")
    connection = await NatsConnection.open(broker, name="replication")
    Replication(connection, database, RealtimeSettings(), database).start()
    print("ready", flush=True)
    await asyncio.Event().wait()


if __name__ == "__main__":
    with asyncio.Runner(loop_factory=new_event_loop) as runner:
        runner.run(main(*sys.argv[1:]))
