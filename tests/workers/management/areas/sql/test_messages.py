"""The server's messages in pieces of any size; messages that are too long keep their beginning."""

import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from workers.database.protocol.rows import ProtocolViolation
from workers.management.areas.sql.messages import (
    CommandTag,
    CopyBegun,
    CutValue,
    ReadyForStatement,
    ResultColumns,
    ResultReader,
    RowBatch,
    ServerFailure,
    ServerNotice,
    Value,
)


def _message(kind: bytes, body: bytes) -> bytes:
    return kind + struct.pack("!I", len(body) + 4) + body


def _row(*values: bytes | None) -> bytes:
    parts = [struct.pack("!H", len(values))]
    for value in values:
        parts.append(struct.pack("!i", -1 if value is None else len(value)) + (value or b""))
    return _message(b"D", b"".join(parts))


_COLUMNS = _message(
    b"T",
    struct.pack("!H", 2)
    + b"n\0"
    + struct.pack("!IHIhih", 0, 0, 23, 4, -1, 0)
    + "é\0".encode()
    + struct.pack("!IHIhih", 1, 2, 1043, -1, 7, 0),
)
_ANSWER = (
    _message(b"1", b"")
    + _COLUMNS
    + _row(b"1", None)
    + _row(b"2", b"x")
    + _message(b"N", b"SNOTICE\0Mhello\0\0")
    + _row(b"3", b"")
    + _message(b"C", b"SELECT 3\0")
    + _message(b"Z", b"I")
)


@given(st.lists(st.integers(1, 40), max_size=60))
def test_pieces_of_any_size_have_the_same_events(sizes: list[int]) -> None:
    reader, at, rows, others = ResultReader(1000), 0, [], []
    for size in [*sizes, len(_ANSWER)]:
        for event in reader.feed(_ANSWER[at : at + size]):
            if isinstance(event, RowBatch):
                rows += event.rows
            else:
                others.append(event)
        at += size

    assert rows == [(b"1", None), (b"2", b"x"), (b"3", b"")]
    columns, notice, tag, ready = others
    assert isinstance(columns, ResultColumns)
    assert [(column.name, column.type_oid, column.type_modifier) for column in columns.columns] == [
        ("n", 23, -1),
        ("é", 1043, 7),
    ]
    assert isinstance(notice, ServerNotice)
    assert (tag, ready) == (CommandTag("SELECT 3"), ReadyForStatement(ord("I")))


@pytest.mark.parametrize("piece", [64, 1000, 100_000])
def test_a_long_row_keeps_its_beginning_and_what_follows_is_read(piece: int) -> None:
    data = _row(b"short", b"x" * 50_000, b"behind") + _row(b"next") + _message(b"C", b"SELECT 2\0")
    reader, rows = ResultReader(100), list[tuple[Value, ...]]()
    for at in range(0, len(data), piece):
        for event in reader.feed(data[at : at + piece]):
            if isinstance(event, RowBatch):
                rows += event.rows

    if piece == 100_000:  # it was there as a whole
        assert rows[0][1] == b"x" * 50_000
    else:
        first, second, third = rows[0]
        assert first == b"short"
        assert isinstance(second, CutValue)
        assert second.size == 50_000
        assert second.beginning == b"x" * len(second.beginning)
        assert third == CutValue(b"", -1)
    assert rows[1] == (b"next",)


def test_copy_errors_and_unknown_messages() -> None:
    events = ResultReader(1000).feed(
        _message(b"H", b"\0\0\0")
        + _message(b"d", b"a\tb\n")
        + _message(b"c", b"")
        + _message(b"E", b"C42601\0Mno\0P7\0\0")
    )

    assert events[0] == CopyBegun(is_input=False)
    assert events[1] == RowBatch([(b"a\tb",)])
    assert isinstance(events[2], ServerFailure)
    assert (events[2].error.code, events[2].error.position) == ("42601", 7)
    for bad in (b"?\0\0\0\4", b"C\0\0\0\1", b"D\0\0\0\5\1", b"T\0\0\0\6\0\1"):
        with pytest.raises(ProtocolViolation):
            ResultReader(1000).feed(bad)
