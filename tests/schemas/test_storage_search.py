"""`storage.search`: what a folder holds, as listings of the first form ask it."""

from itertools import product

import pytest

from tests.schemas.callers import ME, OTHER, become
from tests.schemas.storage_tables import add_objects, listed

KEYS = [
    "b.txt",
    "A.txt",
    "dir/one.txt",
    "dir/two.txt",
    "dir/sub/deep.txt",
    "c.txt",
    "Docs/x.pdf",
    "empty//x",
    "/top.txt",
]


@pytest.fixture
async def search(admin):
    """Give the names that `storage.search` tells for some arguments, as the service role."""
    await add_objects(admin, "b", KEYS)
    await add_objects(admin, "other", ["elsewhere.txt"])
    await become(admin, "service_role")

    async def ask(prefix="", bucket="b", **arguments):
        values = [prefix, bucket, *arguments.values()]
        named = "".join(
            f", {name} => ${database_url}" for database_url, name in enumerate(arguments, start=3)
        )
        return await listed(admin, f"storage.search($1, $2{named})", *values)

    return ask


# What is listed


async def test_files_and_folders_of_the_root_are_mixed_in_any_case_of_letters(search):
    assert await search() == ["<>", "A.txt", "b.txt", "c.txt", "<dir>", "<Docs>", "<empty>"]


@pytest.mark.parametrize(
    ("prefix", "found"),
    [
        ("dir/", ["one.txt", "<sub>", "two.txt"]),
        ("DIR/", ["one.txt", "<sub>", "two.txt"]),
        ("dir/sub/", ["deep.txt"]),
        ("empty/", ["<>"]),
        ("empty//", ["x"]),
        ("/", ["top.txt"]),
        ("dir", ["<dir>"]),
        ("none/", []),
        (None, ["<>", "A.txt", "b.txt", "c.txt", "<dir>", "<Docs>", "<empty>"]),
    ],
)
async def test_names_are_relative_to_the_folder(search, prefix, found):
    assert await search(prefix) == found


async def test_an_unknown_bucket_holds_nothing(search):
    assert await search(bucket="none") == []


@pytest.mark.parametrize("levels", [1, 2, 3, None])
async def test_how_deep_the_prefix_is_may_be_told_or_not(search, levels):
    assert await search("dir/", levels=levels) == ["one.txt", "<sub>", "two.txt"]


@pytest.mark.parametrize(
    ("prefix", "term", "found"),
    [
        ("", "d", ["<dir>", "<Docs>"]),
        ("", "DO", ["<Docs>"]),
        ("", ".txt", []),
        ("dir/", "o", ["one.txt"]),
        ("dir/", "su", ["<sub>"]),
        ("dir/", None, ["one.txt", "<sub>", "two.txt"]),
    ],
)
async def test_the_search_term_begins_the_name_of_a_child(search, prefix, term, found):
    assert await search(prefix, search=term) == found


async def test_a_folder_is_its_name_only(admin, search):
    await search()
    row = await admin.fetchrow("select * from storage.search('', 'b', search => 'dir')")

    assert dict(row) == {
        "name": "dir", "id": None, "updated_at": None, "created_at": None, "last_accessed_at": None, "metadata": None,
    }  # fmt: skip


async def test_a_file_tells_its_row(admin, search):
    await search()
    row = await admin.fetchrow("select * from storage.search('', 'b', search => 'a.txt')")
    own = await admin.fetchrow("select * from storage.objects where name = 'A.txt'")

    assert dict(row) == {name: own[name] for name in row.keys()}  # noqa: SIM118 - a record is no mapping


async def test_folders_that_differ_in_case_only_are_one_listing(admin, search):
    await add_objects(admin, "cases", ["Dir/a", "dir/B", "DIR/c/d", "e.txt", "E.txt"])

    assert [name.lower() for name in await search(bucket="cases")] == ["<dir>", "e.txt", "e.txt"]
    assert await search("dIr/", bucket="cases") == ["a", "B", "<c>"]


async def test_a_key_may_be_a_file_and_a_folder(admin, search):
    await add_objects(admin, "both", ["a", "a/x", "a-b", "a.b"])

    assert await search(bucket="both") == ["a", "a-b", "a.b", "<a>"]


async def test_signs_of_patterns_mean_themselves(admin, search):
    keys = ["100%/x", "100/x", "a_b/x", "aab/x", "a\\b/x", "ab/x", "100%.txt"]
    await add_objects(admin, "signs", keys)

    found = {
        prefix: await search(prefix, bucket="signs")
        for prefix in ["100%/", "a_b/", "a\\b/", "%", "_", "\\", "100%"]
    }
    assert found == {
        "100%/": ["x"], "a_b/": ["x"], "a\\b/": ["x"], "%": [], "_": [], "\\": [], "100%": ["100%.txt", "<100%>"],
    }  # fmt: skip


async def test_keys_of_any_script_are_found(admin, search):
    await add_objects(
        admin, "scripts", ["Ünï/é.png", "日本/東京.txt", "日本/\U0010ffff", "\ud7ff/x", "😀.txt"]
    )

    assert await search("日本/", bucket="scripts") == ["東京.txt", "\U0010ffff"]
    assert await search("", bucket="scripts", search="日") == ["<日本>"]
    assert await search("", bucket="scripts", search="\ud7ff") == ["<\ud7ff>"]
    assert len(await search("", bucket="scripts")) == 4


# Order and pages


async def test_the_order_of_names_is_turned(search):
    assert await search(sortorder="desc") == ["<empty>", "<Docs>", "<dir>", "c.txt", "b.txt", "A.txt", "<>"]
    assert await search("dir/", sortorder="DESC") == ["two.txt", "<sub>", "one.txt"]


