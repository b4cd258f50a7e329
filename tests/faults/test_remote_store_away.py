"""An S3 store that is away and comes back: uploads and downloads are refused in words, then go on; no row lacks its bytes."""

import asyncio
from collections.abc import AsyncIterator, Iterator
from io import BytesIO
from uuid import uuid4

import pytest

from tests.broker.s3_server import KEY, S3Server, running_s3
from tests.faults.outage import Outage, outage
from tests.platform import platform
from tests.platforms.storage_requests import PATIENCE_S, Storehouse, open_storehouse
from tests.platforms.storage_traffic import swept

pytestmark = [pytest.mark.process_group("faults"), pytest.mark.timeout(240)]

_PREFIX = f"away/{uuid4()}"
_LONG = b"x" * 9_000_000
"""More than is sent at once: its upload has begun when the store goes away."""


@pytest.fixture(scope="module")
def s3() -> Iterator[S3Server]:
    """A store."""
    with running_s3() as one:
        yield one


@pytest.fixture(scope="module")
async def way(s3: S3Server) -> AsyncIterator[Outage]:
    """The way to it, which can be cut."""
    async with outage(s3.url) as one:
        yield one


@pytest.fixture(scope="module")
async def store(s3: S3Server, way: Outage) -> AsyncIterator[Storehouse]:
    """A platform that reaches the store by that way."""
    names = {
        "STORAGE_BACKEND": "s3",
        "STORAGE_S3_BUCKET": s3.bucket,
        "STORAGE_S3_ENDPOINT": way.url,
        "STORAGE_S3_FORCE_PATH_STYLE": "true",
        "AWS_ACCESS_KEY_ID": "somebody",
        "AWS_SECRET_ACCESS_KEY": KEY,
        "HEADWATER_STORAGE_S3_PREFIX": _PREFIX,
    }
    starting = platform(environment=names)
    place = await asyncio.to_thread(starting.__enter__)
    try:
        async for one in open_storehouse(place):
            yield one
    finally:
        await asyncio.to_thread(starting.__exit__, None, None, None)


async def test_uploads_go_on_when_the_store_is_back(store: Storehouse, way: Outage, s3: S3Server) -> None:
    name = "open/away"
    assert (await store.upload(f"{name}/before", b"before"))[0] == 200

    way.cut()
    async with asyncio.timeout(PATIENCE_S * 2):
        uploads = await asyncio.gather(
            *(
                store.upload(f"{name}/{number}", BytesIO(_LONG if number == 0 else b"x"))
                for number in range(4)
            )
        )
        download = await store.get(f"object/public/{name}/before")
        read = await asyncio.to_thread(store.platform.get, "/rest/v1/")
    way.mend()

    assert {status for status, _ in uploads} <= {503, 504}, uploads
    assert all(told.get("message") for _, told in uploads)
    assert download.status in (503, 504), download.body
    assert read[0] == 200
    await store.heal()
    assert (await store.get(f"object/public/{name}/before")).body == b"before"
    for number in range(4):
        assert not await store.has_row(f"{name.partition('/')[2]}/{number}")
        assert (await store.upload(f"{name}/{number}", b"again"))[0] == 200
    left = await swept(store.platform, s3.settings(prefix=_PREFIX))
    assert left.rows == left.blobs
    assert left.staging == []
