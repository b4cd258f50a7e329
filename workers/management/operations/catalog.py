"""Operations that describe the database: tables with all that belongs to them, functions, types, extensions, roles, a search."""

from typing import Annotated, Any

from msgspec import Struct, field

from schemas.platform_names import PLATFORM_SCHEMAS
from workers.database.errors import DatabaseError
from workers.database.transactions.interactive import decode_first, statement
from workers.management.areas.catalog import objects
from workers.management.areas.catalog.diagram import Diagram, diagram_of
from workers.management.areas.catalog.model import (
    ExtensionInfo,
    FunctionInfo,
    NameMatch,
    PublicationInfo,
    RelationInfo,
    RoleInfo,
    SequenceInfo,
    TypeInfo,
)
from workers.management.areas.catalog.relations import count_relations, read_relations
from workers.management.interface import argument_limits as limits
from workers.management.interface.argument_limits import PageLimit
from workers.management.interface.errors import ManagementError, invalid_arguments, not_found
from workers.management.interface.identity.store import decode_rows
from workers.management.interface.operation import Operation, OperationContext, Run
from workers.management.interface.page_cursor import check_text
from workers.management.interface.rights import Right
from workers.management.operations.account import NoArguments
from workers.sql.files import read_statements
from workers.sql.operators import array_literal

_SQL = read_statements("workers.management.operations", "catalog.sql")
_MOST_NAME = 63
_MOST_TYPE = 200
_MOST_SCHEMAS = 1000
_SERIAL_TYPES = frozenset({"smallserial", "serial", "bigserial", "serial2", "serial4", "serial8"})
"""Types that `create table` takes although there are none of these names."""
MOST_RELATIONS = 5000
"""Most tables and views in one answer."""


class SchemaSummary(Struct, frozen=True):
    """A schema, and how many tables and views it has. `is_platform`: the platform, Postgres or an extension made it for itself."""

    name: str
    owner: str
    tables: int
    comment: str | None = None
    is_platform: bool = False


class SchemaReference(Struct, frozen=True, forbid_unknown_fields=True):
    """A schema by name."""

    schema: Annotated[str, limits.text(_MOST_NAME)] = "public"


class SchemaList(Struct, frozen=True, forbid_unknown_fields=True):
    """Schemas by their names."""

    schemas: Annotated[list[str], limits.entries(_MOST_SCHEMAS)] = field(default_factory=lambda: ["public"])


class RelationReference(Struct, frozen=True, forbid_unknown_fields=True):
    """A table or view by schema and name."""

    name: Annotated[str, limits.text(_MOST_NAME)]
    schema: Annotated[str, limits.text(_MOST_NAME)] = "public"


class NameSearch(Struct, frozen=True, forbid_unknown_fields=True):
    """A part of a name, and how many objects to return at most."""

    text: Annotated[str, limits.text(_MOST_NAME)]
    limit: PageLimit = 50


class TypeText(Struct, frozen=True, forbid_unknown_fields=True):
    """A type as it is written in SQL: `text`, `numeric(4, 2)`, `public.mood[]`."""

    text: Annotated[str, limits.text(_MOST_TYPE)]


class TypeMatch(Struct, frozen=True):
    """Whether there is such a type; `name` is how Postgres writes it."""

    is_known: bool
    name: str | None = None


class TableSummary(Struct, frozen=True):
    """A table or view. `rows` is the planner's estimate, null before the first ANALYZE; `bytes` with indexes and TOAST."""

    schema: str
    name: str
    kind: str
    bytes: int
    has_row_security: bool
    policies: int
    rows: int | None = None
    comment: str | None = None


async def list_schemas(context: OperationContext, arguments: NoArguments) -> list[SchemaSummary]:
    """Return the schemas, without temporary ones."""
    del arguments
    [rows] = await context.database.read(
        statement(_SQL["schemas"], array_literal(PLATFORM_SCHEMAS)),
        timeout_s=context.settings.statement_timeout_s,
    )
    return decode_rows(rows, SchemaSummary)


async def list_tables(context: OperationContext, arguments: SchemaReference) -> list[TableSummary]:
    """Return the tables and views of a schema."""
    check_name("schema", arguments.schema)
    [rows] = await context.database.read(
        statement(_SQL["tables"], arguments.schema), timeout_s=context.settings.statement_timeout_s
    )
    return decode_rows(rows, TableSummary)


async def list_relations(context: OperationContext, arguments: SchemaList) -> list[RelationInfo]:
    """Return tables and views of schemas with columns, keys, indexes, triggers, policies, grants, sizes and partitions."""
    return await relations_of(context, checked_schemas(arguments.schemas))


async def relations_of(context: OperationContext, schemas: list[str]) -> list[RelationInfo]:
    """Return the tables and views of schemas. Raises: ManagementError (413) for more than 5,000."""
    timeout_s = context.settings.statement_timeout_s
    count = await count_relations(context.database, schemas, timeout_s=timeout_s)
    if count > MOST_RELATIONS:
        raise ManagementError(
            413,
            "too_large",
            f"These schemas have {count} tables and views; at most {MOST_RELATIONS} are described at once",
            hint="Name fewer schemas, or use catalog.tables and catalog.relation.",
        )
    return await read_relations(context.database, schemas, timeout_s=timeout_s)


async def describe_relation(context: OperationContext, arguments: RelationReference) -> RelationInfo:
    """Return one table or view with all that belongs to it."""
    return await find_relation(context, arguments.schema, arguments.name)


