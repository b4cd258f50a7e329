"""The images pool at work, on a real blob store and with real decoders."""

import asyncio
import os
from collections.abc import AsyncIterator
from pathlib import Path
from uuid import uuid4

import msgspec
import pytest
from obstore.store import MemoryStore

from broker.blobs import blob_names
from broker.blobs.remote import RemoteBlobs
from broker.blobs.store import BlobStore
from schemas.blobs import BlobReference
from schemas.errors import Unavailable
from schemas.http import Request
from schemas.images.transform import Output, Rendered, RenderOrder, Transform
from schemas.settings.storage import Storage
from tests.workers.images.from_fork import from_fork
from tests.workers.images.rendering import running, until
from tests.workers.images.samples import opened, quarters, slow_svg, svg, written
from workers.images import worker as module
from workers.images.decoder_processes import DecoderProcesses
from workers.images.errors import (
    RenderFailed,
    SourceMissing,
    SourceTooLarge,
    SourceUnsupported,
)
from workers.images.limits import DecoderLimits
from workers.images.worker import ImageRendered, ImageWorker

SOURCE = from_fork(lambda: written(quarters(), "png"))
LIMITS = DecoderLimits(source_bytes=100_000)
SMALL = Transform(20, 10)


class Bench:
    """A worker with its store; it counts the renders."""

    def __init__(self, store: BlobStore, decoders: DecoderProcesses, seen: list[object]) -> None:
        self.store, self.decoders = store, decoders
        self.worker = ImageWorker(store, decoders, LIMITS)
        self._seen = seen

    @property
    def renders(self) -> int:
        return sum(isinstance(each, ImageRendered) for each in self._seen)

    async def put(self, data: bytes) -> BlobReference:
        """Put a source into the store."""
        source = BlobReference("b", str(uuid4()))
        await self.store.put_small(blob_names.blob(source.bucket, source.version), data)
        return source

    async def ask(self, order: RenderOrder) -> Rendered:
        """Ask for a render, as a request does."""
        response = await self.worker.answer(Request("1", "POST", "/"), _Body(msgspec.msgpack.encode(order)))  # type: ignore[arg-type]  # read only
        assert response.status == 200
        return msgspec.json.decode(response.body, type=Rendered)

    async def result(self, order: RenderOrder) -> bytes:
        """Read what lies under an order's key."""
        return await self.store.get_small(_place(order.result), limit=10**6)


class _Body:
    def __init__(self, data: bytes) -> None:
        self._data = data

    async def read(self, limit: int) -> bytes:
        assert len(self._data) <= limit
        return self._data


def _place(blob: BlobReference) -> blob_names.BlobPath:
    return blob_names.transform(blob.version, blob.transform)


