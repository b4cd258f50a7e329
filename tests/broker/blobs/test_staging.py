"""Writing: pieces, hashes, one piece in flight; a sink that fails, a caller that leaves."""

import asyncio
import hashlib
from collections.abc import Awaitable, Callable
from functools import partial

import pytest
from hypothesis import given
from hypothesis import strategies as st

from broker.blobs.blob_names import BlobPath
from broker.blobs.errors import BlobStoreDown, BlobTooLarge
from broker.blobs.model import P, Piece, T
from broker.blobs.staging import PIECE, Md5, PiecePipe


class ListSink:
    """Keeps pieces; it may wait, and fail."""

    has_thread = True

    def __init__(self, fails_at: int = -1) -> None:
        self.pieces: list[bytes] = []
        self.chunks: list[int] = []
        self.calls: list[str] = []
        self.may_go_on = asyncio.Event()
        self.may_go_on.set()
        self._fails_at = fails_at

    async def write(self, piece: Piece) -> None:
        await self.may_go_on.wait()
        if len(self.pieces) == self._fails_at:
            raise BlobStoreDown("write", "as asked")
        self.chunks.append(len(piece))
        self.pieces.append(b"".join(piece))
        self.calls.append("write")

    async def finish(
        self, last: Piece, place: BlobPath | None = None, first: Callable[[], object] | None = None
    ) -> None:
        if first is not None:
            first()
        await self.write(last)
        self.calls[-1] = "finish" if place is None else f"finish in {place}"

    async def abort(self) -> None:
        self.calls.append("abort")


def run(function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> Awaitable[T]:
    return asyncio.get_running_loop().run_in_executor(None, partial(function, *args, **kwargs))


def piped(sink: ListSink, limit: int = 2**40, md5: Md5 | None = None) -> PiecePipe:
    return PiecePipe(sink, run, limit, md5)


@given(st.lists(st.integers(0, 2 * PIECE) | st.integers(0, 5), max_size=6))
def test_chunks_of_any_size_become_the_same_bytes_in_pieces(sizes: list[int]) -> None:
    chunks = [bytes([number]) * size for number, size in enumerate(sizes)]
    md5 = Md5()

    async def write() -> ListSink:
        sink = ListSink()
        pipe = piped(sink, md5=md5)
        for chunk in chunks:
            await pipe.write(chunk)
        await pipe.finish()
        return sink

    sink = asyncio.run(write())

    assert b"".join(sink.pieces) == b"".join(chunks)
    assert all(len(piece) == PIECE for piece in sink.pieces[:-1])
    assert md5.hex == hashlib.md5(b"".join(chunks), usedforsecurity=False).hexdigest()
    assert sink.calls[-1] == "finish"


@pytest.mark.parametrize(("length", "chunks"), [(1000, 5), (100_000, 5), (1000, 64), (1, 5000)])
async def test_chunks_are_joined_only_where_a_piece_has_many(length: int, chunks: int) -> None:
    sink, md5 = ListSink(), Md5()
    pipe = piped(sink, md5=md5)

    for number in range(chunks):
        await pipe.write(bytes([number % 256]) * length)
    await pipe.finish()

    data = b"".join(bytes([number % 256]) * length for number in range(chunks))
    assert (sink.pieces, md5.hex) == ([data], hashlib.md5(data, usedforsecurity=False).hexdigest())
    assert sink.chunks == [chunks if chunks <= 64 else 1]


async def test_one_piece_is_in_flight_while_the_next_is_collected_and_no_more() -> None:
    sink = ListSink()
    sink.may_go_on.clear()
    pipe = piped(sink)

    await pipe.write(b"1" * PIECE)
    await pipe.write(b"2" * (PIECE - 1))
    third = asyncio.create_task(pipe.write(b"3"))
    await asyncio.sleep(0)
    assert (sink.pieces, third.done()) == ([], False)

    sink.may_go_on.set()
    await third
    await pipe.finish()

    assert [len(piece) for piece in sink.pieces] == [PIECE, PIECE, 0]


@pytest.mark.parametrize("fails_at", [0, 1, 2])
async def test_a_sink_that_failed_fails_every_later_call(fails_at: int) -> None:
    sink = ListSink(fails_at)
    pipe = piped(sink)

    async def write() -> None:
        for _ in range(2):
            await pipe.write(b"x" * PIECE)
        await pipe.finish()

    with pytest.raises(BlobStoreDown):
        await write()
    with pytest.raises(BlobStoreDown):
        await pipe.finish()
    await pipe.abort()

    assert sink.calls == ["write"] * fails_at + ["abort"]


async def test_abort_waits_for_the_piece_in_flight_and_sends_no_other() -> None:
    sink = ListSink()
    sink.may_go_on.clear()
    pipe = piped(sink)
    await pipe.write(b"1" * PIECE)
    await pipe.write(b"2")

    aborting = asyncio.create_task(pipe.abort())
    await asyncio.sleep(0)
    assert sink.calls == []
    sink.may_go_on.set()
    await aborting

    assert sink.calls == ["write", "abort"]


async def test_a_caller_that_leaves_twice_still_lets_the_sink_go() -> None:
    sink = ListSink()
    sink.may_go_on.clear()
    pipe = piped(sink)
    await pipe.write(b"1" * PIECE)
    writing = asyncio.create_task(pipe.write(b"2" * PIECE))
    await asyncio.sleep(0)
    writing.cancel()
    await asyncio.wait([writing])

    aborting = asyncio.create_task(pipe.abort())
    await asyncio.sleep(0)
    aborting.cancel()
    await asyncio.wait([aborting])
    sink.may_go_on.set()
    async with asyncio.timeout(60):
        while "abort" not in sink.calls:
            await asyncio.sleep(0)

    assert (writing.cancelled(), aborting.cancelled()) == (True, True)
    assert sink.calls == ["write", "abort"]


async def test_a_chunk_beyond_the_limit_is_not_taken() -> None:
    sink = ListSink()
    pipe = piped(sink, limit=3)
    await pipe.write(b"abc")

    with pytest.raises(BlobTooLarge):
        await pipe.write(b"d")
    await pipe.finish()

    assert (pipe.size, sink.pieces) == (3, [b"abc"])


async def test_a_writer_that_is_cancelled_in_the_middle_of_a_chunk_loses_none_of_it() -> None:
    sink = ListSink()
    sink.may_go_on.clear()
    pipe = piped(sink)
    data = b"".join(bytes([number]) * PIECE for number in range(3)) + b"end"
    writing = asyncio.ensure_future(pipe.write(data))
    await asyncio.sleep(0)  # the first piece is in flight, the second one waits for it

    writing.cancel()
    with pytest.raises(asyncio.CancelledError):
        await writing
    sink.may_go_on.set()
    await pipe.finish()

    assert b"".join(sink.pieces) == data
    assert pipe.size == len(data)
