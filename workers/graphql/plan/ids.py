"""Texts that stand for rows: `nodeId` (which row of which table) and cursors (a place in an order). Pure.

Both are base64 of a JSON array. What Postgres wrote is read back as texts, which are cast to the columns' types.
Source: reference page "graphql", sections 7 and 8.
"""

import base64
import binascii
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache

import msgspec

from workers.graphql.errors import GraphQLFailure
from workers.graphql.model import Entity, Name
from workers.graphql.plan.inputs import Convert, Given, Inputs
from workers.graphql.plan.tree import All, Compare, Condition, Operand

_decode = msgspec.json.Decoder(list[msgspec.Raw]).decode
_decode_any = msgspec.json.Decoder().decode
_BASE64, _UTF8, _JSON, _SHORT, _SCHEMA, _TABLE, _NO_ARRAY = 2, 3, 4, 5, 6, 7, 10
_LONGEST = 8 * 1024
"""Characters of an id or a cursor."""
_OPENED = 256
"""Ids and cursors kept opened: a request looks into the same one several times."""
Values = tuple[str | None, ...]


def table_of(value: object) -> Name:
    """Give the table that a nodeId names. Raises: GraphQLFailure."""
    return _read(value)[0]


def values_of(value: object) -> Values:
    """Give the values of the key that a nodeId names. Raises: GraphQLFailure."""
    return _read(value)[1]


def cursor_values(value: object) -> Values:
    """Give the values of a cursor as texts. Raises: GraphQLFailure for what is no cursor."""
    if not isinstance(value, str):
        raise GraphQLFailure("Invalid input for Cursor type")
    return _opened_cursor(value)


@lru_cache(maxsize=_OPENED)
def _opened_cursor(text: str) -> Values:
    data = _bytes(text)
    if data is None:
        raise GraphQLFailure("Failed to decode cursor, error 1")
    try:
        data.decode()
    except UnicodeDecodeError:
        raise GraphQLFailure("Failed to decode cursor, error 2") from None
    try:
        return tuple([_as_text(one) for one in _decode(data)])
    except msgspec.ValidationError:
        raise GraphQLFailure("Failed to decode cursor, error 4") from None
    except (msgspec.DecodeError, RecursionError):
        raise GraphQLFailure("Failed to decode cursor, error 3") from None


def key_condition(inputs: Inputs, entity: Entity, given: Given) -> Condition:
    """Give the condition that a row has the key that an id names.

    Raises: GraphQLFailure if it has more or fewer values than the key has columns.
    """
    columns = entity.key_columns
    if len(given.ask(ID.shape)) != len(columns):
        raise _invalid_id(_SHORT)
    operands = operands_of(inputs, given, [column.type.sql for column in columns], ID)
    return All(
        tuple(Compare(column.sql, "=", operand) for column, operand in zip(columns, operands, strict=True))
    )


def operands_of(inputs: Inputs, given: Given, types: Sequence[str], reading: "Reading") -> list[Operand]:
    """Make an operand for each value inside an id or a cursor; null ones stand in the plan itself."""
    shape = given.ask(reading.shape)
    found: list[Operand] = []
    for index, (type_, is_there) in enumerate(zip(types, shape, strict=False)):
        if not is_there:
            found.append(Operand(None, type_))
        else:
            found.append(Operand(inputs.parameter(given, _picked(reading.values, index)), type_))
    return found


@dataclass(frozen=True, slots=True)
class Reading:
    """How one kind of text is read: its values, and for each whether it is there."""

    values: Callable[[object], Values]
    shape: Callable[[object], tuple[bool, ...]]


def _id_shape(value: object) -> tuple[bool, ...]:
    return _presence(values_of(value))


def _cursor_shape(value: object) -> tuple[bool, ...]:
    return _shape_of_cursor(value) if isinstance(value, str) else _presence(cursor_values(value))


@lru_cache(maxsize=_OPENED)
def _shape_of_cursor(text: str) -> tuple[bool, ...]:
    return _presence(_opened_cursor(text))


@lru_cache(maxsize=_OPENED)
def _presence(values: Values) -> tuple[bool, ...]:
    return tuple([one is not None for one in values])


ID = Reading(values_of, _id_shape)
CURSOR = Reading(cursor_values, _cursor_shape)


def _picked(values: Callable[[object], Values], index: int) -> Convert:
    def pick(value: object) -> str:
        found = values(value)
        return (found[index] if index < len(found) else None) or ""

    return pick


def _read(value: object) -> tuple[Name, Values]:
    if not isinstance(value, str):
        raise GraphQLFailure("Invalid value passed to nodeId argument, Error 1")
    return _opened_id(value)


@lru_cache(maxsize=_OPENED)
def _opened_id(text: str) -> tuple[Name, Values]:
    """Open a nodeId; the number in the message tells the stage that failed."""
    data = _bytes(text)
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
    return (schema, table), tuple([_as_text(one) for one in parts[2:]])


def _bytes(text: str) -> bytes | None:
    """Undo base64; None for what is none, or longer than any place."""
    if len(text) > _LONGEST:
        return None
    try:
        return base64.b64decode(text.encode(), validate=True)
    except (binascii.Error, UnicodeEncodeError):
        return None


def _as_text(raw: msgspec.Raw) -> str | None:
    """Give a JSON value as Postgres reads it: a string without its quotes, everything else as it is written."""
    data = bytes(raw).strip()
    if data == b"null":
        return None
    if data.startswith(b'"'):
        return str(_decode_any(data))
    return data.decode()


def _invalid_id(stage: int) -> GraphQLFailure:
    return GraphQLFailure(f"Invalid value passed to nodeId argument. Error {stage}")
