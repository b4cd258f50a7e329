"""Listings of both forms, and the recursive one."""

import base64

import pytest

from tests.workers.storage.storage_pool import ALICE, ANON, StoragePool
from workers.storage.model.cursors import ListingCursor, parse_cursor
from workers.storage.model.errors import StorageError

KEYS = ("a.txt", "B.txt", "dir/one.txt", "dir/sub/two.txt", "dir/Three.txt", "z/x.txt")
EMPTY = {"id": None, "updated_at": None, "created_at": None, "last_accessed_at": None, "metadata": None}


@pytest.fixture
async def filled(storage_pool: StoragePool) -> str:
    """A bucket with some objects in folders."""
    bucket = await storage_pool.bucket()
    for key in KEYS:
        await storage_pool.uploaded(f"/object/{bucket}/{key}")
    return bucket


async def names(storage_pool: StoragePool, bucket: str, body: dict[str, object]) -> list[str]:
    return [each["name"] for each in await storage_pool.ok("POST", f"/object/list/{bucket}", body)]


async def test_children_of_a_folder_are_listed(storage_pool: StoragePool, filled: str) -> None:
    found = await storage_pool.ok("POST", f"/object/list/{filled}", {"prefix": "dir"})

    assert [each["name"] for each in found] == ["one.txt", "sub", "Three.txt"]
    assert found[1] == {"name": "sub", **EMPTY}
    assert list(found[0]) == ["name", "id", "updated_at", "created_at", "last_accessed_at", "metadata"]
    assert found[0]["metadata"]["size"] == 11
    assert found[0]["created_at"].endswith("Z")
    assert len(found[0]["created_at"]) == 24


async def test_root_sorts_without_regard_to_case(storage_pool: StoragePool, filled: str) -> None:
    assert await names(storage_pool, filled, {"prefix": ""}) == ["a.txt", "B.txt", "dir", "z"]
    down = {"column": "name", "order": "desc"}
    assert await names(storage_pool, filled, {"prefix": "", "sortBy": down}) == ["z", "dir", "B.txt", "a.txt"]
    assert await names(storage_pool, filled, {"prefix": "", "limit": 2, "offset": 1}) == ["B.txt", "dir"]
    assert await names(storage_pool, filled, {"prefix": "", "search": "b"}) == ["B.txt"]
    assert await names(storage_pool, filled, {"prefix": "", "search": ".tx"}) == []
    by_date = {"column": "created_at", "order": "desc"}
    assert await names(storage_pool, filled, {"prefix": "", "sortBy": by_date}) == [
        "z",
        "dir",
        "B.txt",
        "a.txt",
    ]
    by_use = {"column": "last_accessed_at", "order": "asc"}
    assert await names(storage_pool, filled, {"prefix": "", "sortBy": by_use}) == [
        "dir",
        "z",
        "a.txt",
        "B.txt",
    ]


async def test_without_a_prefix_the_root_is_listed(storage_pool: StoragePool, filled: str) -> None:
    path = f"/object/list/{filled}"

    assert await storage_pool.ok("POST", path, {}) == await storage_pool.ok("POST", path, {"prefix": ""})


async def test_unknown_bucket_is_empty(storage_pool: StoragePool) -> None:
    assert await storage_pool.ok("POST", "/object/list/nowhere", {"prefix": ""}) == []


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ({"prefix": "", "limit": 0}, "body/limit must be >= 1"),
        ({"prefix": "", "offset": -1}, "body/offset must be >= 0"),
        ({"prefix": "", "sortBy": {"order": "asc"}}, "body/sortBy must have required property 'column'"),
        (
            {"prefix": "", "sortBy": {"column": "size"}},
            "body/sortBy/column must be equal to one of the allowed values",
        ),
        ({"prefix": "", "sortBy": 1}, "body/sortBy must be object"),
    ],
)
async def test_bad_listings(storage_pool: StoragePool, body: object, message: str) -> None:
    assert await storage_pool.refused("POST", "/object/list/b", body) == (400, "InvalidRequest", message)


