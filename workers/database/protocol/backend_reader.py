"""Reads the server's messages from the bytes of one connection (no I/O).

    1 2 3 complete  D DataRow  C CommandComplete  E ErrorResponse  Z ReadyForQuery  T t n descriptions  I empty query
    H d c rows of COPY  G W other copies   at any time: N notice  A notification  S parameter status

The network cuts messages anywhere. A message whose end has not arrived is stored until it has, with two exceptions that
keep memory flat, because a row is one message, however long it is:

- The last value of the first row of one result (`long_value_result`) is passed on in pieces as they arrive, if it has
  more than `LONG_VALUE` bytes.
- The first values of all rows of one result (`gathered_result`) go to a sink as they arrive; rows are not stored.
- Rows of a COPY TO STDOUT go to `copy_sink` if there is one; without it a COPY is a fault (`is_copying`).

Source: PostgreSQL, "Frontend/Backend Protocol", 3.0, "Message Formats".
"""

from struct import Struct
from struct import error as StructError
from typing import Protocol

from workers.database.protocol.rows import ProtocolViolation, Rows, read_before_last, read_row

IDLE, IN_TRANSACTION, FAILED = ord("I"), ord("T"), ord("E")
"""Transaction status in ReadyForQuery."""
LONG_VALUE = 512 * 1024
"""Bytes above which a value may be passed on in pieces."""

_MAX_BEFORE_LAST = 64 * 1024
"""A value is passed on in pieces only if it begins within this many bytes of its row."""
_MAX_MESSAGE = 1 << 30

_read_head = Struct("!BI").unpack_from
_read_size = Struct("!i").unpack_from
_read_row_head = Struct("!BIHi").unpack_from
_read_count = Struct("!H").unpack_from

_DATA_ROW, _COMPLETE, _READY, _ERROR = b"DCZE"
_PARSED, _EMPTY, _ROW_DESCRIPTION, _NO_DATA = b"1ITn"
_IGNORED = frozenset(b"23t")
_COPY_OUT, _COPY_DATA, _COPY_DONE = b"Hdc"
_ASYNCHRONOUS = frozenset(b"NAS")
_COPIES = frozenset(b"GHW")
_SETTINGS_APPLIED = (
    b"2\0\0\0\4C\0\0\0\x0aRESET\0"  # BindComplete, CommandComplete
    b"2\0\0\0\4D\0\0\0\x0f\0\2\xff\xff\xff\xff\0\0\0\0010C\0\0\0\x0dSELECT 1\0"
)
"""How the answer to nearly every transaction begins (transactions/perform.py): `reset all`, and one row (NULL, `0`)."""
_SETTINGS_RESULTS = 2
_EXPECTED = frozenset(b"DCZE1ITn") | _IGNORED | _ASYNCHRONOUS | _COPIES


class RowSink(Protocol):
    """Receives the first values of rows."""

    def add(self, rows: list[bytes], /) -> None:
        """Add complete values."""
        ...

    def begin_value(self, piece: bytes, /) -> None:
        """Add the first piece of a value that is still arriving."""
        ...

    def continue_value(self, piece: bytes, /) -> None:
        """Add the next piece of that value."""
        ...


class CopySink(Protocol):
    """Receives the rows of a COPY."""

    def add(self, rows: list[bytes], /) -> None:
        """Add complete rows, as COPY writes them."""
        ...


