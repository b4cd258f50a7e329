"""Decode the opaque texts that clients send back: `nodeId` (a row of a table) and cursors (a position in an order). Pure.

Both are base64 of a JSON array that Postgres wrote: a `nodeId` is [schema, table, key values...], a cursor is the values
of the sort terms. Values are read as texts and cast to the columns' types. In the plan each becomes a slot, so a plan
serves all ids and cursors that have nulls in the same positions (`EncodedFormat.shape`).
Source: docs/reference/graphql.md, sections 7 and 8.
"""

import base64
import binascii
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache

import msgspec

from workers.graphql.errors import GraphQLFailure
from workers.graphql.model import Entity, Name
from workers.graphql.plan.conditions import ColumnComparison, Condition, Conjunction, Operand
from workers.graphql.plan.inputs import ArgumentValue, Convert, Inputs

_decode = msgspec.json.Decoder(list[msgspec.Raw]).decode
_decode_any = msgspec.json.Decoder().decode
_BASE64, _UTF8, _JSON, _SHORT, _SCHEMA, _TABLE, _NO_ARRAY = 2, 3, 4, 5, 6, 7, 10
_LONGEST = 8 * 1024
"""Characters of an id or a cursor."""
_MOST_DECODED = 256
"""Decoded ids and cursors in the cache: a request reads the same one several times."""
Values = tuple[str | None, ...]


def id_table(value: object) -> Name:
    """Return the schema and table in a nodeId. Raises: GraphQLFailure."""
    return _read_id(value)[0]


def id_values(value: object) -> Values:
    """Return the key values in a nodeId. Raises: GraphQLFailure."""
    return _read_id(value)[1]


def cursor_values(value: object) -> Values:
    """Return the values of a cursor as texts. Raises: GraphQLFailure if it cannot be decoded."""
    if not isinstance(value, str):
        raise GraphQLFailure("Invalid input for Cursor type")
    return _decoded_cursor(value)


@lru_cache(maxsize=_MOST_DECODED)
def _decoded_cursor(text: str) -> Values:
    data = _decode_base64(text)
    if data is None:
        raise GraphQLFailure("Failed to decode cursor, error 1")
    try:
        data.decode()
    except UnicodeDecodeError:
        raise GraphQLFailure("Failed to decode cursor, error 2") from None
    try:
        return tuple([_as_text(element) for element in _decode(data)])
    except msgspec.ValidationError:
        raise GraphQLFailure("Failed to decode cursor, error 4") from None
    except (msgspec.DecodeError, RecursionError):
        raise GraphQLFailure("Failed to decode cursor, error 3") from None


def key_condition(inputs: Inputs, entity: Entity, value: ArgumentValue) -> Condition:
    """Return the condition that a row has the key values of an id.

    Raises: GraphQLFailure if the id has more or fewer values than the key has columns.
    """
    columns = entity.key_columns
    if len(value.evaluate(ID_FORMAT.shape)) != len(columns):
        raise _invalid_id(_SHORT)
    operands = encoded_operands(inputs, value, [column.type.sql for column in columns], ID_FORMAT)
    return Conjunction(
        tuple(
            ColumnComparison(column.sql, "=", operand)
            for column, operand in zip(columns, operands, strict=True)
        )
    )


def encoded_operands(
    inputs: Inputs, value: ArgumentValue, types: Sequence[str], encoding: "EncodedFormat"
) -> list[Operand]:
    """Return an operand for each value in an id or a cursor. Nulls are part of the plan; other values become slots."""
    shape = value.evaluate(encoding.shape)
    operands: list[Operand] = []
    for index, (type_, is_present) in enumerate(zip(types, shape, strict=False)):
        if not is_present:
            operands.append(Operand(None, type_))
        else:
            operands.append(Operand(inputs.parameter(value, _value_picker(encoding.values, index)), type_))
    return operands


@dataclass(frozen=True, slots=True)
class EncodedFormat:
    """How an id or a cursor is decoded: its values, and for each whether it is not null."""

    values: Callable[[object], Values]
    shape: Callable[[object], tuple[bool, ...]]


def _id_shape(value: object) -> tuple[bool, ...]:
    return _presence(id_values(value))


def _cursor_shape(value: object) -> tuple[bool, ...]:
    return _shape_of_cursor(value) if isinstance(value, str) else _presence(cursor_values(value))


@lru_cache(maxsize=_MOST_DECODED)
def _shape_of_cursor(text: str) -> tuple[bool, ...]:
    return _presence(_decoded_cursor(text))


@lru_cache(maxsize=_MOST_DECODED)
def _presence(values: Values) -> tuple[bool, ...]:
    return tuple([value is not None for value in values])


ID_FORMAT = EncodedFormat(id_values, _id_shape)
CURSOR_FORMAT = EncodedFormat(cursor_values, _cursor_shape)


def _value_picker(values: Callable[[object], Values], index: int) -> Convert:
    def pick(value: object) -> str:
        texts = values(value)
        return (texts[index] if index < len(texts) else None) or ""

    return pick


def _read_id(value: object) -> tuple[Name, Values]:
    if not isinstance(value, str):
        raise GraphQLFailure("Invalid value passed to nodeId argument, Error 1")
    return _decoded_id(value)


@lru_cache(maxsize=_MOST_DECODED)
def _decoded_id(text: str) -> tuple[Name, Values]:
    """Decode a nodeId. The number in the error message is the stage that failed."""
    data = _decode_base64(text)
    if data is None:
        raise _invalid_id(_BASE64)
    try:
        data.decode()
    except UnicodeDecodeError:
        raise _invalid_id(_UTF8) from None
    try:
        parts = _decode(data)
    except msgspec.ValidationError:
        raise _invalid_id(_NO_ARRAY) from None
    except (msgspec.DecodeError, RecursionError):
        raise _invalid_id(_JSON) from None
    if len(parts) < 3:
        raise _invalid_id(_SHORT)
    schema, table = _decode_any(parts[0]), _decode_any(parts[1])
    if not isinstance(schema, str):
        raise _invalid_id(_SCHEMA)
    if not isinstance(table, str):
        raise _invalid_id(_TABLE)
    return (schema, table), tuple([_as_text(part) for part in parts[2:]])


def _decode_base64(text: str) -> bytes | None:
    """Decode base64; None if it is invalid or longer than `_LONGEST`."""
    if len(text) > _LONGEST:
        return None
    try:
        return base64.b64decode(text.encode(), validate=True)
    except (binascii.Error, UnicodeEncodeError):
        return None


def _as_text(raw: msgspec.Raw) -> str | None:
    """Return a JSON value as text input of Postgres: a string without quotes, anything else as written, null as None."""
    data = bytes(raw).strip()
    if data == b"null":
        return None
    if data.startswith(b'"'):
        return str(_decode_any(data))
    return data.decode()


def _invalid_id(stage: int) -> GraphQLFailure:
    return GraphQLFailure(f"Invalid value passed to nodeId argument. Error {stage}")
