"""What the worker and Postgres spend on a REST request, without edge and NATS: two checkouts in turns.

    python -m tests.bench.rest_worker [--against /other/checkout] [--workloads by_pk,insert1] [--concurrency 1,32] [--pairs 60]

`RestWorker.answer` is called in a process of its own for each checkout, against one server with the settings of the
platform's. The two take turns in windows of `--seconds`, so both meet the same disturbances. Prints CPU microseconds a request of
the worker and of Postgres (the lowest fifth of the windows), and the median ratio of the pairs with its quartiles.
"""

import argparse
import asyncio
import contextlib
import importlib
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from urllib.parse import quote

import asyncpg
import msgspec
import psutil
import uvloop

from schemas.caller import UserCaller
from schemas.http import Request
from schemas.settings.tree import Api
from tests.bench import cpu
from tests.workers.database.own_server import own_server
from tests.workers.rest.bodies import Inline
from workers.database.connection_pool.pool import ConnectionPool
from workers.database.schema_cache.introspect import IntrospectOptions, introspect
from workers.rest.state import RestState
from workers.rest.worker import RestWorker

_ROOT = Path(__file__).parents[2]
_PROGRAM = Path(__file__).relative_to(_ROOT)
"""This file in a checkout: each side runs its own, as names that it imports change."""
_LOGIN, _PASSWORD = "bench_authenticator", "bench"
_ROLES = f"""
create role anon nologin; create role authenticated nologin; create role service_role nologin bypassrls;
create role {_LOGIN} login noinherit password '{_PASSWORD}'; grant anon, authenticated, service_role to {_LOGIN};
alter role authenticated set statement_timeout = '8s';
create extension pg_stat_statements;
"""
_SETTINGS = {
    "shared_buffers": "128MB",
    "wal_level": "logical",
    "max_wal_size": "1GB",
    "shared_preload_libraries": "pg_stat_statements",
    "pg_stat_statements.track_utility": "off",
    "fsync": "on",
    "full_page_writes": "on",
}
_CLAIMS = json.dumps({
    "role": "authenticated", "sub": "user-7", "email": "someone@example.com", "aud": "authenticated",
    "exp": 1999999999, "app_metadata": {"provider": "email"}, "session_id": "5d7d2b0e-5d0c-4f0e-9a2d-0d5d7d2b0e5d",
}).encode()  # fmt: skip
_HEADERS = [
    ("host", "127.0.0.1:8000"),
    ("apikey", "a" * 120),
    ("authorization", "Bearer " + "t" * 200),
    ("accept", "*/*"),
    ("user-agent", "bench"),
]

RequestAt = Callable[[int], Request]
"""Returns the request with a number."""


def requests() -> dict[str, RequestAt]:
    """Return the requests of each workload."""
    caller = UserCaller(_CLAIMS)

    def get(path: str, query: str) -> Request:
        return Request("id", "GET", path, query, _HEADERS, caller, caller_key="k")

    def post(path: str, value: object, prefer: str) -> Request:
        body = json.dumps(value, separators=(",", ":")).encode()
        headers = [*_HEADERS, ("content-type", "application/json"), *([("prefer", prefer)] if prefer else [])]
        return Request("id", "POST", path, "", headers, caller, body=body, caller_key="k")

    def row(n: int) -> dict[str, object]:
        return {
            "name": f"row {n}",
            "price": n % 1000 / 4,
            "qty": n % 97,
            "note": "lorem ipsum dolor sit amet",
        }

    def patch(path: str, query: str, value: object) -> Request:
        made = post(path, value, "return=minimal")
        return msgspec.structs.replace(made, method="PATCH", query=query)

    def known(n: int) -> dict[str, object]:
        return {"id": n % 2000 + 1, **row(n)}

    merged = "return=minimal,resolution=merge-duplicates"
    many_merged = post("/kept", [known(n) for n in range(1000)], merged)
    many = post("/sink", [row(n) for n in range(1000)], "return=minimal")
    return {
        "by_pk": lambda n: get("/items", f"select=*&id=eq.{n % 2000 + 1}"),
        "rows100": lambda n: get(
            "/items", f"select=id,name,price,qty&order=id.asc&limit=100&offset={n % 50 * 10}"
        ),
        "embed": lambda n: get(
            "/orders",
            f"select=id,qty,status,customers(id,name),items(id,name,price)&customer_id=eq.{n % 500 + 1}&status=eq.paid&order=id.asc",
        ),
        "rls": lambda n: get("/notes", "select=id,body&order=id.asc&limit=10"),
        "insert1": lambda n: post("/sink", row(n), "return=minimal"),
        "insert1_row": lambda n: post("/sink", row(n), "return=representation"),
        "insert1000": lambda _: many,
        "update1": lambda n: patch("/kept", f"id=eq.{n % 2000 + 1}", row(n)),
        "delete0": lambda n: msgspec.structs.replace(
            patch("/kept", f"id=eq.{n + 10_000}", None), method="DELETE", body=b""
        ),
        "upsert1": lambda n: post("/kept", known(n), merged),
        "upsert1000": lambda _: many_merged,
        "rpc": lambda n: post("/rpc/add_them", {"a": n, "b": 2}, ""),
    }


