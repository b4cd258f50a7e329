"""Files of rows: what is exported can be imported again; previews, errors by line, conflicts, bad files."""

import csv
import io
import json
import uuid
from typing import Any

import pytest

from tests.workers.management.conftest import Client
from workers.management.interface.rights import Right

_SQL = """
create table {0} (id int primary key, name text not null, price numeric(30,10), tags text[], doc jsonb, at timestamptz,
  short varchar(3), parent int references {0} (id) deferrable initially deferred);
"""


@pytest.fixture
async def developer(visitor: Client) -> Client:
    """A client of a new developer."""
    return await visitor.signed_in(f"{uuid.uuid4().hex}@developer.test", Right.DEVELOPER)


@pytest.fixture
async def table(developer: Client) -> str:
    """A new empty table."""
    name = f"t_{uuid.uuid4().hex[:12]}"
    await developer.run("sql.run", sql=_SQL.format(name), read_only=False)
    return name


async def _import(client: Client, data: bytes, piece: int = 0, /, **arguments: object) -> dict[str, Any]:
    """Import a file, which arrives in pieces of a size, and return the report or the error."""
    pieces = tuple(data[at : at + piece] for at in range(0, len(data), piece)) if piece else (data,)
    query = "arguments=" + json.dumps(arguments).replace("%", "%25").replace("&", "%26").replace("+", "%2B")
    response = await client.send("POST", "/operations/rows.import", query=query, upload=pieces or (b"",))
    answer: dict[str, Any] = json.loads(response.body)
    return {**answer, "status": response.status}


async def _count(client: Client, table: str) -> int:
    count: int = (await client.run("rows.list", table=table, count="exact"))["count"]["rows"]
    return count


_ROWS = [
    {
        "id": 1,
        "name": 'a "quoted", text',
        "price": "12345678901.0123456789",
        "tags": ["a", "b,c"],
        "doc": {"n": 1.10},
    },
    {"id": 2, "name": "two\nlines\r\nthree", "price": None, "tags": [], "doc": None, "short": ""},
    {
        "id": 3,
        "name": "é😀",
        "price": "0.5",
        "tags": None,
        "doc": [1, "x"],
        "at": "2024-01-02T03:04:05+02:00",
    },
]


@pytest.mark.parametrize("format_name", ["csv", "json", "ndjson"])
@pytest.mark.parametrize("piece", [0, 1, 7])
async def test_what_is_exported_is_imported_again(
    developer: Client, table: str, format_name: str, piece: int
) -> None:
    await developer.run("rows.insert", table=table, rows=_ROWS)
    before = await developer.run("rows.list", table=table)
    data = await developer.stream("rows.export", table=table, format=format_name, sorts=[{"column": "id"}])
    await developer.run("sql.run", sql=f"truncate {table}", read_only=False)

    report = await _import(developer, data, piece, table=table, format=format_name, null_text="")

    assert (report["is_stored"], report["rows"], report["errors"]) == (True, 3, [])
    after = await developer.run("rows.list", table=table)
    cells = [row["cells"] for row in before["rows"]]
    if format_name == "csv":  # an empty text and NULL are the same field for most programs
        cells = [[None if cell == "" else cell for cell in row] for row in cells]
    assert [row["cells"] for row in after["rows"]] == cells


async def test_exports_have_the_rows_of_filters_in_each_format(developer: Client, table: str) -> None:
    await developer.run("rows.insert", table=table, rows=_ROWS)
    chosen: dict[str, Any] = {
        "columns": ["id", "name"],
        "filters": [{"column": "id", "op": "gte", "value": 2}],
    }

    as_csv = await developer.stream("rows.export", table=table, sorts=[{"column": "id"}], **chosen)
    as_json = await developer.stream("rows.export", table=table, format="json", **chosen)
    empty = await developer.stream(
        "rows.export", table=table, format="json", filters=[{"column": "id", "op": "lt", "value": 0}]
    )

    rows = list(csv.reader(io.StringIO(as_csv.decode(), newline="")))
    assert rows == [["id", "name"], ["2", "two\nlines\r\nthree"], ["3", "é😀"]]
    assert json.loads(as_json) == [{"id": 2, "name": "two\nlines\r\nthree"}, {"id": 3, "name": "é😀"}]
    assert json.loads(empty) == []
    assert await developer.refused("rows.export", table=table, format="xml") == (400, "invalid_arguments")
    assert (await developer.refused("rows.export", table="nothing_here"))[0] == 404


async def test_an_export_as_a_caller_has_the_rows_of_the_caller(developer: Client, table: str) -> None:
    await developer.run("rows.insert", table=table, rows=_ROWS)
    policy = f"""alter table {table} enable row level security; grant select on {table} to anon;
      create policy p on {table} to anon using (id = 3)"""
    await developer.run("sql.run", sql=policy, read_only=False)

    lines = await developer.stream(
        "rows.export", table=table, format="ndjson", columns=["id"], view_as={"role": "anon"}
    )

    assert lines == b'{"id":3}\n'


_BAD = b"""id,name,short
1,one,abc
2,two,too long
3,"three
lines",abc
x,four,abc
5,five
1,again,abc
7,seven,abc
"""