class BackendReader:
    """Reads the answer to one exchange.

    Call `feed` until it returns True, read the fields, then call `clear`. `async_messages` and `long_pieces` may grow with
    every call of `feed`.
    """

    __slots__ = (
        "_needed",
        "_partial",
        "_partial_size",
        "_row_left",
        "_row_rest",
        "async_messages",
        "columns",
        "copy_sink",
        "failure",
        "gathered_result",
        "is_copying",
        "long_left",
        "long_pieces",
        "long_size",
        "long_value_result",
        "parsed",
        "remaining",
        "results",
        "row_sink",
        "rows",
        "status",
        "tag",
    )

    def __init__(self) -> None:
        self._partial: list[bytes] = []
        self._partial_size = self._needed = 0
        self.status = IDLE
        """Transaction status of the last ReadyForQuery."""
        self.async_messages: list[tuple[int, bytes]] = []
        """Notices, notifications and parameters: message type and body."""
        self.long_pieces: list[bytes] = []
        """Pieces of the long value that have arrived; the connection removes them."""
        self.remaining = b""
        """Bytes after the end of an answer; the connection removes them and feeds them again."""
        self._row_left = self._row_rest = 0
        self.clear()

    def clear(self) -> None:
        """Reset the fields for the next answer."""
        self.results: list[Rows] = []
        """Rows of each completed statement."""
        self.rows: Rows = []
        """Rows of the statement that is not complete yet."""
        self.long_value_result = -1
        """Index of the result whose first row may end in a long value, -1 for none. Set it before the rows arrive."""
        self.long_size = self.long_left = 0
        """Bytes of the long value, and how many of them have not arrived. The row contains None for it."""
        self.gathered_result = -1
        """Index of the result whose rows go to `row_sink`, -1 for none. Set it before the rows arrive."""
        self.row_sink: RowSink | None = None
        """Receives the first value of each row. Rows whose first value is NULL stay in the result."""
        self.failure: bytes | None = None
        """Body of the ErrorResponse."""
        self.tag = b""
        """Tag of the last completed command."""
        self.parsed = 0
        """Number of Parse messages that succeeded."""
        self.columns: list[int] = []
        """Number of result columns of each described statement."""
        self.copy_sink: CopySink | None = None
        """Receives the rows of a COPY TO STDOUT. Set it before they arrive."""
        self.is_copying = False
        """The server started a COPY that was not expected."""

    def feed(self, data: bytes) -> bool:
        """Read bytes up to the end of an answer; return True once ReadyForQuery has arrived.

        Raises: ProtocolViolation.
        """
        if self.long_left:
            data = self._read_long(data)
        elif self._row_left or self._row_rest:
            data = self._read_rest_of_row(data)
        if self._partial:
            self._partial.append(data)
            self._partial_size += len(data)
            if self._partial_size < self._needed:
                return False
            data = b"".join(self._partial)
            self._partial.clear()
        try:
            return self._read(data)
        except (StructError, IndexError):
            raise ProtocolViolation("a message is shorter than its fields") from None

    def _read(self, data: bytes) -> bool:
        at, end = 0, len(data)
        if (
            data.startswith(_SETTINGS_APPLIED)
            and not (self.results or self.rows or self.failure)
            and not 0 <= self.gathered_result < _SETTINGS_RESULTS
        ):
            self.results, self.tag, at = [[], [(None, b"0")]], b"SELECT 1", len(_SETTINGS_APPLIED)
        while end - at >= 5:
            kind, length = _read_head(data, at)
            stop = at + 1 + length
            if stop > end or length < 4:
                break
            if kind == _DATA_ROW:
                if len(self.results) == self.gathered_result:
                    if length < 10:
                        raise ProtocolViolation("a row has no values")
                    at = self._gather(data, at, end)
                    continue
                self.rows.append(read_row(data, at + 5, stop))
            elif kind == _COPY_DATA and self.copy_sink is not None:
                at = self._copy(data, at, end, self.copy_sink)
                continue
            elif kind == _COMPLETE:
                self.results.append(self.rows)
                self.rows = []
                self.tag = data[at + 5 : stop - 1]
            elif kind == _READY:
                self.status = data[at + 5]
                self.remaining = data[stop:]
                return True
            elif kind not in _IGNORED:
                self._read_other(kind, data[at + 5 : stop])
            at = stop
        if at < end:
            self._store_partial(data[at:] if at else data)
        return False

    def _gather(self, data: bytes, at: int, end: int) -> int:
        """Pass the first values of the complete rows that begin at `at` to the sink; return the offset after them.

        At least one row is complete. Hot path: the loop runs once for each row of a long answer, so it unpacks the heads
        of message, row and first value in one call and never builds a row.
        """
        values: list[bytes] = []
        append, last = values.append, end - 11
        while at <= last:
            kind, length, _, size = _read_row_head(data, at)
            stop = at + 1 + length
            if kind != _DATA_ROW or stop > end:
                break
            if 0 <= size <= length - 10:
                append(data[at + 11 : at + 11 + size])
            elif size < 0 and length >= 10:
                self.rows.append(read_row(data, at + 5, stop))
            else:
                raise ProtocolViolation("the values of a row do not have the row's length")
            at = stop
        if values and self.row_sink is not None:
            self.row_sink.add(values)
        return at

    def _copy(self, data: bytes, at: int, end: int, sink: CopySink) -> int:
        """Pass the complete rows of a COPY that begin at `at` to the sink; return the offset after them. Hot path."""
        rows: list[bytes] = []
        append, last = rows.append, end - 5
        while at <= last:
            kind, length = _read_head(data, at)
            stop = at + 1 + length
            if kind != _COPY_DATA or stop > end or length < 4:
                break
            append(data[at + 5 : stop])
            at = stop
        sink.add(rows)
        return at

    def _read_rest_of_row(self, data: bytes) -> bytes:
        """Pass on the bytes of the value that the sink began to receive; return the bytes after its row."""
        if self._row_left:
            piece = data[: self._row_left]
            self._row_left -= len(piece)
            data = data[len(piece) :]
            if self.row_sink is not None:
                self.row_sink.continue_value(piece)
        skipped = min(self._row_rest, len(data))
        self._row_rest -= skipped
        return data[skipped:]

    def _read_other(self, kind: int, body: bytes) -> None:
        if kind == _PARSED:
            self.parsed += 1
        elif kind == _ERROR:
            self.failure = body
            self.rows = []
        elif kind in _ASYNCHRONOUS:
            self.async_messages.append((kind, body))
        elif kind == _EMPTY:
            self.results.append([])
        elif kind == _ROW_DESCRIPTION:
            self.columns.append(_read_count(body)[0])
        elif kind == _NO_DATA:
            self.columns.append(0)
        elif self.copy_sink is not None and kind in (_COPY_OUT, _COPY_DONE):
            pass
        elif kind in _COPIES:
            self.is_copying = True
        elif not (self.is_copying and kind in b"dc"):
            raise ProtocolViolation(f"unexpected message {chr(kind)!r}")

    def _read_long(self, data: bytes) -> bytes:
        """Store the bytes that belong to the long value; return the bytes after it."""
        piece = data[: self.long_left]
        self.long_pieces.append(piece)
        self.long_left -= len(piece)
        return data[len(piece) :]

    def _store_partial(self, remaining: bytes) -> None:
        """Store the beginning of a message until the rest arrives, so that no byte is parsed or joined twice."""
        self._needed = 5
        is_copying = self.is_copying or self.copy_sink is not None
        if remaining[0] not in _EXPECTED and not (is_copying and remaining[0] in b"dc"):
            raise ProtocolViolation(f"unexpected message {chr(remaining[0])!r}")
        if len(remaining) >= 5:
            length = _read_head(remaining)[1]
            if not 4 <= length <= _MAX_MESSAGE:
                raise ProtocolViolation(f"a message has {length} bytes")
            self._needed = 1 + length
            if (
                length > LONG_VALUE
                and len(self.results) == self.gathered_result
                and remaining[0] == _DATA_ROW
            ):
                if len(remaining) < 11:
                    self._needed = 11
                elif self._start_gathered_row(remaining, length):
                    return
            if (
                length > LONG_VALUE
                and len(self.results) == self.long_value_result
                and remaining[0] == _DATA_ROW
                and not self.rows
                and self._start_long_value(remaining, 1 + length)
            ):
                return
        self._partial.append(remaining)
        self._partial_size = len(remaining)

    def _start_gathered_row(self, remaining: bytes, length: int) -> bool:
        """Begin to pass the first value of a long row to the sink, if it is not NULL; the other values are skipped."""
        (size,) = _read_size(remaining, 7)
        if size < 0 or self.row_sink is None:
            return False
        if size > length - 10:
            raise ProtocolViolation("the values of a row do not have the row's length")
        piece = remaining[11 : 11 + size]
        self._row_left = size - len(piece)
        self._row_rest = length - 10 - size - (len(remaining) - 11 - len(piece))
        self.row_sink.begin_value(piece)
        return True

    def _start_long_value(self, remaining: bytes, stop: int) -> bool:
        """Begin to pass on a long value in pieces, if the row that ends at `stop` ends in one."""
        before_last = read_before_last(remaining, 5, stop)
        if before_last is None:
            if len(remaining) < _MAX_BEFORE_LAST:
                self._needed = len(remaining) + 1  # so that this method runs again with the next bytes
            return False
        row, place = before_last
        self.long_size = stop - place
        if self.long_size <= LONG_VALUE:
            return False
        self.rows.append((*row, None))
        self.long_pieces.append(remaining[place:])
        self.long_left = stop - len(remaining)
        return True
