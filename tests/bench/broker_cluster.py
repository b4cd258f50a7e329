"""How long row changes pause when a server of a NATS cluster of three is killed, or rolled in peace.

    python -m tests.bench.broker_cluster [--rounds 3]

A writer publishes in strict order (`broker/jetstream/ordered_publisher.py`) and a reader follows (`broker/jetstream/ordered_reader.py`), as the leader of
the changes and an edge do. Each server in turn is rolled (lame duck, then started again) and killed; printed is the longest
time without a message at the reader, beside the time in which the stream or the cluster had no leader that answers.
"""

import argparse
import asyncio
import os
import signal
import statistics
import time
from contextlib import AsyncExitStack

import uvloop

from broker.jetstream.ordered_publisher import OrderedPublisher
from broker.jetstream.ordered_reader import StreamReader
from broker.jetstream.streams import StreamLimits, create_stream, stream_state
from broker.nats.connection import NatsConnection
from schemas.errors import ApiError
from tests.broker.server import NatsServer, free_port, running_server

_LIMITS = StreamLimits("CHANGES", ("changes.>",), 900, 100_000_000)
_PAUSE_S = 0.01


class _Run:
    """A writer and a reader at work, and when messages arrived."""

    def __init__(self) -> None:
        self.last = self.longest = 0.0
        self.received = self.sent = 0
        self.leaderless = 0.0

    def arrived(self, numbers: list[int]) -> None:
        now = time.monotonic()
        for number in numbers:
            assert number == self.received + 1, (number, self.received)
            self.received = number
        self.longest = max(self.longest, now - self.last)
        self.last = now


async def main(rounds: int) -> None:
    """Run the table."""
    async with AsyncExitStack() as stack:
        ports = [free_port() for _ in range(3)]
        servers = list(
            await asyncio.gather(
                *(stack.enter_async_context(running_server(_config(ports, n))) for n in range(3))
            )
        )
        urls = ",".join(server.url for server in servers)
        writer_link = await NatsConnection.open(urls, name="writer", replicas=3)
        reader_link = await NatsConnection.open(
            ",".join(reversed(urls.split(","))), name="reader", replicas=3
        )
        watcher = await NatsConnection.open(urls, name="watcher", replicas=3)
        await _until_ready(writer_link)
        run = _Run()
        work = [asyncio.create_task(_write(writer_link, run)), asyncio.create_task(_read(reader_link, run))]
        work.append(asyncio.create_task(_watch_leader(watcher, run)))
        print(f"{'fault':>8} {'server':>7} {'longest pause':>14} {'without leader':>15}")
        table: dict[str, list[float]] = {}
        for _ in range(rounds):
            for fault in ("rolled", "killed"):
                for number, server in enumerate(servers):
                    beyond = await _fault(fault, number, server, run)
                    table.setdefault(fault, []).append(beyond)
        for fault, beyonds in table.items():
            print(
                f"{fault}: beyond the election p50 {statistics.median(beyonds):.2f} s, max {max(beyonds):.2f} s"
            )
        for task in work:
            task.cancel()
        await asyncio.gather(*work, return_exceptions=True)
        for link in (writer_link, reader_link, watcher):
            await link.close()


async def _fault(fault: str, number: int, server: NatsServer, run: _Run) -> float:
    await asyncio.sleep(2)
    run.longest, run.last, run.leaderless = 0.0, time.monotonic(), 0.0
    if fault == "killed":
        server.kill()
        await asyncio.sleep(8)
    else:
        os.kill(server.pid, signal.SIGUSR2)
        while server.is_running:
            await asyncio.sleep(0.05)
        await asyncio.sleep(3)
    run.arrived([])
    pause, leaderless = run.longest, run.leaderless
    await server.start()
    await asyncio.sleep(4)
    print(f"{fault:>8} {number:>7} {pause:>12.2f} s {leaderless:>13.2f} s", flush=True)
    return max(0.0, pause - leaderless)


def _config(ports: list[int], number: int) -> str:
    routes = ", ".join(f'"nats://127.0.0.1:{port}"' for port in ports)
    return (
        f'server_name: "n{number}"\nlame_duck_duration: "30s"\nlame_duck_grace_period: "2s"\n'
        f"cluster {{ name: c, listen: 127.0.0.1:{ports[number]}, routes: [{routes}] }}"
    )


async def _until_ready(link: NatsConnection) -> None:
    async with asyncio.timeout(60):
        while True:
            try:
                if await stream_state(link, "CHANGES") is None:
                    await create_stream(link, _LIMITS, {})
                return
            except ApiError:
                await asyncio.sleep(0.2)
            except Exception as error:  # the cluster has no leader yet
                if "10008" not in repr(error):
                    raise
                await asyncio.sleep(0.2)


async def _write(link: NatsConnection, run: _Run) -> None:
    ordered = OrderedPublisher(link, "CHANGES", order=int, last_seq=0, last_id="", confirmed=0)
    async with ordered:
        while True:
            await ordered.publish(
                "changes.a", str(run.sent + 1).encode(), id=str(run.sent + 1), mark=run.sent
            )
            run.sent += 1
            await asyncio.sleep(_PAUSE_S)


async def _read(link: NatsConnection, run: _Run) -> None:
    reader = StreamReader(link, "CHANGES", ["changes.>"], 0)
    run.last = time.monotonic()
    while True:
        try:
            kept = await reader.next()
        except ApiError:
            await asyncio.sleep(0.05)
            continue
        run.arrived([int(message.payload) for message in kept])


async def _watch_leader(link: NatsConnection, run: _Run) -> None:
    """Add up the time in which the stream, or the cluster that places consumers, has no leader that answers."""
    since = 0.0
    while True:
        began = time.monotonic()
        try:
            reply = await link.request("$JS.API.STREAM.INFO.CHANGES", b"", 0.25)
            names = await link.request(
                "$JS.API.STREAM.NAMES", b"", 0.25
            )  # answered by the leader of the cluster
            has_leader = b'"error"' not in reply.payload + names.payload
        except ApiError:
            has_leader = False
        if has_leader:
            if since:
                run.leaderless += time.monotonic() - since
            since = 0.0
        else:
            since = since or began
        await asyncio.sleep(0.02)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--rounds", type=int, default=1)
    uvloop.run(main(parser.parse_args().rounds))
