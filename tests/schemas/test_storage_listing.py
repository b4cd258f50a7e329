"""Listings by whole keys and cursors: `search_v2`, `search_by_timestamp`, and those of the S3 interface."""

import pytest

from tests.schemas.callers import become
from tests.schemas.storage_tables import add_objects, listed

KEYS = [
    "b.txt",
    "B.txt",
    "dir/one.txt",
    "dir/two.txt",
    "dir/sub/deep.txt",
    "dirty.txt",
    "z/9.txt",
    "z/1.txt",
    "e//x",
]
ROOT = ["B.txt", "b.txt", "<dir/>", "dirty.txt", "<e/>", "<z/>"]


@pytest.fixture
async def caller(admin):
    """The service role, with some objects."""
    await add_objects(admin, "b", KEYS)
    await add_objects(admin, "other", ["elsewhere.txt"])
    await become(admin, "service_role")
    return admin


def _call(function: str, *arguments: object) -> str:
    return f"storage.{function}({', '.join(f'${position}' for position, _ in enumerate(arguments, start=1))})"


async def _v2(connection, prefix="", limit=100, after="", order="asc", column="name", moment="") -> list[str]:
    arguments = (prefix, "b", limit, 1, after, order, column, moment)
    return await listed(connection, _call("search_v2", *arguments), *arguments)


async def _objects(
    connection, prefix="", delimiter="/", limit=100, after="", token="", order="asc"
) -> list[str]:
    arguments = ("b", prefix, delimiter, limit, after, token, order)
    return await listed(connection, _call("list_objects_with_delimiter", *arguments), *arguments)


# By name


async def test_keys_come_whole_in_byte_order_with_folders_folded(caller):
    assert await _v2(caller) == ROOT
    assert await _v2(caller, order="desc") == ROOT[::-1]


@pytest.mark.parametrize(
    ("prefix", "found"),
    [
        ("dir", ["<dir/>", "dirty.txt"]),
        ("dir/", ["dir/one.txt", "<dir/sub/>", "dir/two.txt"]),
        ("DIR/", []),
        ("dir/o", ["dir/one.txt"]),
        ("e/", ["<e//>"]),
        ("e//", ["e//x"]),
        ("none", []),
        (None, ROOT),
    ],
)
async def test_the_prefix_is_one_of_the_key(caller, prefix, found):
    assert await _v2(caller, prefix) == found
    assert await _v2(caller, prefix, order="desc") == found[::-1]
    assert sorted(await _v2(caller, prefix, column="created_at")) == sorted(found)


@pytest.mark.parametrize("column", ["name", "created_at"])
async def test_the_key_of_an_entry_is_its_last_part(caller, column):
    rows = await caller.fetch(
        "select key, name from storage.search_v2($1, 'b', levels => 2, sort_column => $2)", "dir/", column
    )
    empty = await caller.fetchval("select key from storage.search_v2('e/', 'b', sort_column => $1)", column)

    assert {row["name"]: row["key"] for row in rows} == {
        "dir/one.txt": "one.txt", "dir/sub/": "sub", "dir/two.txt": "two.txt",
    }  # fmt: skip
    assert empty == ""


@pytest.mark.parametrize("order", ["asc", "desc"])
@pytest.mark.parametrize("prefix", ["", "dir/", "z"])
@pytest.mark.parametrize("size", [1, 2, 3, 10])
async def test_pages_by_name_make_up_the_whole(caller, order, prefix, size):
    whole = await _v2(caller, prefix, order=order)
    pages: list[str] = []
    while page := await _v2(caller, prefix, size, pages[-1].strip("<>") if pages else "", order):
        pages += page

    assert pages == whole


