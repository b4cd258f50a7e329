"""The connection that streams the log, where it breaks."""

import asyncio
import contextlib

import pytest

from tests.workers.replication.replication_pool import ReplicationPool
from workers.database.sessions.replication import StreamLost
from workers.replication.slot import PUBLICATIONS
from workers.replication.stream import LogData, LogStream


async def test_a_socket_that_the_library_closes_wakes_who_waits_for_it(
    own_replication_pool: ReplicationPool,
) -> None:
    """It does where writing fails: no sign of that socket would ever come."""
    replication_pool = own_replication_pool
    stream = await _opened(replication_pool)
    await _take_all(stream)
    taking = asyncio.ensure_future(stream.take())
    await asyncio.sleep(0)
    stream._connection.finish()
    stream._send_status()

    with pytest.raises(StreamLost):
        await asyncio.wait_for(taking, 60)


async def test_a_connection_that_is_gone_is_told_in_our_words(own_replication_pool: ReplicationPool) -> None:
    replication_pool = own_replication_pool
    stream = await _opened(replication_pool)
    stream._connection.finish()

    with pytest.raises(StreamLost):
        await stream.take()


async def test_what_came_before_the_end_is_returned_before_it_is_raised(
    own_replication_pool: ReplicationPool,
) -> None:
    """Before 18 the server ends the stream where a publication is missing; the reader goes on from there without it."""
    replication_pool = own_replication_pool
    stream = await _opened(replication_pool)
    await _take_all(stream)
    table = await replication_pool.table("id int primary key, note text")
    await replication_pool.admin.execute(f"insert into {table} values (1, 'before the end')")
    end = await replication_pool.admin.fetchval("select pg_current_wal_insert_lsn()")
    state = "select pid from pg_stat_replication where sent_lsn >= $1"
    async with asyncio.timeout(30):
        while (pid := await replication_pool.admin.fetchval(state, end)) is None:
            await asyncio.sleep(0.02)
        await replication_pool.admin.execute("select pg_terminate_backend($1, 20000)", pid)

    arrived: list[bytes] = []

    async def take_all() -> None:
        while True:
            arrived.extend(frame.payload for frame in await stream.take() if isinstance(frame, LogData))

    with pytest.raises(StreamLost):
        await take_all()

    assert any(b"before the end" in payload for payload in arrived)
    stream.close()


async def _opened(replication_pool: ReplicationPool) -> LogStream:
    """Open the stream in place of the worker's own reader."""
    await replication_pool.replication.close()
    async with asyncio.timeout(30):
        while True:
            try:
                return await LogStream.open(
                    replication_pool.url, replication_pool.settings.slot_name, PUBLICATIONS, 0, 0
                )
            except StreamLost:  # the reader of before is not gone from it yet
                await asyncio.sleep(0.02)


async def _take_all(stream: LogStream) -> None:
    """Take what is there, until nothing has come for a moment."""
    with contextlib.suppress(TimeoutError):
        while True:
            await asyncio.wait_for(stream.take(), 0.3)
