"""The part of the Postgres protocol that the pipeline speaks, as pure functions and one reader (no I/O).

Theory: a client may send any number of Parse, Bind and Execute messages and one Sync behind them. The server runs them
in order as one transaction and answers each; after an error it skips everything up to the Sync. ReadyForQuery ends the
answer and says whether a transaction is open. Parameters go as text of unspecified type, so the server infers their
types as for quoted literals. Nothing is described: the caller knows the columns it asked for.

A row is one message, however long. The last value of one row of an exchange may be given in pieces, as the network
brings them (`Reader.long_in`). The first values of all rows of one result may be passed to a sink as they come
(`Reader.gather`). Every other row is read when the whole of it is there.

    frontend: P Parse  B Bind  D Describe  E Execute  C Close  S Sync  Q Query  X Terminate
    backend:  1 2 3 complete  D DataRow  C CommandComplete  E Error  Z Ready  T t n descriptions  I empty
              N notice  A notification  S parameter, which may come at any time

Source: PostgreSQL, "Frontend/Backend Protocol", 3.0.
"""

from collections.abc import Iterable, Sequence
from functools import lru_cache
from struct import Struct
from struct import error as StructError
from typing import Protocol

from workers.database.errors import DatabaseError, unstorable_text
from workers.database.session import Row, Rows

SYNC = b"S\0\0\0\4"
TERMINATE = b"X\0\0\0\4"
IDLE, IN_TRANSACTION, FAILED = ord("I"), ord("T"), ord("E")
"""What ReadyForQuery says of the transaction."""

_EXECUTE = b"E\0\0\0\x09\0\0\0\0\0"
_NULL = b"\xff\xff\xff\xff"
_ALL_TEXT = b"\0\0"
LONG_VALUE = 512 * 1024
"""Bytes of a value from which on it may be given in pieces."""

_MOST_BEFORE_LAST = 64 * 1024
"""Bytes of a row in which its last value must have begun to be given in pieces."""
_MOST_PARAMETERS = 65535
_LONGEST_MESSAGE = 1 << 30

_pack_size = Struct("!i").pack
_pack_count = Struct("!H").pack
_read_head = Struct("!BI").unpack_from
_read_size = Struct("!i").unpack_from
_read_row_head = Struct("!BIHi").unpack_from
_read_count = Struct("!H").unpack_from

_DATA_ROW, _COMPLETE, _READY, _ERROR = b"DCZE"
_PARSED, _EMPTY, _ROW_DESCRIPTION, _NO_DATA = b"1ITn"
_QUIET = frozenset(b"23t")
_ASIDES = frozenset(b"NAS")
_COPIES = frozenset(b"GHW")
_KNOWN = frozenset(b"DCZE1ITn") | _QUIET | _ASIDES | _COPIES


class Garbled(Exception):
    """The server's bytes are no messages of the protocol that can stand here: the connection is of no more use."""


def parse(name: bytes, text: str) -> bytes:
    """Give Parse: prepare `text` under a name (b"" is the unnamed statement)."""
    return _message(b"P", b"%b\0%b\0\0\0" % (name, encoded(text)))


def describe(name: bytes) -> bytes:
    """Give Describe of a prepared statement."""
    return _message(b"D", b"S%b\0" % name)


def close(name: bytes) -> bytes:
    """Give Close of a prepared statement."""
    return _message(b"C", b"S%b\0" % name)


def query(text: str) -> bytes:
    """Give the simple Query, which brings its own ReadyForQuery."""
    return _message(b"Q", encoded(text) + b"\0")


def bind_head(name: bytes) -> bytes:
    """Give what Bind begins with: the unnamed portal, the statement, all parameters in text format."""
    return b"\0%b\0\0\0" % name


def run(head: bytes, params: Sequence[bytes | None], formats: bytes = _ALL_TEXT) -> bytes:
    """Give Bind and Execute of a statement with its parameters.

    Raises: DatabaseError if a parameter holds a NUL or there are more than the protocol can count.
    """
    parts = [head, _counted(len(params))]
    for value in params:
        if value is None:
            parts.append(_NULL)
        elif 0 in value:
            raise unstorable_text()
        else:
            parts += (_pack_size(len(value)), value)
    parts.append(formats)
    body = b"".join(parts)
    return b"B%b%b%b" % (_pack_size(len(body) + 4), body, _EXECUTE)


def run_pairs(head: bytes, pairs: Sequence[tuple[str, str]]) -> bytes:
    """Give Bind and Execute with the names and values of settings in turn as parameters. Raises: as `run`."""
    parts = [head, _counted(2 * len(pairs))]
    try:
        for name, text in pairs:
            value = text.encode()
            if 0 in value:
                raise unstorable_text()
            parts += (_sized(name), _pack_size(len(value)), value)
    except UnicodeEncodeError:
        raise unstorable_text() from None
    parts.append(_ALL_TEXT)
    body = b"".join(parts)
    return b"B%b%b%b" % (_pack_size(len(body) + 4), body, _EXECUTE)


