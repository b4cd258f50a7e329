"""Values of query results as JSON, in the form of the interface. Pure.

| Type | JSON |
|---|---|
| bool; int2, int4, oid, float4, float8 | boolean; number, null for NaN and infinity |
| int8 | number up to 2^53, text beyond |
| json, jsonb | itself |
| bytea | `{"type": "Buffer", "data": [bytes]}` |
| circle | `{"x", "y", "radius"}` |
| arrays of these, of numeric (numbers), text, uuid, dates and times... | array |
| all others | text as Postgres prints it |
"""

from collections.abc import Callable
from functools import partial
from typing import Any

import msgspec

from schemas.numbers import parse_whole_number
from workers.management.spellings.schema_metadata.query_session import ResultRows

_MOST = 2**53 - 1
_NO_NUMBER = frozenset({"NaN", "Infinity", "-Infinity"})
_DEEPEST = 6
"""Most dimensions of an array (MAXDIM of Postgres)."""

Reader = Callable[[str], Any]


def _number(text: str) -> Any:
    return None if text in _NO_NUMBER else msgspec.Raw(text.encode())


def _large(text: str) -> Any:
    return _number(text) if parse_whole_number(text, least=-_MOST, most=_MOST) is not None else text


def _boolean(text: str) -> Any:
    return text == "t"


def _json(text: str) -> Any:
    return msgspec.Raw(text.encode())


def _bytes(text: str) -> Any:
    return {"type": "Buffer", "data": list(bytes.fromhex(text.removeprefix("\\x")))}


def _circle(text: str) -> Any:
    x, y, radius = text.strip("<>").replace("(", "").replace(")", "").split(",")
    return {"x": _number(x), "y": _number(y), "radius": _number(radius)}


def _text(text: str) -> Any:
    return text


def parse_array(text: str, read: Reader) -> Any:
    """Return an array of Postgres' text format as nested lists. Bounds (`[2:3]={...}`) are left out."""
    start = text.find("{")
    values, _ = _parse_list(text, start + 1, read, 0)
    return values


def _parse_list(text: str, at: int, read: Reader, depth: int) -> tuple[list[Any], int]:
    values: list[Any] = []
    while at < len(text) and depth < _DEEPEST:
        match text[at]:
            case "}":
                return values, at + 1
            case "{":
                inner, at = _parse_list(text, at + 1, read, depth + 1)
                values.append(inner)
            case ",":
                at += 1
            case '"':
                item, at = _quoted(text, at + 1)
                values.append(read(item))
            case _:
                end = at
                while end < len(text) and text[end] not in ",}":
                    end += 1
                item, at = text[at:end], end
                values.append(None if item == "NULL" else read(item))
    return values, at


def _quoted(text: str, at: int) -> tuple[str, int]:
    """Read an element in quotes; `at` is behind the first one. Return it and the offset behind the last one."""
    parts: list[str] = []
    while text[at] != '"':
        if text[at] == "\\":
            at += 1
        end = at + 1
        while text[end] not in '"\\':
            end += 1
        parts.append(text[at:end])
        at = end
    return "".join(parts), at + 1


_READERS: dict[int, Reader] = {
    16: _boolean, 17: _bytes, 20: _large, 21: _number, 23: _number, 26: _number, 114: _json, 700: _number,
    701: _number, 718: _circle, 3802: _json,
}  # fmt: skip
_ARRAYS: dict[int, Reader] = {
    1000: _boolean, 1001: _bytes, 1005: _number, 1007: _number, 1028: _number, 1016: _text, 1021: _number,
    1022: _number, 1231: _number, 199: _json, 3807: _json,
} | dict.fromkeys(
    (651, 1014, 1015, 1008, 1009, 1040, 1041, 1115, 1182, 1185, 1187, 3907, 2951, 791, 1183, 1270), _text
)  # fmt: skip
"""Types by their numbers, which are the same in every database (PostgreSQL, pg_type.dat)."""


def reader_of(type: int) -> Reader:
    """Return the function that reads values of a type."""
    if type in _ARRAYS:
        return partial(parse_array, read=_ARRAYS[type])
    return _READERS.get(type, _text)


def rows_as_json(result: ResultRows) -> bytes:
    """Return rows as a JSON array of objects. Of several columns with one name the last counts."""
    readers = [reader_of(type) for _, type in result.columns]
    names = [name for name, _ in result.columns]
    return msgspec.json.encode(
        [
            {
                name: None if value is None else read(value.decode(errors="replace"))
                for name, read, value in zip(names, readers, row, strict=True)
            }
            for row in result.rows
        ]
    )
