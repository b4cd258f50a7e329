"""The input of type generation as data: relations, functions, enums and composite types of some schemas (pure)."""

from msgspec import Struct


class TypegenType(Struct, frozen=True):
    """One type of the database. For a domain, `base` is its base type."""

    id: int
    schema: str
    name: str
    kind: str
    """b base, e enum, c composite, a array, r range, p pseudo."""
    element: int = 0
    """Type of an array's elements."""
    labels: list[str] = []
    relation_kind: str = ""
    """Of a composite type: c for a stand-alone one, else the kind of the relation whose row type it is."""
    base: int = 0
    """Base type of a domain, under all nested domains."""


class TypegenColumn(Struct, frozen=True):
    """A column of a relation, or an attribute of a composite type."""

    name: str
    type: int
    is_nullable: bool = True
    has_default: bool = False
    is_always_made: bool = False
    """Generated, or `generated always as identity`: clients must not send it."""
    is_updatable: bool = True


class TypegenRelation(Struct, frozen=True):
    """A table, view or composite type; `kind` as Postgres spells it."""

    schema: str
    name: str
    kind: str
    columns: list[TypegenColumn]
    is_insertable: bool = False
    """Rows can be inserted into this view, by rule or trigger perhaps."""
    is_updatable: bool = False
    """Rows of this view can be updated."""


class TypegenArgument(Struct, frozen=True):
    """An argument of a function; `mode`: i in, o out, b both, v variadic, t column of its table."""

    name: str
    type: int
    mode: str = "i"
    has_default: bool = False


class TypegenFunction(Struct, frozen=True):
    """A function that clients may call."""

    schema: str
    name: str
    arguments: list[TypegenArgument]
    returns: int
    returns_set: bool
    is_one: bool = False
    """It returns at most one row: `rows 1`."""
    signature: str = ""
    """Its arguments in SQL; overloads are sorted by it."""


class TypegenForeignKey(Struct, frozen=True):
    """A foreign key, seen from the relation that has it."""

    schema: str
    relation: str
    name: str
    columns: list[str]
    referenced: str
    referenced_columns: list[str]
    is_one_to_one: bool | None
    """None: types do not say it."""


class TypegenDatabase(Struct, frozen=True):
    """All schemas for which types are generated."""

    schemas: list[str]
    relations: list[TypegenRelation]
    functions: list[TypegenFunction]
    types: dict[int, TypegenType]
    links: list[TypegenForeignKey] = []