@lru_cache(maxsize=1024)
def _sized(text: str) -> bytes:
    """Give a parameter as Bind holds it: length and text."""
    value = encoded(text)
    return _pack_size(len(value)) + value


def result_formats(columns: int, binary: Iterable[int]) -> bytes:
    """Give the result formats of Bind: text for every column but the `binary` ones."""
    chosen = frozenset(binary)
    return _pack_count(columns) + b"".join(
        b"\0\1" if index in chosen else _ALL_TEXT for index in range(columns)
    )


def encoded(text: str) -> bytes:
    """Give the bytes of a text. Raises: DatabaseError if Postgres cannot hold it."""
    try:
        value = text.encode()
    except UnicodeEncodeError:
        raise unstorable_text() from None
    if 0 in value:
        raise unstorable_text()
    return value


def _counted(count: int) -> bytes:
    if count > _MOST_PARAMETERS:
        raise DatabaseError("54000", f"a statement cannot have more than {_MOST_PARAMETERS} parameters")
    return _pack_count(count)


def _message(kind: bytes, body: bytes) -> bytes:
    return b"%b%b%b" % (kind, _pack_size(len(body) + 4), body)


class RowSink(Protocol):
    """Takes the first values of rows."""

    def add(self, rows: list[bytes], /) -> None:
        """Take whole values."""
        ...

    def begin(self, piece: bytes, /) -> None:
        """Take the first piece of a value."""
        ...

    def go_on(self, piece: bytes, /) -> None:
        """Take the next piece of that value."""
        ...