@pytest.mark.parametrize(
    ("after", "order", "found"),
    [
        ("dir/", "asc", ["dirty.txt", "<e/>", "<z/>"]),
        ("dir/one.txt", "asc", ["<dir/>", "dirty.txt", "<e/>", "<z/>"]),
        ("dir/zzz", "asc", ["dirty.txt", "<e/>", "<z/>"]),
        ("zzz", "asc", []),
        ("A", "asc", ROOT),
        ("dir/", "desc", ["b.txt", "B.txt"]),
        ("dir/sub/x", "desc", ["<dir/>", "b.txt", "B.txt"]),
        ("A", "desc", []),
    ],
)
async def test_a_listing_begins_after_any_key(caller, after, order, found):
    assert await _v2(caller, after=after, order=order) == found
    assert await _objects(caller, after=after, order=order) == found


async def test_a_page_of_the_second_form_has_1500_entries_at_most(admin, caller):
    await add_objects(admin, "many", [f"{number:04}" for number in range(1600)])

    for column in ("name", "updated_at"):
        sizes = [
            len(
                await caller.fetch(
                    "select from storage.search_v2('', 'many', $1, sort_column => $2)", limit, column
                )
            )
            for limit in (None, 0, -1, 1001, 2000)
        ]
        assert sizes == [100, 0, 0, 1001, 1500]


# By date


async def test_by_date_a_folder_is_as_old_as_its_oldest_key(caller):
    by_date = ["b.txt", "B.txt", "<dir/>", "dirty.txt", "<z/>", "<e/>"]

    assert await _v2(caller, column="created_at") == by_date
    assert await _v2(caller, column="updated_at", order="desc") == by_date[::-1]
    row = await caller.fetchrow("select * from storage.search_v2('dir', 'b', 1, sort_column => 'created_at')")
    oldest = await caller.fetchval("select min(created_at) from storage.objects where name like 'dir/%'")
    assert (row["created_at"], row["updated_at"], row["metadata"]) == (oldest, oldest, None)


@pytest.mark.parametrize("order", ["asc", "desc"])
@pytest.mark.parametrize("column", ["created_at", "updated_at"])
@pytest.mark.parametrize("size", [1, 2, 4])
async def test_pages_by_date_make_up_the_whole(admin, caller, column, order, size):
    """The cursor has whole milliseconds; objects of the same one, and those without a date, are told apart by name."""
    await admin.execute("reset role; alter table storage.objects disable trigger update_objects_updated_at")
    await admin.execute(
        "update storage.objects set created_at = '2026-02-01 00:00:00.0001Z', updated_at = null where name like 'dir%'"
    )
    whole = await _v2(caller, order=order, column=column)
    pages: list[str] = []
    after, moment = "", ""
    while rows := await caller.fetch(
        "select * from storage.search_v2('', 'b', $1, 1, $2, $3, $4, $5)", size, after, order, column, moment
    ):
        pages += [row["name"] if row["id"] else f"<{row['name']}>" for row in rows]
        after, last = rows[-1]["name"], rows[-1][column]
        moment = last.isoformat(timespec="milliseconds") if last else ""

    assert pages == whole
    assert sorted(pages) == sorted(ROOT)


# As S3 lists


async def test_without_a_delimiter_keys_are_flat(caller):
    for delimiter in ("", None):
        assert await _objects(caller, delimiter=delimiter) == sorted(KEYS)
    assert await _objects(caller, "dir", "", 2, "dir/one.txt") == ["dir/sub/deep.txt", "dir/two.txt"]


async def test_a_delimiter_may_be_of_many_signs(caller):
    assert await _objects(caller, "d", "ir") == ["<dir>"]
    assert await _objects(caller, "", "t") == ["<B.t>", "<b.t>", "<dir/one.t>", "<dir/sub/deep.t>", "<dir/t>", "<dirt>",
                                               "e//x", "<z/1.t>", "<z/9.t>"]  # fmt: skip


@pytest.mark.parametrize("order", ["asc", "desc"])
@pytest.mark.parametrize("delimiter", ["/", "", "t"])
async def test_pages_by_token_make_up_the_whole(caller, order, delimiter):
    whole = await _objects(caller, delimiter=delimiter, order=order)
    pages: list[str] = []
    while page := await _objects(
        caller, "", delimiter, 2, token=pages[-1].strip("<>") if pages else "", order=order
    ):
        pages += page

    assert pages == whole


