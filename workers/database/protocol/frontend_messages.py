"""Messages that the client sends to Postgres, as pure functions from values to bytes.

    P Parse  B Bind  D Describe  E Execute  C Close  S Sync  Q Query  X Terminate

A message is a type byte, its length as four bytes (the length counts itself), and the body. A statement is prepared
once by Parse; each execution is Bind and Execute. Parameters are sent as text of unspecified type, so the server
infers their types as it does for quoted literals. `postgres_connection.py` describes how messages are pipelined.

Source: PostgreSQL, "Frontend/Backend Protocol", 3.0.
"""

from collections.abc import Sequence
from functools import lru_cache
from struct import Struct

from workers.database.errors import DatabaseError, unstorable_text

SYNC = b"S\0\0\0\4"
TERMINATE = b"X\0\0\0\4"

_EXECUTE = b"E\0\0\0\x09\0\0\0\0\0"
"""Execute of the unnamed portal without a limit of rows."""
_NULL = b"\xff\xff\xff\xff"
_ALL_TEXT = b"\0\0"
"""Result formats of Bind: a count of zero, which means text for all columns."""
_TEXT, _BINARY = b"\0\0", b"\0\1"
"""Format codes of one column."""
_MAX_PARAMETERS = 65535
_SHORT = 64
"""Characters of a setting up to which its bytes are cached: names of roles, paths and methods come again."""

_pack_size = Struct("!i").pack
_pack_count = Struct("!H").pack
_FEW = 64
_COUNTS = [_pack_count(count) for count in range(_FEW)]
"""How Bind encodes small numbers of parameters."""


def parse(name: bytes, text: str) -> bytes:
    """Return Parse, which prepares `text` under a name (b"" is the unnamed statement), without types of parameters. Raises: as `encoded`."""
    return _message(b"P", b"%b\0%b\0\0\0" % (name, encoded(text)))


def describe(name: bytes) -> bytes:
    """Return Describe for a prepared statement."""
    return _message(b"D", b"S%b\0" % name)


def close(name: bytes) -> bytes:
    """Return Close for a prepared statement."""
    return _message(b"C", b"S%b\0" % name)


def query(text: str) -> bytes:
    """Return a simple Query. The server ends its answer with ReadyForQuery, without a Sync. Raises: as `encoded`."""
    return _message(b"Q", encoded(text) + b"\0")


def bind_head(name: bytes) -> bytes:
    """Return the start of a Bind body: the unnamed portal, the statement's name, all parameters in text format."""
    return b"\0%b\0\0\0" % name


def run(head: bytes, params: Sequence[bytes | None], formats: bytes = _ALL_TEXT) -> bytes:
    """Return Bind and Execute for a prepared statement and its parameters. `head`: its `bind_head`.

    Raises: DatabaseError if a parameter contains a NUL byte or there are more than 65535 of them.
    """
    count = len(params)
    parts = [head, _COUNTS[count] if count < _FEW else _counted(count)]
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
    """Return Bind and Execute with the parameters name, value, name, value... of settings. Raises: as `run`."""
    count = 2 * len(pairs)
    parts = [head, _COUNTS[count] if count < _FEW else _counted(count)]
    for name, text in pairs:
        if len(text) <= _SHORT:
            parts.append(_sized_pair(name, text))
        else:
            value = encoded(text)
            parts += (_sized(name), _pack_size(len(value)), value)
    parts.append(_ALL_TEXT)
    body = b"".join(parts)
    return b"B%b%b%b" % (_pack_size(len(body) + 4), body, _EXECUTE)


@lru_cache(maxsize=4096)
def _sized(text: str) -> bytes:
    """Return a parameter as Bind encodes it: length, then text."""
    value = encoded(text)
    return _pack_size(len(value)) + value


@lru_cache(maxsize=4096)
def _sized_pair(name: str, text: str) -> bytes:
    """Return two parameters as Bind encodes them."""
    return _sized(name) + _sized(text)


@lru_cache(maxsize=256)
def result_formats(columns: int, binary: frozenset[int]) -> bytes:
    """Return the result formats of Bind: binary for the columns in `binary`, text for all others."""
    return _pack_count(columns) + b"".join(_BINARY if index in binary else _TEXT for index in range(columns))


def encoded(text: str) -> bytes:
    """Return a text in UTF-8. Raises: DatabaseError if Postgres cannot store it (a NUL, half a surrogate pair)."""
    try:
        value = text.encode()
    except UnicodeEncodeError:
        raise unstorable_text() from None
    if 0 in value:
        raise unstorable_text()
    return value


def _counted(count: int) -> bytes:
    if count > _MAX_PARAMETERS:
        raise DatabaseError("54000", f"a statement cannot have more than {_MAX_PARAMETERS} parameters")
    return _pack_count(count)


def _message(kind: bytes, body: bytes) -> bytes:
    return b"%b%b%b" % (kind, _pack_size(len(body) + 4), body)
