"""What Postgres itself takes for rows: COPY, and INSERT from arrays, each prepared and on one connection."""

import asyncio
import json
from collections.abc import Awaitable, Callable, Sequence
from typing import Any

import asyncpg
import psutil

from tests.bench import cpu

_ROUNDS, _PER_ROUND = 5, 20
_FROM_ARRAYS = """
insert into public.sink (name, price, qty, note)
select * from unnest($1::text[], $2::numeric[], $3::int[], $4::text[])
"""
_FROM_JSON = """
insert into public.sink (name, price, qty, note)
select name, price, qty, note
from json_to_recordset($1::json) as row (name text, price numeric(8,2), qty int, note text)
"""


async def fastest_insert(database_url: str, rows: Sequence[dict[str, Any]]) -> tuple[dict[str, float], float]:
    """Return the CPU milliseconds of the server for inserting the rows in each way, and those of the readers of its log.

    The first are the best of several rounds; the second are the mean of all rounds, for the log is read a little later.
    """
    connection = await asyncpg.connect(database_url)
    process = await connection.fetchval("select pg_backend_pid()")
    backend, readers = {process: "postgres"}, _log_readers(process)
    read_before = cpu.spent(readers)
    records = [tuple(row.values()) for row in rows]
    columns = [list(column) for column in zip(*records, strict=True)]
    text = json.dumps(rows)
    arrays, document = await connection.prepare(_FROM_ARRAYS), await connection.prepare(_FROM_JSON)
    ways: dict[str, Callable[[], Awaitable[object]]] = {
        "COPY": lambda: connection.copy_records_to_table("sink", records=records, columns=list(rows[0])),
        "arrays": lambda: arrays.fetch(*columns),
        "JSON": lambda: document.fetch(text),
    }
    costs = {name: float("inf") for name in ways}
    for _ in range(_ROUNDS):
        for name, way in ways.items():
            await way()
            before = cpu.spent(backend)
            for _ in range(_PER_ROUND):
                await way()
            await asyncio.sleep(0)
            used = sum(cpu.difference(before, cpu.spent(backend), backend).values())
            costs[name] = min(costs[name], used / _PER_ROUND * 1000)
    await connection.close()
    reading = sum(cpu.difference(read_before, cpu.spent(readers), readers).values())
    return costs, reading / (_ROUNDS * (_PER_ROUND + 1) * len(ways)) * 1000


def _log_readers(backend: int) -> dict[int, str]:
    """Return the processes of the server of a backend that send its log to others, as the stream of row changes."""
    postmaster = psutil.Process(backend).parent()
    assert postmaster is not None  # a backend has one
    return {
        child.pid: "log"
        for child in postmaster.children()
        if any("walsender" in word for word in child.cmdline())
    }
