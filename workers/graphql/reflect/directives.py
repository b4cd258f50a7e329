"""Read comment directives: `@graphql({...})` anywhere in a comment of the database. Pure.

All directives are validated when the schema of a role is built, also those of objects that the role does not see. Error
messages are those of the original. Source: docs/reference/graphql.md, section 5.
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
_MOST_CACHED = 10_000
"""Parsed comments of each kind in the cache, which all roles share."""
_U64 = 2**64

_Value = TypeVar("_Value")


@dataclass(frozen=True, slots=True)
class SchemaDirective:
    """Directive in the comment of a schema."""

    inflect_names: bool = False
    max_rows: int = _MAX_ROWS
    introspection: bool | None = None
    """None: not set."""
    additions: bool | None = None
    """Whether introspection shows our additions to the original; None: not set."""


@dataclass(frozen=True, slots=True)
class ForeignKeyDirective:
    """A relation declared by a directive instead of a constraint."""

    local_columns: tuple[str, ...]
    foreign_schema: str
    foreign_table: str
    foreign_columns: tuple[str, ...]
    local_name: str | None = None
    foreign_name: str | None = None


@dataclass(frozen=True, slots=True)
class TableDirective:
    """Directive in the comment of a table or view."""

    name: str | None = None
    description: str | None = None
    has_total_count: bool = False
    has_aggregate: bool = False
    max_rows: int | None = None
    primary_key_columns: tuple[str, ...] = ()
    foreign_keys: tuple[ForeignKeyDirective, ...] = ()


@dataclass(frozen=True, slots=True)
class NameDirective:
    """Directive in the comment of a column or function."""

    name: str | None = None
    description: str | None = None


@dataclass(frozen=True, slots=True)
class ConstraintDirective:
    """Directive in the comment of a foreign key: the names of its two fields."""

    local_name: str | None = None
    """Name of the field on the referenced side."""
    foreign_name: str | None = None
    """Name of the field on the side with the foreign key."""


@dataclass(frozen=True, slots=True)
class EnumDirective:
    """Directive in the comment of an enum type; `mappings` are pairs (label, GraphQL value)."""

    name: str | None = None
    mappings: tuple[tuple[str, str], ...] = ()


@lru_cache(_MOST_CACHED)
def read_schema(comment: str | None) -> SchemaDirective:
    """Read the comment of a schema. Raises: SchemaError."""
    directive = _DirectiveObject(comment)
    return SchemaDirective(
        inflect_names=directive.take("inflect_names", _boolean) or False,
        max_rows=_MAX_ROWS if (rows := directive.take("max_rows", _unsigned)) is None else rows,
        introspection=directive.take("introspection", _boolean),
        additions=directive.take("additions", _boolean),
    )


@lru_cache(_MOST_CACHED)
def read_table(comment: str | None) -> TableDirective:
    """Read the comment of a table or view. Raises: SchemaError."""
    directive = _DirectiveObject(comment)
    return TableDirective(
        name=directive.take("name", _string),
        description=directive.take("description", _string),
        has_total_count=directive.take("totalCount", _enabled) or False,
        has_aggregate=directive.take("aggregate", _enabled) or False,
        max_rows=directive.take("max_rows", _unsigned),
        primary_key_columns=directive.take("primary_key_columns", _strings) or (),
        foreign_keys=directive.take("foreign_keys", _foreign_keys) or (),
    )


@lru_cache(_MOST_CACHED)
def read_name(comment: str | None) -> NameDirective:
    """Read the comment of a column or function. Raises: SchemaError."""
    directive = _DirectiveObject(comment)
    return NameDirective(directive.take("name", _string), directive.take("description", _string))


@lru_cache(_MOST_CACHED)
def read_constraint(comment: str | None) -> ConstraintDirective:
    """Read the comment of a foreign key. Raises: SchemaError."""
    directive = _DirectiveObject(comment)
    return ConstraintDirective(directive.take("local_name", _string), directive.take("foreign_name", _string))


@lru_cache(_MOST_CACHED)
def read_enum(comment: str | None) -> EnumDirective:
    """Read the comment of an enum type. Raises: SchemaError."""
    directive = _DirectiveObject(comment)
    mappings = directive.take("mappings", _mapping) or {}
    return EnumDirective(
        directive.take("name", _string), tuple((label, _string(value)) for label, value in mappings.items())
    )


class _DirectiveObject:
    """The JSON object of a directive; empty for a comment without a directive."""

    def __init__(self, comment: str | None) -> None:
        match = _DIRECTIVE.search(comment) if comment else None
        self._values = _mapping(_parsed(match[1])) if match else {}

    def take(self, key: str, read: Callable[[object], _Value]) -> _Value | None:
        value = self._values.get(key)
        return None if value is None else read(value)


def _parsed(text: str) -> object:
    try:
        value: object = json.loads(text)
        # An answer cannot hold half of a surrogate pair, which JSON can escape.
        json.dumps(value, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        raise SchemaError("lone surrogate in hex escape") from None
    except (ValueError, RecursionError) as error:
        raise SchemaError(str(error)) from None
    return value


def _foreign_keys(value: object) -> tuple[ForeignKeyDirective, ...]:
    return tuple(_foreign_key(_mapping(item)) for item in _sequence(value))


def _foreign_key(members: dict[str, object]) -> ForeignKeyDirective:
    local_name, foreign_name = members.get("local_name"), members.get("foreign_name")
    return ForeignKeyDirective(
        local_columns=_strings(_required(members, "local_columns")),
        foreign_schema=_string(_required(members, "foreign_schema")),
        foreign_table=_string(_required(members, "foreign_table")),
        foreign_columns=_strings(_required(members, "foreign_columns")),
        local_name=None if local_name is None else _string(local_name),
        foreign_name=None if foreign_name is None else _string(foreign_name),
    )


def _enabled(value: object) -> bool:
    return _boolean(_required(_mapping(value), "enabled"))


def _required(members: dict[str, object], key: str) -> object:
    if key not in members:
        raise SchemaError(f"missing field `{key}`")
    return members[key]


def _strings(value: object) -> tuple[str, ...]:
    return tuple(_string(item) for item in _sequence(value))


def _string(value: object) -> str:
    if not isinstance(value, str):
        raise _wrong_type(value, "a string")
    return value


def _boolean(value: object) -> bool:
    if not isinstance(value, bool):
        raise _wrong_type(value, "a boolean")
    return value


def _unsigned(value: object) -> int:
    if not isinstance(value, int) or isinstance(value, bool):
        raise _wrong_type(value, "u64")
    if not 0 <= value < _U64:
        raise SchemaError(f"invalid value: {_describe(value)}, expected u64")
    return value


def _sequence(value: object) -> list[object]:
    if not isinstance(value, list):
        raise _wrong_type(value, "a sequence")
    return value


def _mapping(value: object) -> dict[str, object]:
    if not isinstance(value, dict):
        raise _wrong_type(value, "a map")
    return value


def _wrong_type(value: object, expected: str) -> SchemaError:
    return SchemaError(f"invalid type: {_describe(value)}, expected {expected}")


def _describe(value: object) -> str:
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
