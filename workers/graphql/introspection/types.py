"""Types of a GraphQL schema as plain records: what introspection answers from. Pure data.

References to types hold names, so records never form circles; equal references are one object, to be told apart by
identity. A schema of 300 tables has 40,000 records, which is why they are structs that the garbage collector passes by.
"""

from enum import StrEnum
from functools import lru_cache

from msgspec import Struct

_KEPT = 20_000
"""References kept; beyond that, equal ones may be two objects, which costs time and nothing else."""


class Kind(StrEnum):
    """Kinds of types, as `__TypeKind` spells them; those that are offered."""

    SCALAR = "SCALAR"
    OBJECT = "OBJECT"
    INTERFACE = "INTERFACE"
    ENUM = "ENUM"
    INPUT_OBJECT = "INPUT_OBJECT"
    LIST = "LIST"
    NON_NULL = "NON_NULL"


class Wrapped(Struct, frozen=True, gc=False, eq=False):
    """A list of values of a type, or a type without null. Made by `required` and `list_of` alone."""

    kind: Kind
    of: "TypeRef"


TypeRef = str | Wrapped
"""The name of a type, or a wrapper around a reference."""


@lru_cache(_KEPT)
def required(of: TypeRef) -> Wrapped:
    """Give the reference `of!`."""
    return Wrapped(Kind.NON_NULL, of)


@lru_cache(_KEPT)
def list_of(of: TypeRef) -> Wrapped:
    """Give the reference `[of]`."""
    return Wrapped(Kind.LIST, of)


class InputValue(Struct, frozen=True, gc=False):
    """An argument, or a field of an input object. `default` is a GraphQL literal."""

    name: str
    type: TypeRef
    description: str | None = None
    default: str | None = None


class Field(Struct, frozen=True, gc=False):
    """A field of an object or interface."""

    name: str
    type: TypeRef
    description: str | None = None
    args: tuple[InputValue, ...] = ()


class EnumValue(Struct, frozen=True, gc=False):
    """A value of an enum."""

    name: str
    description: str | None = None


class Type(Struct, frozen=True, gc=False):
    """A named type. `members` are fields, input fields or enum values, by its kind."""

    kind: Kind
    name: str
    description: str | None = None
    members: tuple[Field, ...] | tuple[InputValue, ...] | tuple[EnumValue, ...] = ()
    interfaces: tuple[str, ...] = ()
    possible: tuple[str, ...] = ()
    """Of an interface: the objects that have it."""


class Directive(Struct, frozen=True, gc=False):
    """A directive that documents may use."""

    name: str
    description: str
    locations: tuple[str, ...]
    args: tuple[InputValue, ...]


class Described(Struct, frozen=True, gc=False):
    """A whole schema: its types by name, sorted."""

    types: dict[str, Type]
    query: str
    mutation: str | None
    """None: there is nothing to change."""
    directives: tuple[Directive, ...]
    description: str
    size: int = 0
    """How many types, members of types, and arguments of members there are."""
