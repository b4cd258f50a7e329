"""What Postgres itself takes for rows: COPY, and INSERT from arrays, each prepared and on one connection."""

import asyncio
import json
from collections.abc import Awaitable, Callable, Sequence
from typing import Any

import asyncpg

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


async def fastest_insert(database_url: str, rows: Sequence[dict[str, Any]]) -> dict[str, float]:
    """Return the CPU milliseconds of the server for inserting the rows in each way: the best of several rounds."""
    connection = await asyncpg.connect(database_url)
    backend = {await connection.fetchval("select pg_backend_pid()"): "postgres"}
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
    return costs
