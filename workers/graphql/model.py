"""The GraphQL schema of one role as data: which entities, columns, relations and functions it sees.

`reflect/` builds a `RoleSchema` for a role and a version of the catalog; `introspection/` describes it to clients,
`plan/` plans documents against it. Pure: no connection, no GraphQL library. Names are final here: inflection and comment
directives have been applied. Source: docs/reference/graphql.md, sections 3-13.
"""

from dataclasses import dataclass, field
from enum import StrEnum

Name = tuple[str, str]
"""Schema and name of a table, function or type in the database."""


@dataclass(frozen=True, slots=True)
class EnumType:
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
    """Type of the values of a column, an argument or a result (rows are entities)."""

    scalar: str
    """Int, BigInt, Float, BigFloat, Boolean, String, UUID, Date, Time, Datetime, JSON, Opaque; or the name of `enum`."""
    sql: str
    """Type to cast operands to, as SQL text, quoted and qualified where needed; for a list the array type."""
    enum: EnumType | None = None
    is_list: bool = False
    """An array; its elements are nullable."""
    max_length: int | None = None
    """Of `varchar(n)` and `char(n)`: characters an operand may have."""
    is_text: bool = False
    """The value is answered as a JSON string although `to_jsonb` returns another JSON type: int8, numeric, json, jsonb."""

    @property
    def filter_type(self) -> str | None:
        """Return the name of the filter input type for such values; None where they cannot be filtered (section 9)."""
        if self.scalar == "JSON" or (self.is_list and (self.enum is not None or self.scalar == "Opaque")):
            return None
        return f"{self.scalar}{'List' if self.is_list else ''}Filter"

    @property
    def is_orderable(self) -> bool:
        """Return whether rows may be ordered by such values (section 10)."""
        return not self.is_list and self.scalar != "JSON"


@dataclass(frozen=True, slots=True)
class EntityColumn:
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
class RelationField:
    """A field with the rows of another entity, related by a foreign key or by a directive that declares one."""

    name: str
    target: Name
    columns: tuple[tuple[str, str], ...]
    """Pairs (column here, column of the target), as the database names them."""
    is_many: bool
    """True: a connection; False: one row or null."""
    is_nullable: bool = True
    is_outgoing: bool = True
    """True: this entity has the foreign key columns."""


class ResultShape(StrEnum):
    """What a function returns."""

    VALUE = "value"
    """A scalar or an array of scalars."""
    ROW = "row"
    """One row of an entity, or null."""
    ROWS = "rows"
    """A connection of an entity."""


@dataclass(frozen=True, slots=True)
class FunctionArgument:
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
class FunctionField:
    """A function as a field: of the query or mutation root, or (computed) of a row."""

    name: str
    sql: Name
    arguments: tuple[FunctionArgument, ...]
    """For a computed field, without the row argument."""
    shape: ResultShape
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
    columns: dict[str, EntityColumn]
    """By name of the field, in table order. Includes columns that can only be written (`is_selectable` False), and key
    columns with names that are not valid in GraphQL."""
    primary_key: tuple[str, ...]
    """Names of columns in the database, real key or directive, in key order. Empty: a view whose rows only functions return."""
    relations: dict[str, RelationField] = field(default_factory=dict)
    """By name, outgoing before incoming; of two with one name the later."""
    functions: dict[str, FunctionField] = field(default_factory=dict)
    """Computed fields by name."""
    max_rows: int = 30
    has_total_count: bool = False
    has_aggregate: bool = False
    is_insertable: bool = False
    is_updatable: bool = False
    is_deletable: bool = False
    has_key_lookup: bool = False
    """`tByPk` is offered: the type of every key column allows a lookup, and the role may select it."""
    has_node_id: bool = True
    """The key columns are selectable: `nodeId` and `node(nodeId:)` are offered."""
    row_security: bool = False
    unique_keys: tuple[tuple[str, tuple[str, ...]], ...] = ()
    """Constraints that upserts may name: (name, columns in the database), the primary key first."""
    description: str | None = None
    is_introspectable: bool = True
    """False: its schema keeps it out of introspection (section 15)."""
    shows_additions: bool = False
    """Introspection shows our additions to the original's schema. They work whether it does or not."""

    def field(self, name: str) -> "EntityColumn | RelationField | FunctionField | None":
        """Return the field of the row with a name; a function takes precedence over a relation, and that over a column.

        `nodeId` and `__typename` are not included. A field named `nodeId` replaces the row's id.
        """
        column = self.columns.get(name)
        return (
            self.functions.get(name)
            or self.relations.get(name)
            or (column if column is not None and column.is_selectable else None)
        )

    @property
    def key_columns(self) -> tuple[EntityColumn, ...]:
        """Return the primary key's columns in key order, without those that the role cannot select."""
        by_sql = {column.sql: column for column in self.columns.values()}
        columns = (by_sql.get(name) for name in self.primary_key)
        return tuple(column for column in columns if column is not None and column.is_selectable)


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
    function: FunctionField | None = None
    is_alias: bool = False
    """A second name of the same field (section 17). It works, and introspection shows it as well."""


@dataclass(frozen=True, slots=True)
class RoleSchema:
    """The GraphQL schema of one role."""

    role: str
    version: int
    """Version of the catalog that it was built from."""
    entities: dict[Name, Entity]
    query: dict[str, RootField]
    mutation: dict[str, RootField]
    """Empty when the role cannot write anything; then the schema has only the type Query."""
    enums: dict[str, EnumType] = field(default_factory=dict)
    """By GraphQL name."""
    has_introspection: bool = True
