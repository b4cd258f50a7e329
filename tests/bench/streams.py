"""Streams into Iceberg tables: rows a second, and what five streams cost a writer.

    python -m tests.bench.streams [--rows 200000]
    python -m tests.bench.streams --cost [--rows 1000]

Rates are those of a snapshot of a table, and of changes that one statement makes, from their commit until the target has all of them, into a folder of this
machine. `--cost`: processor time of the writer's side (edges, and the sessions of the pools in Postgres) for REST inserts, 20 pairs on two platforms in turns: one
without streams and one with five that append every change of the table.
"""

import argparse
import asyncio
import json
import tempfile
import time
from contextlib import ExitStack
from pathlib import Path

from tests.bench.webhooks import ROUNDS, ratio, write_rows
from tests.platform import Platform, platform

_TABLE = """
create table public.orders (
  id bigint generated always as identity primary key, note text, price numeric(10,2) default 9.5, at timestamptz default now()
);
grant select, insert on public.orders to service_role; alter publication supabase_realtime add table public.orders;
"""
_STREAMS = 5


def streams(folder: Path, count: int, **more: str) -> dict[str, str]:
    """Return the environment of so many streams of the table."""
    made = {
        f"s{number}": {"tables": ["orders"], "target": f"file://{folder}/{number}", "every": "1s", **more}
        for number in range(count)
    }
    return {"HEADWATER_STREAMS": json.dumps(made)}


def wait_for_rows(running: Platform, count: int) -> None:
    """Wait until every stream has taken so many rows."""
    while True:
        rows = json.loads(running.command("streams", "list", "--json").stdout or "[]")
        if rows and all(row["rows"] >= count for row in rows):
            return
        time.sleep(0.05)  # between two questions: a stream announces nothing


def measure(rows: int, mode: str) -> None:
    """Measure and print the rates."""
    with (
        tempfile.TemporaryDirectory() as folder,
        platform(environment=streams(Path(folder), 1, mode=mode)) as running,
    ):
        insert = f"insert into public.orders (note) select 'row ' || n from generate_series(1, {rows}) as n"
        running.psql(f"begin; {_TABLE} {insert}; commit")
        began = time.monotonic()
        wait_for_rows(running, rows)
        copied = time.monotonic() - began
        began = time.monotonic()
        running.psql(insert)
        committed = time.monotonic()
        wait_for_rows(running, 2 * rows)
        ended = time.monotonic()
        print(
            f"{mode}: snapshot of {rows} rows {rows / copied:,.0f} a second (with the pause until it begins), changes"
            f" {rows / (ended - committed):,.0f} a second behind the commit, {rows / (ended - began):,.0f} with the insert"
        )


def measure_cost(rows: int) -> None:
    """Measure and print what five streams cost a writer."""
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        plain = stack.enter_context(platform())
        streamed = stack.enter_context(platform(environment=streams(folder, _STREAMS, mode="append")))
        for running in (plain, streamed):
            running.psql(_TABLE)
            running.wait_for_catalog("orders")
            asyncio.run(write_rows(running, rows))  # warms up
        wait_for_rows(streamed, rows)
        costs: dict[str, list[float]] = {"without": [], "with": []}
        for number in range(ROUNDS):
            turn = [("without", plain), ("with", streamed)]
            for name, running in turn if number % 2 else reversed(turn):
                costs[name].append(asyncio.run(write_rows(running, rows)) / rows * 1e6)
        print(
            f"CPU of the writer's side for an insert, with {_STREAMS} streams to without: {ratio(costs['without'], costs['with'])}"
        )


def main() -> None:
    """Measure as the command line says."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--rows", type=int, default=0)
    parser.add_argument("--cost", action="store_true", help="what five streams cost a writer")
    arguments = parser.parse_args()
    if arguments.cost:
        measure_cost(arguments.rows or 1000)
        return
    for mode in ("append", "merge"):
        measure(arguments.rows or 200_000, mode)


if __name__ == "__main__":
    main()
