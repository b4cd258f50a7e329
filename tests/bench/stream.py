"""Long answers through a whole platform: how fast they come, and what the edge and the worker hold of them.

    python -m tests.bench.stream [--sizes 10,100] [--repeat 5] [--workloads rows,thin,text] [--connections 1]

    rows    a table's rows of about 1 KB as JSON
    thin    rows of about 90 bytes as JSON: the server makes them more slowly than they travel
    text    one value of a function as it is, which costs the server next to nothing to make

For each: MB/s over the whole request, the part of it until the first byte (the server makes the answer), MB/s from
there on, by how much the resident memory of the edge and the worker grew at most while the answers came, and the CPU
milliseconds per MB of each process. The answers are read by raw sockets that keep nothing; `--connections` of them at a time.
"""

import argparse
import asyncio
import contextlib
import socket
import statistics
import sys
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field

import asyncpg
import psutil

from tests.bench import cpu
from tests.bench.load import http
from tests.platform import Platform, platform

MB = 1_000_000
_WATCHED = ("edge", "worker")
_GROUPS = ("edge", "nats", "worker", "postgres")

_SCHEMA = f"""
create table public.wide (id int primary key, name text not null, note text not null);
insert into public.wide select n, 'item ' || n, repeat(md5(n::text), 30) from generate_series(1, {110 * 1000}) n;
create table public.thin (id int primary key, name text not null, price numeric(8,2) not null, note text not null);
insert into public.thin
    select n, 'item ' || n, n % 1000 / 4.0, 'lorem ipsum dolor sit amet' from generate_series(1, {110 * 12_000}) n;
create domain public."text/plain" as text;
create function public.long_text(size int) returns public."text/plain" language sql stable as 'select repeat(''0123456789'', size / 10)';
grant all on all tables in schema public to service_role;
grant execute on function public.long_text to service_role;
analyze public.wide, public.thin;
notify pgrst;
"""


@dataclass(slots=True)
class ReadResponse:
    """One answer that was read to its end: bytes of its body, seconds to the first byte and to the last."""

    size: int
    first: float
    whole: float


@dataclass(slots=True)
class Memory:
    """Resident bytes by group: what they were, and the most they were since."""

    before: dict[str, int]
    most: dict[str, int] = field(default_factory=dict)

    def grown_mb(self, group: str) -> float:
        return (self.most.get(group, 0) - self.before.get(group, 0)) / MB


def requests(host: str, headers: dict[str, str], megabytes: int) -> dict[str, bytes]:
    """Give the request of each workload for an answer of about so many megabytes."""
    plain = {**headers, "Accept": "text/plain"}
    return {
        "rows": http("GET", f"/rest/v1/wide?limit={megabytes * 1000}", host, headers),
        "thin": http("GET", f"/rest/v1/thin?limit={megabytes * 12_000}", host, headers),
        "text": http("GET", f"/rest/v1/rpc/long_text?size={megabytes * MB}", host, plain),
    }


def take(address: tuple[str, int], request: bytes) -> ReadResponse:
    """Send a request and read its answer, keeping nothing. Raises: AssertionError if it is no whole 200."""
    buffer = bytearray(1 << 20)
    with socket.create_connection(address) as one:
        began = time.perf_counter()
        one.sendall(request)
        head = b""
        while b"\r\n\r\n" not in head:
            count = one.recv_into(buffer)
            assert count, "the connection was closed before the answer"
            head += buffer[:count]
        first = time.perf_counter() - began
        lines, _, body = head.partition(b"\r\n\r\n")
        assert lines.startswith(b"HTTP/1.1 200 "), lines[:200]
        size = int(lines.lower().partition(b"\r\ncontent-length: ")[2].partition(b"\r\n")[0])
        left = size - len(body)
        while left:
            count = one.recv_into(buffer)
            assert count, f"the answer broke off with {left} bytes to come"
            left -= count
    return ReadResponse(size, first, time.perf_counter() - began)


