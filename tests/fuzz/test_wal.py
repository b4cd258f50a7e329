"""Messages of the replication stream: whatever a message holds, it is decoded whole or `MalformedMessage`, and what was written is read.

Positions are what a stream must not lose. So a message that is taken must have been read to its last byte, and written again
it must be the same bytes: no length inside it may make the decoder skip, go back or stop early.
"""

import struct
from random import Random

from tests.fuzz.core import Budget, Target, run
from workers.replication.pgoutput import (
    UNCHANGED,
    BeginMessage,
    Cell,
    CommitMessage,
    Decoded,
    DeleteMessage,
    InsertMessage,
    LoggedRelation,
    LogicalMessage,
    MalformedMessage,
    MissingValue,
    OriginMessage,
    RelationColumn,
    Row,
    TruncateMessage,
    TypeMessage,
    UpdateMessage,
    decode,
)

_EPOCH_US = 946_684_800_000_000
_TEXTS = ("", "a", "public", "Ünï 図", "x" * 300, '"', "pg_catalog")


def written(message: Decoded) -> bytes:
    """Write a message as Postgres does."""
    match message:
        case BeginMessage(lsn, at, xid):
            return b"B" + struct.pack("!QqI", lsn, at - _EPOCH_US, xid)
        case CommitMessage(lsn, end):
            return b"C" + struct.pack("!BQQq", 0, lsn, end, 0)
        case OriginMessage(name):
            return b"O" + struct.pack("!Q", 1) + _text(name)
        case TypeMessage(oid, schema, name):
            return b"Y" + struct.pack("!I", oid) + _text(schema) + _text(name)
        case TruncateMessage(relations):
            return b"T" + struct.pack(f"!IB{len(relations)}I", len(relations), 0, *relations)
        case LogicalMessage(is_transactional, lsn, prefix, content):
            head = struct.pack("!BQ", is_transactional, lsn) + _text(prefix)
            return b"M" + head + struct.pack("!I", len(content)) + content
        case LoggedRelation(oid, schema, name, identity, columns):
            head = struct.pack("!I", oid) + _text(schema) + _text(name) + identity.encode("latin-1")
            return b"R" + head + struct.pack("!H", len(columns)) + b"".join(map(_column, columns))
        case InsertMessage(oid, new):
            return b"I" + struct.pack("!I", oid) + b"N" + _row(new)
        case UpdateMessage(oid, old, is_whole, new):
            before = b"" if old is None else (b"O" if is_whole else b"K") + _row(old)
            return b"U" + struct.pack("!I", oid) + before + b"N" + _row(new)
        case DeleteMessage(oid, old, is_whole):
            return b"D" + struct.pack("!I", oid) + (b"O" if is_whole else b"K") + _row(old)


def _text(text: str) -> bytes:
    return text.encode() + b"\0"


def _column(column: RelationColumn) -> bytes:
    return bytes([column.is_identity]) + _text(column.name) + struct.pack("!Ii", column.type, column.modifier)


def _row(row: Row) -> bytes:
    return struct.pack("!H", len(row)) + b"".join(map(_cell, row))


def _cell(cell: Cell) -> bytes:
    if cell is None:
        return b"n"
    return b"u" if isinstance(cell, MissingValue) else b"t" + struct.pack("!i", len(cell)) + cell


def _some_row(random: Random) -> Row:
    kinds: tuple[Cell, ...] = (None, UNCHANGED, b"", b"a", b"\0" * 9, random.randbytes(random.randrange(40)))
    return [random.choice(kinds) for _ in range(random.randrange(6))]


def _some(random: Random) -> Decoded:
    oid, lsn, text = random.getrandbits(32), random.getrandbits(64), random.choice(_TEXTS)
    columns = tuple(
        RelationColumn(
            random.choice(_TEXTS), random.getrandbits(32), random.randrange(-1, 99), random.random() < 0.5
        )
        for _ in range(random.randrange(5))
    )
    messages: tuple[Decoded, ...] = (
        BeginMessage(lsn, random.randrange(2**50), oid),
        CommitMessage(lsn, random.getrandbits(64)),
        OriginMessage(text),
        LoggedRelation(oid, random.choice(_TEXTS[1:]), text, random.choice("dnfi"), columns),
        TypeMessage(oid, random.choice(_TEXTS[1:]), text),
        InsertMessage(oid, _some_row(random)),
        UpdateMessage(oid, *random.choice(((None, False), (_some_row(random), False), (_some_row(random), True))), _some_row(random)),
        DeleteMessage(oid, _some_row(random), random.random() < 0.5),
        TruncateMessage(tuple(random.getrandbits(32) for _ in range(random.randrange(4)))),
        LogicalMessage(random.random() < 0.5, lsn, text, random.randbytes(random.randrange(30))),
    )  # fmt: skip
    return random.choice(messages)


def _generated(random: Random) -> bytes:
    message = _some(random)
    data = written(message)
    assert decode(data) == message, message
    return data


def _check(case: bytes) -> None:
    try:
        message = decode(case)
    except MalformedMessage:
        return
    again = written(message)
    assert decode(again) == message, "what was decoded reads otherwise when it is written again"
    if "\ufffd" not in repr(message) and not isinstance(
        message, CommitMessage | OriginMessage | TruncateMessage | TypeMessage | LoggedRelation
    ):
        assert len(again) == len(case), "a message was not read to its end, or beyond it"


def test_any_message_of_the_log_is_read_whole_or_malformed(budget: Budget) -> None:
    run(Target("wal", _generated, _check, 6000, guided_by=("workers/replication/pgoutput.py",)), budget)