class Side:
    """One checkout's worker with its pool, in this process."""

    def __init__(self, worker: RestWorker, postmaster: psutil.Process) -> None:
        self._worker = worker
        self._postmaster = postmaster
        self._known = requests()
        self._number = 0

    async def measure(self, name: str, concurrency: int, seconds: float) -> tuple[float, float]:
        """Return CPU microseconds a request of this process and of the server's, in one window."""
        at, count = self._known[name], 0
        server = {child.pid: "postgres" for child in self._postmaster.children()}
        end = time.perf_counter() + seconds

        async def ask(request: Request) -> None:
            response = await self._worker.answer(request, Inline(request.body))
            assert response.status in (200, 201, 204), response

        async def caller() -> None:
            nonlocal count
            while time.perf_counter() < end:
                self._number += 1
                await asyncio.create_task(ask(at(self._number)))  # a task a request, as a pool member has
                count += 1

        own, theirs = time.process_time(), sum(cpu.spent(server).values())
        await asyncio.gather(*(caller() for _ in range(concurrency)))
        own, theirs = time.process_time() - own, sum(cpu.spent(server).values()) - theirs
        return own / max(1, count) * 1e6, theirs / max(1, count) * 1e6


async def _one_side(options: argparse.Namespace) -> None:
    """Measure one workload once and print its figures as JSON."""
    api = Api(schemas=["public"], anon_role="anon", service_role="service_role", extra_search_path=["public", "extensions"])  # fmt: skip
    connection = await asyncpg.connect(options.url)
    catalog = await introspect(connection, IntrospectOptions(("public",), ("public",)), 1)
    await connection.close()
    state = RestState(api, catalog)
    pool = await ConnectionPool.open(options.url, 20)
    worker = RestWorker(pool, 1 << 26, lambda: state)
    with contextlib.suppress(ImportError):  # the other checkout may be older
        importlib.import_module("broker.processes.collector").settle_collector()
    side = Side(worker, psutil.Process(options.postmaster))
    loop = asyncio.get_running_loop()
    print("ready", flush=True)
    while line := await loop.run_in_executor(None, sys.stdin.readline):
        name, concurrency, seconds = line.split()
        figures = await side.measure(name, int(concurrency), float(seconds))
        print(*figures, flush=True)
    await pool.close()


class SideProcess:
    """The process of one side."""

    def __init__(self, folder: Path, url: str, postmaster: int) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-P", str(folder / _PROGRAM), "--url", url, "--postmaster", str(postmaster)],
            env={**os.environ, "PYTHONPATH": str(folder)},
            cwd="/",
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        self._line()

    def _line(self) -> str:
        assert self._process.stdout is not None
        return self._process.stdout.readline()

    def measure(self, cell: str, seconds: float) -> list[float]:
        """Let it run one window."""
        assert self._process.stdin is not None
        self._process.stdin.write(f"{cell} {seconds}\n")
        self._process.stdin.flush()
        return [float(figure) for figure in self._line().split()]

    def stop(self) -> None:
        """End it."""
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._process.wait(30)


async def _compare(options: argparse.Namespace) -> None:
    """Measure the sides in turns and print the table."""
    folders = [_ROOT, *([Path(options.against)] if options.against else [])]
    with tempfile.TemporaryDirectory() as sockets:
        os.chmod(sockets, 0o777)
        async with own_server(**_SETTINGS, unix_socket_directories=sockets) as server:
            connection = await asyncpg.connect(server.url)
            await connection.execute(_ROLES)
            await connection.execute((Path(__file__).parent / "rest.sql").read_text())
            postmaster = psutil.Process(await connection.fetchval("select pg_backend_pid()")).ppid()
            await connection.close()
            url = f"postgresql://{_LOGIN}:{_PASSWORD}@/postgres?host={quote(sockets, safe='')}&port={server.port}"
            sides = [SideProcess(folder, url, postmaster) for folder in folders]
            await asyncio.to_thread(_run_in_turns, sides, options)
            for side in sides:
                side.stop()


def _run_in_turns(sides: Sequence[SideProcess], options: argparse.Namespace) -> None:
    """Measure every workload of the sides in turns, and print a line for each."""
    print(
        f"{'workload':16}{'worker':>8}{'postgres':>9}{'sum us':>8}   the other; ours / the other: worker, postgres, sum"
    )
    for name in options.workloads.split(","):
        for concurrency in options.concurrency.split(","):
            cell = f"{name} {concurrency}"
            for side in sides:
                side.measure(cell, 0.5)
            runs: list[list[list[float]]] = [[] for _ in sides]
            for turn in range(options.pairs):
                for number in range(len(sides)) if turn % 2 else reversed(range(len(sides))):
                    runs[number].append(sides[number].measure(cell, options.seconds))
            print(f"{cell:16}{_line(runs)}", flush=True)


def _line(sides: Sequence[Sequence[Sequence[float]]]) -> str:
    def low(side: Sequence[Sequence[float]], part: int) -> float:
        return sorted(run[part] for run in side)[len(side) // 5]

    cells = [f"{low(s, 0):8.1f}{low(s, 1):9.1f}{low(s, 0) + low(s, 1):8.1f}" for s in sides]
    for parts in ((0,), (1,), (0, 1)) if len(sides) > 1 else ():
        ratios = [
            sum(ours[part] for part in parts) / sum(theirs[part] for part in parts)
            for ours, theirs in zip(*sides, strict=True)
            if sum(theirs[part] for part in parts)  # a very busy machine may leave a window without a request
        ]
        quarters = statistics.quantiles(ratios, n=4)
        cells.append(f"{statistics.median(ratios):.3f} ({quarters[0]:.2f}-{quarters[2]:.2f})")
    return "   ".join(cells)


def main() -> None:
    """Run the benchmark, or one side of it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--against", default="", help="another checkout")
    parser.add_argument("--workloads", default="by_pk,rls,insert1,rpc")
    parser.add_argument("--concurrency", default="1,32")
    parser.add_argument("--seconds", type=float, default=0.1)
    parser.add_argument("--pairs", type=int, default=60)
    parser.add_argument("--url", default="", help=argparse.SUPPRESS)
    parser.add_argument("--postmaster", type=int, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.url:
        uvloop.run(_one_side(options))
    else:
        asyncio.run(_compare(options))


if __name__ == "__main__":
    main()
