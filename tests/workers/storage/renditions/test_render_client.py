"""What is remembered of renders: asked once, asked again when the bytes are gone."""

from collections.abc import AsyncIterator
from pathlib import Path
from uuid import uuid4

import pytest

from broker.blobs.blob_names import transform, transforms
from broker.blobs.store import BlobStore
from broker.token_buckets import Buckets
from schemas.blobs import BlobReference
from schemas.images.transform import Rendered, RenderOrder, Transform
from schemas.settings.storage import Storage
from workers.storage.model.errors import StorageError
from workers.storage.renditions.render_client import CachedRenderer

PICTURE = b"picture"


class Images:
    """Renders by writing the same bytes; counts how often it was asked."""

    def __init__(self, blobs: BlobStore, *, is_source: bool = False) -> None:
        self._blobs, self._is_source, self.asked = blobs, is_source, 0

    async def __call__(self, order: RenderOrder, request_id: str, budget_ms: int) -> Rendered:
        self.asked += 1
        if not self._is_source:
            await self._blobs.put_small(transform(order.source.version, order.key), PICTURE)
        return Rendered("image/png", len(PICTURE), 1, 1, self._is_source)


@pytest.fixture
async def blobs(tmp_path: Path) -> AsyncIterator[BlobStore]:
    store = BlobStore.open(Storage(path="blobs"), tmp_path)
    yield store
    await store.close()


def order(width: int = 10) -> RenderOrder:
    return RenderOrder(BlobReference("b", str(uuid4())), Transform(width=width), "png")


async def test_a_picture_that_is_there_is_not_asked_for_again(blobs: BlobStore) -> None:
    images, one = Images(blobs), order()
    render = CachedRenderer(images, blobs)

    answers = [await render(one, "id", 1000) for _ in range(3)]

    assert answers == [Rendered("image/png", len(PICTURE), 1, 1)] * 3
    assert images.asked == 1


async def test_a_picture_that_is_gone_or_cut_short_is_made_again(blobs: BlobStore) -> None:
    images, one = Images(blobs), order()
    render = CachedRenderer(images, blobs)
    for _ in range(3):  # looked up in a thread, then without
        await render(one, "id", 1000)

    await blobs.delete_folder(transforms(one.source.version))
    await render(one, "id", 1000)
    await blobs.put_small(transform(one.source.version, one.key), PICTURE[:3])
    await render(one, "id", 1000)

    assert images.asked == 3


async def test_a_picture_that_is_its_source_is_remembered(blobs: BlobStore) -> None:
    images, one = Images(blobs, is_source=True), order()
    render = CachedRenderer(images, blobs)

    answers = [await render(one, "id", 1000) for _ in range(2)]

    assert all(each.is_source for each in answers)
    assert images.asked == 1


async def test_the_oldest_is_forgotten_where_there_are_too_many(blobs: BlobStore) -> None:
    images, orders = Images(blobs), [order(width) for width in (10, 20, 30)]
    render = CachedRenderer(images, blobs, most=2)

    for each in [*orders, *orders[1:], orders[0]]:
        await render(each, "id", 1000)

    assert images.asked == 4


async def test_new_pictures_are_counted_for_their_client_and_known_ones_are_not(blobs: BlobStore) -> None:
    images = Images(blobs)
    render = CachedRenderer(images, blobs, clients=Buckets(0.001, 2))
    orders = [order(width=width) for width in (10, 20, 30)]

    for each in orders[:2]:
        await render(each, "id", 1000, "1.2.3.4")
    with pytest.raises(StorageError) as refused:
        await render(orders[2], "id", 1000, "1.2.3.4")
    for each in orders[:2]:
        await render(each, "id", 1000, "1.2.3.4")
    await render(orders[2], "id", 1000, "5.6.7.8")
    await render(orders[2], "id", 1000, "1.2.3.4")

    assert refused.value.status == 429
    assert int(dict(refused.value.headers())["retry-after"]) > 0
    assert render.new_bytes == 3 * len(PICTURE)
