"""Types of a GraphQL schema as plain records, from which introspection is answered. Pure data.

References to types contain names, so records never form cycles. Equal references are one object and are compared by
identity. A schema of 300 tables has 40,000 records, so they are structs that the garbage collector does not track.
"""

from enum import StrEnum
from functools import lru_cache

from msgspec import Struct

_MOST_CACHED = 20_000
"""References in the cache. Beyond it, equal references may be two objects, which only costs time."""


class TypeKind(StrEnum):
    """The values of `__TypeKind` that we use."""

    SCALAR = "SCALAR"
    OBJECT = "OBJECT"
    INTERFACE = "INTERFACE"
    ENUM = "ENUM"
    INPUT_OBJECT = "INPUT_OBJECT"
    LIST = "LIST"
    NON_NULL = "NON_NULL"


class Wrapped(Struct, frozen=True, gc=False, eq=False):
    """A reference to a list or a non-null type. Create it with `required` and `list_of` only, which cache it."""

    kind: TypeKind
    of: "TypeRef"


TypeRef = str | Wrapped
"""The name of a type, or a wrapper around a reference."""


@lru_cache(_MOST_CACHED)
def required(of: TypeRef) -> Wrapped:
    """Return the reference `of!`."""
    return Wrapped(TypeKind.NON_NULL, of)


@lru_cache(_MOST_CACHED)
def list_of(of: TypeRef) -> Wrapped:
    """Return the reference `[of]`."""
    return Wrapped(TypeKind.LIST, of)


class InputValue(Struct, frozen=True, gc=False):
    """An argument, or a field of an input object. `default` is a GraphQL literal."""

    name: str
    type: TypeRef
    description: str | None = None
    default: str | None = None


class FieldDefinition(Struct, frozen=True, gc=False):
    """A field of an object or interface."""

    name: str
    type: TypeRef
    description: str | None = None
    args: tuple[InputValue, ...] = ()


class EnumValue(Struct, frozen=True, gc=False):
    """A value of an enum."""

    name: str
    description: str | None = None


class TypeDefinition(Struct, frozen=True, gc=False):
    """A named type. `members` are fields, input fields or enum values, by its kind."""

    kind: TypeKind
    name: str
    description: str | None = None
    members: tuple[FieldDefinition, ...] | tuple[InputValue, ...] | tuple[EnumValue, ...] = ()
    interfaces: tuple[str, ...] = ()
    possible: tuple[str, ...] = ()
    """For an interface: the objects that implement it."""


class Directive(Struct, frozen=True, gc=False):
    """A directive that documents may use."""

    name: str
    description: str
    locations: tuple[str, ...]
    args: tuple[InputValue, ...]


class TypeSystem(Struct, frozen=True, gc=False):
    """All types of a schema, sorted by name."""

    types: dict[str, TypeDefinition]
    query: str
    mutation: str | None
    """Name of the mutation type; None if the role cannot write anything."""
    directives: tuple[Directive, ...]
    description: str
    size: int = 0
    """Number of types, members of types, and arguments of members."""
    subscription: str | None = None
    """Name of the subscription type, which only validation knows."""