async def find_relation(context: OperationContext, schema: str, name: str) -> RelationInfo:
    """Return one table or view. Raises: ManagementError (404) if it does not exist."""
    check_name("schema", schema)
    check_name("name", name)
    relations = await read_relations(
        context.database, [schema], name, timeout_s=context.settings.statement_timeout_s
    )
    if not relations:
        raise not_found(f"table or view {schema}.{name}")
    return relations[0]


async def list_functions(context: OperationContext, arguments: SchemaList) -> list[FunctionInfo]:
    """Return functions, procedures and aggregates of schemas with their source, without those of extensions."""
    return await objects.read_functions(context, checked_schemas(arguments.schemas))


async def list_types(context: OperationContext, arguments: SchemaList) -> list[TypeInfo]:
    """Return enums, domains, composite types and ranges of schemas, without those of extensions."""
    return await objects.read_types(context, checked_schemas(arguments.schemas))


async def find_type(context: OperationContext, arguments: TypeText) -> TypeMatch:
    """Return whether a text names a type, as a migration would read it: `public` and `extensions` need no schema."""
    text = check_text("text", arguments.text, longest=_MOST_TYPE).strip()
    if text.lower() in _SERIAL_TYPES:
        return TypeMatch(True, text.lower())
    try:
        [rows] = await context.database.read(
            statement(_SQL["find_type"], text), timeout_s=context.settings.statement_timeout_s
        )
    except DatabaseError:  # before Postgres 16 a text that is no name of a type is an error
        return TypeMatch(False)
    name = decode_first(rows, str)
    return TypeMatch(name is not None, name)


async def list_sequences(context: OperationContext, arguments: SchemaList) -> list[SequenceInfo]:
    """Return the sequences of schemas."""
    return await objects.read_sequences(context, checked_schemas(arguments.schemas))


async def list_extensions(context: OperationContext, arguments: NoArguments) -> list[ExtensionInfo]:
    """Return the extensions that are installed or could be."""
    del arguments
    return await objects.read_extensions(context)


async def list_publications(context: OperationContext, arguments: NoArguments) -> list[PublicationInfo]:
    """Return the publications and their tables."""
    del arguments
    return await objects.read_publications(context)


async def list_roles(context: OperationContext, arguments: NoArguments) -> list[RoleInfo]:
    """Return the roles of the server with attributes and memberships."""
    del arguments
    return await objects.read_roles(context)


async def search(context: OperationContext, arguments: NameSearch) -> list[NameMatch]:
    """Return objects of every kind whose names contain a text, whatever its case; the project's first, then whole names, then beginnings."""
    if not 1 <= len(arguments.text) <= _MOST_NAME or "\0" in arguments.text:
        raise invalid_arguments(f"`text` must have 1 to {_MOST_NAME} characters")
    if not 1 <= arguments.limit <= context.settings.max_rows:
        raise invalid_arguments(f"`limit` must be 1 to {context.settings.max_rows}")
    return await objects.search_names(context, arguments.text, arguments.limit)


async def diagram(context: OperationContext, arguments: SchemaReference) -> Diagram:
    """Return tables, columns and foreign keys of a schema, for a diagram."""
    check_name("schema", arguments.schema)
    return diagram_of(arguments.schema, await relations_of(context, [arguments.schema]))


def check_name(what: str, name: str) -> None:
    """Check that a text can be a name in Postgres. Raises: ManagementError (400)."""
    if not 1 <= len(name.encode(errors="replace")) <= _MOST_NAME or "\0" in name:
        raise invalid_arguments(f"`{what}` must be a name of 1 to {_MOST_NAME} bytes")


def checked_schemas(schemas: list[str]) -> list[str]:
    """Return schemas if they can be names. Raises: ManagementError (400)."""
    if not 1 <= len(schemas) <= _MOST_SCHEMAS:
        raise invalid_arguments(f"`schemas` must name 1 to {_MOST_SCHEMAS} schemas")
    for schema in schemas:
        check_name("schemas", schema)
    return schemas


def operations() -> list[Operation]:
    """Return the operations of this module."""
    rows: list[tuple[str, str, type[Struct], Any, Run]] = [
        ("schemas", "List schemas", NoArguments, list[SchemaSummary], list_schemas),
        ("tables", "List the tables and views of a schema", SchemaReference, list[TableSummary], list_tables),
        (
            "relations",
            "Describe the tables and views of schemas",
            SchemaList,
            list[RelationInfo],
            list_relations,
        ),
        ("relation", "Describe a table or view", RelationReference, RelationInfo, describe_relation),
        ("functions", "List functions with their source", SchemaList, list[FunctionInfo], list_functions),
        ("types", "List enums, domains and composite types", SchemaList, list[TypeInfo], list_types),
        ("find_type", "Look up a type by its name", TypeText, TypeMatch, find_type),
        ("sequences", "List sequences", SchemaList, list[SequenceInfo], list_sequences),
        (
            "extensions",
            "List extensions, installed or available",
            NoArguments,
            list[ExtensionInfo],
            list_extensions,
        ),
        ("publications", "List publications", NoArguments, list[PublicationInfo], list_publications),
        ("roles", "List roles", NoArguments, list[RoleInfo], list_roles),
        ("search", "Search the names of all objects", NameSearch, list[NameMatch], search),
        ("diagram", "Tables and foreign keys of a schema", SchemaReference, Diagram, diagram),
    ]
    return [
        Operation(f"catalog.{name}", summary, arguments, result, Right.READER, run)
        for name, summary, arguments, result, run in rows
    ]
