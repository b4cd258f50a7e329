"""Tables (and so GraphQL types) 10 -> 200 -> 2,000: schema load, first requests, memory; reads while the schema is loaded again."""

import argparse
import asyncio
import json
import statistics
import threading
import time
import urllib.request
from collections.abc import Callable

import asyncpg

from tests.bench import cpu
from tests.bench.growth.slope import Growth, add
from tests.bench.load import drive, http
from tests.bench.peers.pairs import used_by
from tests.bench.table import Figures, medians, run
from tests.platform import Platform, platform

_COUNTS = (10, 200, 2000)
_FIRST = 8
"""So many first requests are measured; the median counts."""
_TABLE = """
create table public.t{n} (id int primary key, title text, price numeric, at timestamptz default now(), t int references public.t{before});
insert into public.t{n} (id, title) select k, 'row ' || k from generate_series(1, 50) k;
"""
_RELOAD_EVERY_S = 0.5


def measure(options: argparse.Namespace, figures: Figures) -> None:
    """Add tables and measure at each number of them; then read while the schema is loaded again and again."""
    with platform() as one:
        points: dict[tuple[str, str], list[tuple[float, float]]] = {}
        made = 0
        for count in _COUNTS:
            asyncio.run(_make(one, made, count))
            made = count
            for key, value in _at(one, count).items():
                points.setdefault(key, []).append((count, value))
        for (name, unit), values in points.items():
            add(figures, Growth(name, "tables", unit, values))
        _under_load(one, options, figures)


async def _make(one: Platform, first: int, end: int) -> None:
    connection = await asyncpg.connect(one.values["DB_URL"])
    for start in range(first, end, 100):
        numbers = range(start, min(end, start + 100))
        await connection.execute("".join(_TABLE.format(n=n, before=max(0, n - 1)) for n in numbers))
    await connection.execute("grant all on all tables in schema public to anon; analyze")
    await connection.close()
    one.wait_for_catalog(f"t{end - 1}")


def _at(one: Platform, count: int) -> dict[tuple[str, str], float]:
    """Return the figures at a number of tables, by name and unit."""
    loads = [_schema_load(one, f"probe_{count}_{number}") for number in range(3)]
    step = max(1, count // (2 * _FIRST))
    tables = [f"t{number * step}" for number in range(_FIRST)]
    rest = [_first(one, lambda table=table: _read(one, table)) for table in tables]  # type: ignore[misc]  # bound now
    types = _first(one, lambda: _ask(one, "{ __typename }"))
    queries = [
        _first(
            one,
            lambda n=n: _ask(one, f"{{ t{n * step}Collection(first: 1) {{ edges {{ node {{ id }} }} }} }}"),
        )  # type: ignore[misc]  # bound now
        for n in range(_FIRST)
    ]
    schema = _first(one, lambda: _ask(one, "{ __schema { types { name fields { name } } } }"))
    memory = cpu.resident_mb([one.pid])
    median = statistics.median
    return {
        ("schema load: wall time", "ms"): median(wall for wall, _ in loads),
        ("schema load: CPU of all processes", "ms"): median(used for _, used in loads),
        ("first REST request of a table: CPU", "ms"): median(used for _, used in rest),
        ("first GraphQL request of a role: CPU", "ms"): types[1],
        ("first GraphQL request of a table: CPU", "ms"): median(used for _, used in queries),
        ("introspection of all types: CPU", "ms"): schema[1],
        ("memory of workers", "MB"): memory["worker"],
        ("memory of all processes", "MB"): sum(memory.values()),
    }


def _schema_load(one: Platform, table: str) -> tuple[float, float]:
    """Create a table and wait until requests see it; return milliseconds and CPU milliseconds of all processes."""
    began = 0.0

    def work() -> None:
        nonlocal began
        asyncio.run(
            _execute(
                one, f"create table public.{table} (id int primary key); grant all on public.{table} to anon"
            )
        )
        began = time.perf_counter()
        one.wait_for_catalog(table)

    used = used_by([one.pid], work)
    return (time.perf_counter() - began) * 1000, used * 1000


async def _execute(one: Platform, sql: str) -> None:
    connection = await asyncpg.connect(one.values["DB_URL"])
    await connection.execute(sql)
    await connection.close()


def _first(one: Platform, ask: Callable[[], object]) -> tuple[float, float]:
    """Return the milliseconds of a request and the CPU milliseconds of all processes."""
    began = time.perf_counter()
    used = used_by([one.pid], ask)
    return (time.perf_counter() - began) * 1000, used * 1000


def _read(one: Platform, table: str) -> None:
    status, body = one.get(f"/rest/v1/{table}?select=id,title&id=eq.7")
    if (status, json.loads(body)) != (200, [{"id": 7, "title": "row 7"}]):
        raise SystemExit(f"{table}: {status} {body[:200]!r}")


def _ask(one: Platform, query: str) -> None:
    headers = {"apikey": one.values["ANON_KEY"], "Content-Type": "application/json"}
    asked = urllib.request.Request(f"{one.url}/graphql/v1", json.dumps({"query": query}).encode(), headers)
    with urllib.request.urlopen(asked, timeout=120) as answer:
        value = json.load(answer)
    if value.get("errors"):
        raise SystemExit(f"{query}: {value['errors']}")


def _under_load(one: Platform, options: argparse.Namespace, figures: Figures) -> None:
    """Read by key with and without reloads of the schema twice a second."""
    headers = {"apikey": one.values["ANON_KEY"]}
    requests = [http("GET", f"/rest/v1/t{n}?id=eq.7", f"127.0.0.1:{one.port}", headers) for n in range(20)]
    address = ("127.0.0.1", one.port)
    drive(address, requests, 16, 0.5)
    for label, is_reloading in (("quiet", False), ("with two reloads a second", True)):
        runs = []
        for _ in range(options.repeat):
            ended = threading.Event()
            thread = threading.Thread(target=_reload, args=(one, ended))
            if is_reloading:
                thread.start()
            runs.append(run(one, address, requests, 16, options.seconds))
            ended.set()
            if is_reloading:
                thread.join()
        line, errors = medians(runs), sum(outcome.errors for outcome, _ in runs)
        figures.add(f"reads at 2000 tables, {label}: rate", line.per_second, "/s")
        figures.add(f"reads at 2000 tables, {label}: p99", line.p99_ms, "ms")
        figures.add(f"reads at 2000 tables, {label}: CPU", line.cpu_ms, "ms")
        figures.add(f"reads at 2000 tables, {label}: errors", errors, "")
        print(
            f"reads at 2000 tables, {label}: {line.per_second:.0f}/s, p50 {line.p50_ms:.2f} ms, p99 {line.p99_ms:.2f} ms,"
            f" {line.cpu_ms:.3f} ms CPU, {errors} errors",
            flush=True,
        )


def _reload(one: Platform, ended: threading.Event) -> None:
    while not ended.wait(_RELOAD_EVERY_S):
        asyncio.run(_execute(one, "notify pgrst, 'reload schema'"))
