"""The schema cache as data: relations, columns, keys, relationships, functions.

`introspect.py` fills it from the database, `cache.py` stores it, every pool plans against it. Pure: no connection
here. All mappings are keyed by `(schema, name)`. Source: docs/reference/rest.md, sections 21-23.
"""

from dataclasses import dataclass, field
from enum import StrEnum

Name = tuple[str, str]
"""Schema and name of a relation, function or type."""


@dataclass(frozen=True, slots=True)
class CatalogColumn:
    """A column of a relation, in table order."""

    name: str
    type: str
    """Type as SQL spells it without modifier, schema-qualified where needed (`format_type(oid, null)`)."""
    full_type: str
    """With modifier: `character varying(20)`."""
    nullable: bool = True
    max_length: int | None = None
    default: str | None = None
    """Default expression: the column's, else its domain's, else `nextval(...)` of an identity; None for generated columns."""
    enum: tuple[str, ...] = ()
    """Labels when the type (or the domain's base) is an enum."""
    comment: str | None = None
    base_type: str = ""
    """Type under all domains, without modifier; equal to `type` for other types."""
    is_generated: bool = False
    is_identity_always: bool = False


@dataclass(frozen=True, slots=True)
class CatalogRelation:
    """A table, view, materialized view, foreign table or partitioned table (no partitions)."""

    schema: str
    name: str
    kind: str
    """r table, v view, m materialized view, f foreign table, p partitioned table."""
    columns: dict[str, CatalogColumn]
    primary_key: tuple[str, ...] = ()
    """In key order; for a view the traced key of its base table, first occurrence."""
    insertable: bool = False
    updatable: bool = False
    deletable: bool = False
    comment: str | None = None
    row_security: bool = False
    keeps_inserts: bool = False
    """Every row that an insert brings is inserted: a plain table without rules and triggers that could keep one back."""
    keeps_updates: bool = False
    """The same for every row that an update finds."""

    @property
    def is_view(self) -> bool:
        return self.kind in ("v", "m")


class Cardinality(StrEnum):
    """How many rows of the foreign side belong to one of this side."""

    MANY_TO_ONE = "many-to-one"
    ONE_TO_MANY = "one-to-many"
    ONE_TO_ONE = "one-to-one"
    MANY_TO_MANY = "many-to-many"


@dataclass(frozen=True, slots=True)
class Junction:
    """The relation in the middle of a many-to-many relationship."""

    relation: Name
    constraint1: str
    """Foreign key from the junction to the origin."""
    constraint2: str
    """Foreign key from the junction to the target."""
    columns1: tuple[tuple[str, str], ...]
    """Pairs (column of the origin, column of the junction)."""
    columns2: tuple[tuple[str, str], ...]
    """Pairs (column of the target, column of the junction)."""


@dataclass(frozen=True, slots=True)
class Relationship:
    """A way from one relation to another, seen from `origin`."""

    origin: Name
    target: Name
    cardinality: Cardinality
    constraint: str
    """Name of the foreign key ("" for many-to-many)."""
    columns: tuple[tuple[str, str], ...] = ()
    """Pairs (column of the origin, column of the target); empty for many-to-many."""
    junction: Junction | None = None
    is_self: bool = False
    origin_is_view: bool = False
    target_is_view: bool = False
    is_parent: bool = False
    """For one-to-one: the origin is the referenced side (the foreign key is on the target)."""

    @property
    def is_to_one(self) -> bool:
        return self.cardinality in (Cardinality.MANY_TO_ONE, Cardinality.ONE_TO_ONE)


@dataclass(frozen=True, slots=True)
class ComputedRelationship:
    """A function of one relation's row type that returns rows of another."""

    function: Name
    origin: Name
    target: Name
    is_to_one: bool
    is_self: bool = False


