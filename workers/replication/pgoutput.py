"""Decodes the messages of Postgres' output plugin `pgoutput`, protocol version 1: bytes in, structs out. Pure.

A transaction arrives complete, after its commit, and in commit order:

    Begin  (Relation | Type | Insert | Update | Delete | Truncate | Message)*  Commit

`Relation` comes before the first change of a table and again after the table was altered; changes name it by its oid. A row is
a list of cells in the order of the relation's columns: text of the type's output function, None for NULL, or `UNCHANGED`. Old
rows are of two kinds: `K`, only the columns of the replica identity (all others are None), and `O`, the complete row. A
`Message` outside of a transaction (`is_transactional` false) may come at any time.

A message ends where its last field ends. A longer or shorter one, or one whose lengths point backwards, is `MalformedMessage`:
it belongs to another protocol, and a guess at its rows would be published as if it were true.
Source: PostgreSQL, "Logical Replication Message Formats".
"""

import struct
from dataclasses import dataclass, field
from enum import Enum
from typing import Final

_BEGIN = struct.Struct("!QqI")
_COMMIT = struct.Struct("!BQQq")
_UNSIGNED = struct.Struct("!I")
_SHORT = struct.Struct("!H")
_LENGTH = struct.Struct("!i")
_MESSAGE = struct.Struct("!BQ")
_COLUMN = struct.Struct("!Ii")
_EPOCH_US = 946_684_800_000_000
"""The epoch of Postgres, 2000-01-01, in microseconds since 1970."""


class MissingValue(Enum):
    """Why the value of a cell that is not NULL is missing."""

    UNCHANGED = "a long value that the update left as it is"


UNCHANGED: Final = MissingValue.UNCHANGED

Cell = bytes | None | MissingValue
Row = list[Cell]


class MalformedMessage(Exception):
    """The message does not belong to the protocol."""


@dataclass(frozen=True, slots=True)
class BeginMessage:
    """Start of a transaction: the position and time (microseconds since 1970) of its commit, and its number."""

    lsn: int
    committed_at: int
    xid: int = field(default=0, compare=False)


@dataclass(frozen=True, slots=True)
class CommitMessage:
    """End of a transaction; `end` is the position after it, which may be confirmed."""

    lsn: int
    end: int


@dataclass(frozen=True, slots=True)
class OriginMessage:
    """The transaction came from another server."""

    name: str


@dataclass(frozen=True, slots=True)
class RelationColumn:
    """A column of a relation. `is_identity`: part of the replica identity (under `full`: every column)."""

    name: str
    type: int
    modifier: int
    is_identity: bool


@dataclass(frozen=True, slots=True)
class LoggedRelation:
    """A table as it is for the changes that follow."""

    oid: int
    schema: str
    name: str
    identity: str
    columns: tuple[RelationColumn, ...]


@dataclass(frozen=True, slots=True)
class TypeMessage:
    """Name of a type that is not built in."""

    oid: int
    schema: str
    name: str


@dataclass(slots=True)
class InsertMessage:
    """A row was inserted."""

    relation: int
    new: Row


@dataclass(slots=True)
class UpdateMessage:
    """A row was updated. Without `old` its identity is unchanged; `is_whole` distinguishes an `O` row from a `K` row."""

    relation: int
    old: Row | None
    is_whole: bool
    new: Row


@dataclass(slots=True)
class DeleteMessage:
    """A row was deleted."""

    relation: int
    old: Row
    is_whole: bool


@dataclass(frozen=True, slots=True)
class TruncateMessage:
    """Tables were emptied."""

    relations: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class LogicalMessage:
    """A message that `pg_logical_emit_message` wrote."""

    is_transactional: bool
    lsn: int
    prefix: str
    content: bytes


Decoded = (
    BeginMessage
    | CommitMessage
    | OriginMessage
    | LoggedRelation
    | TypeMessage
    | InsertMessage
    | UpdateMessage
    | DeleteMessage
    | TruncateMessage
    | LogicalMessage
)


def decode(data: bytes) -> Decoded:
    """Decode one message. Raises: MalformedMessage."""
    try:
        return _decode(data)
    except (struct.error, IndexError, ValueError) as error:
        raise MalformedMessage(
            f"a message of {len(data)} bytes of kind {data[:1]!r} cannot be read"
        ) from error


