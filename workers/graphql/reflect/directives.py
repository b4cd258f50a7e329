"""Comment directives: `@graphql({...})` anywhere in a comment of the database. Pure.

What a directive says is checked when the catalog is read, for all objects and whichever role asks. The sentences about
wrong values are those that users of the original know. Source: reference page "graphql", section 5.
"""

import json
import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import TypeVar

from workers.graphql.errors import SchemaError

_DIRECTIVE = re.compile(r"@graphql\((.+)\)", re.DOTALL)
_MAX_ROWS = 30
_KEPT = 10_000
"""Comments of each kind that are read once for all roles."""
_U64 = 2**64

_Value = TypeVar("_Value")


@dataclass(frozen=True, slots=True)
class SchemaDirective:
    """What the comment of a schema asks for."""

    inflect_names: bool = False
    max_rows: int = _MAX_ROWS
    introspection: bool | None = None
    """None: nothing is said."""
    additions: bool | None = None
    """Whether introspection tells of what the original has not; None: nothing is said."""


@dataclass(frozen=True, slots=True)
class ForeignKeyDirective:
    """A relation that no constraint declares."""

    local_columns: tuple[str, ...]
    foreign_schema: str
    foreign_table: str
    foreign_columns: tuple[str, ...]
    local_name: str | None = None
    foreign_name: str | None = None


@dataclass(frozen=True, slots=True)
class TableDirective:
    """What the comment of a table or view asks for."""

    name: str | None = None
    description: str | None = None
    has_total_count: bool = False
    has_aggregate: bool = False
    max_rows: int | None = None
    primary_key_columns: tuple[str, ...] = ()
    foreign_keys: tuple[ForeignKeyDirective, ...] = ()


@dataclass(frozen=True, slots=True)
class NameDirective:
    """What the comment of a column or function asks for."""

    name: str | None = None
    description: str | None = None


@dataclass(frozen=True, slots=True)
class ConstraintDirective:
    """Names of the two fields of a foreign key."""

    local_name: str | None = None
    """The side that is referenced."""
    foreign_name: str | None = None
    """The side that holds the key."""


@dataclass(frozen=True, slots=True)
class EnumDirective:
    """What the comment of an enum type asks for; `mappings` leads from labels to GraphQL values."""

    name: str | None = None
    mappings: tuple[tuple[str, str], ...] = ()


@lru_cache(_KEPT)
def read_schema(comment: str | None) -> SchemaDirective:
    """Read the comment of a schema. Raises: SchemaError."""
    given = _Given(comment)
    return SchemaDirective(
        inflect_names=given.take("inflect_names", _boolean) or False,
        max_rows=_MAX_ROWS if (rows := given.take("max_rows", _unsigned)) is None else rows,
        introspection=given.take("introspection", _boolean),
        additions=given.take("additions", _boolean),
    )


@lru_cache(_KEPT)
def read_table(comment: str | None) -> TableDirective:
    """Read the comment of a table or view. Raises: SchemaError."""
    given = _Given(comment)
    return TableDirective(
        name=given.take("name", _string),
        description=given.take("description", _string),
        has_total_count=given.take("totalCount", _enabled) or False,
        has_aggregate=given.take("aggregate", _enabled) or False,
        max_rows=given.take("max_rows", _unsigned),
        primary_key_columns=given.take("primary_key_columns", _strings) or (),
        foreign_keys=given.take("foreign_keys", _foreign_keys) or (),
    )


@lru_cache(_KEPT)
def read_name(comment: str | None) -> NameDirective:
    """Read the comment of a column or function. Raises: SchemaError."""
    given = _Given(comment)
    return NameDirective(given.take("name", _string), given.take("description", _string))


@lru_cache(_KEPT)
def read_constraint(comment: str | None) -> ConstraintDirective:
    """Read the comment of a foreign key. Raises: SchemaError."""
    given = _Given(comment)
    return ConstraintDirective(given.take("local_name", _string), given.take("foreign_name", _string))


@lru_cache(_KEPT)
def read_enum(comment: str | None) -> EnumDirective:
    """Read the comment of an enum type. Raises: SchemaError."""
    given = _Given(comment)
    mappings = given.take("mappings", _mapping) or {}
    return EnumDirective(
        given.take("name", _string), tuple((label, _string(value)) for label, value in mappings.items())
    )


class _Given:
    """The object of a directive; an empty one where a comment has none."""

    def __init__(self, comment: str | None) -> None:
        found = _DIRECTIVE.search(comment) if comment else None
        self._values = _mapping(_parsed(found[1])) if found else {}

    def take(self, key: str, read: Callable[[object], _Value]) -> _Value | None:
        value = self._values.get(key)
        return None if value is None else read(value)


def _parsed(text: str) -> object:
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        raise SchemaError(str(error)) from None


def _foreign_keys(value: object) -> tuple[ForeignKeyDirective, ...]:
    return tuple(_foreign_key(_mapping(each)) for each in _sequence(value))


def _foreign_key(given: dict[str, object]) -> ForeignKeyDirective:
    local_name, foreign_name = given.get("local_name"), given.get("foreign_name")
    return ForeignKeyDirective(
        local_columns=_strings(_required(given, "local_columns")),
        foreign_schema=_string(_required(given, "foreign_schema")),
        foreign_table=_string(_required(given, "foreign_table")),
        foreign_columns=_strings(_required(given, "foreign_columns")),
        local_name=None if local_name is None else _string(local_name),
        foreign_name=None if foreign_name is None else _string(foreign_name),
    )


def _enabled(value: object) -> bool:
    return _boolean(_required(_mapping(value), "enabled"))


def _required(given: dict[str, object], key: str) -> object:
    if key not in given:
        raise SchemaError(f"missing field `{key}`")
    return given[key]


def _strings(value: object) -> tuple[str, ...]:
    return tuple(_string(each) for each in _sequence(value))


def _string(value: object) -> str:
    if not isinstance(value, str):
        raise _wrong(value, "a string")
    return value


def _boolean(value: object) -> bool:
    if not isinstance(value, bool):
        raise _wrong(value, "a boolean")
    return value


def _unsigned(value: object) -> int:
    if not isinstance(value, int) or isinstance(value, bool):
        raise _wrong(value, "u64")
    if not 0 <= value < _U64:
        raise SchemaError(f"invalid value: {_told(value)}, expected u64")
    return value


def _sequence(value: object) -> list[object]:
    if not isinstance(value, list):
        raise _wrong(value, "a sequence")
    return value


def _mapping(value: object) -> dict[str, object]:
    if not isinstance(value, dict):
        raise _wrong(value, "a map")
    return value


def _wrong(value: object, wanted: str) -> SchemaError:
    return SchemaError(f"invalid type: {_told(value)}, expected {wanted}")


def _told(value: object) -> str:
    match value:
        case None:
            return "null"
        case bool():
            return f"boolean `{str(value).lower()}`"
        case int():
            return f"integer `{value}`"
        case float():
            return f"floating point `{value}`"
        case str():
            return f"string {json.dumps(value, ensure_ascii=False)}"
        case list():
            return "sequence"
        case _:
            return "map"
