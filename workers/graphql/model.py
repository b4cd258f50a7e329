"""What a role sees of the database as GraphQL, as data: the value that passes from reflection to all other steps.

`reflect/` makes a `Schema` for a role and a version of the catalog; `introspect.py` turns it into graphql-core's types,
`plan/` reads documents against it. Pure: no connection, no GraphQL library. Names are final here: inflection and comment
directives have been applied. Source: reference page "graphql", sections 3-13.
"""

from dataclasses import dataclass, field
from enum import StrEnum

Name = tuple[str, str]
"""Schema and name of a table, function or type in the database."""


@dataclass(frozen=True, slots=True)
class Enum:
    """An enum type that the role may use."""

    name: str
    """Name of the GraphQL type."""
    sql: Name
    labels: dict[str, str]
    """GraphQL value -> label in the database, in the order of the type."""
    description: str | None = None
    is_introspectable: bool = True
    """False: its schema keeps it out of introspection (section 15)."""


@dataclass(frozen=True, slots=True)
class ValueType:
    """Type of a column, an argument or a result that is no row."""

    scalar: str
    """Int, BigInt, Float, BigFloat, Boolean, String, UUID, Date, Time, Datetime, JSON, Opaque; or the name of `enum`."""
    sql: str
    """Type to cast operands to, as SQL spells it, quoted and qualified where needed; for a list that of the array."""
    enum: Enum | None = None
    is_list: bool = False
    """An array; its elements are nullable."""
    max_length: int | None = None
    """Of `varchar(n)` and `char(n)`: characters an operand may have."""
    is_text: bool = False
    """The value leaves as a JSON string although `to_jsonb` gives something else: int8, numeric, json, jsonb."""

    @property
    def filter_type(self) -> str | None:
        """Give the name of the input type of filters on such values; None where it cannot be filtered (section 9)."""
        if self.scalar == "JSON" or (self.is_list and (self.enum is not None or self.scalar == "Opaque")):
            return None
        return f"{self.scalar}{'List' if self.is_list else ''}Filter"

    @property
    def is_orderable(self) -> bool:
        """Tell whether rows may be ordered by such values (section 10)."""
        return not self.is_list and self.scalar != "JSON"


@dataclass(frozen=True, slots=True)
class Column:
    """A column that the role may see or write, as a field of its row type."""

    name: str
    """Name of the field."""
    sql: str
    """Name of the column."""
    type: ValueType
    is_nullable: bool
    is_selectable: bool = True
    is_insertable: bool = False
    is_updatable: bool = False
    description: str | None = None


@dataclass(frozen=True, slots=True)
class Relation:
    """A field that leads over a foreign key (or a directive that stands for one) to rows of another entity."""

    name: str
    target: Name
    columns: tuple[tuple[str, str], ...]
    """Pairs (column here, column of the target), as the database names them."""
    is_many: bool
    """True: a connection; False: one row or null."""
    is_nullable: bool = True
    is_outgoing: bool = True
    """The key lies on this side."""


class Shape(StrEnum):
    """What a function gives."""

    VALUE = "value"
    """A scalar or an array of scalars."""
    ROW = "row"
    """One row of an entity, or null."""
    ROWS = "rows"
    """A connection of an entity."""


@dataclass(frozen=True, slots=True)
class Argument:
    """An argument of a function, called by its name."""

    name: str
    """Name of the argument in GraphQL."""
    sql: str
    """Name of the parameter."""
    type: ValueType
    is_required: bool
    default: str | None = None
    """The default as a GraphQL literal, shown in introspection, where it is a simple one."""


@dataclass(frozen=True, slots=True)
class Function:
    """A function as a field: of the query or mutation root, or (computed) of a row."""

    name: str
    sql: Name
    arguments: tuple[Argument, ...]
    """Without the row itself, for a computed field."""
    shape: Shape
    type: ValueType | None = None
    """For VALUE."""
    target: Name | None = None
    """For ROW and ROWS: the entity."""
    returns_set: bool = False
    """`setof`, also with `rows 1`."""
    is_volatile: bool = False
    description: str | None = None
    is_introspectable: bool = True
    """False: its schema keeps it out of introspection (section 15)."""


@dataclass(frozen=True, slots=True)
class Entity:
    """A table, view, materialized view or foreign table that appears."""

    name: str
    """Base name of its types: `Account`, `AccountConnection`..."""
    sql: Name
    kind: str
    """r table, v view, m materialized view, f foreign table, as in pg_class.relkind."""
    columns: dict[str, Column]
    """By name of the field, in table order; also those which can only be written (`is_selectable` False), and key
    columns whose name no document can spell."""
    primary_key: tuple[str, ...]
    """Names of columns in the database, real key or directive, in key order."""
    relations: dict[str, Relation] = field(default_factory=dict)
    """By name, outgoing before incoming; of two with one name the later."""
    functions: dict[str, Function] = field(default_factory=dict)
    """Computed fields by name."""
    max_rows: int = 30
    has_total_count: bool = False
    has_aggregate: bool = False
    is_insertable: bool = False
    is_updatable: bool = False
    is_deletable: bool = False
    has_key_lookup: bool = False
    """Every key column is of a type and a privilege that `tByPk` takes."""
    has_node_id: bool = True
    """The key columns are selectable: `nodeId` and `node(nodeId:)` are offered."""
    row_security: bool = False
    unique_keys: tuple[tuple[str, tuple[str, ...]], ...] = ()
    """Constraints that upserts may name: (name, columns in the database), the primary key first."""
    description: str | None = None
    is_introspectable: bool = True
    """False: its schema keeps it out of introspection (section 15)."""
    shows_additions: bool = False
    """Introspection tells of what the original has not; it works all the same."""

    def field(self, name: str) -> "Column | Relation | Function | None":
        """Give what a field of the row is; of those with one name a function wins, then a relation.

        `nodeId` and `__typename` are no such fields, but a field named `nodeId` takes the place of the row's id.
        """
        column = self.columns.get(name)
        return (
            self.functions.get(name)
            or self.relations.get(name)
            or (column if column is not None and column.is_selectable else None)
        )

    @property
    def key_columns(self) -> tuple[Column, ...]:
        """Give the key's columns in key order; those which the role cannot see are left out."""
        by_sql = {column.sql: column for column in self.columns.values()}
        found = (by_sql.get(name) for name in self.primary_key)
        return tuple(column for column in found if column is not None and column.is_selectable)


class RootKind(StrEnum):
    """What a field of a root type does."""

    COLLECTION = "collection"
    BY_KEY = "by key"
    NODE = "node"
    INSERT = "insert"
    UPDATE = "update"
    DELETE = "delete"
    CALL = "call"


@dataclass(frozen=True, slots=True)
class RootField:
    """A field of Query or Mutation."""

    name: str
    kind: RootKind
    entity: Name | None = None
    function: Function | None = None
    is_alias: bool = False
    """A second spelling (section 17): executes, and is told in introspection as well."""


@dataclass(frozen=True, slots=True)
class Schema:
    """All that one role sees."""

    role: str
    version: int
    """Version of the catalog it was made from."""
    entities: dict[Name, Entity]
    query: dict[str, RootField]
    mutation: dict[str, RootField]
    """Empty: there is no Mutation type."""
    enums: dict[str, Enum] = field(default_factory=dict)
    """By GraphQL name."""
    has_introspection: bool = True

    def entity_of_type(self, name: str) -> Entity | None:
        """Give the entity whose row type has that name."""
        return next((entity for entity in self.entities.values() if entity.name == name), None)
