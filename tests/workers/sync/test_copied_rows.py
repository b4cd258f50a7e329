"""The first rows of a shape are copied as text: what Postgres has is what clients get, byte for byte."""

import pytest

from schemas.http import FilePart
from schemas.sync import FOLDER_HEADER, folder_mark, snapshot_file
from tests.workers.sync.sync_pool import SyncPoolOfTests
from workers.sync.copied_rows import CopiedRowFormat

pytestmark = pytest.mark.process_group("sync")

TEXTS = [
    "", "plain", 'quo"te', "back\\slash", "ends in \\", 'both \\"', "\\N", "\\.", "'", "'; drop table x; --", "E'\\'",
    "line\nbreak", "cr\r", "tab\t", "\v\f\b", "".join(map(chr, range(1, 32))), "\x7f", "50%b %s %", "a/b//c", "ü€😀", "null", "$1",
]  # fmt: skip


async def test_texts_and_names_of_every_kind(sync_pool: SyncPoolOfTests) -> None:
    table = await sync_pool.table(
        '"k%/""y" text primary key, "te%xt" text, missing text, n int', row_security=False
    )
    for text in TEXTS:
        await sync_pool.sql(f"insert into {table} values ($1, $1, null, 1)", text)
    client = sync_pool.client(table)
    rows = await client.read()

    assert sorted(row["te%xt"] or "" for row in rows.values()) == sorted(TEXTS)
    assert all(row['k%/"y'] == row["te%xt"] and row["missing"] is None for row in rows.values())
    await sync_pool.sql(f"update {table} set n = 2")
    await client.until(
        ["2"] * len(TEXTS), "n"
    )  # the keys of changes, which Postgres writes as JSON, are the same

    for text in TEXTS:  # COPY takes no parameters: the values of a filter are literals
        found = await sync_pool.client(table, where='"te%xt" = $1', **{"params[1]": text}).read()
        assert [row["te%xt"] for row in found.values()] == [text]


def test_rows_of_other_columns_are_refused() -> None:
    rows = CopiedRowFormat(("public", "t"), 1, ["id", "name"])

    with pytest.raises(ValueError, match="columns"):
        rows.messages(b'1"1\n')


async def test_an_edge_with_the_same_folder_gets_the_place_instead_of_the_bytes(
    sync_pool: SyncPoolOfTests,
) -> None:
    table = await sync_pool.table("id int primary key", row_security=False)
    await sync_pool.sql(f"insert into {table} values (1), (2)")
    query = {"table": table, "offset": "-1"}
    whole = await sync_pool.ask(query)
    mark = folder_mark(sync_pool.folder)
    other = await sync_pool.ask(query, headers=[(FOLDER_HEADER, mark + "0")])
    placed = await sync_pool.ask(query, headers=[(FOLDER_HEADER, mark)])

    assert (other.body, other.file) == (whole.body, None)
    part = placed.file
    assert isinstance(part, FilePart)
    content = snapshot_file(sync_pool.folder, part.name).read_bytes()
    assert content[part.start : part.start + part.size] == whole.body
    assert (placed.headers, placed.body) == (whole.headers, b"")
