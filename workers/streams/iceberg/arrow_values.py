"""Columns of JSON texts, as the stream of changes spells values -> columns of Arrow. Pure.

    bool, int2/4/8, float4/8       the same; numeric(p,s) up to 38 digits decimal, other numeric a text with all its digits
    date, timestamp, timestamptz   the same, to the microsecond; bytea binary
    jsonb, json, arrays, composite their JSON as text; everything else its text

A value that the type cannot hold (`infinity`, a year before 1) becomes null and is counted.
"""

import decimal
from collections.abc import Callable, Sequence
from typing import Any

import orjson
import pyarrow as pa

from workers.streams.model import SourceColumn

JsonTexts = Sequence[bytes | None]
_PLAIN: dict[str, pa.DataType] = {
    "bool": pa.bool_(),
    "int2": pa.int32(),
    "int4": pa.int32(),
    "int8": pa.int64(),
    "float4": pa.float32(),
    "float8": pa.float64(),
    "date": pa.date32(),
    "timestamp": pa.timestamp("us"),
    "timestamptz": pa.timestamp("us", tz="UTC"),
    "bytea": pa.binary(),
}
_MOST_DIGITS = 38
_NULLS = (None, b"null")
_JSON = ("json", "jsonb")


def arrow_type(column: SourceColumn) -> pa.DataType:
    """Return the type of a column."""
    if column.type == "numeric" and column.type_modifier >= 4:
        digits, scale = (column.type_modifier - 4) >> 16 & 0xFFFF, (column.type_modifier - 4) & 0x7FF
        if 0 < digits <= _MOST_DIGITS and scale <= digits:
            return pa.decimal128(digits, scale)
    return _PLAIN.get(column.type, pa.string())


def arrow_column(column: SourceColumn, texts: JsonTexts) -> tuple[pa.Array, int]:
    """Return a column, and how many of its values did not fit and became null."""
    type, parse = arrow_type(column), _parser(column)
    try:
        return pa.array(parse(texts), _parsed_type(type)).cast(type), 0
    except (pa.ArrowInvalid, pa.ArrowTypeError, OverflowError, ValueError):
        return _one_by_one(parse, type, texts)


def _one_by_one(
    parse: Callable[[JsonTexts], list[Any]], type: pa.DataType, texts: JsonTexts
) -> tuple[pa.Array, int]:
    pieces, unfit = [], 0
    for text in texts:
        try:
            pieces.append(pa.array(parse((text,)), _parsed_type(type)).cast(type))
        except (pa.ArrowInvalid, pa.ArrowTypeError, OverflowError, ValueError):
            pieces.append(pa.nulls(1, type))
            unfit += 1
    return pa.concat_arrays(pieces), unfit


def _parsed_type(type: pa.DataType) -> pa.DataType:
    """Return the type as which values are handed to Arrow, which parses texts of times and decimals itself."""
    is_text = pa.types.is_temporal(type) or pa.types.is_decimal(type)
    return pa.string() if is_text else type


def _parser(column: SourceColumn) -> Callable[[JsonTexts], list[Any]]:
    match column.type:
        case "numeric":
            return _numbers
        case "float4" | "float8":
            return lambda texts: [
                float(value) if isinstance(value, str) else value for value in _parsed(texts)
            ]
        case "bytea":
            return lambda texts: [None if value is None else bytes.fromhex(value) for value in _parsed(texts)]
        case type if type in _PLAIN:
            return _parsed
        case type if type in _JSON:
            return lambda texts: [None if text in _NULLS else text.decode() for text in texts]
    return _texts


def _parsed(texts: JsonTexts) -> list[Any]:
    values: list[Any] = orjson.loads(
        b"[%b]" % b",".join([b"null" if text is None else text for text in texts])
    )
    return values


def _numbers(texts: JsonTexts) -> list[str | None]:
    """Return numerics with all their digits; NaN and the infinities, which are texts in JSON, only where they can be a text."""
    values: list[str | None] = []
    for text in texts:
        if text in _NULLS:
            values.append(None)
            continue
        assert text is not None  # it is among _NULLS
        plain = text.decode().strip('"')
        values.append(plain if "e" not in plain and "E" not in plain else format(decimal.Decimal(plain), "f"))
    return values


def _texts(texts: JsonTexts) -> list[str | None]:
    """Return texts as they are, and what is no text in JSON (arrays, objects) as JSON."""
    return [
        None if text in _NULLS else orjson.loads(text) if text[:1] == b'"' else text.decode()
        for text in texts
    ]
