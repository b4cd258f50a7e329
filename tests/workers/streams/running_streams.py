"""Streams that run in the process of a test, and what their targets have.

DuckDB and Arrow start threads when they are imported. The processes of a run are forks of the one that has collected all tests, so both are
imported where they are used.
"""

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from broker.nats.connection import NatsConnection
from schemas.database_logins import SCHEDULER
from schemas.keys.secret import Secret
from schemas.settings.streams import StreamSettings
from schemas.settings.tree import Settings
from schemas.settings.types import Duration
from tests.workers.replication.replication_pool import ReplicationPool, login_url
from workers.database.connection_pool.pool import ConnectionPool
from workers.database.sessions.leadership import Leadership
from workers.streams.model import SourceTable
from workers.streams.pool import StreamsCandidate
from workers.streams.source import read_source

if TYPE_CHECKING:
    from workers.streams.iceberg.table_writer import IcebergTable

LONGEST_S = 60.0


def stream(target: str, *tables: str, **more: Any) -> StreamSettings:
    """Return settings of a stream that writes at once."""
    return StreamSettings(tables=list(tables), target=Secret(target), **{"every": Duration(0.05), **more})


@contextlib.asynccontextmanager
async def streaming(pool: ReplicationPool, **streams: StreamSettings) -> AsyncIterator[StreamsCandidate]:
    """Run streams for a block."""
    database = await ConnectionPool.open(pool.values_url, 4)
    broker = await NatsConnection.open(pool.nats.url, name="streams")
    url = login_url(pool.database, SCHEDULER, Settings().db.password.reveal())
    candidate = StreamsCandidate(url, broker, database, streams)
    candidate.begin()
    try:
        yield candidate
    finally:
        await candidate.close()
        await database.close()
        await broker.close()


async def states(pool: ReplicationPool) -> dict[str, dict[str, Any]]:
    """Return what is stored of each copied table, by its name."""
    rows = await pool.admin.fetch("select * from headwater.stream_tables")
    return {row["table_name"]: dict(row) for row in rows}


async def until(condition: Callable[[], Awaitable[bool]]) -> None:
    """Wait until a condition is true."""
    async with asyncio.timeout(LONGEST_S):
        while not await condition():
            await asyncio.sleep(0.05)


def in_duckdb(folder: str, query: str) -> list[tuple[Any, ...]]:
    """Return what DuckDB reads of an Iceberg table in a folder, `lake` in the query; nothing while there is none."""
    if not Path(folder, "metadata", "version-hint.text").exists():
        return []
    import duckdb
    import duckdb_ext

    extensions = Path(next(iter(duckdb_ext.__path__)), "extensions")
    with duckdb.connect(config={"allow_unsigned_extensions": "true"}) as connection:
        for name in ("avro", "iceberg"):
            (path,) = extensions.glob(f"v{duckdb.__version__}/*/{name}.duckdb_extension")
            connection.execute(f"load '{path}'")
        try:
            connection.execute(f"create view lake as select * from iceberg_scan('{folder}')")
            return connection.execute(query).fetchall()
        except duckdb.BinderException:  # the table has not got this column yet
            return []


def iceberg_table(settings: StreamSettings, source: SourceTable) -> "IcebergTable":
    """Return what writes a table in Iceberg's form."""
    from workers.streams.iceberg.table_writer import IcebergTable

    return IcebergTable(settings, source)


def rows_in(folder: str, columns: str = "*", more: str = "") -> list[dict[str, Any]]:
    """Return the rows of an Iceberg table, as DuckDB writes them as JSON."""
    return [
        json.loads(row[0])
        for row in in_duckdb(folder, f"select to_json(l) from (select {columns} from lake {more}) as l")
    ]


async def source_of(pool: ReplicationPool, settings: StreamSettings) -> SourceTable:
    """Return the first table of a stream as its copy reads it."""
    return await read_source(Leadership(pool.admin), settings, settings.tables[0])
