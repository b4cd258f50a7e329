"""Tests of the sign of life."""

import asyncio
import contextlib
import os
import socket
from pathlib import Path

from broker.processes.heartbeat import ALIVE_FILE, NOTIFY_SOCKET, start_heartbeat
from broker.processes.status_lines import HEARTBEAT


async def test_file_is_there_while_the_process_lives(tmp_path: Path) -> None:
    path = tmp_path / "alive"

    beating = start_heartbeat({ALIVE_FILE: str(path)}, None)
    assert beating is not None
    async with asyncio.timeout(60):
        while not path.exists():
            await asyncio.sleep(0.01)
    beating.cancel()
    with contextlib.suppress(asyncio.CancelledError):
        await beating

    assert not path.exists()


async def test_nothing_is_touched_where_nothing_is_named() -> None:
    assert start_heartbeat({}, None) is None


async def test_signs_go_into_the_pipe_until_its_reader_is_gone() -> None:
    reading, writing = os.pipe()

    beating = start_heartbeat({}, writing)
    assert beating is not None
    first = await asyncio.to_thread(os.read, reading, len(HEARTBEAT))
    os.close(reading)
    async with asyncio.timeout(60):
        while _is_open(writing):
            await asyncio.sleep(0.05)
    beating.cancel()
    await asyncio.gather(beating, return_exceptions=True)

    assert first == HEARTBEAT


def _is_open(descriptor: int) -> bool:
    try:
        os.fstat(descriptor)
    except OSError:
        return False
    return True


async def test_systemd_learns_that_the_process_is_ready_and_lives(tmp_path: Path) -> None:
    address = str(tmp_path / "notify")
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as receiver:
        receiver.bind(address)
        receiver.setblocking(False)
        loop = asyncio.get_running_loop()

        beating = start_heartbeat({NOTIFY_SOCKET: address}, None)
        assert beating is not None
        async with asyncio.timeout(60):
            message = await loop.sock_recv(receiver, 100)
        beating.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await beating

    assert message == b"READY=1\nWATCHDOG=1"


async def test_systemd_that_is_gone_does_no_harm(tmp_path: Path) -> None:
    path = tmp_path / "alive"

    beating = start_heartbeat({NOTIFY_SOCKET: "@headwater-no-such-socket", ALIVE_FILE: str(path)}, None)
    assert beating is not None
    async with asyncio.timeout(60):
        while not path.exists():
            await asyncio.sleep(0.01)
    is_beating = not beating.done()
    beating.cancel()
    with contextlib.suppress(asyncio.CancelledError):
        await beating

    assert is_beating
