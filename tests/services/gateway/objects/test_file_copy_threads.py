import asyncio
import os
import socket
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import closing
from pathlib import Path

import pytest

from services.gateway.objects.conditions import ByteRange
from services.gateway.objects.file_copy_threads import FileCopyThreads

SIZE = 48 * 1024 * 1024
"""More than the kernel holds for one connection: its receive buffer and its send buffer."""

Pair = tuple[socket.socket, socket.socket]


@pytest.fixture
async def threads() -> AsyncIterator[FileCopyThreads]:
    one = FileCopyThreads(1)
    yield one
    await one.close()


@pytest.fixture
def file(tmp_path: Path) -> Iterator[int]:
    path = tmp_path / "file"
    block = os.urandom(1 << 20)
    with path.open("wb") as written:
        for number in range(SIZE >> 20):
            written.write(block[number:] + block[:number])
    descriptor = os.open(path, os.O_RDWR)
    yield descriptor
    os.close(descriptor)


@pytest.fixture
def connect() -> Iterator[Callable[[], Pair]]:
    """Return pairs of connected TCP sockets: the gateway's, and the client's with a small receive buffer."""
    opened: list[socket.socket] = []

    def connected() -> Pair:
        with closing(socket.create_server(("127.0.0.1", 0))) as listener:
            client = socket.socket()
            opened.append(client)
            client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 64 * 1024)
            client.connect(listener.getsockname())
            ours, _ = listener.accept()
        opened.append(ours)
        for one in (client, ours):
            one.setblocking(False)
        return ours, client

    yield connected
    for one in opened:
        one.close()


async def read(client: socket.socket, most: int = SIZE) -> bytes:
    """Return what comes until there are `most` bytes or the connection ends."""
    loop, received = asyncio.get_running_loop(), bytearray()
    while len(received) < most:
        piece = await loop.sock_recv(client, 1 << 20)
        if not piece:
            break
        received += piece
    return bytes(received)


async def test_a_slow_client_holds_up_no_other_of_its_thread(
    threads: FileCopyThreads, file: int, connect: Callable[[], Pair]
) -> None:
    (slow, slow_client), (fast, fast_client) = connect(), connect()
    slow_copy = asyncio.create_task(threads.copy(file, slow.fileno(), ByteRange(0, SIZE)))
    first = await read(slow_client, 1)

    received, _ = await asyncio.gather(
        read(fast_client), threads.copy(file, fast.fileno(), ByteRange(0, SIZE))
    )

    assert not slow_copy.done()
    assert received == os.pread(file, SIZE, 0)
    assert first + await read(slow_client, SIZE - len(first)) == received
    await slow_copy


async def test_a_file_without_end_leaves_others_their_turn(
    threads: FileCopyThreads, file: int, connect: Callable[[], Pair], tmp_path: Path
) -> None:
    (long, long_client), (short, short_client) = connect(), connect()
    with (tmp_path / "sparse").open("wb") as sparse:
        sparse.truncate(1 << 40)
    with (tmp_path / "sparse").open("rb") as sparse:
        long_copy = asyncio.create_task(threads.copy(sparse.fileno(), long.fileno(), ByteRange(0, 1 << 40)))
        await read(long_client, 1)
        reading = asyncio.create_task(read(long_client, 1 << 40))

        received, _ = await asyncio.gather(
            read(short_client, 1 << 20), threads.copy(file, short.fileno(), ByteRange(5, 5 + (1 << 20)))
        )

        assert received == os.pread(file, 1 << 20, 5)
        assert not long_copy.done()
        for task in (long_copy, reading):
            task.cancel()
        await asyncio.wait([long_copy, reading])


async def test_a_client_that_leaves_ends_its_copy(
    threads: FileCopyThreads, file: int, connect: Callable[[], Pair]
) -> None:
    ours, client = connect()
    copy = asyncio.create_task(threads.copy(file, ours.fileno(), ByteRange(0, SIZE)))
    await read(client, 1)

    client.close()

    with pytest.raises(ConnectionError):
        await copy


async def test_a_number_that_is_used_again_gets_no_bytes_of_a_cancelled_file(
    threads: FileCopyThreads, file: int, connect: Callable[[], Pair]
) -> None:
    (ours, client), (other, other_client) = connect(), connect()
    number, own_file = ours.fileno(), os.dup(file)
    copy = asyncio.create_task(threads.copy(own_file, number, ByteRange(0, SIZE)))
    begun = await read(client, 1)

    copy.cancel()
    await asyncio.wait([copy])
    os.close(own_file)
    ours.close()
    os.dup2(other.fileno(), number, inheritable=False)
    rest = await read(client)  # to the end: the thread has closed its descriptor
    os.close(number)
    other.close()

    assert copy.cancelled()
    assert len(begun + rest) < SIZE
    assert os.pread(file, len(begun + rest), 0) == begun + rest
    assert await read(other_client) == b""


async def test_close_ends_what_is_under_way(file: int, connect: Callable[[], Pair]) -> None:
    threads = FileCopyThreads(2)
    pairs = [connect() for _ in range(4)]
    copies = [asyncio.create_task(threads.copy(file, ours.fileno(), ByteRange(0, SIZE))) for ours, _ in pairs]
    for _, client in pairs:
        await read(client, 1)

    await threads.close()

    outcomes = await asyncio.gather(*copies, return_exceptions=True)
    assert [type(outcome) for outcome in outcomes] == [ConnectionAbortedError] * 4
    with pytest.raises(ConnectionAbortedError):
        await threads.copy(file, pairs[0][0].fileno(), ByteRange(0, SIZE))


async def test_a_file_that_became_shorter_ends_the_copy(
    threads: FileCopyThreads, file: int, connect: Callable[[], Pair]
) -> None:
    ours, client = connect()
    os.truncate(file, SIZE // 2)
    reading = asyncio.create_task(read(client))

    with pytest.raises(ConnectionResetError, match="shorter"):
        await threads.copy(file, ours.fileno(), ByteRange(0, SIZE))

    ours.close()
    assert await reading == os.pread(file, SIZE // 2, 0)


async def test_a_client_that_takes_nothing_is_noticed(
    threads: FileCopyThreads, file: int, connect: Callable[[], Pair], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("services.gateway.objects.file_copy.STALL_S", 0.2)
    ours, client = connect()

    with pytest.raises(TimeoutError):
        await threads.copy(file, ours.fileno(), ByteRange(0, SIZE))

    ours.close()
    assert len(await read(client)) < SIZE
