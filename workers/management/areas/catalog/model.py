"""Values of the catalog. SQL expressions and types are texts as Postgres writes them with an empty search path."""

from msgspec import Struct


class ColumnInfo(Struct, frozen=True):
    """A column. `default` is also the expression of a generated column; `identity` is `always` or `by default`."""

    name: str
    position: int
    type: str
    type_schema: str
    type_name: str
    type_kind: str
    is_array: bool
    is_nullable: bool
    default: str | None = None
    identity: str | None = None
    generated: str | None = None
    collation: str | None = None
    comment: str | None = None


class ForeignKeyTarget(Struct, frozen=True):
    """What a foreign key refers to, and what happens when that row changes."""

    schema: str
    table: str
    columns: list[str]
    on_update: str
    on_delete: str


class ConstraintInfo(Struct, frozen=True):
    """A constraint. `kind`: primary key, unique, foreign key, check, exclusion. Columns show what is `not null`."""

    name: str
    kind: str
    columns: list[str]
    definition: str
    is_validated: bool
    is_deferrable: bool
    target: ForeignKeyTarget | None = None
    comment: str | None = None


class ForeignKeyReference(Struct, frozen=True):
    """A foreign key of another table that refers to this one."""

    name: str
    schema: str
    table: str
    columns: list[str]
    target_columns: list[str]


class IndexInfo(Struct, frozen=True):
    """An index; `columns` are names or expressions in the order of its key."""

    name: str
    definition: str
    method: str
    columns: list[str]
    is_unique: bool
    is_primary: bool
    is_valid: bool
    bytes: int
    predicate: str | None = None
    constraint: str | None = None
    comment: str | None = None


class TriggerInfo(Struct, frozen=True):
    """A trigger. `enabled`: origin, always, replica or disabled."""

    name: str
    definition: str
    function: str
    enabled: str
    comment: str | None = None


class PolicyInfo(Struct, frozen=True):
    """A policy. `roles` is `["public"]` for every role; `using` decides on existing rows, `check` on new ones."""

    name: str
    command: str
    is_permissive: bool
    roles: list[str]
    using: str | None = None
    check: str | None = None
    comment: str | None = None


class GrantInfo(Struct, frozen=True):
    """What a role was granted; `columns` is null for the whole relation. `grantable` are those it may grant on."""

    role: str
    privileges: list[str]
    grantable: list[str]
    column: str | None = None


class RelationInfo(Struct, frozen=True):
    """A table or view with all that belongs to it.

    `rows` is the planner's estimate, null before the first ANALYZE; `bytes` with indexes and TOAST, `table_bytes` without.
    `definition` is the query of a view. `partitions` are the partitions by name with their bounds, `parents` what it is a
    partition of or inherits from.
    """

    schema: str
    name: str
    kind: str
    owner: str
    has_row_security: bool
    forces_row_security: bool
    bytes: int
    table_bytes: int
    options: list[str]
    publications: list[str]
    parents: list[str]
    partitions: dict[str, str]
    columns: list[ColumnInfo]
    constraints: list[ConstraintInfo]
    referenced_by: list[ForeignKeyReference]
    indexes: list[IndexInfo]
    triggers: list[TriggerInfo]
    policies: list[PolicyInfo]
    grants: list[GrantInfo]
    rows: int | None = None
    partition_key: str | None = None
    partition_bound: str | None = None
    definition: str | None = None
    comment: str | None = None


class FunctionInfo(Struct, frozen=True):
    """A function, procedure or aggregate; `definition` is the whole statement that creates it, null for an aggregate.

    `identity_arguments` tell it from others of its name: what `drop function` takes, without defaults.
    """

    schema: str
    name: str
    kind: str
    arguments: str
    identity_arguments: str
    result: str | None
    language: str
    volatility: str
    is_security_definer: bool
    owner: str
    settings: list[str]
    executable_by: list[str]
    definition: str | None = None
    comment: str | None = None


class TypeInfo(Struct, frozen=True):
    """An enum (`values`), a domain (`base`, `checks`), a composite type (`attributes`) or a range (`base`)."""

    schema: str
    name: str
    kind: str
    owner: str
    values: list[str]
    attributes: dict[str, str]
    checks: list[str]
    base: str | None = None
    default: str | None = None
    is_nullable: bool = True
    comment: str | None = None


class SequenceInfo(Struct, frozen=True):
    """A sequence; `last_value` is null before its first use, `owned_by` the column that it belongs to."""

    schema: str
    name: str
    type: str
    start: int
    least: int
    most: int
    step: int
    cycles: bool
    last_value: int | None = None
    owned_by: str | None = None
    comment: str | None = None


class ExtensionInfo(Struct, frozen=True):
    """An extension that is installed (`version`, `schema`) or could be."""

    name: str
    available_version: str | None
    version: str | None = None
    schema: str | None = None
    comment: str | None = None


class PublicationInfo(Struct, frozen=True):
    """A publication, what it publishes, and of which tables."""

    name: str
    owner: str
    all_tables: bool
    operations: list[str]
    tables: list[str]


class RoleInfo(Struct, frozen=True):
    """A role with its attributes and memberships. Passwords are not shown, not even hashed."""

    name: str
    can_login: bool
    is_superuser: bool
    inherits: bool
    bypasses_row_security: bool
    creates_roles: bool
    creates_databases: bool
    connection_limit: int
    member_of: list[str]
    settings: list[str]
    comment: str | None = None


class NameMatch(Struct, frozen=True):
    """An object whose name contains the searched text; `of` is the table of a column, index, trigger or policy."""

    kind: str
    schema: str
    name: str
    of: str | None = None