@pytest.mark.parametrize("column", ["created_at", "updated_at", "last_accessed_at"])
async def test_by_date_folders_come_first_by_name_and_files_by_date(search, column):
    assert await search(sortcolumn=column) == ["<>", "<dir>", "<Docs>", "<empty>", "b.txt", "A.txt", "c.txt"]
    assert await search(sortcolumn=column, sortorder="desc") == [
        "<empty>", "<Docs>", "<dir>", "<>", "c.txt", "A.txt", "b.txt",
    ]  # fmt: skip


async def test_an_unknown_column_or_order_is_the_name_ascending(search):
    assert await search(sortcolumn="size; drop", sortorder="up") == await search()
    assert await search(sortcolumn=None, sortorder=None) == await search()


@pytest.mark.parametrize("order", ["asc", "desc"])
@pytest.mark.parametrize("column", ["name", "updated_at"])
@pytest.mark.parametrize("size", [1, 2, 3, 7])
async def test_pages_make_up_the_whole(search, column, order, size):
    whole = await search(sortcolumn=column, sortorder=order)
    pages = []
    for start in range(0, len(whole), size):
        pages += await search(limits=size, offsets=start, sortcolumn=column, sortorder=order)

    assert pages == whole


@pytest.mark.parametrize("role", ["authenticated", "service_role"])
@pytest.mark.parametrize("kind", ["files", "folders between", "one name in many cases"])
async def test_a_page_begins_where_the_one_before_it_ended(admin, role, kind):
    """Far into a folder: beyond all the batches in which entries are passed over."""
    names = {
        "files": [f"in/{number:05}" for number in range(5000)],
        "folders between": [
            f"in/{number:05}" + ("/file" if number in (0, 1, 63, 64, 700, 701) or number > 2400 else "")
            for number in range(2500)
        ],
        # 2 to the 10th spellings of one name, between others
        "one name in many cases": [
            *("in/" + "".join(pair) for pair in product(*[(sign, sign.upper()) for sign in "bcdefghijk"])),
            *(f"in/a{number:03}" for number in range(300)),
            *(f"in/z{number:03}" for number in range(300)),
        ],
    }[kind]
    await add_objects(admin, "far", names)
    await admin.execute("create policy shown on storage.objects for select using (bucket_id = 'far')")
    await become(admin, role)
    children = "select array_agg(name || coalesce(id::text, '/')) from storage.children('far', 'in/', '', $1, $2, $3)"

    for is_descending in (False, True):
        whole = await admin.fetchval(children, is_descending, 10_000, 0)
        for start in (
            1,
            2,
            62,
            63,
            64,
            65,
            299,
            300,
            301,
            575,
            576,
            577,
            1100,
            1323,
            1324,
            1325,
            2499,
            4999,
            5000,
        ):
            page = await admin.fetchval(children, is_descending, 7, start)
            assert (page or []) == whole[start : start + 7], (is_descending, start)


async def test_a_page_has_a_hundred_entries_unless_told_and_1500_at_most(admin, search):
    await add_objects(admin, "many", [f"{number:04}" for number in range(1600)])

    for column in ("name", "created_at"):
        sizes = [
            len(await search(bucket="many", limits=limit, sortcolumn=column))
            for limit in (None, 0, -1, 1, 1501, 2**31 - 1)
        ]
        assert sizes == [100, 0, 0, 1, 1500, 1500]
        assert await search(bucket="many", limits=9, offsets=1598, sortcolumn=column) == ["1598", "1599"]
        assert await search(bucket="many", offsets=2**31 - 1, sortcolumn=column) == []


# Who sees what, and at what cost


async def test_a_caller_lists_what_policies_show(admin, search):
    await admin.execute("reset role")
    await add_objects(admin, "own", [f"{ME}/mine.txt", f"{OTHER}/theirs.txt", "shared.txt"])
    await admin.execute(
        """
        create policy own on storage.objects for select to authenticated
        using (bucket_id = 'own' and (storage.foldername(name))[1] = auth.uid()::text)
        """
    )
    found = {}
    for role, claims in (("anon", {}), ("authenticated", {"sub": ME}), ("service_role", {})):
        await become(admin, role, **claims)
        found[role] = await search(bucket="own")

    assert found == {
        "anon": [],
        "authenticated": [f"<{ME}>"],
        "service_role": [f"<{ME}>", f"<{OTHER}>", "shared.txt"],
    }


@pytest.mark.parametrize("role", ["authenticated", "service_role"])
@pytest.mark.parametrize(
    "listing",
    [
        "storage.search('', 'big', 10)",
        "storage.search('', 'big', 10, sortorder => 'desc')",
        "storage.search('folder-1', 'big', 10)",
        "storage.search_v2('', 'big', 10)",
        "storage.search_v2('', 'big', 10, sort_order => 'desc')",
        "storage.list_objects_with_delimiter('big', 'folder-', '/', 10, 'folder-15/')",
    ],
)
async def test_what_folders_hold_is_not_read(admin, role, listing):
    """Counted by the server: about one row for an entry, though there are two hundred rows in each folder."""
    await admin.execute("insert into storage.buckets (id, name) values ('big', 'big')")
    await admin.execute(
        """
        insert into storage.objects (bucket_id, name)
        select 'big', format('folder-%s/%s', number / 200, number) from generate_series(2000, 7999) as number
        """
    )
    await admin.execute("create policy shown on storage.objects for select using (bucket_id = 'big')")
    await admin.execute("analyze storage.objects")
    await become(admin, role)
    read = """
        select seq_tup_read + idx_tup_fetch from pg_stat_xact_user_tables where relid = 'storage.objects'::regclass
    """
    before = await admin.fetchval(read)
    entries = await admin.fetch(f"select name from {listing}")

    assert len(entries) == 10
    assert await admin.fetchval(read) - before <= 20
