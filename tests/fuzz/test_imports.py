"""Imports of rows: CSV, JSON and NDJSON give the same records in pieces of any length, or the same error; a record is one JSON object."""

from random import Random

import msgspec

from tests.fuzz.core import Budget, Target, run
from tests.fuzz.grammar import Grammar
from workers.management.areas.rows.records import (
    ImportedRecord,
    Parsed,
    RecordError,
    UnreadableFile,
    record_parser,
)

_GRAMMAR = Grammar(
    r"""
start: csv\n«header»«line»«line» | json\n[«object»,«object»] | json\n«json» | ndjson\n«object»\n«object»\n | ndjson\n«json»\n | csv\n«header»«start»
header: a,b\n | a\n | "a",b\r\n | a,a\n | «field»,b\n
line: «field»,«field»\n | «field»\r\n | \n | «field»,«json»\n | «line»«line»
field: x | 1 | "x" | "x\ny" | "a""b" | " | é | "«json»" | \ufeff | NULL
object: {"a":«json»} | {"a":«json»,"b":«json»} | {} | {"\\u0061":1,"a":2} | {"a": «json» } | «json»
json: 1 | -0.5e+9 | 123456789012345678901234567890 | "x" | "\\ud800" | "\\u0000" | null | NaN | Infinity | [«json»] | {"a":«json»} | [ | { | "
"""
)


def _case(random: Random) -> bytes:
    return _GRAMMAR.make(random).encode(errors="surrogatepass")


def _parsed(format_name: str, text: str, piece: int) -> list[Parsed | str]:
    """Return the records, and the error that ends them."""
    parser = record_parser(format_name, {"delimiter": ",", "null_text": ""}, frozenset("b"))
    assert parser is not None
    records: list[Parsed | str] = []
    try:
        for at in range(0, len(text), piece):
            records += parser.feed(text[at : at + piece], is_last=False)
        records += parser.feed("", is_last=True)
    except UnreadableFile:
        records.append("unreadable")
    return records


def _check(case: bytes) -> None:
    format_name, _, text = case.decode(errors="replace").partition("\n")
    if format_name not in ("csv", "json", "ndjson"):
        return
    whole = _parsed(format_name, text, len(text) + 1)
    for record in whole:
        if isinstance(record, ImportedRecord):
            decoded = msgspec.json.decode(record.text, type=dict[str, msgspec.Raw])
            assert set(decoded) == set(record.names), "a name that was not looked at"
        else:
            assert isinstance(record, RecordError | str)
    for piece in (1, 3, 17):
        assert _parsed(format_name, text, piece) == whole, f"in pieces of {piece}"


def test_any_file_gives_records_or_an_error_whatever_its_pieces(budget: Budget) -> None:
    run(
        Target(
            "imports",
            _case,
            _check,
            1500,
            _GRAMMAR.words,
            guided_by=("workers/management/areas/rows/records.py",),
        ),
        budget,
    )
