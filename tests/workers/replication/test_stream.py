"""The connection that streams the log, where it breaks."""

import asyncio
import contextlib

import pytest

from tests.workers.replication.replication_pool import ReplicationPool
from workers.replication.session import StreamLost
from workers.replication.slot import PUBLICATIONS
from workers.replication.stream import LogStream


async def test_a_socket_that_the_library_closes_wakes_who_waits_for_it(
    own_replication_pool: ReplicationPool,
) -> None:
    """It does where writing fails: no sign of that socket would ever come."""
    replication_pool = own_replication_pool
    await replication_pool.replication.close()
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
    await replication_pool.replication.close()
    stream = await _opened(replication_pool)
    stream._connection.finish()

    with pytest.raises(StreamLost):
        await stream.take()


async def _opened(replication_pool: ReplicationPool) -> LogStream:
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
