"""Many big answers at a time: the memory of the database's processes and of ours, how fast they come, what they cost.

    python -m tests.bench.big_answers [--runs 10x200,20x50] [--workloads rows,thin] [--repeat 1]

    rows    a table's rows of about 1 KB as JSON
    thin    rows of about 90 bytes as JSON
    csv     the rows of 1 KB as CSV
    write   PATCH of that many rows of 1 KB with return=representation, by at most 220 MB of clients

`10x200` means 10 clients that each read an answer of 200 MB at once; they keep nothing. For each line: seconds until the first
byte and until the last one (medians of the clients), MB/s of all clients together, CPU milliseconds per MB by process,
and the peak of memory while they read. "own" is memory that a process shares with no other (RssAnon). "all" is the peak
of the sum of PSS over all processes of the platform, what it takes when idle included; "idle" is that sum before. Files
that are kept by the page cache are in neither.
"""

import argparse
import asyncio
import statistics
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import asyncpg

from tests.bench import cpu
from tests.bench.load import http
from tests.bench.stream import MB, ReadResponse, take
from tests.platform import Platform, platform

_ROWS = 220 * 1000
_SCHEMA = f"""
create table public.wide (id int primary key, name text not null, note text not null);
insert into public.wide select n, 'item ' || n, repeat(md5(n::text), 30) from generate_series(1, {_ROWS}) n;
create table public.thin (id int primary key, name text not null, price numeric(8,2) not null, note text not null);
insert into public.thin
    select n, 'item ' || n, n % 1000 / 4.0, 'lorem ipsum dolor sit amet' from generate_series(1, {_ROWS * 12}) n;
grant all on public.wide, public.thin to service_role;
alter role service_role set statement_timeout = '120s';
analyze public.wide, public.thin;
notify pgrst;
"""
_GROUPS = ("edge", "nats", "worker", "postgres")
_EVERY_S, _PSS_EVERY = 0.02, 10


class Peaks:
    """Watches the memory of a platform's processes in a thread, in MB."""

    def __init__(self, root: int) -> None:
        self._root, self._end = root, threading.Event()
        self.own: dict[str, float] = {}
        self.own_idle = (
            sum(_figure(f"/proc/{pid}/status", "RssAnon:") for pid in cpu.groups_of([root])) / 1024
        )
        self.idle = self.all = sum(cpu.resident_mb([root]).values())
        self._thread = threading.Thread(target=self._run)

    def __enter__(self) -> "Peaks":
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._end.set()
        self._thread.join()

    def _run(self) -> None:
        pids, count = cpu.groups_of([self._root]), 0
        while not self._end.wait(_EVERY_S):
            if count % _PSS_EVERY == 0:
                pids = cpu.groups_of([self._root])
                self.all = max(self.all, sum(map(_pss, pids)) / 1024)
            count += 1
            sums: dict[str, float] = {}
            for pid, group in pids.items():
                sums[group] = sums.get(group, 0.0) + _figure(f"/proc/{pid}/status", "RssAnon:") / 1024
            for group, size in sums.items():
                self.own[group] = max(size, self.own.get(group, 0.0))


def _try(address: tuple[str, int], request: bytes) -> ReadResponse | None:
    """Read an answer; None if it failed, whose words go to standard error."""
    try:
        return take(address, request)
    except (AssertionError, OSError) as error:
        print(f"   a client failed: {str(error)[:120]}", file=sys.stderr)
        return None


def _pss(pid: int) -> int:
    return _figure(f"/proc/{pid}/smaps_rollup", "Pss:")


def _figure(path: str, name: str) -> int:
    """Return a figure of the kernel in KB; 0 for a process that is gone."""
    try:
        with open(path, encoding="ascii", errors="replace") as file:
            return next((int(line.split()[1]) for line in file if line.startswith(name)), 0)
    except (OSError, ValueError):
        return 0


