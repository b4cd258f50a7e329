"""What GraphQL costs a worker as the number of tables grows: time of each step, memory, and the slope for 100 tables.

    python -m tests.bench.graphql_growth [--tables 10,100,300,1000] [--repeat 3]

Each number of tables has a database of its own and is measured in a process of its own. A table has eight columns and refers
to the one before it. Times are CPU milliseconds of the process (Postgres is not in them, but in the time of `read`, which is
the wall clock's); the best of the repetitions is printed, and the largest memory.
"""

import argparse
import asyncio
import json
import subprocess
import sys
import time
from collections.abc import Callable
from typing import TypeVar

import asyncpg
import psutil
from graphql import get_introspection_query

from schemas.settings.graphql import Graphql
from tests.workers.database.introspection_fixtures import as_role, fresh_database, login_role
from tests.workers.database.own_server import own_server
from workers.database.connection_pool.pool import ConnectionPool
from workers.graphql.parse.document import parse_document
from workers.graphql.parse.limits import limits_from
from workers.graphql.plan.operation import IntrospectionQuery
from workers.graphql.reflect.build import build
from workers.graphql.reflect.read import read
from workers.graphql.role import RoleState, cached_plan

_LOGIN, _ROLE = "growth_login", "growth_role"
_TABLE = """
create table public.t{n} (
  id int primary key, parent_id int {reference}, title text not null, amount numeric, is_open boolean,
  made_at timestamptz not null default now(), extra jsonb, note varchar(40));
create index on public.t{n} (parent_id);
"""
_GRANT = f"grant usage on schema public to {_ROLE}; grant all on all tables in schema public to {_ROLE};"
_IN_ONE_SCRIPT = 50
"""Tables that are created in one transaction: each holds locks on the tables that it creates."""
_MB = 2**20
_COLUMNS = {
    "types": "types",
    "read": "read ms",
    "build": "build ms",
    "first": "first shape ms",
    "next": "next shape ms",
    "cached": "cached us",
    "introspection": "introsp. ms",
    "answer": "answer MB",
    "definition": "SDL ms",
    "schema_mb": "schema MB",
    "whole_mb": "whole MB",
}
T = TypeVar("T")


def _document(number: int) -> str:
    return (
        f"query($n: Int!) {{ t{number}Collection(first: 10, offset: $n) {{ edges {{ node {{ id title amount"
        f" t{number + 1}Collection(first: 5) {{ edges {{ node {{ id note }} }} }} }} }} }} }}"
    )


def _timed(work: Callable[[], T]) -> tuple[float, T]:
    """Return the CPU milliseconds of some work, and its result."""
    started = time.process_time()
    result = work()
    return (time.process_time() - started) * 1000, result


def _private_mb() -> float:
    return float(psutil.Process().memory_full_info().uss) / _MB


async def measure(url: str) -> dict[str, float]:
    """Measure one database in this process."""
    pool = await ConnectionPool.open(url, 1)
    before_mb = _private_mb()
    started = time.perf_counter()
    snapshot = await read(pool, ["public"])
    figures = {"read": (time.perf_counter() - started) * 1000}
    await pool.close()
    figures["build"], schema = _timed(lambda: build(snapshot, _ROLE, 1))
    limits = limits_from(Graphql())
    role = RoleState(schema, limits, lambda text: parse_document(text, limits))
    variables = {"n": 7}
    figures["first"], _ = _timed(lambda: role.compile(role.operation(_document(1), None), variables))
    figures["schema_mb"] = _private_mb() - before_mb
    operation = role.operation(_document(5), None)
    figures["next"], _ = _timed(lambda: role.compile(operation, variables))
    rounds = 10_000
    cached, _ = _timed(lambda: [cached_plan(operation, variables) for _ in range(rounds)])
    figures["cached"] = cached / rounds * 1000
    standard = role.operation(get_introspection_query(), None)
    (field,) = role.compile(standard, {}).fields
    assert isinstance(field.work, IntrospectionQuery)
    nodes = field.work.nodes
    figures["introspection"], answer = _timed(
        lambda: role.introspector.answer_json(nodes, standard.document.fragments, {}, "standard")
    )
    figures["answer"] = len(answer) / _MB
    figures["types"] = len(role.introspector.described.types)
    figures["definition"], _ = _timed(lambda: role.definition.text)
    figures["whole_mb"] = _private_mb() - before_mb
    return figures


async def _create_tables(url: str, count: int) -> None:
    connection = await asyncpg.connect(url)
    for start in range(0, count, _IN_ONE_SCRIPT):
        numbers = range(start, min(start + _IN_ONE_SCRIPT, count))
        await connection.execute(
            "".join(_TABLE.format(n=n, reference=f"references public.t{n - 1}" if n else "") for n in numbers)
        )
    await connection.execute(_GRANT)
    await connection.close()


async def _measure_all(counts: list[int], repeat: int) -> dict[int, dict[str, float]]:
    """Return the figures of each number of tables; each repetition is a process of its own."""
    figures: dict[int, dict[str, float]] = {}
    async with own_server() as server:
        for count in counts:
            async with fresh_database(server.url, login_role(_LOGIN, _ROLE)) as url:
                await _create_tables(url, count)
                command = [sys.executable, "-m", "tests.bench.graphql_growth", "--url", as_role(url, _LOGIN)]
                runs = []
                for _ in range(repeat):
                    done = await asyncio.to_thread(
                        subprocess.run, command, capture_output=True, text=True, check=True
                    )
                    runs.append(json.loads(done.stdout))
                figures[count] = {
                    name: (max if name.endswith("_mb") else min)(run[name] for run in runs)
                    for name in _COLUMNS
                }
                _print_row(str(count), figures[count])
    return figures


def _print_row(label: str, figures: dict[str, float]) -> None:
    widths = {name: max(9, len(title) + 2) for name, title in _COLUMNS.items()}
    cells = "".join(
        f"{figures[name]:{width}.{0 if name == 'types' else 1}f}" for name, width in widths.items()
    )
    print(f"{label:12}{cells}", flush=True)


def main() -> int:
    """Measure each number of tables and print the figures and their slope."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--tables", default="10,100,300,1000", help="comma separated numbers of tables")
    parser.add_argument("--repeat", type=int, default=3, help="processes for each number of tables")
    parser.add_argument("--url", help="measure this database and print the figures as JSON")
    options = parser.parse_args()
    if options.url:
        print(json.dumps(asyncio.run(measure(options.url))))
        return 0
    counts = [int(count) for count in options.tables.split(",")]
    print(f"{'tables':12}" + "".join(f"{title:>{max(9, len(title) + 2)}}" for title in _COLUMNS.values()))
    figures = asyncio.run(_measure_all(counts, options.repeat))
    if len(counts) > 1:
        least, most = min(counts), max(counts)
        slope = {
            name: (figures[most][name] - figures[least][name]) / (most - least) * 100 for name in _COLUMNS
        }
        _print_row("each 100", slope)
    return 0


if __name__ == "__main__":
    sys.exit(main())
