"""How fast the machine is now: a fixed loop of Python, fixed statements of Postgres, and a fixed exchange over loopback.

    python -m tests.bench.calibration

Each is CPU time, the least of several rounds, so that other work on the machine counts little. Their ratios to those of a
reference machine make one factor: 2 means that this machine takes twice as long. A recorded run keeps it; times of runs are
divided by it, and rates multiplied, before they are compared or written into a page. It cannot see what differs by workload: caches, disks,
the number of cores. Ratios of two sides in one run need none of it.
"""

import asyncio
import math
import socket
import time

import asyncpg
import msgspec

from tests.bench import cpu
from tests.workers.database.own_server import own_server

_ROUNDS = 9
_LOOPS = 100_000
_EXCHANGES = 4_000
_ROWS = 20_000
_STATEMENT = f"""
select sum(n), count(distinct n % 1000), max(md5(n::text)), length(json_agg(n)::text) from generate_series(1, {_ROWS}) n
"""


class Calibration(msgspec.Struct, frozen=True):
    """CPU milliseconds of each part."""

    python_ms: float
    postgres_ms: float
    loopback_ms: float

    @property
    def factor(self) -> float:
        """How many times as long this machine takes as the reference: the geometric mean of the parts."""
        parts = [
            own / reference
            for own, reference in zip(
                msgspec.structs.astuple(self), msgspec.structs.astuple(REFERENCE), strict=True
            )
        ]
        return math.prod(parts) ** (1 / len(parts))


REFERENCE = Calibration(18.3, 9.8, 43.0)
"""Two shared cores of AMD EPYC under Linux 6.18, in November 2026: what is called 1. Four runs at a load of 9 to 11 differed by 3 % at most."""


async def calibrate() -> Calibration:
    """Measure this machine, in about five seconds, with a Postgres of its own."""
    python = min(_python_ms() for _ in range(_ROUNDS))
    loopback = min(_loopback_ms() for _ in range(_ROUNDS))
    async with own_server() as server:
        connection = await asyncpg.connect(server.url)
        try:
            backend = {await connection.fetchval("select pg_backend_pid()"): "postgres"}
            postgres = min([await _postgres_ms(connection, backend) for _ in range(_ROUNDS)])
        finally:
            await connection.close()
    return Calibration(round(python, 3), round(postgres, 3), round(loopback, 3))


def _python_ms() -> float:
    """Return the CPU time of a loop over integers, texts, a dictionary and a list."""
    began, counts, texts = time.process_time(), dict[str, int](), list[str]()
    for number in range(_LOOPS):
        text = f"key {number % 1000}"
        counts[text] = counts.get(text, 0) + number
        if not number % 10:
            texts.append(text.upper())
    if len(counts) != 1000 or len(texts) != _LOOPS // 10:
        raise AssertionError("the loop did not do its work")
    return (time.process_time() - began) * 1000


def _loopback_ms() -> float:
    """Return the CPU time of exchanges of 64 bytes over TCP, both ends in this thread."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        near = socket.create_connection(listener.getsockname())
        far, _ = listener.accept()
    with near, far:
        for end in (near, far):
            end.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        message = bytes(64)
        began = time.process_time()
        for _ in range(_EXCHANGES):
            near.sendall(message)
            far.sendall(far.recv(64, socket.MSG_WAITALL))
            near.recv(64, socket.MSG_WAITALL)
        return (time.process_time() - began) * 1000


async def _postgres_ms(connection: asyncpg.Connection, backend: dict[int, str]) -> float:
    before = cpu.spent(backend)
    await connection.fetchrow(_STATEMENT)
    return sum(cpu.difference(before, cpu.spent(backend), backend).values()) * 1000


def main() -> None:
    """Print the parts and the factor."""
    parts = asyncio.run(calibrate())
    for name, reference in msgspec.structs.asdict(REFERENCE).items():
        print(
            f"{name:12}{getattr(parts, name):9.2f}   {getattr(parts, name) / reference:.2f} of the reference"
        )
    print(f"factor      {parts.factor:9.2f}")


if __name__ == "__main__":
    main()
