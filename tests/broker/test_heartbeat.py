"""Tests of the sign of life."""

import asyncio
import contextlib
from pathlib import Path

from broker.heartbeat import ALIVE_FILE, begin_heartbeat


async def test_file_is_there_while_the_process_lives(tmp_path: Path) -> None:
    path = tmp_path / "alive"

    beating = begin_heartbeat({ALIVE_FILE: str(path)})
    assert beating is not None
    async with asyncio.timeout(10):
        while not path.exists():
            await asyncio.sleep(0.01)
    beating.cancel()
    with contextlib.suppress(asyncio.CancelledError):
        await beating

    assert not path.exists()


async def test_nothing_is_touched_where_nothing_is_named() -> None:
    assert begin_heartbeat({}) is None
