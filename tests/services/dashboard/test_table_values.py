"""Values of the page Tables as the dashboard reads and writes them (pages/tables/values.ts, paste.ts), run without a browser."""

import json
import subprocess
from pathlib import Path

import deno
import pytest

_TABLES = Path(__file__).parents[3] / "services" / "dashboard" / "web" / "pages" / "tables"
_CALLS = """
const [tables, calls] = [Deno.args[0], JSON.parse(Deno.args[1])];
const functions = { ...await import(`${tables}/values.ts`), ...await import(`${tables}/paste.ts`) };
const { tabSeparated, parseTabSeparated, formatArray, parseArray } = functions;
functions.copyAndPaste = (rows) => parseTabSeparated(tabSeparated(rows));
functions.writeAndReadArray = (items) => parseArray(formatArray(items));
console.log(JSON.stringify(calls.map(([name, ...values]) => functions[name](...values))));
"""
_ODD = ['"', 'a"b', "a\tb", "line\nend", "car\rriage", "both\r\nof them", "", " ", "ä\\", "{a,b}", "null"]


def _column(name: str, **properties: object) -> dict[str, object]:
    return {"name": name, "generated": None, "identity": None, "default": None, **properties}


_TABLE = {
    "columns": [
        _column("id", identity="by default"),
        _column("title"),
        _column("words", generated="stored"),
        _column("due", default="now()"),
    ]
}
_PLAIN = [["a", ""], ["b", "c"]]


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> list[object]:
    """What the calls of `CASES` return, in one run of Deno."""
    folder = tmp_path_factory.mktemp("tables")
    (folder / "calls.js").write_text(_CALLS)
    command = [deno.find_deno_bin(), "run", "--allow-read", "--no-check", "--no-config", "calls.js"]
    calls = json.dumps([call for call, _ in CASES])
    ran = subprocess.run(
        [*command, _TABLES.as_uri(), calls], cwd=folder, capture_output=True, text=True, timeout=60
    )
    assert ran.returncode == 0, ran.stderr
    values: list[object] = json.loads(ran.stdout)
    return values


CASES: list[tuple[list[object], object]] = [
    # What is copied is what is pasted.
    (["copyAndPaste", [_ODD, _ODD[::-1]]], [_ODD, _ODD[::-1]]),
    (["parseTabSeparated", "a\tb\r\nc\td\r\n"], [["a", "b"], ["c", "d"]]),
    (["parseTabSeparated", ""], [[""]]),
    (["writeAndReadArray", _ODD], _ODD),
    (["writeAndReadArray", []], []),
    (["parseArray", "{a,NULL}"], None),
    (["parseArray", "{{a},{b}}"], None),
    (["parseArray", "{a,}"], None),
    # Cells of a spreadsheet: a later line may be longer than the first, and empty cells at the end count for nothing.
    (
        ["pastedRows", _TABLE, _PLAIN, False],
        {
            "columns": ["title", "due"],
            "rows": [{"title": "a", "due": None}, {"title": "b", "due": "c"}],
            "isTooWide": False,
        },
    ),
    (
        ["pastedRows", _TABLE, [["a"], ["b", "c", "", ""]], False],
        {
            "columns": ["title", "due"],
            "rows": [{"title": "a", "due": None}, {"title": "b", "due": "c"}],
            "isTooWide": False,
        },
    ),
    (
        ["pastedRows", _TABLE, [["1", "a", "b", "c"]], False],
        {"columns": ["id", "title", "due"], "rows": [{"id": "1", "title": "a", "due": "b"}], "isTooWide": True},
    ),
    (
        ["pastedRows", _TABLE, [["due", "words"], ["d", "w", "x"]], True],
        {"columns": ["due", "words"], "rows": [{"due": "d"}], "isTooWide": True},
    ),
    (["isHeader", _TABLE, ["due", "words"]], True),
    (["isHeader", _TABLE, ["due", "other"]], False),
]  # fmt: skip


def test_values_of_tables_are_read_and_written_as_they_are(results: list[object]) -> None:
    wrong = [
        (call, expected, result)
        for (call, expected), result in zip(CASES, results, strict=True)
        if result != expected
    ]

    assert wrong == []
