"""The REST interface under load: requests a second, latencies, errors, and CPU per request by process.

    python -m tests.bench.rest [--connections 1,32,256] [--seconds 3] [--repeat 3] [--workloads by_pk,insert1]

It starts a platform of its own, measures each workload in turn `--repeat` times and prints the medians. Rows that were
acknowledged are counted in the database afterwards: a difference fails the run.
"""

import argparse
import asyncio
import json
import sys
import uuid
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import asyncpg
import jwt

from tests.bench.fastest_insert import fastest_insert
from tests.bench.load import drive, http
from tests.bench.table import HEADING, Budget, Figures, Medians, add_record_option, run, show
from tests.platform import Platform, platform

BUDGETS = (
    Budget("by_pk at 32: CPU", 0.20),
    Budget("by_pk at 1: CPU", 0.45),
    Budget("by_pk at 1: p50", 0.5),
    Budget("by_pk at 256: p99 to p50", 2),
    Budget("embed at 32: CPU", 0.36),
    Budget("insert1 at 32: CPU", 0.45),
    Budget("insert1000 to the fastest SQL", 1.3),
    Budget("rpc at 32: CPU", 0.25),
)
"""What is wanted; CPU of all processes per request. An insert of 1,000 rows is compared with the CPU of Postgres for the same rows."""

_ROWS = {"insert1": 1, "insert1_keyed": 1, "insert1000": 1000}
_KEY = b"00000000-0000-0000-0000-000000000000"


class FreshKeys(Sequence[bytes]):
    """Requests that carry an Idempotency-Key, each time another one."""

    def __init__(self, requests: Sequence[bytes]) -> None:
        self._parts = [request.partition(_KEY) for request in requests]

    def __len__(self) -> int:
        return len(self._parts)

    def __getitem__(self, index: Any) -> Any:
        head, _, tail = self._parts[index]
        return head + str(uuid.uuid4()).encode() + tail


def workloads(host: str, headers: dict[str, str]) -> dict[str, Callable[[], Sequence[bytes]]]:
    """Give the requests of each workload."""
    quiet = {**headers, "Prefer": "return=minimal"}
    keyed = {**quiet, "Idempotency-Key": _KEY.decode()}

    def get(path: str) -> bytes:
        return http("GET", f"/rest/v1{path}", host, headers)

    def post(path: str, value: object, own: dict[str, str]) -> bytes:
        return http("POST", f"/rest/v1{path}", host, own, json.dumps(value, separators=(",", ":")).encode())

    return {
        "by_pk": lambda: [get(f"/items?select=*&id=eq.{n}") for n in range(1, 2001)],
        "rows100": lambda: [
            get(f"/items?select=id,name,price,qty&order=id.asc&limit=100&offset={n}")
            for n in range(0, 500, 10)
        ],
        "embed": lambda: [
            get(
                f"/orders?select=id,qty,status,customers(id,name),items(id,name,price)&customer_id=eq.{n}&status=eq.paid&order=id.asc"
            )
            for n in range(1, 501)
        ],
        "rls": lambda: [get("/notes?select=id,body&order=id.asc&limit=10")],
        "insert1": lambda: [post("/sink", _row(n), quiet) for n in range(200)],
        "insert1_keyed": lambda: FreshKeys([post("/sink", _row(n), keyed) for n in range(200)]),
        "insert1000": lambda: [post("/sink", [_row(n) for n in range(1000)], quiet)],
        "rpc": lambda: [post("/rpc/add_them", {"a": n, "b": 2}, headers) for n in range(200)],
    }


def _row(n: int) -> dict[str, object]:
    return {"name": f"row {n}", "price": n % 1000 / 4, "qty": n % 97, "note": "lorem ipsum dolor sit amet"}


async def prepare(database_url: str) -> None:
    """Load the tables of the benchmark."""
    connection = await asyncpg.connect(database_url)
    await connection.execute((Path(__file__).parent / "rest.sql").read_text())
    await connection.execute("notify pgrst")
    await connection.close()


async def stored(database_url: str) -> int:
    """Count the rows that inserts have left."""
    connection = await asyncpg.connect(database_url)
    count = await connection.fetchval("select count(*) from public.sink")
    await connection.close()
    return int(count)


def measure(one: Platform, options: argparse.Namespace, figures: Figures) -> bool:
    """Measure every workload and print its line; False if acknowledged rows are missing."""
    token = jwt.encode(
        {"role": "authenticated", "sub": "user-7"}, one.values["JWT_SECRET"], algorithm="HS256"
    )
    headers = {"apikey": one.values["ANON_KEY"], "Authorization": f"Bearer {token}"}
    address = ("127.0.0.1", one.port)
    known = workloads(f"127.0.0.1:{one.port}", headers)
    whole = True
    print(HEADING)
    for name in options.workloads.split(",") if options.workloads else known:
        requests = known[name]()
        for connections in map(int, options.connections.split(",")):
            drive(address, requests, min(connections, 32), 0.5)
            before = asyncio.run(stored(one.values["DB_URL"]))
            runs = [run(one, address, requests, connections, options.seconds) for _ in range(options.repeat)]
            added = asyncio.run(stored(one.values["DB_URL"])) - before
            acknowledged = sum(outcome.good for outcome, _ in runs) * _ROWS.get(name, 0)
            line = show(name, connections, runs, figures)
            if added != acknowledged:
                figures.wrong(f"{name}: acknowledged {acknowledged} rows, stored {added}")
                whole = False
            if name == "insert1000" and connections == 32:
                compare_insert(one, line, figures)
    return whole


def compare_insert(one: Platform, line: Medians, figures: Figures) -> None:
    """Print what the fastest SQL for the same 1,000 rows costs Postgres, and the ratio of a request to it."""
    costs, reading = asyncio.run(fastest_insert(one.values["DB_URL"], [_row(n) for n in range(1000)]))
    fastest = min(costs.values())
    figures.add("insert1000 to the fastest SQL", line.cpu_ms / fastest, "x")
    figures.add("insert1000 to the fastest SQL, Postgres alone", line.by_group["postgres"] / fastest, "x")
    # Row changes are decoded from the log for any insert; our figure has that in it.
    figures.add(
        "insert1000 to the fastest SQL and the readers of its log", line.cpu_ms / (fastest + reading), "x"
    )
    listed = ", ".join(f"{name} {cost:.2f} ms" for name, cost in costs.items())
    print(f"   the same rows in SQL: {listed}; the readers of the log {reading:.2f} ms")


def main() -> int:
    """Run the benchmark; 1 if acknowledged rows are missing."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--workloads", default="", help="comma separated; default: all")
    parser.add_argument("--connections", default="1,32,256", help="comma separated numbers of connections")
    parser.add_argument("--seconds", type=float, default=3.0, help="length of one run")
    parser.add_argument("--repeat", type=int, default=3, help="runs of each cell; the median is printed")
    add_record_option(parser)
    options = parser.parse_args()
    figures = Figures("rest", BUDGETS)
    with platform() as one:
        asyncio.run(prepare(one.values["DB_URL"]))
        one.wait_for_catalog("items")
        whole = measure(one, options, figures)
    figures.finish(options.record)
    return 0 if whole else 1


if __name__ == "__main__":
    sys.exit(main())
