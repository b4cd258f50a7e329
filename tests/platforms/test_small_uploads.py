"""Small uploads by HTTP: one message where the body comes with the head, and the same answers where it does not."""

import asyncio
import json
from collections.abc import AsyncIterator, Iterator

import aiohttp
import pytest

from tests.platform import Platform, platform
from tests.platforms.storage_requests import PATIENCE_S, Storehouse, open_storehouse
from tests.run.memory_folder import on_disk

pytestmark = [pytest.mark.process_group("running_platform"), pytest.mark.timeout(180)]


@pytest.fixture(scope="module")
def running_platform() -> Iterator[Platform]:
    """A platform with default settings."""
    with on_disk(), platform() as one:
        yield one


@pytest.fixture(scope="module")
async def store(running_platform: Platform) -> AsyncIterator[Storehouse]:
    """The storage of that platform; its worker has read the rules of the bucket `open`."""
    async for one in open_storehouse(running_platform):
        assert (await one.upload("open/first", b"x"))[0] == 200
        yield one


async def test_a_small_body_is_stored_by_the_pool_at_its_place(store: Storehouse) -> None:
    status, answer = await store.upload("open/small", b"some words")

    assert (status, answer["Key"]) == (200, "open/small")
    assert (await store.get("object/public/open/small")).body == b"some words"
    assert await store.rows() <= store.blobs()


async def test_a_form_has_its_fields_before_and_behind_the_file(store: Storehouse) -> None:
    form = aiohttp.FormData()
    form.add_field("cacheControl", "60")
    form.add_field("", b"some words", filename="a.txt", content_type="text/css")
    form.add_field("metadata", json.dumps({"is": "behind"}))

    status, _ = await store.upload("open/form", form)

    assert status == 200
    row = await store.database.fetchrow("select * from storage.objects where name = 'form'")
    assert row is not None
    metadata = json.loads(row["metadata"])
    assert (metadata["mimetype"], metadata["cacheControl"], metadata["size"]) == (
        "text/css",
        "max-age=60",
        10,
    )
    assert json.loads(row["user_metadata"]) == {"is": "behind"}


async def test_a_form_with_two_files_is_malformed_only_for_who_may_upload(store: Storehouse) -> None:
    for path, expected in (
        ("open/two", "The form has more than one file"),
        ("missing/two", "Bucket not found"),
    ):
        form = aiohttp.FormData()
        form.add_field("", b"one", filename="a.txt")
        form.add_field("file", b"two", filename="b.txt")

        status, answer = await store.upload(path, form)

        assert (status, answer["message"]) == (400, expected)
    assert not await store.has_row("two")


async def test_a_body_that_comes_late_is_an_upload_like_any_other(store: Storehouse) -> None:
    slow = await store.begin("open/late", 10)
    staged = asyncio.create_task(slow.answer())
    await asyncio.wait([staged], timeout=0.3)  # longer than the gateway waits for the rest of a small body
    await slow.send(b"some ")
    await slow.send(b"words")

    status, _ = await staged

    assert status == 200
    assert (await store.get("object/public/open/late")).body == b"some words"


async def test_who_may_not_upload_is_told_so_before_a_small_body_comes(store: Storehouse) -> None:
    slow = await store.begin("missing/early", 10)

    async with asyncio.timeout(PATIENCE_S):
        status, answer = await slow.answer()

    assert (status, answer["message"]) == (400, "Bucket not found")


async def test_many_small_uploads_at_once(store: Storehouse) -> None:
    answers = await asyncio.gather(
        *(store.upload(f"open/many/{number}", b"x" * number * 10) for number in range(60))
    )

    assert {status for status, _ in answers} == {200}
    for number in (0, 1, 30, 59):
        assert len((await store.get(f"object/public/open/many/{number}")).body) == number * 10
    assert await store.rows() <= store.blobs()
