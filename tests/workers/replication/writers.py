"""Writers of numbered rows, and what the stream must hold of them, whatever happened meanwhile."""

import asyncio

import asyncpg

from schemas.changes import ChangeBatch, Gap
from tests.workers.database.server import connected
from tests.workers.replication.replication_pool import ReplicationPool
from workers.replication.messages import order


async def write(replication_pool: ReplicationPool, table: str, writer: int, count: int) -> None:
    """Write rows one by one, each in a transaction of its own; each one more than once if the server stops."""
    for number in range(count):
        while True:
            try:
                async with connected(replication_pool.database) as connection:
                    for at in range(number, count):
                        await connection.execute(
                            f"insert into {table} (writer, number) values ($1, $2) on conflict do nothing",
                            writer,
                            at,
                        )
                    return
            except (asyncpg.PostgresError, asyncpg.InterfaceError, OSError):
                await asyncio.sleep(0.05)


async def check(replication_pool: ReplicationPool, table: str, count: int) -> None:
    """Compare stream and table: every row once, each writer's in order, positions growing."""
    await replication_pool.changes(table, count)
    stored = await replication_pool.stored()
    places = [order(each.id) for each in stored]
    rows = [
        (change.new[0], int(change.new[1]))
        for each in stored
        if isinstance(each.kept, ChangeBatch) and each.kept.table == table
        for change in each.kept.changes
    ]

    assert places == sorted(set(places))
    assert len(rows) == len(set(rows)) == count
    for writer in {writer for writer, _ in rows}:
        numbers = [number for each, number in rows if each == writer]
        assert numbers == sorted(numbers)
    gaps = [isinstance(each.kept, Gap) for each in stored]
    assert gaps == sorted(
        gaps, reverse=True
    )  # told when replication began, which a kill may have made it do again
    assert 1 <= gaps.count(True) <= 2
