"""Queues: how many messages a second one function consumes, and how long after its commit a message reaches it.

    python -m tests.bench.queues [--messages 20000] [--batch 10]

One platform, one function that does nothing. Messages are sent by one statement while the consumer is paused, then it is resumed (rate);
then one by one (delay, by the clock of this process from before the insert until the message is gone).
"""

import argparse
import asyncio
import statistics
import tempfile
import time
from pathlib import Path

import asyncpg

from tests.platform import platform
from tests.workers.management.operations.conftest import administrator

_SINGLE = 30
_FUNCTION = "Deno.serve(async (request) => { await request.json(); return new Response() })"


async def measure(messages: int, batch: int) -> None:
    """Measure and print."""
    with tempfile.TemporaryDirectory() as folder:
        project = Path(folder) / "supabase"
        (project / "functions" / "work").mkdir(parents=True)
        (project / "functions" / "work" / "index.ts").write_text(_FUNCTION)
        (project / "config.toml").write_text(
            f'[functions.work.queue]\nqueue = "mail"\nbatch = {batch}\nconcurrency = 10\n'
        )
        with platform("--project", folder) as running:
            running.psql("create extension if not exists pgmq; select pgmq.create('mail')")
            owner = await asyncio.to_thread(administrator, running, "bench", "--rights", "owner", "--write")
            connection = await asyncpg.connect(running.values["DB_URL"])
            await connection.execute("select pgmq.send('mail', '{}')")  # starts the function
            await _empty(connection)
            status, body = await asyncio.to_thread(owner.send, "queues.pause", {"queue": "mail"})
            assert status == 200, body
            await connection.execute(
                "select pgmq.send_batch('mail', array(select jsonb_build_object('n', n) from generate_series(1, $1::int) n))",
                messages,
            )
            began = time.monotonic()
            await asyncio.to_thread(owner.send, "queues.resume", {"queue": "mail"})
            await _empty(connection)
            took_s = time.monotonic() - began
            print(f"{messages} messages in batches of {batch}: {messages / took_s:.0f} a second")
            delays = []
            for _ in range(_SINGLE):
                began = time.monotonic()
                await connection.execute("select pgmq.send('mail', '{}')")
                await _empty(connection)
                delays.append((time.monotonic() - began) * 1000)
                await asyncio.sleep(0.2)
            print(
                f"one message: {statistics.median(delays):.0f} ms (p50) from before its insert until it is done"
            )
            await connection.close()


async def _empty(connection: asyncpg.Connection) -> None:
    while await connection.fetchval("select exists (select from pgmq.q_mail)"):
        await asyncio.sleep(0.02)


def main() -> None:
    """Measure as the command line says."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--messages", type=int, default=20_000)
    parser.add_argument("--batch", type=int, default=10)
    arguments = parser.parse_args()
    asyncio.run(measure(arguments.messages, arguments.batch))


if __name__ == "__main__":
    main()
