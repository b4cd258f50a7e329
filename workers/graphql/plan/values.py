"""What each scalar takes: the value a client sends becomes the text of a parameter, or is refused. Pure.

Values are bound as text and cast to the type of their column, so Postgres decides about dates, UUIDs and ranges.
Source: reference page "graphql", section 6.
"""

from collections.abc import Callable, Iterable
from functools import lru_cache

import msgspec

from workers.graphql.errors import GraphQLFailure
from workers.graphql.model import Column, ValueType
from workers.graphql.plan.inputs import Convert, Given, Inputs, Kind, Word
from workers.graphql.plan.tree import Operand


def invalid(type_name: str) -> GraphQLFailure:
    """Give the refusal of a value that is not of a type."""
    return GraphQLFailure(f"Invalid input for {type_name} type")


def extra_keys(type_name: str, names: Iterable[str]) -> GraphQLFailure:
    """Give the refusal of an input object with entries that its type does not have."""
    listed = ", ".join(msgspec.json.encode(name).decode() for name in names)
    return GraphQLFailure(f"Input for type {type_name} contains extra keys [{listed}]")


def operand(inputs: Inputs, given: Given, type: ValueType) -> Operand:
    """Make the operand of a value for a column or an argument. Raises: GraphQLFailure for one of the wrong type."""
    return Operand(inputs.parameter(given, list_of(type) if type.is_list else single(type)), type.sql)


def array_operand(inputs: Inputs, given: Given, type: ValueType) -> Operand:
    """Make the operand to compare an array with; its elements may not be null. Raises: GraphQLFailure."""
    return Operand(inputs.parameter(given, list_of(type, has_nulls=False)), type.sql)


def column_operand(inputs: Inputs, given: Given, column: Column) -> Operand:
    """Make the operand of a column's new value. Raises: GraphQLFailure."""
    is_single = not column.type.is_list and column.type.scalar != "Opaque"
    if is_single and given.kind in (Kind.LIST, Kind.OBJECT):
        raise invalid(column.type.scalar)
    return operand(inputs, given, column.type)


def operand_list(inputs: Inputs, given: Given, type: ValueType) -> Operand:
    """Make the operand for a list of values of a column that holds single ones; a single value is a list of one.

    Raises: GraphQLFailure for one of the wrong type, and for null among them.
    """
    return Operand(inputs.parameter(given, list_of(type, has_nulls=False)), f"{type.sql}[]")


@lru_cache(maxsize=4096)
def _converter(scalar: str, max_length: int | None) -> Convert:
    if scalar == "String" and max_length is not None:
        return _bounded(max_length)
    return _SCALARS.get(scalar) or _text_as(scalar)


def single(type: ValueType) -> Convert:
    """Give what converts one value of a type."""
    return _label(type) if type.enum is not None else _converter(type.scalar, type.max_length)


def list_of(type: ValueType, *, has_nulls: bool = True) -> Convert:
    """Give what converts a list, or one value as a list of one, to an array literal."""
    convert = single(type)

    def array(value: object) -> str:
        if isinstance(value, dict):
            raise invalid(type.scalar)
        items = value if isinstance(value, list) else [value]
        if not has_nulls and None in items:
            raise invalid("NonNull")
        return "{" + ",".join(["null" if one is None else _element(convert(one)) for one in items]) + "}"

    return array


def page_size(name: str, most: int) -> Convert:
    """Give what converts `first` or `last`: no page holds more than `most` rows."""

    def size(value: object) -> str:
        return str(min(_unsigned(name, value), most))

    return size


def offset(value: object) -> str:
    """Convert `offset`."""
    return str(min(_unsigned("offset", value), 2**62))


def _unsigned(name: str, value: object) -> int:
    if not isinstance(value, int) or isinstance(value, bool):
        raise invalid("Int")
    if value < 0:
        raise GraphQLFailure(f"`{name}` must be an unsigned integer")
    return value


def _element(text: str) -> str:
    """Quote an element of an array literal."""
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'


def _is_string(value: object) -> bool:
    return isinstance(value, str) and not isinstance(value, Word)


def _int(value: object) -> str:
    if not isinstance(value, int) or isinstance(value, bool):
        raise invalid("Int")
    return str(value)


def _float(value: object) -> str:
    if not isinstance(value, int | float) or isinstance(value, bool):
        raise invalid("Float")
    return repr(value)


def _big_int(value: object) -> str:
    if _is_string(value) or (isinstance(value, int) and not isinstance(value, bool)):
        return str(value)
    raise invalid("BigInt")


def _big_float(value: object) -> str:
    if not _is_string(value):
        raise GraphQLFailure("Invalid input for BigFloat type. String required")
    return str(value)


def _boolean(value: object) -> str:
    if not isinstance(value, bool):
        raise invalid("Boolean")
    return "true" if value else "false"


def _opaque(value: object) -> str:
    if isinstance(value, str):
        return str(value)
    return msgspec.json.encode(value).decode()


def _text_as(scalar: str) -> Convert:
    def text(value: object) -> str:
        if not _is_string(value):
            raise invalid(scalar)
        return str(value)

    return text


def _bounded(most: int) -> Convert:
    """Give what converts texts of a column that holds so many bytes, as the original counts them."""

    def text(value: object) -> str:
        if not _is_string(value):
            raise invalid("String")
        if len(str(value).encode()) > most:
            raise GraphQLFailure(f"Invalid input for String type. Maximum character length {most}")
        return str(value)

    return text


def _label(type: ValueType) -> Convert:
    """Give what converts the names of an enum's values, as literals or strings, to its labels in the database."""
    assert type.enum is not None
    labels, name = type.enum.labels, type.enum.name

    def label(value: object) -> str:
        found = labels.get(value) if isinstance(value, str) else None
        if found is None:
            raise invalid(name)
        return found

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
