"""From the commit to the message of the stream: how soon, how many a second, at what cost.

    python -m tests.bench.replication [--rows 3000] [--bulk 100000] [--idle 10]

    live    rows committed one by one, 500 a second: milliseconds from the commit's answer and from its start to the message
    flat    rows committed one by one by 4 writers as fast as they can
    bulk    one transaction of many rows, and the same rows as an UPDATE
    idle    nothing happens: CPU of the replication process

A row has 7 columns (bigint, int, text, numeric, bool, jsonb, timestamptz). Replication runs in a process of its own;
fsync is on. CPU is that of the replication process, in microseconds for a change.
"""

import argparse
import asyncio
import statistics
import sys
import time
from asyncio.subprocess import PIPE, Process, create_subprocess_exec

import asyncpg
import msgspec
import psutil

from broker.nats.connection import NatsConnection
from broker.nats.protocol import NatsMessage
from schemas.changes import ChangeBatch
from schemas.settings.realtime import RealtimeSettings
from schemas.settings.tree import Settings
from tests.bench import cpu
from tests.broker.server import running_server
from tests.workers.database.server import connected, temporary_server
from tests.workers.replication.replication_pool import login_url
from workers.database.migrations.migrate import migrate

_TABLE = """
create table public.bench (
  id bigint primary key, n int, name text, price numeric(10,2), ok bool, data jsonb, at timestamptz default now());
alter publication supabase_realtime add table public.bench;
"""
_ROW = "insert into bench values ($1::bigint, 7, 'item ' || $1::bigint, 12.50, true, '{\"a\": [1, 2]}')"
_DECODE = msgspec.msgpack.Decoder(ChangeBatch).decode


class ReceivedChanges:
    """Changes that were heard, with the time of each message."""

    def __init__(self) -> None:
        self.count = 0
        self.wanted = 0
        self.done = asyncio.Event()
        self.times: dict[int, float] = {}
        self.keeps_times = False

    def hear(self, message: NatsMessage) -> None:
        now = time.perf_counter()
        batch = _DECODE(message.payload)
        self.count += len(batch.changes)
        if self.keeps_times:
            for change in batch.changes:
                assert change.new is not None
                self.times[int(change.new[0] or 0)] = now
        if self.count >= self.wanted:
            self.done.set()

    def expect(self, more: int) -> None:
        self.wanted = self.count + more
        self.done.clear()


async def _live(heard: ReceivedChanges, writer: asyncpg.Connection, rows: int, first: int) -> None:
    heard.keeps_times = True
    heard.expect(rows)
    began, answered = {}, {}
    due = time.perf_counter()
    for number in range(first, first + rows):
        due += 0.002
        await asyncio.sleep(max(due - time.perf_counter(), 0))
        began[number] = time.perf_counter()
        await writer.execute(_ROW, number)
        answered[number] = time.perf_counter()
    await asyncio.wait_for(heard.done.wait(), 60)
    heard.keeps_times = False
    for name, since in (("start of the commit", began), ("answer to the commit", answered)):
        taken = sorted((heard.times[number] - since[number]) * 1000 for number in since)
        p50, p99 = statistics.median(taken), taken[int(len(taken) * 0.99)]
        print(f"  {name} -> message   p50 {p50:.2f} ms   p99 {p99:.2f} ms")


async def _flat(heard: ReceivedChanges, url: str, rows: int, first: int) -> None:
    heard.expect(rows)

    async def write(part: int) -> None:
        async with connected(url) as one:
            for number in range(first + part, first + rows, 4):
                await one.execute(_ROW, number)

    await asyncio.gather(*(write(part) for part in range(4)))
    await asyncio.wait_for(heard.done.wait(), 120)


async def _bulk(heard: ReceivedChanges, writer: asyncpg.Connection, statement: str, rows: int) -> None:
    heard.expect(rows)
    await writer.execute(statement)
    await asyncio.wait_for(heard.done.wait(), 120)


async def _measured(name: str, process: Process, rows: int, work: object) -> None:
    pids = {process.pid: "replication"}
    before, began = cpu.spent(pids), time.perf_counter()
    await work  # type: ignore[misc]  # a coroutine
    took, used = time.perf_counter() - began, cpu.difference(before, cpu.spent(pids), pids)["replication"]
    print(
        f"{name:<24} {rows / took:>9.0f} changes/s   {used / rows * 1e6:>7.1f} us CPU a change   {took:.2f} s"
    )


async def main(arguments: argparse.Namespace) -> None:
    """Measure and print."""
    with temporary_server(settings={"fsync": "on", "shared_buffers": "128MB"}) as server:
        async with running_server() as nats:
            await migrate(server.url(), Settings())
            url = login_url(server.url(), RealtimeSettings().login, Settings().db.password.reveal())
            process = await create_subprocess_exec(
                sys.executable, "-m", "tests.workers.replication.worker", url, nats.url, stdout=PIPE
            )
            assert process.stdout is not None
            await process.stdout.readline()
            connection = await NatsConnection.open(nats.url, name="bench")
            try:
                await _all(arguments, server.url(), connection, process)
            finally:
                process.kill()
                await process.wait()
                await connection.close()


async def _all(arguments: argparse.Namespace, url: str, connection: NatsConnection, process: Process) -> None:
    heard, rows, bulk = ReceivedChanges(), arguments.rows, arguments.bulk
    connection.subscribe("changes.public.bench", heard.hear)
    async with connected(url) as writer:
        while not await writer.fetchval("select active from pg_replication_slots"):
            await asyncio.sleep(0.05)
        await writer.execute(_TABLE)
        await _live(heard, writer, 50, -100)
        await _measured("live, 500 a second", process, rows, _live(heard, writer, rows, 0))
        await _measured("one by one, 4 writers", process, rows, _flat(heard, url, rows, rows))
        insert = _ROW.replace("$1::bigint", "g").replace("values (", "select ").removesuffix(")")
        insert += f" from generate_series({2 * rows}, {2 * rows + bulk - 1}) g"
        await _measured("bulk insert", process, bulk, _bulk(heard, writer, insert, bulk))
        update = f"update bench set n = 8 where id >= {2 * rows}"
        await _measured("bulk update", process, bulk, _bulk(heard, writer, update, bulk))
        await asyncio.sleep(2)
        pids = {process.pid: "replication"}
        before = cpu.spent(pids)
        await asyncio.sleep(arguments.idle)
        used = cpu.difference(before, cpu.spent(pids), pids)["replication"]
        memory = psutil.Process(process.pid).memory_info().rss / 2**20
        print(f"idle: {used / arguments.idle * 100:.3f} % of a core   {memory:.0f} MB resident")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rows", type=int, default=3000)
    parser.add_argument("--bulk", type=int, default=100_000)
    parser.add_argument("--idle", type=float, default=10)
    asyncio.run(main(parser.parse_args()))