@pytest.fixture(params=["disk", "elsewhere"])
async def bench(
    request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> AsyncIterator[Bench]:
    seen: list[object] = []
    monkeypatch.setattr(module, "observe", seen.append)
    if request.param == "disk":
        store = BlobStore.open(Storage(), tmp_path)
    else:
        store = BlobStore(lambda _: RemoteBlobs(MemoryStore()))
    async with running(LIMITS, processes=2) as decoders:
        yield Bench(store, decoders, seen)
    await store.close()


@pytest.mark.parametrize(
    ("output", "type"), [("origin", "image/png"), ("auto", "image/webp"), ("jpeg", "image/jpeg")]
)
async def test_the_result_lies_under_its_key(bench: Bench, output: Output, type: str) -> None:
    order = RenderOrder(await bench.put(SOURCE), SMALL, output)

    rendered = await bench.ask(order)

    data = await bench.result(order)
    assert rendered == Rendered(type, len(data), 20, 10)
    assert opened(data).width == 20


async def test_a_result_that_is_there_is_not_rendered_again(bench: Bench) -> None:
    order = RenderOrder(await bench.put(SOURCE), SMALL, "webp")

    first = await bench.ask(order)
    again = await bench.ask(order)

    assert first == again
    assert bench.renders == 1


async def test_another_worker_finds_it_as_well(bench: Bench) -> None:
    order = RenderOrder(await bench.put(SOURCE), SMALL, "webp")
    first = await bench.ask(order)

    bench.worker = ImageWorker(bench.store, bench.decoders, LIMITS)

    assert await bench.ask(order) == first
    assert bench.renders == 1


async def test_equal_orders_at_the_same_time_are_one_render(bench: Bench) -> None:
    source = await bench.put(SOURCE)
    orders = [RenderOrder(source, Transform(20, side), "webp") for side in (5, 10) for _ in range(20)]

    answers = await asyncio.gather(*map(bench.ask, orders))

    assert {answer.height for answer in answers} == {5, 10}
    assert bench.renders == 2


@pytest.mark.parametrize("lost", ["result", "about", "both", "half"])
async def test_a_result_that_is_not_whole_is_made_again(bench: Bench, lost: str) -> None:
    order = RenderOrder(await bench.put(SOURCE), SMALL, "webp")
    first = await bench.ask(order)
    data = await bench.result(order)
    if lost == "half":
        await bench.store.put_small(_place(order.result), data[:9])
    else:
        blobs = {"result": [order.result], "about": [order.about], "both": [order.result, order.about]}[lost]
        await bench.store.delete(map(_place, blobs))

    assert await bench.ask(order) == first
    assert await bench.result(order) == data
    assert bench.renders == 2


async def test_what_is_said_about_a_result_in_nonsense_is_passed_over(bench: Bench) -> None:
    order = RenderOrder(await bench.put(SOURCE), SMALL, "webp")
    for nonsense in (b"{", b'{"content_type": 5}', bytes(10_000)):
        await bench.store.put_small(_place(order.about), nonsense)
        assert (await bench.ask(order)).width == 20

    assert bench.renders == 3


async def test_a_drawing_is_its_own_result(bench: Bench) -> None:
    drawing = svg(80, 40)
    order = RenderOrder(await bench.put(drawing), SMALL, "auto")

    rendered = await bench.ask(order)

    assert rendered == Rendered("image/svg+xml", len(drawing), 80, 40, is_source=True)
    assert await bench.ask(order) == rendered
    assert bench.renders == 1


async def test_refusals(bench: Bench) -> None:
    missing = BlobReference("b", str(uuid4()))
    for source, error in (
        (missing, SourceMissing),
        (await bench.put(b"text"), SourceUnsupported),
        (await bench.put(b""), SourceUnsupported),
        (await bench.put(bytes(100_001)), SourceTooLarge),
    ):
        with pytest.raises(error):
            await bench.ask(RenderOrder(source, SMALL, "webp"))

    assert bench.renders == 0


async def test_all_who_wait_hear_of_a_refusal(bench: Bench) -> None:
    order = RenderOrder(await bench.put(b"text"), SMALL, "webp")

    answers = await asyncio.gather(*(bench.ask(order) for _ in range(5)), return_exceptions=True)

    assert [type(answer) for answer in answers] == [SourceUnsupported] * 5


async def test_one_who_leaves_does_not_end_it_for_others(bench: Bench) -> None:
    order = RenderOrder(await bench.put(SOURCE), SMALL, "webp")
    one, other = (asyncio.ensure_future(bench.ask(order)) for _ in range(2))
    await asyncio.sleep(0)
    one.cancel()

    assert (await other).width == 20
    assert one.cancelled()


async def test_what_nobody_waits_for_any_more_is_dropped_from_the_line(bench: Bench) -> None:
    for _ in range(2):
        await bench.decoders.places.acquire()
    order = RenderOrder(await bench.put(SOURCE), SMALL, "webp")
    left = asyncio.ensure_future(bench.ask(order))
    await asyncio.sleep(0)
    left.cancel()
    with pytest.raises(asyncio.CancelledError):
        await left
    for _ in range(2):
        bench.decoders.places.release()

    assert (await bench.ask(RenderOrder(order.source, SMALL, "jpeg"))).width == 20
    assert bench.renders == 1


async def test_a_render_that_has_begun_is_kept_although_nobody_waits(bench: Bench) -> None:
    order = RenderOrder(await bench.put(SOURCE), SMALL, "webp")
    await bench.decoders.places.acquire()
    left = asyncio.ensure_future(bench.ask(order))
    await until(bench.decoders.places.locked)  # it has the other place, and starts its decoder
    left.cancel()
    await until(lambda: bench.renders)

    assert (await bench.ask(order)).width == 20
    assert bench.renders == 1


async def test_a_decoder_that_dies_is_told_and_the_next_render_works(bench: Bench) -> None:
    source = await bench.put(slow_svg())
    hit = asyncio.ensure_future(bench.ask(RenderOrder(source, Transform(2000, 2000), "png")))
    await until(lambda: bench.decoders.working)
    os.kill(bench.decoders.pids[0], 9)  # a process that this test has started
    with pytest.raises(RenderFailed) as caught:
        await hit

    assert caught.value.response().status == 500
    assert (await bench.ask(RenderOrder(await bench.put(SOURCE), SMALL, "webp"))).width == 20


async def test_a_store_that_is_away_is_unavailable(tmp_path: Path) -> None:
    (tmp_path / "storage").write_text("a file where the folder should be")
    store = BlobStore.open(Storage(), tmp_path)
    async with running() as decoders:
        bench = Bench(store, decoders, [])
        with pytest.raises(Unavailable):
            await bench.ask(RenderOrder(BlobReference("b", str(uuid4())), SMALL, "webp"))
    await store.close()
