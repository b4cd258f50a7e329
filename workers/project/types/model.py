"""What the generated types speak of, as data: relations, functions, enums, composite types of some schemas (pure)."""

from msgspec import Struct


class Type(Struct, frozen=True):
    """One type of the database. Domains are followed to what they stand on."""

    id: int
    schema: str
    name: str
    kind: str
    """b base, e enum, c composite, a array, r range, p pseudo."""
    element: int = 0
    """Type of an array's elements."""
    labels: list[str] = []
    relation_kind: str = ""
    """Of a composite type: c for one made by itself, else the kind of the relation whose rows it is."""
    base: int = 0
    """What a domain stands on, under all domains."""


class Column(Struct, frozen=True):
    """A column of a relation, or an attribute of a composite type."""

    name: str
    type: int
    is_nullable: bool = True
    has_default: bool = False
    is_always_made: bool = False
    """Generated, or always as identity: the client must not give it."""
    is_updatable: bool = True


class Relation(Struct, frozen=True):
    """A table, view or composite type; `kind` as Postgres spells it."""

    schema: str
    name: str
    kind: str
    columns: list[Column]
    is_insertable: bool = False
    """Rows can be inserted into this view, by rule or trigger perhaps."""
    is_updatable: bool = False
    """Rows of this view can be updated."""


class Argument(Struct, frozen=True):
    """An argument of a function; `mode`: i in, o out, b both, v variadic, t column of its table."""

    name: str
    type: int
    mode: str = "i"
    has_default: bool = False


class Function(Struct, frozen=True):
    """A function that clients may call."""

    schema: str
    name: str
    arguments: list[Argument]
    returns: int
    returns_set: bool
    is_one: bool = False
    """It returns at most one row: `rows 1`."""
    signature: str = ""
    """Its arguments as SQL spells them: overloads stand in this order."""


class Link(Struct, frozen=True):
    """A foreign key, as the relation sees it that has it."""

    schema: str
    relation: str
    name: str
    columns: list[str]
    referenced: str
    referenced_columns: list[str]
    is_one_to_one: bool


class Database(Struct, frozen=True):
    """All of it."""

    schemas: list[str]
    relations: list[Relation]
    functions: list[Function]
    types: dict[int, Type]
    links: list[Link] = []
