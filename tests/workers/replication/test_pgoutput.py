import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from workers.replication.pgoutput import (
    UNCHANGED,
    BeginMessage,
    CommitMessage,
    DeleteMessage,
    InsertMessage,
    LoggedRelation,
    LogicalMessage,
    MalformedMessage,
    OriginMessage,
    RelationColumn,
    TruncateMessage,
    TypeMessage,
    UpdateMessage,
    decode,
)


def row(*cells) -> bytes:
    parts = [struct.pack("!H", len(cells))]
    for cell in cells:
        if cell is None:
            parts.append(b"n")
        elif cell is UNCHANGED:
            parts.append(b"u")
        else:
            parts.append(b"t" + struct.pack("!i", len(cell)) + cell)
    return b"".join(parts)


def test_a_transaction_begins_and_ends():
    begun = decode(b"B" + struct.pack("!QqI", 0x16_0000_0010, 1_000_000, 7))
    ended = decode(b"C" + struct.pack("!BQQq", 0, 0x16_0000_0010, 0x16_0000_0040, 1_000_000))

    assert begun == BeginMessage(0x16_0000_0010, 946_684_801_000_000)
    assert ended == CommitMessage(0x16_0000_0010, 0x16_0000_0040)


def test_a_relation_names_its_columns():
    data = b"R" + struct.pack("!I", 9) + b"public\0songs\0d" + struct.pack("!H", 2)
    data += b"\1id\0" + struct.pack("!Ii", 23, -1) + b"\0name\0" + struct.pack("!Ii", 1043, 14)

    assert decode(data) == LoggedRelation(
        9,
        "public",
        "songs",
        "d",
        (RelationColumn("id", 23, -1, True), RelationColumn("name", 1043, 14, False)),
    )


@given(st.lists(st.one_of(st.none(), st.binary(max_size=20), st.just(UNCHANGED)), max_size=8))
def test_rows_are_read_cell_by_cell(cells):
    oid = struct.pack("!I", 5)

    assert decode(b"I" + oid + b"N" + row(*cells)) == InsertMessage(5, cells)
    assert decode(b"U" + oid + b"N" + row(*cells)) == UpdateMessage(5, None, False, cells)
    assert decode(b"U" + oid + b"K" + row(*cells) + b"N" + row(*cells)) == UpdateMessage(
        5, cells, False, cells
    )
    assert decode(b"U" + oid + b"O" + row(*cells) + b"N" + row()) == UpdateMessage(5, cells, True, [])
    assert decode(b"D" + oid + b"K" + row(*cells)) == DeleteMessage(5, cells, False)
    assert decode(b"D" + oid + b"O" + row(*cells)) == DeleteMessage(5, cells, True)


def test_the_other_messages_are_read():
    assert decode(b"T" + struct.pack("!IBII", 2, 0, 5, 6)) == TruncateMessage((5, 6))
    assert decode(b"Y" + struct.pack("!I", 77) + b"\0mood\0") == TypeMessage(77, "pg_catalog", "mood")
    assert decode(b"O" + struct.pack("!Q", 1) + b"far\0") == OriginMessage("far")
    assert decode(b"M" + struct.pack("!BQ", 1, 16) + b"headwater\0" + struct.pack("!I", 6) + b"schema") == (
        LogicalMessage(True, 16, "headwater", b"schema")
    )


@pytest.mark.parametrize("kind", [b"I", b"D", b"U"])
def test_a_length_that_points_backwards_is_malformed(kind: bytes):
    data = kind + struct.pack("!I", 5) + b"N" + struct.pack("!H", 2) + b"t" + struct.pack("!i", -5) + b"n"

    with pytest.raises(MalformedMessage):
        decode(data)


@pytest.mark.parametrize(
    "data",
    [
        b"I" + struct.pack("!I", 5) + b"N" + row(b"a"),
        b"M" + struct.pack("!BQ", 1, 16) + b"p\0" + struct.pack("!I", 1) + b"x",
        b"T" + struct.pack("!IBI", 1, 0, 5),
        b"C" + struct.pack("!BQQq", 0, 1, 2, 3),
        b"O" + struct.pack("!Q", 1) + b"far\0",
    ],
)
def test_a_message_with_more_behind_its_end_is_malformed(data: bytes):
    decode(data)

    with pytest.raises(MalformedMessage):
        decode(data + b"\0")


@pytest.mark.parametrize("cut", range(1, 30))
def test_a_message_that_is_cut_is_malformed(cut):
    data = b"U" + struct.pack("!I", 5) + b"O" + row(b"abc", None) + b"N" + row(b"defg", b"h")

    with pytest.raises(MalformedMessage):
        decode(data[:-cut])
