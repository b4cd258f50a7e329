"""Values of rows as text, as JSON and as CSV. Pure.

The server sends every value in its text format. Text is exact for every type, so grids and edits use it; JSON is for programs:
numbers, booleans and JSON become such, everything else a text, as `to_json` does it.
"""

import csv
import io
import re
from collections.abc import Callable, Iterable, Sequence

import msgspec

from workers.management.areas.sql.messages import CutValue, Value, ValueRow

_BOOLEAN, _JSON = 16, frozenset({114, 3802})
_NUMBERS = frozenset({20, 21, 23, 26, 700, 701, 1700})
_NUMBER = re.compile(rb"-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?")
_encode = msgspec.json.encode


def cell_text(value: Value, most: int) -> tuple[str | None, int | None]:
    """Return a value as text of at most `most` characters, and its size in bytes if it was shortened (-1: unknown)."""
    if value is None:
        return None, None
    if isinstance(value, CutValue):
        return value.beginning.decode("utf-8", "ignore")[:most], value.size
    if len(value) <= most:
        return value.decode("utf-8", "replace"), None
    text = value.decode("utf-8", "replace")
    return (text, None) if len(text) <= most else (text[:most], len(value))


def json_converter(type_oid: int) -> Callable[[bytes], bytes]:
    """Return the function that turns a value of a type into JSON on one line."""
    if type_oid == _BOOLEAN:
        return lambda value: b"true" if value == b"t" else b"false"
    if type_oid in _NUMBERS:  # JSON lacks NaN and Infinity
        return lambda value: value if _NUMBER.fullmatch(value) else _text(value)
    if type_oid in _JSON:  # line ends of JSON stand between its tokens only
        return lambda value: value.replace(b"\n", b" ").replace(b"\r", b" ")
    return _text


def _text(value: bytes) -> bytes:
    return _encode(value.decode("utf-8", "replace"))


class NdjsonRows:
    """Writes rows as JSON objects, one a line."""

    def __init__(self, names: Sequence[str], type_oids: Sequence[int]) -> None:
        self._columns = [
            (b"%b:" % _encode(name), json_converter(oid)) for name, oid in zip(names, type_oids, strict=True)
        ]

    def start(self) -> bytes:
        """Return nothing: the first line is a row."""
        return b""

    def end(self) -> bytes:
        """Return nothing."""
        return b""

    def rows(self, rows: Iterable[ValueRow]) -> bytes:
        """Return the lines of rows. Raises: ValueError for a value that was cut."""
        columns = self._columns
        lines = []
        for row in rows:
            members = [
                name + (b"null" if value is None else convert(_whole(value)))
                for (name, convert), value in zip(columns, row, strict=True)
            ]
            lines.append(b"{" + b",".join(members) + b"}\n")
        return b"".join(lines)


def csv_lines(rows: Iterable[Sequence[Value] | Sequence[str]]) -> bytes:
    """Return rows as CSV (RFC 4180): NULL is an empty field, an empty text is `""`. Raises: ValueError for a cut value."""
    out = io.StringIO(newline="")
    plain = csv.writer(out, lineterminator="\r\n")
    quoted = csv.writer(out, lineterminator="\r\n", quoting=csv.QUOTE_ALL)
    for row in rows:
        texts = [
            None if value is None else value if isinstance(value, str) else _whole(value).decode()
            for value in row
        ]
        if "" in texts:
            out.write(",".join(_quoted_field(text) for text in texts) + "\r\n")
        else:
            (quoted if texts == [None] else plain).writerow(texts)
    return out.getvalue().encode()


def _quoted_field(text: str | None) -> str:
    return "" if text is None else '"' + text.replace('"', '""') + '"'


def _whole(value: Value) -> bytes:
    if not isinstance(value, bytes):
        raise ValueError("a value is too long")
    return value
