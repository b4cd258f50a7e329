"""Messages of Postgres' output plugin `pgoutput`, protocol version 1: bytes in, structs out. Nothing here is a query.

A transaction comes whole, after its commit, and in the order of commits:

    Begin  (Relation | Type | Insert | Update | Delete | Truncate | Message)*  Commit

`Relation` comes before the first change of a table and again after the table was changed; changes name it by its oid. A
row is a list of cells in the order of the relation's columns: text of the type's output function, None for NULL, or
`UNCHANGED`. Old rows are of two kinds: `K`, only the columns of the replica identity (all others are None), and `O`, the
whole row. A `Message` outside of a transaction (`is_transactional` false) comes at any time.

A message ends where its last field ends. One that is longer or shorter, or whose lengths point backwards, is `Malformed`: it
was written by a protocol that this is not, and a guess at its rows would be published as if it were true.
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
"""2000-01-01, from where Postgres counts, in microseconds since 1970."""


class Absent(Enum):
    """Why a cell of a row that is not NULL has no value."""

    UNCHANGED = "a long value that the update left as it is"


UNCHANGED: Final = Absent.UNCHANGED

Cell = bytes | None | Absent
Row = list[Cell]


class Malformed(Exception):
    """The message is none of the protocol."""


@dataclass(frozen=True, slots=True)
class Begin:
    """A transaction begins: where its commit stands in the log, when it was (microseconds since 1970), and its number."""

    lsn: int
    committed_at: int
    xid: int = field(default=0, compare=False)


@dataclass(frozen=True, slots=True)
class Commit:
    """The transaction ends; `end` is the position after it, to be confirmed."""

    lsn: int
    end: int


@dataclass(frozen=True, slots=True)
class Origin:
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
class Relation:
    """A table as the changes that follow have it."""

    oid: int
    schema: str
    name: str
    identity: str
    columns: tuple[RelationColumn, ...]


@dataclass(frozen=True, slots=True)
class Type:
    """A type that is not built in."""

    oid: int
    schema: str
    name: str


@dataclass(slots=True)
class Insert:
    """A row was inserted."""

    relation: int
    new: Row


@dataclass(slots=True)
class Update:
    """A row was updated. Without `old` its identity is as it was; `is_whole` tells an `O` row from a `K` row."""

    relation: int
    old: Row | None
    is_whole: bool
    new: Row


@dataclass(slots=True)
class Delete:
    """A row was deleted."""

    relation: int
    old: Row
    is_whole: bool


@dataclass(frozen=True, slots=True)
class Truncate:
    """Tables were emptied."""

    relations: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Message:
    """What `pg_logical_emit_message` wrote."""

    is_transactional: bool
    lsn: int
    prefix: str
    content: bytes


Decoded = Begin | Commit | Origin | Relation | Type | Insert | Update | Delete | Truncate | Message


def decode(data: bytes) -> Decoded:
    """Read one message. Raises: Malformed."""
    try:
        return _decode(data)
    except (struct.error, IndexError, ValueError) as error:
        raise Malformed(f"a message of {len(data)} bytes of kind {data[:1]!r} cannot be read") from error


def _decode(data: bytes) -> Decoded:
    match data[:1]:
        case b"I":
            return Insert(_oid(data, 1), _last_row(data, 6))
        case b"U":
            return _update(data)
        case b"D":
            return Delete(_oid(data, 1), _last_row(data, 6), data[5] == ord("O"))
        case b"B":
            lsn, at, xid = _BEGIN.unpack(data[1:])
            return Begin(lsn, at + _EPOCH_US, xid)
        case b"C":
            _, lsn, end, _ = _COMMIT.unpack(data[1:])
            return Commit(lsn, end)
        case b"R":
            return _relation(data)
        case b"Y":
            schema, at = _text(data, 5)
            return Type(_oid(data, 1), schema or "pg_catalog", _last_text(data, at))
        case b"T":
            (count,) = _UNSIGNED.unpack_from(data, 1)
            return Truncate(struct.unpack(f"!{count}I", data[6:]))
        case b"M":
            return _message(data)
        case b"O":
            return Origin(_last_text(data, 9))
    raise ValueError


def _update(data: bytes) -> Update:
    kind = data[5]
    if kind == ord("N"):
        return Update(_oid(data, 1), None, False, _last_row(data, 6))
    old, at = _row(data, 6)
    if data[at] != ord("N"):
        raise ValueError
    return Update(_oid(data, 1), old, kind == ord("O"), _last_row(data, at + 1))


def _last_row(data: bytes, at: int) -> Row:
    """Read the row that ends the message."""
    row, at = _row(data, at)
    _check_end(data, at)
    return row


def _row(data: bytes, at: int) -> tuple[Row, int]:
    """Read a row; give the place after it too."""
    (count,) = _SHORT.unpack_from(data, at)
    at += 2
    row: Row = []
    length_of = _LENGTH.unpack_from
    for _ in range(count):
        kind = data[at]
        if kind == 116:  # t
            stop = at + 5 + length_of(data, at + 1)[0]
            if not at + 5 <= stop <= len(data):
                raise ValueError
            row.append(data[at + 5 : stop])
            at = stop
        elif kind == 110:  # n
            row.append(None)
            at += 1
        elif kind == 117:  # u
            row.append(UNCHANGED)
            at += 1
        else:
            raise ValueError
    return row, at


def _relation(data: bytes) -> Relation:
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
    return Relation(_oid(data, 1), schema or "pg_catalog", name, identity, tuple(columns))


def _message(data: bytes) -> Message:
    flags, lsn = _MESSAGE.unpack_from(data, 1)
    prefix, at = _text(data, 1 + _MESSAGE.size)
    (size,) = _UNSIGNED.unpack_from(data, at)
    _check_end(data, at + 4 + size)
    return Message(bool(flags & 1), lsn, prefix, data[at + 4 :])


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
