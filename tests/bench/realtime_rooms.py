"""Rooms of the realtime edge under load: fan-out to 1,000 sockets, memory of a socket, 5,000 idle sockets.

    python -m tests.bench.realtime_rooms [sockets for fan-out] [idle sockets]

One nats-server, one gateway process, and clients in this process that only count bytes. Printed: deliveries a second, CPU
of the edge for a delivery, the time from sending to the last delivery, resident memory for a socket, CPU at rest.
"""

import asyncio
import os
import resource
import statistics
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager

import psutil
import uvloop

from schemas.settings.auth import Auth
from services.supervisor.api_keys import keys_of
from tests.broker.server import free_port, running_server
from tests.platform import MANY_CLIENTS

_KEY = keys_of(Auth()).anon_key
_HEAD = (
    "GET /realtime/v1/websocket?vsn=2.0.0&apikey={key} HTTP/1.1\r\nHost: localhost\r\nUpgrade: websocket\r\n"
    "Connection: Upgrade\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n"
)


class Counter(asyncio.Protocol):
    """A socket that joins one room and counts the bytes that come after that."""

    def __init__(self, room: str, total: "Total") -> None:
        self._room = room
        self._total = total
        self.transport: asyncio.Transport | None = None
        self.is_joined = asyncio.get_running_loop().create_future()
        self._head = b""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = transport  # type: ignore[assignment]  # of TCP
        transport.write(_HEAD.format(key=_KEY).encode())  # type: ignore[attr-defined]  # of TCP

    def data_received(self, data: bytes) -> None:
        if self.is_joined.done():
            self._total.add(len(data))
            return
        self._head += data
        if self._head.endswith(b"\r\n\r\n"):
            self.send(f'["1","1","realtime:{self._room}","phx_join",{{}}]'.encode())
        elif b'"status":"ok"' in self._head:
            self.is_joined.set_result(None)

    def send(self, text: bytes) -> None:
        """Send a text frame, masked with zeros."""
        assert self.transport is not None
        size = bytes((128 | len(text),)) if len(text) < 126 else b"\xfe" + len(text).to_bytes(2, "big")
        self.transport.write(b"\x81" + size + bytes(4) + text)


class Total:
    """Bytes that all sockets got, and a wish for so many."""

    def __init__(self) -> None:
        self.size = 0
        self._wanted = 0
        self._reached = asyncio.Event()

    def add(self, size: int) -> None:
        self.size += size
        if self.size >= self._wanted:
            self._reached.set()

    async def wait(self, size: int) -> None:
        """Wait until so many more have come."""
        self._wanted = self.size + size
        self._reached.clear()
        async with asyncio.timeout(60):
            await self._reached.wait()


@asynccontextmanager
async def gateway(
    nats_url: str, settings: Mapping[str, str] = MANY_CLIENTS
) -> AsyncIterator[tuple[psutil.Process, int]]:
    """Run a gateway in a process of its own."""
    port = free_port()
    environment = {
        **os.environ, **settings, "HEADWATER_BROKER_URL": nats_url, "HEADWATER_API_PORT": str(port), "HEADWATER_AUTH_ENABLED": "false",
        "HEADWATER_STORAGE_ENABLED": "false", "HEADWATER_REALTIME_IDLE_TIMEOUT": "600",
    }  # fmt: skip
    process = subprocess.Popen(
        [sys.executable, "-P", "-m", "services", "gateway"], env=environment, stderr=subprocess.DEVNULL
    )
    try:
        while True:
            try:
                _, writer = await asyncio.open_connection("127.0.0.1", port)
            except OSError:
                await asyncio.sleep(0.05)
            else:
                writer.close()
                break
        yield psutil.Process(process.pid), port
    finally:
        process.terminate()
        process.wait()


