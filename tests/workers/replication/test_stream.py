"""The connection that streams the log, where it breaks."""

import asyncio
import contextlib

import pytest

from tests.workers.replication.replication_pool import ReplicationPool
from workers.database.sessions.replication import StreamLost
from workers.replication.slot import PUBLICATIONS
from workers.replication.stream import Keepalive, LogData, LogStream


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


async def test_the_server_sends_positions_when_it_is_asked_not_for_every_commit(
    own_replication_pool: ReplicationPool,
) -> None:
    """Otherwise each commit of any table wakes the reader, for one keepalive."""
    replication_pool = own_replication_pool
    stream = await _opened(replication_pool)
    stream.set_keepalives(wanted=False)
    await _take_all(stream)
    admin = replication_pool.admin
    await admin.execute("create table unpublished (id int)")
    sent = "select exists (select from pg_stat_replication where sent_lsn >= $1)"
    async with asyncio.timeout(60):
        for number in range(30):
            await admin.execute("insert into unpublished values ($1)", number)
            end = await admin.fetchval("select pg_current_wal_flush_lsn()")
            while not await admin.fetchval(sent, end):
                await asyncio.sleep(0)

    unasked = await _take_all(stream)
    stream._send_status(asks=True)
    async with asyncio.timeout(30):
        asked = await stream.take()

    positions = [frame for frame in unasked if isinstance(frame, Keepalive)]
    assert len(positions) < 10  # the regular status update may ask while this runs
    assert any(isinstance(frame, Keepalive) and frame.lsn >= end for frame in asked)
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


async def _take_all(stream: LogStream) -> list[LogData | Keepalive]:
    """Take what is there, until nothing has come for a moment."""
    frames: list[LogData | Keepalive] = []
    with contextlib.suppress(TimeoutError):
        while True:
            frames += await asyncio.wait_for(stream.take(), 0.3)
    return frames