class Reader:
    """Bytes in, the answer to one exchange out, however the network has cut them.

    `feed` until it gives True, read the fields, then `clear`. `asides` and `pieces` may grow at any time.
    """

    __slots__ = (
        "_held",
        "_held_size",
        "_needed",
        "_row_left",
        "_row_rest",
        "asides",
        "columns",
        "failure",
        "gather_in",
        "gathering",
        "is_copying",
        "long_in",
        "long_left",
        "long_size",
        "parsed",
        "pieces",
        "rest",
        "results",
        "rows",
        "status",
        "tag",
    )

    def __init__(self) -> None:
        self._held: list[bytes] = []
        self._held_size = self._needed = 0
        self.status = IDLE
        """The last ReadyForQuery."""
        self.asides: list[tuple[int, bytes]] = []
        """Notices, notifications and parameters: letter and body."""
        self.pieces: list[bytes] = []
        """What has come of the long value; whoever reads them takes them away."""
        self.rest = b""
        """What stands behind the end of an answer: whoever feeds takes it away, and feeds it again."""
        self._row_left = self._row_rest = 0
        self.clear()

    def clear(self) -> None:
        """Forget the answer read so far."""
        self.results: list[Rows] = []
        """Rows of every statement that was completed."""
        self.rows: Rows = []
        """Rows of the statement that is not completed yet."""
        self.long_in = -1
        """Number of the result whose first row may end in a long value; to be set before its rows come."""
        self.long_size = self.long_left = 0
        """Bytes of the long value, and how many of them are still to come. Its place in the row holds None."""
        self.gather_in = -1
        """Number of the result whose rows go to a sink; to be set before its rows come."""
        self.gathering: RowSink | None = None
        """The sink. It gets the first value of each row, but rows in which that is NULL stay rows of the result."""
        self.failure: bytes | None = None
        """Body of the ErrorResponse."""
        self.tag = b""
        """Tag of the last completed command."""
        self.parsed = 0
        """How many Parse messages succeeded."""
        self.columns: list[int] = []
        """Number of result columns of each described statement."""
        self.is_copying = False
        """The server wants to COPY, which the pipeline does not speak."""

    def feed(self, data: bytes) -> bool:
        """Read the next piece, or its part up to the end of an answer; tell whether the server is ready for the next exchange.

        Raises: Garbled.
        """
        if self.long_left:
            data = self._read_long(data)
        elif self._row_left or self._row_rest:
            data = self._read_rest_of_row(data)
        if self._held:
            self._held.append(data)
            self._held_size += len(data)
            if self._held_size < self._needed:
                return False
            data = b"".join(self._held)
            self._held.clear()
        try:
            return self._read(data)
        except (StructError, IndexError):
            raise Garbled("a message that is cut off") from None

    def _read(self, data: bytes) -> bool:
        at, end = 0, len(data)
        while end - at >= 5:
            kind, length = _read_head(data, at)
            stop = at + 1 + length
            if stop > end or length < 4:
                break
            if kind == _DATA_ROW:
                if len(self.results) == self.gather_in:
                    if length < 10:
                        raise Garbled("a row without values")
                    at = self._gather(data, at, end)
                    continue
                self.rows.append(read_row(data, at + 5, stop))
            elif kind == _COMPLETE:
                self.results.append(self.rows)
                self.rows = []
                self.tag = data[at + 5 : stop - 1]
            elif kind == _READY:
                self.status = data[at + 5]
                self.rest = data[stop:]
                return True
            elif kind not in _QUIET:
                self._read_rarer(kind, data[at + 5 : stop])
            at = stop
        if at < end:
            self._hold(data[at:] if at else data)
        return False

    def _gather(self, data: bytes, at: int, end: int) -> int:
        """Pass the first values of the whole rows from `at` on to the sink; return the place behind them.

        At least one row is whole. The loop is as short as it is because it runs once for each row of a long answer.
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
                raise Garbled("a row of another length than it says")
            at = stop
        if values and self.gathering is not None:
            self.gathering.add(values)
        return at

    def _read_rest_of_row(self, data: bytes) -> bytes:
        """Pass on what belongs to the value that the sink has begun to get; return what stands behind its row."""
        if self._row_left:
            piece = data[: self._row_left]
            self._row_left -= len(piece)
            data = data[len(piece) :]
            if self.gathering is not None:
                self.gathering.go_on(piece)
        skipped = min(self._row_rest, len(data))
        self._row_rest -= skipped
        return data[skipped:]

    def _read_rarer(self, kind: int, body: bytes) -> None:
        if kind == _PARSED:
            self.parsed += 1
        elif kind == _ERROR:
            self.failure = body
            self.rows = []
        elif kind in _ASIDES:
            self.asides.append((kind, body))
        elif kind == _EMPTY:
            self.results.append([])
        elif kind == _ROW_DESCRIPTION:
            self.columns.append(_read_count(body)[0])
        elif kind == _NO_DATA:
            self.columns.append(0)
        elif kind in _COPIES:
            self.is_copying = True
        elif not (self.is_copying and kind in b"dc"):
            raise Garbled(f"unexpected message {chr(kind)!r}")

    def _read_long(self, data: bytes) -> bytes:
        """Take what belongs to the long value; give what stands behind it."""
        piece = data[: self.long_left]
        self.pieces.append(piece)
        self.long_left -= len(piece)
        return data[len(piece) :]

    def _hold(self, rest: bytes) -> None:
        """Keep a message's beginning until the rest of it has come: nothing is looked at, or joined, twice."""
        self._needed = 5
        if rest[0] not in _KNOWN and not (self.is_copying and rest[0] in b"dc"):
            raise Garbled(f"unexpected message {chr(rest[0])!r}")
        if len(rest) >= 5:
            length = _read_head(rest)[1]
            if not 4 <= length <= _LONGEST_MESSAGE:
                raise Garbled(f"a message of {length} bytes")
            self._needed = 1 + length
            if length > LONG_VALUE and len(self.results) == self.gather_in and rest[0] == _DATA_ROW:
                if len(rest) < 11:
                    self._needed = 11
                elif self._begins_row(rest, length):
                    return
            if (
                length > LONG_VALUE
                and len(self.results) == self.long_in
                and rest[0] == _DATA_ROW
                and not self.rows
                and self._begins_long(rest, 1 + length)
            ):
                return
        self._held.append(rest)
        self._held_size = len(rest)

    def _begins_row(self, rest: bytes, length: int) -> bool:
        """Begin to pass the first value of a long row to the sink; the other values of such a row are NULL."""
        (size,) = _read_size(rest, 7)
        if size < 0 or self.gathering is None:
            return False
        if size > length - 10:
            raise Garbled("a row of another length than it says")
        piece = rest[11 : 11 + size]
        self._row_left = size - len(piece)
        self._row_rest = length - 10 - size - (len(rest) - 11 - len(piece))
        self.gathering.begin(piece)
        return True

    def _begins_long(self, rest: bytes, stop: int) -> bool:
        """Begin with a long value, if the row that ends at `stop` is known to end in one."""
        found = read_before_last(rest, 5, stop)
        if found is None:
            if len(rest) < _MOST_BEFORE_LAST:
                self._needed = len(rest) + 1  # so that the question is asked again with the next bytes
            return False
        row, place = found
        self.long_size = stop - place
        if self.long_size <= LONG_VALUE:
            return False
        self.rows.append((*row, None))
        self.pieces.append(rest[place:])
        self.long_left = stop - len(rest)
        return True


def read_row(data: bytes, at: int, stop: int) -> Row:
    """Read the body of a DataRow between two places. Raises: Garbled, struct.error."""
    (count,) = _read_count(data, at)
    at += 2
    values: list[bytes | None] = []
    for _ in range(count):
        (size,) = _read_size(data, at)
        at += 4
        if size < 0:
            values.append(None)
        else:
            values.append(data[at : at + size])
            at += size
    if at != stop:
        raise Garbled("a row of another length than it says")
    return tuple(values)


def read_before_last(data: bytes, at: int, stop: int) -> tuple[Row, int] | None:
    """Read the values of a DataRow but the last one; give them and the place where that one begins.

    None if that cannot be told before more of the row has come. Raises: Garbled.
    """
    end, values = len(data), list[bytes | None]()
    if at + 2 > end:
        return None
    (count,) = _read_count(data, at)
    at += 2
    while at + 4 <= end:
        (size,) = _read_size(data, at)
        at += 4
        if len(values) + 1 == count:
            if at + size != stop:
                raise Garbled("a row of another length than it says")
            return tuple(values), at
        values.append(data[at : at + size] if size >= 0 else None)
        at += max(size, 0)
    return None