def _decode(data: bytes) -> Decoded:
    match data[:1]:
        case b"I":
            return InsertMessage(_oid(data, 1), _last_row(data, 6))
        case b"U":
            return _update(data)
        case b"D":
            return DeleteMessage(_oid(data, 1), _last_row(data, 6), data[5] == ord("O"))
        case b"B":
            lsn, at, xid = _BEGIN.unpack(data[1:])
            return BeginMessage(lsn, at + _EPOCH_US, xid)
        case b"C":
            _, lsn, end, _ = _COMMIT.unpack(data[1:])
            return CommitMessage(lsn, end)
        case b"R":
            return _relation(data)
        case b"Y":
            schema, at = _text(data, 5)
            return TypeMessage(_oid(data, 1), schema or "pg_catalog", _last_text(data, at))
        case b"T":
            (count,) = _UNSIGNED.unpack_from(data, 1)
            return TruncateMessage(struct.unpack(f"!{count}I", data[6:]))
        case b"M":
            return _message(data)
        case b"O":
            return OriginMessage(_last_text(data, 9))
    raise ValueError


def _update(data: bytes) -> UpdateMessage:
    kind = data[5]
    if kind == ord("N"):
        return UpdateMessage(_oid(data, 1), None, False, _last_row(data, 6))
    old, at = _row(data, 6)
    if data[at] != ord("N"):
        raise ValueError
    return UpdateMessage(_oid(data, 1), old, kind == ord("O"), _last_row(data, at + 1))


def _last_row(data: bytes, at: int) -> Row:
    """Read the row that ends the message."""
    row, at = _row(data, at)
    _check_end(data, at)
    return row


def _row(data: bytes, at: int) -> tuple[Row, int]:
    """Read a row; return it and the offset after it. Hot path."""
    (count,) = _SHORT.unpack_from(data, at)
    at += 2
    row: Row = []
    length_of, add, end = _LENGTH.unpack_from, row.append, len(data)
    for _ in range(count):
        kind = data[at]
        if kind == 116:  # t
            start = at + 5
            at = start + length_of(data, at + 1)[0]
            if not start <= at <= end:
                raise ValueError
            add(data[start:at])
        elif kind == 110:  # n
            add(None)
            at += 1
        elif kind == 117:  # u
            add(UNCHANGED)
            at += 1
        else:
            raise ValueError
    return row, at


def _relation(data: bytes) -> LoggedRelation:
    schema, at = _text(data, 5)
    name, at = _text(data, at)
    identity = chr(data[at])
    (count,) = _SHORT.unpack_from(data, at + 1)
    at += 3
    columns = []
    for _ in range(count):
        flags = data[at]
        column, at = _text(data, at + 1)
        oid, modifier = _COLUMN.unpack_from(data, at)
        columns.append(RelationColumn(column, oid, modifier, bool(flags & 1)))
        at += _COLUMN.size
    _check_end(data, at)
    return LoggedRelation(_oid(data, 1), schema or "pg_catalog", name, identity, tuple(columns))


def _message(data: bytes) -> LogicalMessage:
    flags, lsn = _MESSAGE.unpack_from(data, 1)
    prefix, at = _text(data, 1 + _MESSAGE.size)
    (size,) = _UNSIGNED.unpack_from(data, at)
    _check_end(data, at + 4 + size)
    return LogicalMessage(bool(flags & 1), lsn, prefix, data[at + 4 :])


def _oid(data: bytes, at: int) -> int:
    oid: int = _UNSIGNED.unpack_from(data, at)[0]
    return oid


def _text(data: bytes, at: int) -> tuple[str, int]:
    end = data.index(b"\0", at)
    return data[at:end].decode(errors="replace"), end + 1


def _last_text(data: bytes, at: int) -> str:
    """Read the text that ends the message."""
    text, at = _text(data, at)
    _check_end(data, at)
    return text


def _check_end(data: bytes, at: int) -> None:
    """Raises: ValueError unless the message ends here."""
    if at != len(data):
        raise ValueError
