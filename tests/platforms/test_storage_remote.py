"""A platform whose bytes lie in an outside store: every way in and out, and nothing left over when all is deleted.

The stores speak the interfaces of S3 and of Google Cloud Storage. Azure's is tried one floor below (tests/broker/blobs/test_store.py).
"""

import os
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass
from io import BytesIO
from uuid import uuid4

import pytest

from schemas.settings.storage import Storage
from tests.broker.gcs_server import running_gcs
from tests.broker.s3_server import KEY, running_s3
from tests.platform import platform
from tests.platforms.storage_requests import Storehouse, open_storehouse
from tests.platforms.storage_traffic import swept
from tests.platforms.tus_client import Tus
from tests.workers.images.samples import opened, quarters, written

pytestmark = [pytest.mark.process_group("storage-remote"), pytest.mark.timeout(180)]

MIB = 1024 * 1024


@dataclass(frozen=True, slots=True)
class Outside:
    """An outside store: how a platform is told of it, and how a test is."""

    environment: dict[str, str]
    settings: Storage


@pytest.fixture(scope="module", params=["s3", "gcs"])
def outside(request: pytest.FixtureRequest) -> Iterator[Outside]:
    """A store, with a folder in it that is the platform's."""
    prefix = f"platform/{uuid4()}"
    if request.param == "s3":
        with running_s3() as s3:
            names = {
                "STORAGE_BACKEND": "s3",
                "STORAGE_S3_BUCKET": s3.bucket,
                "STORAGE_S3_ENDPOINT": s3.url,
                "STORAGE_S3_FORCE_PATH_STYLE": "true",
                "AWS_ACCESS_KEY_ID": "somebody",
                "AWS_SECRET_ACCESS_KEY": KEY,
                "HEADWATER_STORAGE_S3_PREFIX": prefix,
            }
            yield Outside(names, s3.settings(prefix=prefix))
        return
    with running_gcs() as gcs:
        settings = gcs.settings(prefix=prefix)
        names = {
            "STORAGE_BACKEND": "gcs",
            "HEADWATER_STORAGE_GCS_BUCKET": settings.gcs.bucket,
            "HEADWATER_STORAGE_GCS_PREFIX": prefix,
            "HEADWATER_STORAGE_GCS_SERVICE_ACCOUNT_KEY": gcs.account,
        }
        yield Outside(names, settings)


@pytest.fixture(scope="module")
async def store(outside: Outside) -> AsyncIterator[Storehouse]:
    """A platform on that store."""
    with platform(environment=outside.environment) as one:
        async for running_platform in open_storehouse(one):
            yield running_platform


async def test_bytes_come_and_go_by_every_way_and_nothing_is_left(
    store: Storehouse, outside: Outside
) -> None:
    long, picture = os.urandom(12 * MIB + 3), written(quarters(640, 480), "png")
    for key, data, kind in (
        ("open/long", long, "application/zip"),
        ("open/a.png", picture, "image/png"),
        ("open/none", b"", "text/plain"),
    ):
        status, told = await store.upload(key, BytesIO(data), **{"content-type": kind})
        assert status == 200, told

    # Reading: whole, a part, nothing new, a picture twice
    assert (await store.get("object/public/open/long")).body == long
    part = await store.get("object/public/open/long", range=f"bytes={7 * MIB}-{8 * MIB}")
    assert (part.status, part.body) == (206, long[7 * MIB : 8 * MIB + 1])
    assert (await store.get("object/public/open/none")).body == b""
    known = await store.get("object/public/open/long", **{"if-none-match": part.headers["etag"]})
    assert known.status == 304
    for _ in range(2):
        made = await store.get("render/image/public/open/a.png?width=64&format=png")
        assert opened(made.body).width == 64

    # Carrying: within a bucket, into another one
    told = {"bucketId": "open", "sourceKey": "long", "destinationKey": "moved", "destinationBucket": "small"}
    for what, body in (
        ("copy", told | {"destinationBucket": "open", "destinationKey": "copied"}),
        ("move", told | {"sourceKey": "a.png", "destinationKey": "b.png"}),
    ):
        async with store.client.post(store.url(f"object/{what}"), json=body) as answer:
            assert answer.status == 200, await answer.text()
    assert (await store.get("object/open/copied")).body == long
    assert (await store.get("object/small/b.png")).body == picture

    # In pieces, and too long
    tus = Tus(store)
    url = await tus.begun("open/pieces", len(long))
    for at in (0, 5 * MIB):
        stop = at + 5 * MIB if at == 0 else len(long)
        assert (await tus.patch(url, at, long[at:stop])).status == 204
    assert (await store.get("object/public/open/pieces")).body == long
    status, told = await store.upload("small/too-long", BytesIO(long))
    assert (status, told["statusCode"]) == (400, "413")

    left = await swept(store.platform, outside.settings)
    assert left.rows == left.blobs
    await _delete_all(store)
    left = await swept(store.platform, outside.settings)
    assert (left.rows, left.blobs, left.transforms, left.staging) == (set(), set(), set(), [])


async def _delete_all(store: Storehouse) -> None:
    for bucket in ("open", "small"):
        async with store.client.post(store.url(f"bucket/{bucket}/empty")) as answer:
            assert answer.status == 200, await answer.text()