async def join(port: int, room: str, count: int, total: Total) -> list[Counter]:
    """Open so many sockets in a room, a hundred at a time."""
    loop = asyncio.get_running_loop()
    made: list[Counter] = []
    for start in range(0, count, 100):
        batch = [
            loop.create_connection(lambda: Counter(room, total), "127.0.0.1", port)
            for _ in range(min(100, count - start))
        ]
        counters = [protocol for _, protocol in await asyncio.gather(*batch)]
        await asyncio.gather(*(each.is_joined for each in counters))
        made += counters
    return made


def cpu_s(process: psutil.Process) -> float:
    """Seconds of CPU that a process has used."""
    times = process.cpu_times()
    return times.user + times.system


async def fan_out(process: psutil.Process, port: int, count: int, messages: int) -> float:
    """Send messages to a room with so many listeners; return the microseconds of the edge's CPU for a delivery."""
    total = Total()
    listeners = await join(port, f"room-{count}", count, total)
    (sender,) = await join(port, f"room-{count}", 1, Total())
    text = f'[null,null,"realtime:room-{count}","broadcast",{{"type":"broadcast","event":"e","payload":{{"at":"x"}}}}]'
    size = (len(text) + 2 if len(text) < 126 else len(text) + 4) * count
    await _send(sender, text, total, size)
    took = [await _send(sender, text, total, size) for _ in range(min(messages, 50))]
    before, began = cpu_s(process), time.perf_counter()
    waiting = asyncio.ensure_future(total.wait(size * messages))
    await asyncio.sleep(0)
    for _ in range(messages):
        sender.send(text.encode())
    await waiting
    seconds, cpu = time.perf_counter() - began, cpu_s(process) - before
    deliveries = count * messages
    print(
        f"fan-out to {count:5}: {deliveries / seconds:9,.0f} deliveries/s, {cpu / deliveries * 1e6:6.2f} us CPU of the edge "
        f"each; one message to its last delivery: p50 {statistics.median(took) * 1e3:.2f} ms, max {max(took) * 1e3:.2f} ms"
    )
    for each in (*listeners, sender):
        assert each.transport is not None
        each.transport.close()
    await asyncio.sleep(0.2)
    return cpu / deliveries * 1e6


async def _send(sender: Counter, text: str, total: Total, size: int) -> float:
    began = time.perf_counter()
    waiting = asyncio.ensure_future(total.wait(size))
    await asyncio.sleep(0)
    sender.send(text.encode())
    await waiting
    return time.perf_counter() - began


async def idle(process: psutil.Process, port: int, count: int) -> tuple[float, float, float]:
    """Open so many sockets in rooms of a hundred, and let them rest.

    Returns, for a socket: CPU microseconds to open it, KiB of memory, CPU microseconds a second at rest; all of the edge.
    """
    before = process.memory_info().rss
    began, cpu = time.perf_counter(), cpu_s(process)
    total = Total()
    for number in range(count // 100):
        await join(port, f"idle-{number}", 100, total)
    opened, opening = time.perf_counter() - began, cpu_s(process) - cpu
    used = process.memory_info().rss - before
    before_cpu = cpu_s(process)
    await asyncio.sleep(5)
    resting = (cpu_s(process) - before_cpu) / 5
    print(
        f"{count} sockets: opened in {opened:.1f} s ({opening / count * 1e6:.0f} us CPU each), {used / count / 1024:.1f} KiB "
        f"each, {process.memory_info().rss / 2**20:.0f} MiB in all; at rest {resting:.2%} of a core"
    )
    return opening / count * 1e6, used / count / 1024, resting / count * 1e6


async def main() -> None:
    """Run all of it."""
    most, resting = (int(text) for text in (*sys.argv[1:], "1000", "5000")[:2])
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    async with running_server() as server, gateway(server.url) as (process, port):
        before = cpu_s(process)
        await asyncio.sleep(3)
        print(
            f"edge alone: {process.memory_info().rss / 2**20:.0f} MiB, {(cpu_s(process) - before) / 3:.2%} of a core"
        )
        for count in (1, 10, 100, most):
            await fan_out(process, port, count, max(20_000 // count, 50))
        await idle(process, port, resting)


if __name__ == "__main__":
    uvloop.run(main())
