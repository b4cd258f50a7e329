"""Convert values of clients to texts of parameters, scalar by scalar; values of the wrong type are rejected. Pure.

Values are bound as text and cast to the type of their column, so Postgres validates dates, UUIDs and ranges.
Source: docs/reference/graphql.md, section 6.
"""

from collections.abc import Callable, Iterable
from functools import lru_cache

import msgspec

from workers.graphql.errors import GraphQLFailure
from workers.graphql.model import EntityColumn, ValueType
from workers.graphql.plan.conditions import Operand
from workers.graphql.plan.inputs import ArgumentValue, Convert, EnumLiteral, InputKind, Inputs

_INT_LIMIT = 2**31


def invalid_input(type_name: str) -> GraphQLFailure:
    """Return the error for a value that is not of a type."""
    return GraphQLFailure(f"Invalid input for {type_name} type")


def extra_keys(type_name: str, names: Iterable[str]) -> GraphQLFailure:
    """Return the error for an input object with entries that its type does not have."""
    listed = ", ".join(msgspec.json.encode(name).decode() for name in names)
    return GraphQLFailure(f"Input for type {type_name} contains extra keys [{listed}]")


def operand(inputs: Inputs, value: ArgumentValue, type: ValueType) -> Operand:
    """Return the operand for a value of a column or an argument. Raises: GraphQLFailure for a value of the wrong type."""
    return Operand(
        inputs.parameter(value, list_converter(type) if type.is_list else value_converter(type)), type.sql
    )


def array_operand(inputs: Inputs, value: ArgumentValue, type: ValueType) -> Operand:
    """Return the operand to compare an array with; its elements must not be null. Raises: GraphQLFailure."""
    return Operand(inputs.parameter(value, list_converter(type, has_nulls=False)), type.sql)


def column_operand(inputs: Inputs, value: ArgumentValue, column: EntityColumn) -> Operand:
    """Return the operand for a new value of a column. Raises: GraphQLFailure."""
    is_single = not column.type.is_list and column.type.scalar != "Opaque"
    if is_single and value.kind in (InputKind.LIST, InputKind.OBJECT):
        raise invalid_input(column.type.scalar)
    return operand(inputs, value, column.type)


def operand_list(inputs: Inputs, value: ArgumentValue, type: ValueType) -> Operand:
    """Return the array operand for a list of values of a column that is not an array; a single value is a list of one.

    Raises: GraphQLFailure for a value of the wrong type, and for null in the list.
    """
    return Operand(inputs.parameter(value, list_converter(type, has_nulls=False)), f"{type.sql}[]")


@lru_cache(maxsize=4096)
def _converter(scalar: str, max_length: int | None) -> Convert:
    if scalar == "String" and max_length is not None:
        return _bounded_text_converter(max_length)
    return _SCALARS.get(scalar) or _text_converter(scalar)


def value_converter(type: ValueType) -> Convert:
    """Return the function that converts one value of a type."""
    return _enum_converter(type) if type.enum is not None else _converter(type.scalar, type.max_length)


def list_converter(type: ValueType, *, has_nulls: bool = True) -> Convert:
    """Return the function that converts a list, or a single value as a list of one, to an array literal."""
    convert = value_converter(type)

    def array(value: object) -> str:
        if isinstance(value, dict):
            raise invalid_input(type.scalar)
        items = value if isinstance(value, list) else [value]
        if not has_nulls and None in items:
            raise invalid_input("NonNull")
        return "{" + ",".join(["null" if item is None else _element(convert(item)) for item in items]) + "}"

    return array


def page_size(name: str, max_rows: int) -> Convert:
    """Return the function that converts `first` or `last`, reduced to `most` rows."""

    def size(value: object) -> str:
        return str(min(_unsigned(name, value), max_rows))

    return size


def offset(value: object) -> str:
    """Convert `offset`."""
    return str(min(_unsigned("offset", value), 2**62))


def _unsigned(name: str, value: object) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or value >= _INT_LIMIT:
        raise invalid_input("Int")
    if value < 0:
        raise GraphQLFailure(f"`{name}` must be an unsigned integer")
    return value


def _element(text: str) -> str:
    """Quote an element of an array literal."""
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'


def _is_string(value: object) -> bool:
    return isinstance(value, str) and not isinstance(value, EnumLiteral)


def _int(value: object) -> str:
    if not isinstance(value, int) or isinstance(value, bool) or not -_INT_LIMIT <= value < _INT_LIMIT:
        raise invalid_input("Int")
    return str(value)


def _float(value: object) -> str:
    if not isinstance(value, int | float) or isinstance(value, bool):
        raise invalid_input("Float")
    return repr(value)


def _big_int(value: object) -> str:
    if _is_string(value) or (isinstance(value, int) and not isinstance(value, bool)):
        return str(value)
    raise invalid_input("BigInt")


def _big_float(value: object) -> str:
    if not _is_string(value):
        raise GraphQLFailure("Invalid input for BigFloat type. String required")
    return str(value)


def _boolean(value: object) -> str:
    if not isinstance(value, bool):
        raise invalid_input("Boolean")
    return "true" if value else "false"


def _opaque(value: object) -> str:
    if isinstance(value, str):
        return str(value)
    return msgspec.json.encode(value).decode()


def _text_converter(scalar: str) -> Convert:
    def text(value: object) -> str:
        if not _is_string(value):
            raise invalid_input(scalar)
        return str(value)

    return text


def _bounded_text_converter(max_bytes: int) -> Convert:
    """Return the function that converts texts of at most `most` bytes (the original counts bytes for `varchar(n)`)."""

    def text(value: object) -> str:
        if not _is_string(value):
            raise invalid_input("String")
        if len(str(value).encode()) > max_bytes:
            raise GraphQLFailure(f"Invalid input for String type. Maximum character length {max_bytes}")
        return str(value)

    return text


def _enum_converter(type: ValueType) -> Convert:
    """Return the function that converts an enum value, a literal or a string, to its label in the database."""
    assert type.enum is not None
    labels, name = type.enum.labels, type.enum.name

    def label(value: object) -> str:
        database_label = labels.get(value) if isinstance(value, str) else None
        if database_label is None:
            raise invalid_input(name)
        return database_label

    return label


INT: Convert = _int
_SCALARS: dict[str, Callable[[object], str]] = {
    "Int": _int,
    "Float": _float,
    "BigInt": _big_int,
    "BigFloat": _big_float,
    "Boolean": _boolean,
    "Opaque": _opaque,
}