def requests(host: str, headers: dict[str, str], megabytes: int, client: int = 0) -> dict[str, bytes]:
    """Return the request of each workload for an answer of about so many megabytes. Each client writes rows of its own."""
    count = megabytes * 1000
    first = client % max(1, _ROWS // count) * count
    csv = {**headers, "Accept": "text/csv"}
    shown = {**headers, "Prefer": "return=representation"}
    return {
        "rows": http("GET", f"/rest/v1/wide?limit={megabytes * 1000}", host, headers),
        "thin": http("GET", f"/rest/v1/thin?limit={megabytes * 12_000}", host, headers),
        "csv": http("GET", f"/rest/v1/wide?limit={megabytes * 1000}", host, csv),
        "write": http(
            "PATCH", f"/rest/v1/wide?id=gt.{first}&id=lte.{first + count}", host, shown, b'{"name": "new"}'
        ),
    }


def measure(one: Platform, name: str, clients: int, megabytes: int) -> None:
    """Measure one workload and print its line."""
    headers = {"apikey": one.values["SERVICE_ROLE_KEY"]}
    host, address = f"127.0.0.1:{one.port}", ("127.0.0.1", one.port)
    sent = [requests(host, headers, megabytes, client)[name] for client in range(clients)]
    pids = cpu.groups_of([one.pid])
    spent = cpu.spent(pids)
    with Peaks(one.pid) as peaks, ThreadPoolExecutor(clients) as threads:
        began = time.perf_counter()
        tried = list(threads.map(lambda request: _try(address, request), sent))
        took = time.perf_counter() - began
    runs = [run for run in tried if run is not None]
    if not runs:
        print(f"{name:8}{clients:4} x{megabytes:5} MB  every client failed; own {peaks.own}", flush=True)
        return
    pids |= cpu.groups_of([one.pid])
    used = cpu.difference(spent, cpu.spent(pids), pids)
    size = sum(run.size for run in runs) / MB
    first, whole = (statistics.median(x) for x in zip(*((r.first, r.whole) for r in runs), strict=True))
    print(
        f"{name:8}{clients:4} x{size / len(runs):5.0f} MB{first:8.1f}{whole:8.1f}{size / took:8.0f}  "
        + " ".join(f"{group}={used.get(group, 0.0) * 1000 / size:.2f}" for group in _GROUPS)
        + "  own "
        + " ".join(f"{group}={peaks.own.get(group, 0.0):.0f}" for group in _GROUPS)
        + f" (idle {peaks.own_idle:.0f})  all {peaks.all:.0f} (idle {peaks.idle:.0f})"
        + (f"  failed {clients - len(runs)}" if len(runs) < clients else ""),
        flush=True,
    )


async def prepare(database_url: str) -> None:
    """Make the tables of the benchmark."""
    connection = await asyncpg.connect(database_url)
    await connection.execute(_SCHEMA)
    await connection.close()


def main() -> int:
    """Run the benchmark."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--runs", default="10x200,20x50", help="comma separated: clients x megabytes")
    parser.add_argument("--workloads", default="rows", help="comma separated")
    parser.add_argument("--repeat", type=int, default=1, help="how often each is measured")
    options = parser.parse_args()
    with platform(environment={"HEADWATER_API_MAX_ROWS": "0", "HEADWATER_DB_POOL_SIZE": "20"}) as one:
        asyncio.run(prepare(one.values["DB_URL"]))
        one.wait_for_catalog("thin")
        take(("127.0.0.1", one.port), requests("x", {"apikey": one.values["SERVICE_ROLE_KEY"]}, 1)["rows"])
        print("workload clients x size   first s whole s  MB/s  CPU ms per MB; peak MB")
        for name in options.workloads.split(","):
            for run in options.runs.split(","):
                clients, _, megabytes = run.partition("x")
                for _ in range(options.repeat):
                    measure(one, name, int(clients), int(megabytes))
    return 0


if __name__ == "__main__":
    sys.exit(main())