async def test_bad_lines_are_named_and_nothing_is_stored(developer: Client, table: str) -> None:
    report = await _import(developer, _BAD, table=table)

    assert sorted((error["line"], error["code"]) for error in report["errors"]) == [
        (3, "22001"),
        (6, "22P02"),
        (7, "format"),
        (8, "23505"),
    ]
    assert (report["is_stored"], report["failed"], report["rows"], report["total"]) == (False, 4, 3, 7)
    assert await _count(developer, table) == 0


async def test_bad_lines_are_skipped(developer: Client, table: str) -> None:
    report = await _import(developer, _BAD, table=table, skip_errors=True)

    assert (report["is_stored"], report["failed"], report["rows"]) == (True, 4, 3)
    rows = (await developer.run("rows.list", table=table, columns=["id"]))["rows"]
    assert [row["cells"] for row in rows] == [["1"], ["3"], ["7"]]


async def test_a_preview_changes_nothing(developer: Client, table: str) -> None:
    report = await _import(developer, _BAD, table=table, preview=True, skip_errors=True)

    assert (report["is_stored"], report["failed"], report["rows"]) == (False, 4, 3)
    assert json.loads(report["first"][0]) == {"id": "1", "name": "one", "short": "abc"}
    assert report["columns"] == ["id", "name", "short"]
    assert await _count(developer, table) == 0


async def test_rows_of_the_same_key(developer: Client, table: str) -> None:
    await developer.run("rows.insert", table=table, rows=[{"id": 1, "name": "old", "short": "abc"}])
    data = b'{"id": 1, "name": "new"}\n\n{"name": "two", "id": 2}\n'

    refused = await _import(developer, data, table=table, format="ndjson")
    ignored = await _import(developer, data, table=table, format="ndjson", on_conflict="ignore")
    await developer.run("rows.delete", table=table, rows=[{"key": {"id": 2}}], expected=1)
    updated = await _import(developer, data, table=table, format="ndjson", on_conflict="update")

    assert (refused["is_stored"], refused["errors"][0]["line"], refused["errors"][0]["code"]) == (
        False,
        1,
        "23505",
    )
    assert (ignored["rows"], updated["rows"]) == (1, 2)
    rows = (await developer.run("rows.list", table=table, columns=["id", "name", "short"]))["rows"]
    assert [row["cells"] for row in rows] == [["1", "new", "abc"], ["2", "two", None]]


async def test_deferred_constraints_are_errors_of_their_line(developer: Client, table: str) -> None:
    report = await _import(developer, b"id,name,parent\n1,a,\n2,b,1\n3,c,99\n", table=table, skip_errors=True)

    assert [(error["line"], error["code"]) for error in report["errors"]] == [(4, "23503")]
    assert await _count(developer, table) == 2


@pytest.mark.parametrize(
    ("format_name", "data", "line"),
    [
        ("csv", b'id,name\n1,"open\n2,b\n', 2),
        ("csv", b"id,id\n1,2\n", 1),
        ("csv", b"id,name\n\xff\xfe,x\n", 0),
        ("csv", b"id,nothing_here\n1,2\n", 2),
        ("json", b'[{"id": 1, "name": "a"}', 1),
        ("json", b'[{"id": 1, "name": "a"},\n 5]', 2),
        ("json", b'{"id": 1}', 1),
        ("json", b'[{"id": 1, "name": "a"}] x', 1),
        ("json", b"", 1),
        ("ndjson", b'{"id": 1, "name": "a"}\n[1]\n', 2),
        ("ndjson", b'{"id": 1, "name": "a"}\n{"id": 2,\n', 2),
        ("ndjson", b'{"id": 1, "name": "\\u0000"}\n', 1),
    ],
)
async def test_bad_files_store_nothing(
    developer: Client, table: str, format_name: str, data: bytes, line: int
) -> None:
    for piece in (0, 3):
        report = await _import(developer, data, piece, table=table, format=format_name)
        assert report["is_stored"] is False
        assert report["errors"][-1]["line"] == line, report
    assert await _count(developer, table) == 0


@pytest.mark.parametrize(
    "arguments",
    [
        {"format": "xml"},
        {"on_conflict": "maybe"},
        {"delimiter": ""},
        {"delimiter": '"'},
        {"columns": ["nothing"]},
    ],
)
async def test_imports_that_do_not_fit_are_refused(
    developer: Client, table: str, arguments: dict[str, Any]
) -> None:
    assert (await _import(developer, b"id\n1\n", table=table, **arguments))["status"] == 400


async def test_a_long_import(developer: Client, table: str) -> None:
    lines = [f"{n},name {n}" for n in range(1, 20001)]
    lines[12344] = "12345,name,too many"
    data = "\n".join(["id,name", *lines]).encode()

    report = await _import(developer, data, 65536, table=table, skip_errors=True)

    assert (report["rows"], report["failed"], report["errors"][0]["line"]) == (19999, 1, 12346)
    assert await _count(developer, table) == 19999


async def test_good_records_are_stored_after_the_most_errors_that_a_report_holds(
    developer: Client, table: str
) -> None:
    lines = [f"{n},{'' if n <= 110 or n % 100 == 0 else n}" for n in range(1, 1001)]

    report = await _import(developer, "\n".join(["id,name", *lines]).encode(), table=table, skip_errors=True)

    assert (report["rows"], report["failed"], len(report["errors"])) == (881, 119, 100)
    assert await _count(developer, table) == 881