async def test_listing_shows_what_policies_show(storage_pool: StoragePool, filled: str) -> None:
    await storage_pool.policy(filled, "select", using="(storage.foldername(name))[1] = 'dir'")

    assert [
        each["name"]
        for each in await storage_pool.ok("POST", f"/object/list/{filled}", {"prefix": ""}, ALICE)
    ] == ["dir"]
    assert await storage_pool.ok("POST", f"/object/list/{filled}", {"prefix": ""}, ANON) == []
    found = await storage_pool.ok("POST", f"/object/list-v2/{filled}", {"prefix": ""}, ALICE)
    assert [each["name"] for each in found["objects"]] == ["dir/Three.txt", "dir/one.txt", "dir/sub/two.txt"]


async def test_recursive_listing_is_flat(storage_pool: StoragePool, filled: str) -> None:
    body: dict[str, object] = {"prefix": "dir", "recursive": True}

    assert await names(storage_pool, filled, body) == ["Three.txt", "one.txt", "sub/two.txt"]
    assert await names(storage_pool, filled, {**body, "search": "su"}) == ["sub/two.txt"]
    assert await names(storage_pool, filled, {**body, "limit": 1, "offset": 1}) == ["one.txt"]
    down = {"column": "name", "order": "desc"}
    assert (await names(storage_pool, filled, {"prefix": "", "recursive": True, "sortBy": down}))[
        0
    ] == "z/x.txt"


async def test_second_form_folds_folders(storage_pool: StoragePool, filled: str) -> None:
    found = await storage_pool.ok("POST", f"/object/list-v2/{filled}", {"prefix": "", "with_delimiter": True})

    assert found["hasNext"] is False
    assert "nextCursor" not in found
    assert [(each["key"], each["name"], each["id"]) for each in found["folders"]] == [
        ("dir", "dir/", None),
        ("z", "z/", None),
    ]
    assert [each["name"] for each in found["objects"]] == ["B.txt", "a.txt"]


@pytest.mark.parametrize("is_folded", [True, False])
@pytest.mark.parametrize("column", ["name", "created_at", "updated_at"])
@pytest.mark.parametrize("order", ["asc", "desc"])
async def test_pages_make_up_the_whole(
    storage_pool: StoragePool, filled: str, is_folded: bool, column: str, order: str
) -> None:
    body = {"with_delimiter": is_folded, "sortBy": {"column": column, "order": order}}

    async def walk(limit: int) -> list[str]:
        seen: list[str] = []
        cursor = ""
        while True:
            page = await storage_pool.ok(
                "POST",
                f"/object/list-v2/{filled}",
                {**body, "limit": limit} | ({"cursor": cursor} if cursor else {}),
            )
            seen += sorted(each["name"] for each in (*page["folders"], *page["objects"]))
            if not page["hasNext"]:
                return seen
            cursor = page["nextCursor"]

    whole = await walk(1000)
    assert len(whole) == (4 if is_folded else 6)
    assert sorted(await walk(1)) == sorted(await walk(2)) == whole
    if column == "name":
        assert await walk(1) == sorted(whole, reverse=order == "desc")


async def test_prefix_of_the_second_form_is_no_folder(storage_pool: StoragePool, filled: str) -> None:
    found = await storage_pool.ok("POST", f"/object/list-v2/{filled}", {"prefix": "di"})

    assert len(found["objects"]) == 3


@pytest.mark.parametrize(
    "cursor",
    [
        "nonsense!",
        base64.b64encode(b"x:y").decode(),
        base64.b64encode(b"o:asc").decode(),
        base64.b64encode(b"l:a\no:up").decode(),
        base64.b64encode(b"l:a\nc:size").decode(),
        base64.b64encode(b"l:a\nc:created_at").decode(),
        base64.b64encode(b"l:a\nc:created_at\na:yesterday").decode(),
        base64.b64encode(b"l:a\nl:b").decode(),
        base64.b64encode(b"l:\xff").decode(),
        base64.b64encode(b"l:a\0").decode(),
    ],
)
async def test_bad_cursors(storage_pool: StoragePool, cursor: str) -> None:
    found = await storage_pool.refused("POST", "/object/list-v2/b", {"cursor": cursor})

    assert found == (400, "InvalidParameter", "Invalid Parameter continuation token")


def test_cursor_is_read_as_it_was_spelled() -> None:
    for cursor in (
        ListingCursor("a/b", "desc", "name"),
        ListingCursor("é", "asc", "created_at", "2026-01-01T00:00:00.000Z"),
    ):
        assert parse_cursor(cursor.text()) == cursor
    assert base64.b64decode(ListingCursor("a").text()) == b"l:a\no:asc\nc:name"
    with pytest.raises(StorageError):
        parse_cursor("")
