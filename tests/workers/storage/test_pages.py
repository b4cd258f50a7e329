"""Pages of listings that are used again: only while no SQL has changed the bucket, and only for the service role."""

import json
from typing import Any

import pytest

from tests.workers.storage.storage_pool import ALICE, StoragePool
from workers.storage.objects.pages import StoredPages

LISTINGS: list[dict[str, object]] = [
    {"prefix": ""},
    {"prefix": "", "recursive": True},
    {"prefix": "", "sortBy": {"column": "created_at", "order": "desc"}},
]


async def listed(pool: StoragePool, bucket: str, body: dict[str, object]) -> list[dict[str, Any]]:
    response = await pool.send("POST", f"/object/list/{bucket}", body)
    assert response.status == 200, response
    return json.loads(response.body)  # type: ignore[no-any-return]  # a list of objects


class Reads:
    """How many pages were stored: each was read from the table."""

    def __init__(self) -> None:
        self.count = 0


@pytest.fixture
def reads(monkeypatch: pytest.MonkeyPatch) -> Reads:
    reads, store = Reads(), StoredPages.store

    def count(self: StoredPages, *arguments: Any) -> None:
        reads.count += 1
        store(self, *arguments)

    monkeypatch.setattr(StoredPages, "store", count)
    return reads


@pytest.mark.parametrize("body", LISTINGS, ids=["children", "recursive", "by date"])
async def test_a_page_is_read_again_only_after_a_change(
    storage_pool: StoragePool, reads: Reads, body: dict[str, object]
) -> None:
    bucket, other = await storage_pool.bucket(), await storage_pool.bucket()
    await storage_pool.uploaded(f"/object/{bucket}/a.txt")

    first = await listed(storage_pool, bucket, body)
    await storage_pool.uploaded(f"/object/{other}/b.txt")
    second = await listed(storage_pool, bucket, body)

    assert (reads.count, first) == (1, second)
    await storage_pool.uploaded(f"/object/{bucket}/b.txt")
    assert len(await listed(storage_pool, bucket, body)) == 2
    assert reads.count == 2


@pytest.mark.parametrize(
    "change",
    [
        "update storage.objects set metadata = metadata || '{\"note\": 1}' where bucket_id = $1",
        "update storage.objects set last_accessed_at = now() + interval '1 day' where bucket_id = $1",
        "update storage.objects set name = 'renamed.txt' where bucket_id = $1",
        "insert into storage.objects (bucket_id, name) values ($1, 'by-hand.txt')",
        "delete from storage.objects where bucket_id = $1",
        "with gone as (delete from storage.usage where bucket_id = $1) update storage.objects set name = 'x' where bucket_id = $1",
    ],
)
async def test_every_change_by_sql_counts(storage_pool: StoragePool, change: str) -> None:
    bucket = await storage_pool.bucket()
    await storage_pool.uploaded(f"/object/{bucket}/a.txt")
    before = await listed(storage_pool, bucket, {"prefix": ""})
    assert await listed(storage_pool, bucket, {"prefix": ""}) == before

    async with storage_pool.admin.transaction():
        await storage_pool.admin.execute("set local session_replication_role = 'replica'")
        await storage_pool.admin.execute("set local storage.allow_delete_query = 'true'")
        await storage_pool.admin.execute(change, bucket)

    rows = await storage_pool.value(
        "select coalesce(json_agg(name order by name), '[]') from storage.objects where bucket_id = $1",
        bucket,
    )
    after = await listed(storage_pool, bucket, {"prefix": ""})
    assert [entry["name"] for entry in after] == json.loads(rows)
    assert after != before


async def test_an_object_that_moves_changes_both_buckets(storage_pool: StoragePool) -> None:
    source, target = await storage_pool.bucket(), await storage_pool.bucket()
    await storage_pool.uploaded(f"/object/{source}/a.txt")
    await storage_pool.uploaded(f"/object/{target}/b.txt")
    assert len(await listed(storage_pool, source, {"prefix": ""})) == 1
    assert len(await listed(storage_pool, target, {"prefix": ""})) == 1

    await storage_pool.admin.execute(
        "update storage.objects set bucket_id = $2 where bucket_id = $1", source, target
    )

    assert await listed(storage_pool, source, {"prefix": ""}) == []
    assert len(await listed(storage_pool, target, {"prefix": ""})) == 2


async def test_a_page_of_the_service_role_is_not_one_of_a_user(storage_pool: StoragePool) -> None:
    bucket = await storage_pool.bucket()
    await storage_pool.uploaded(f"/object/{bucket}/a.txt")
    assert len(await listed(storage_pool, bucket, {"prefix": ""})) == 1

    assert await storage_pool.ok("POST", f"/object/list/{bucket}", {"prefix": ""}, ALICE) == []


async def test_a_right_that_was_revoked_counts_at_once(storage_pool: StoragePool) -> None:
    bucket = await storage_pool.bucket()
    await storage_pool.uploaded(f"/object/{bucket}/a.txt")
    await listed(storage_pool, bucket, {"prefix": ""})

    await storage_pool.admin.execute("revoke select on storage.objects from service_role")
    try:
        refused = await storage_pool.send("POST", f"/object/list/{bucket}", {"prefix": ""})
    finally:
        await storage_pool.admin.execute("grant select on storage.objects to service_role")

    assert refused.status >= 400
    assert len(await listed(storage_pool, bucket, {"prefix": ""})) == 1


def test_stored_pages_are_bounded() -> None:
    pages = StoredPages(most_bytes=12_000)
    for number in range(10):
        pages.store(("children", number), "mark", b"x" * 3000)
    pages.store(("children", 1000), "mark", b"x" * 1_000_000)

    assert [number for number in range(10) if known(pages, "children", number)] == [7, 8, 9]


def test_empty_pages_of_many_folders_are_bounded() -> None:
    pages = StoredPages(most_bytes=12_000)
    for number in range(1000):
        pages.store(("children", f"folder {number}"), "mark", b"[]")

    assert 0 < sum(known(pages, "children", f"folder {number}") for number in range(1000)) < 24


def known(pages: StoredPages, name: str, value: str | int) -> bool:
    """Return whether a page is stored."""
    return pages.read(name, (value,)).page([(None, None)]) != b""
