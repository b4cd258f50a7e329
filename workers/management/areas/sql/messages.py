"""Reads the server's answer to a statement of unknown size, in pieces and with flat memory (no I/O).

`workers/database/protocol/backend_reader.py` reads answers whose shape our own statements decide. A statement that a person
wrote may return any columns, several gigabytes, one value of a gigabyte, notices without end, or a COPY. Here

- rows are returned as they arrive, in batches, so that the caller decides what it stores;
- of a message longer than `longest` bytes only the beginning is stored. A row that was cut has `CutValue` where a value
  ends early, and at all values behind it;
- COPY is part of the grammar.

Source: PostgreSQL, "Frontend/Backend Protocol", 3.0, "Message Formats".
"""

from struct import Struct
from struct import error as StructError
from typing import NamedTuple

from workers.database.errors import DatabaseError, database_error, read_fields
from workers.database.protocol.rows import ProtocolViolation, read_row


class CutValue(NamedTuple):
    """The beginning of a value that was too long to be stored; `size` is its length in bytes, -1 if that is unknown."""

    beginning: bytes
    size: int


Value = bytes | CutValue | None
ValueRow = tuple[Value, ...]


class ResultColumn(NamedTuple):
    """A column of a result: its name, and its type as the catalog numbers it."""

    name: str
    type_oid: int
    type_modifier: int


class ResultColumns(NamedTuple):
    """The description of the rows that follow."""

    columns: list[ResultColumn]


class RowBatch(NamedTuple):
    """Rows that arrived together."""

    rows: list[ValueRow]


class CommandTag(NamedTuple):
    """The end of a statement: `INSERT 0 3`; empty for a text without a statement."""

    tag: str


class PortalSuspended(NamedTuple):
    """The statement has more rows than were requested, and was stopped."""


class ServerNotice(NamedTuple):
    """A notice, with the fields of the protocol."""

    fields: dict[str, str]


class ServerFailure(NamedTuple):
    """The statement failed."""

    error: DatabaseError


class CopyBegun(NamedTuple):
    """A COPY: the server waits for rows (`is_input`), or sends them as `RowBatch` of one value."""

    is_input: bool


class ReadyForStatement(NamedTuple):
    """The end of an answer; `status` is the transaction's (backend_reader.IDLE...)."""

    status: int


ResultEvent = (
    ResultColumns
    | RowBatch
    | CommandTag
    | PortalSuspended
    | ServerNotice
    | ServerFailure
    | CopyBegun
    | ReadyForStatement
)

_read_head = Struct("!BI").unpack_from
_read_count = Struct("!H").unpack_from
_read_size = Struct("!i").unpack_from
_read_column = Struct("!IHIhih").unpack_from
_MAX_MESSAGE = 1 << 30
_IGNORED = frozenset(b"123tnSAKc")


class ResultReader:
    """Turns the bytes of a connection into events. `longest`: bytes of a message that are stored."""

    def __init__(self, longest: int) -> None:
        self._longest = longest
        self._partial: list[bytes] = []
        self._partial_size = self._needed = self._skipped = 0
        self._events: list[ResultEvent] = []
        self._rows: list[ValueRow] = []

    def feed(self, data: bytes) -> list[ResultEvent]:
        """Return what the bytes complete. Raises: ProtocolViolation."""
        if self._skipped:
            dropped = min(self._skipped, len(data))
            self._skipped -= dropped
            data = data[dropped:]
        if self._partial:
            self._partial.append(data)
            self._partial_size += len(data)
            if self._partial_size < self._needed:
                return []
            data = b"".join(self._partial)
            self._partial.clear()
        self._events = []
        try:
            self._read(data)
        except (StructError, IndexError, ValueError):
            raise ProtocolViolation("a message is shorter than its fields") from None
        self._end_batch()
        return self._events

    def _read(self, data: bytes) -> None:
        at, end = 0, len(data)
        while end - at >= 5:
            kind, length = _read_head(data, at)
            if not 4 <= length <= _MAX_MESSAGE:
                raise ProtocolViolation(f"a message has {length} bytes")
            stop = at + 1 + length
            if stop > end:
                if end - at < self._longest:
                    break
                self._message(kind, data[at + 5 : end], is_cut=True)
                self._skipped = stop - end
                return
            self._message(kind, data[at + 5 : stop])
            at = stop
        self._store_partial(data[at:])

    def _store_partial(self, rest: bytes) -> None:
        if not rest:
            return
        self._partial = [rest]
        self._partial_size = len(rest)
        self._needed = 5 if len(rest) < 5 else min(1 + _read_head(rest)[1], self._longest)

    def _message(self, kind: int, body: bytes, *, is_cut: bool = False) -> None:
        match chr(kind):
            case "D":
                self._rows.append(_cut_row(body) if is_cut else read_row(body, 0, len(body)))
                return
            case "d":
                line = body.removesuffix(b"\n")
                self._rows.append((CutValue(line, -1) if is_cut else line,))
                return
        self._end_batch()
        match chr(kind):
            case "T":
                self._events.append(ResultColumns(_read_columns(body)))
            case "C":
                self._events.append(CommandTag(body[:-1].decode("utf-8", "replace")))
            case "I":
                self._events.append(CommandTag(""))
            case "s":
                self._events.append(PortalSuspended())
            case "E":
                self._events.append(ServerFailure(database_error(read_fields(body))))
            case "N":
                self._events.append(ServerNotice(read_fields(body)))
            case "G" | "H":
                self._events.append(CopyBegun(kind == ord("G")))
            case "Z":
                self._events.append(ReadyForStatement(body[0]))
            case _:
                if kind not in _IGNORED:
                    raise ProtocolViolation(f"unexpected message {chr(kind)!r}")

    def _end_batch(self) -> None:
        if self._rows:
            self._events.append(RowBatch(self._rows))
            self._rows = []


def _read_columns(body: bytes) -> list[ResultColumn]:
    """Read the body of RowDescription."""
    (count,) = _read_count(body)
    columns, at = [], 2
    for _ in range(count):
        end = body.index(b"\0", at)
        _, _, type_oid, _, modifier, _ = _read_column(body, end + 1)
        columns.append(ResultColumn(body[at:end].decode("utf-8", "replace"), type_oid, modifier))
        at = end + 19
    return columns


def _cut_row(body: bytes) -> ValueRow:
    """Read the values of a row of which only the beginning is there."""
    (count,) = _read_count(body)
    values: list[Value] = []
    at = 2
    while len(values) < count:
        if at + 4 > len(body):
            values.append(CutValue(b"", -1))
            continue
        (size,) = _read_size(body, at)
        at += 4
        piece = body[at : at + max(size, 0)]
        values.append(None if size < 0 else piece if len(piece) == size else CutValue(piece, size))
        at += max(size, 0)
    return tuple(values)