@dataclass(frozen=True, slots=True)
class CatalogArgument:
    """An IN, INOUT or VARIADIC argument of a function."""

    name: str
    """"" when unnamed."""
    type: str
    """Type without modifier, as messages and the OpenAPI document show it."""
    is_required: bool = True
    is_variadic: bool = False
    unbounded_type: str = ""
    """The type to cast a value to, where it differs: a cast to plain `character` or `bit` would truncate it to length 1."""

    @property
    def cast_type(self) -> str:
        """The type to cast a value to."""
        return self.unbounded_type or self.type


class Returns(StrEnum):
    """Shape of what a function returns."""

    VOID = "void"
    SCALAR = "scalar"
    COMPOSITE = "composite"


@dataclass(frozen=True, slots=True)
class CatalogFunction:
    """A callable function (no procedure, aggregate, window or trigger function)."""

    schema: str
    name: str
    arguments: tuple[CatalogArgument, ...]
    returns: Returns
    """COMPOSITE also for OUT, INOUT and TABLE arguments; SCALAR for a bare `record`, whose columns are not known."""
    returns_set: bool
    return_type: Name
    """Schema and name of the returned type ("pg_catalog", "int4")."""
    returned_relation: Name | None = None
    """The relation whose row type is returned, when it is one."""
    is_composite_alias: bool = False
    """The returned type is a domain over a composite type."""
    volatility: str = "v"
    """v volatile, s stable, i immutable."""
    isolation: str | None = None
    """Its `SET default_transaction_isolation`."""
    settings: tuple[tuple[str, str], ...] = ()
    """All of its `SET` clauses."""
    comment: str | None = None


@dataclass(frozen=True, slots=True)
class ComputedField:
    """A function of one argument of the relation's row type that returns a scalar, usable as a column."""

    function: Name
    relation: Name
    type: str


@dataclass(frozen=True, slots=True)
class Representations:
    """Casts between domains and json/text (docs/reference/rest.md, section 23), by the domain's type text.

    Each maps the type's name to the function (schema, name) that converts.
    """

    to_json: dict[str, Name] = field(default_factory=dict)
    from_json: dict[str, Name] = field(default_factory=dict)
    from_text: dict[str, Name] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class MediaHandler:
    """An aggregate that renders rows as a media type, or a function that returns a media-type domain (rest.md, section 15)."""

    media_type: str
    """Lower-case type, or `*/*`."""
    function: Name
    """The aggregate; for a function that returns the domain, that function."""
    relation: Name | None
    """The relation whose rows it takes; None: any element."""
    is_scalar: bool = False
    """True for a function that returns the media-type domain itself."""
    base_type: str = "text"
    """The type under the domain, as `pg_type` names it."""


@dataclass(frozen=True, slots=True)
class Role:
    """A role that the login role may become."""

    name: str
    settings: tuple[tuple[str, str], ...] = ()
    """Its `ALTER ROLE ... SET`, only those the role may set itself."""
    isolation: str | None = None
    """Its `default_transaction_isolation`."""


@dataclass(frozen=True, slots=True)
class Catalog:
    """The schema cache. `version` rises with every reload of the process."""

    version: int = 0
    relations: dict[Name, CatalogRelation] = field(default_factory=dict)
    relationships: dict[Name, tuple[Relationship | ComputedRelationship, ...]] = field(default_factory=dict)
    """By origin. Computed relationships come first; detected ones that they override are omitted."""
    functions: dict[Name, tuple[CatalogFunction, ...]] = field(default_factory=dict)
    """All overloads of a name."""
    computed_fields: dict[Name, tuple[ComputedField, ...]] = field(default_factory=dict)
    """By relation."""
    representations: Representations = field(default_factory=Representations)
    media_handlers: tuple[MediaHandler, ...] = ()
    roles: dict[str, Role] = field(default_factory=dict)
    schemas: dict[str, str | None] = field(default_factory=dict)
    """Exposed schemas with their comments."""
    server_version: int = 0
    """`server_version_num`."""