@contextlib.contextmanager
def watched(root: int, groups: tuple[str, ...] = _WATCHED) -> Iterator[Memory]:
    """Look at the resident memory of groups of processes, over and over, while the block runs."""
    family = {pid: group for pid, group in cpu.groups_of([root]).items() if group in groups}
    processes = [(psutil.Process(pid), group) for pid, group in family.items()]
    memory, is_over = Memory(resident(processes)), threading.Event()

    def look() -> None:
        while not is_over.wait(0.005):
            for group, size in resident(processes).items():
                memory.most[group] = max(size, memory.most.get(group, 0))

    thread = threading.Thread(target=look)
    thread.start()
    try:
        yield memory
    finally:
        is_over.set()
        thread.join()


def resident(processes: list[tuple[psutil.Process, str]]) -> dict[str, int]:
    """Give the resident bytes of each group that its processes share with no other."""
    sizes: dict[str, int] = {}
    for process, group in processes:
        with contextlib.suppress(psutil.NoSuchProcess):
            memory = process.memory_info()
            sizes[group] = sizes.get(group, 0) + memory.rss - memory.shared
    return sizes


async def prepare(database_url: str) -> None:
    """Make the tables of the benchmark."""
    connection = await asyncpg.connect(database_url)
    await connection.execute(_SCHEMA)
    await connection.close()


def measure(one: Platform, options: argparse.Namespace) -> None:
    """Measure every workload and print its line."""
    host, key = f"127.0.0.1:{one.port}", one.values["SERVICE_ROLE_KEY"]
    print(
        f"{'workload':10}{'conns':>6}{'MB':>8}{'MB/s':>8}{'first ms':>10}{'MB/s then':>11}{'whole ms':>10}{'edge +MB':>10}{'worker +MB':>12}"
        "  CPU ms per MB by process"
    )
    for megabytes in map(int, options.sizes.split(",")):
        known = requests(host, {"apikey": key}, megabytes)
        for request in requests(host, {"apikey": key}, 0).values():
            take(("127.0.0.1", one.port), request)  # so that memory for the first requests is not counted
        for name in options.workloads.split(",") if options.workloads else known:
            _measure(one, name, known[name], options.connections, options.repeat)


def _measure(one: Platform, name: str, request: bytes, connections: int, repeat: int) -> None:
    address = ("127.0.0.1", one.port)
    pids = cpu.groups_of([one.pid])
    spent = cpu.spent(pids)
    with watched(one.pid) as memory, ThreadPoolExecutor(connections) as threads:
        runs: list[ReadResponse] = []
        began = time.perf_counter()
        for _ in range(repeat):
            runs += threads.map(lambda _: take(address, request), range(connections))
        took = time.perf_counter() - began
    pids |= cpu.groups_of([one.pid])  # the server may have begun processes for it
    used = cpu.difference(spent, cpu.spent(pids), pids)
    size = runs[0].size / MB
    first, whole = (
        statistics.median(column) for column in zip(*((r.first, r.whole) for r in runs), strict=True)
    )
    print(
        f"{name:10}{connections:6}{size:8.1f}{size * len(runs) / took:8.0f}{first * 1000:10.1f}"
        f"{size / (whole - first):11.0f}{whole * 1000:10.1f}"
        f"{memory.grown_mb('edge'):10.1f}{memory.grown_mb('worker'):12.1f}  "
        + " ".join(f"{group}={used.get(group, 0.0) * 1000 / size / len(runs):.2f}" for group in _GROUPS),
        flush=True,
    )


def main() -> int:
    """Run the benchmark."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--sizes", default="10,100", help="comma separated megabytes")
    parser.add_argument("--workloads", default="", help="comma separated; default: all")
    parser.add_argument("--connections", type=int, default=1, help="answers at a time")
    parser.add_argument("--repeat", type=int, default=5, help="runs of each; the median is printed")
    options = parser.parse_args()
    with platform(environment={"HEADWATER_API_MAX_ROWS": "0"}) as one:
        asyncio.run(prepare(one.values["DB_URL"]))
        one.wait_for_catalog("thin")
        measure(one, options)
    return 0


if __name__ == "__main__":
    sys.exit(main())