async def test_a_token_within_a_folder_is_past_the_folder(caller):
    assert await _objects(caller, token="dir/one.txt") == ["dirty.txt", "<e/>", "<z/>"]
    assert await _objects(caller, token="dir/two.txt", order="desc") == ["b.txt", "B.txt"]


async def test_signs_of_patterns_in_a_prefix_mean_themselves(admin, caller):
    await add_objects(admin, "signs", ["100%/x", "100/x", "a_b/x", "aab/x", "a\\b/x"])
    for prefix in ("100%", "a_b", "a\\b"):
        for sql in (
            "storage.search_v2($1, 'signs')",
            "storage.search_v2($1, 'signs', sort_column => 'created_at')",
            "storage.list_objects_with_delimiter('signs', $1, '/')",
        ):
            assert await listed(caller, sql, prefix) == [f"<{prefix}/>"], sql
    assert await listed(caller, "storage.search_v2('%', 'signs')") == []


@pytest.mark.parametrize(
    ("prefix", "end"),
    [
        ("a", "b"), ("a/", "a0"), ("aZ", "a["), ("\ud7ff", "\ue000"), ("a\U0010ffff", "b"),
        ("", "\U0010ffff" * 256), ("\U0010ffff", "\U0010ffff" * 256),
    ],
)  # fmt: skip
async def test_the_end_of_a_prefix_is_the_next_text_in_byte_order(admin, prefix, end):
    assert await admin.fetchval("select storage.prefix_end($1)", prefix) == end


# Multipart uploads


@pytest.fixture
async def uploads(admin):
    """The service role, with multipart uploads of a bucket."""
    await add_objects(admin, "b", [])
    for database_url, (id_, key) in enumerate(
        [("3", "a.txt"), ("1", "a.txt"), ("2", "dir/x"), ("4", "dir/y"), ("5", "e%f"), ("6", "exf")]
    ):
        await admin.execute(
            """
            insert into storage.s3_multipart_uploads (id, bucket_id, key, version, upload_signature, created_at)
            values ($1, 'b', $2, 'v', 's', timestamptz '2026-01-01' + $3 * interval '1 minute')
            """,
            id_, key, database_url,
        )  # fmt: skip
    await become(admin, "service_role")
    return admin


async def _uploads(connection, *arguments: object) -> list[tuple[str, str | None]]:
    sql = f"select key, id from {_call('list_multipart_uploads_with_delimiter', 'b', *arguments)}"
    return [tuple(row) for row in await connection.fetch(sql, "b", *arguments)]


UPLOADS = [("a.txt", "3"), ("a.txt", "1"), ("dir/", None), ("e%f", "5"), ("exf", "6")]


@pytest.mark.parametrize(
    ("arguments", "found"),
    [
        (("", "/"), UPLOADS),
        ((None, "/"), UPLOADS),
        (("", ""), [*UPLOADS[:2], ("dir/x", "2"), ("dir/y", "4"), *UPLOADS[3:]]),
        (("dir/", "/"), [("dir/x", "2"), ("dir/y", "4")]),
        (("e%", "/"), [("e%f", "5")]),
        (("", "/", 0), []),
        (("", "/", 2), UPLOADS[:2]),
        (("", "/", 2, "a.txt", ""), UPLOADS[2:4]),
        (("", "/", 2, "a.txt", "3"), UPLOADS[1:3]),
        (("", "/", 2, "a.txt", "1"), UPLOADS[2:4]),
        (("", "/", 9, "dir/", ""), UPLOADS[3:]),
        (("", "/", 9, "a.txt", "ended"), UPLOADS),
    ],
)
async def test_multipart_uploads_are_listed_by_key_and_time(uploads, arguments, found):
    assert await _uploads(uploads, *arguments) == found


async def test_multipart_uploads_are_hidden_from_callers_without_a_policy(uploads):
    for role in ("anon", "authenticated"):
        await become(uploads, role)
        assert await _uploads(uploads, "", "/") == []
