"""Records of CSV, JSON and NDJSON: pieces of any size give the same records, and any text gives records or an error."""

import contextlib
import csv
import io
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from workers.management.areas.rows.records import (
    CsvParser,
    ImportedRecord,
    JsonParser,
    NdjsonParser,
    Parsed,
    RecordError,
    RecordParser,
    UnreadableFile,
)

_FIELDS = st.text(st.characters(blacklist_characters="\0\r", blacklist_categories=["Cs"]), max_size=8)
_RECORDS = st.lists(st.fixed_dictionaries({"a": _FIELDS, "b": _FIELDS}), max_size=6)


def _parse(parser: RecordParser, text: str, piece: int) -> list[Parsed]:
    records = []
    for at in range(0, len(text), piece):
        records += list(parser.feed(text[at : at + piece], is_last=False))
    return records + list(parser.feed("", is_last=True))


def _csv() -> CsvParser:
    return CsvParser(",", "", frozenset())


@given(_RECORDS, st.integers(1, 30))
def test_csv_of_any_records(records: list[dict[str, str]], piece: int) -> None:
    out = io.StringIO(newline="")
    writer = csv.DictWriter(out, ["a", "b"], quoting=csv.QUOTE_ALL)
    writer.writeheader()
    writer.writerows(records)

    parsed = _parse(_csv(), out.getvalue(), piece)

    assert [json.loads(record.text) for record in parsed if isinstance(record, ImportedRecord)] == [
        {name: value or None for name, value in record.items()} for record in records
    ]


@given(_RECORDS, st.integers(1, 30), st.sampled_from([None, 1]))
def test_json_of_any_records(records: list[dict[str, str]], piece: int, indent: int | None) -> None:
    array = _parse(JsonParser(), json.dumps(records, indent=indent), piece)
    lines = _parse(NdjsonParser(), "\n".join(json.dumps(record) for record in records), piece)

    for parsed in (array, lines):
        assert [json.loads(record.text) for record in parsed if isinstance(record, ImportedRecord)] == records


@given(st.text(st.sampled_from('{}[]",:\\ \nab1é'), max_size=60), st.integers(1, 20))
def test_any_text_gives_records_or_an_error(text: str, piece: int) -> None:
    for parser in (_csv(), JsonParser(), NdjsonParser()):
        records: list[Parsed] = []
        with contextlib.suppress(UnreadableFile):
            records = _parse(parser, text, piece)
        for record in records:
            assert isinstance(record, RecordError) or isinstance(json.loads(record.text), dict)


def test_lines_are_those_in_which_records_begin() -> None:
    parsed = _parse(_csv(), 'a,b\n1,"x\ny"\n\n2,z\n3\n', 4)

    assert [record.line for record in parsed] == [2, 5, 6]
    assert isinstance(parsed[2], RecordError)


def test_numbers_keep_their_digits_and_json_columns_are_json() -> None:
    [record] = _parse(JsonParser(), '[{"n": 12345678901234567890.1234567890}]', 7)
    [field] = _parse(CsvParser(";", "NULL", frozenset({"doc"})), 'doc;b\n"{""n"": 1.10}";NULL\n', 5)

    assert isinstance(record, ImportedRecord)
    assert "12345678901234567890.1234567890" in record.text
    assert isinstance(field, ImportedRecord)
    assert field.text == '{"doc":{"n": 1.10},"b":null}'


def test_a_quote_that_does_not_end_is_an_error_before_memory_is_full() -> None:
    text = 'a\n"' + "x\n" * 1_000_000

    with pytest.raises(UnreadableFile):
        _parse(_csv(), text, 65536)


def test_a_field_may_be_as_long_as_a_record() -> None:
    [record] = _parse(_csv(), f"a\n{'x' * 500_000}\n", 65_536)

    assert isinstance(record, ImportedRecord)
    assert json.loads(record.text) == {"a": "x" * 500_000}


def test_a_record_in_short_pieces_is_not_read_again_for_each(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever sends single bytes would have a megabyte parsed a million times."""
    tries = 0
    parser = JsonParser()
    whole = parser._end_of_value

    def counted(text: str, at: int) -> int | None:
        nonlocal tries
        tries += 1
        return whole(text, at)

    monkeypatch.setattr(parser, "_end_of_value", counted)
    text = '[{"a":[' + "1," * 5000 + "1]}]"
    records = [record for sign in text for record in parser.feed(sign, is_last=False)]

    assert len([*records, *parser.feed("", is_last=True)]) == 1
    assert tries < 20
