"""Operations that describe the database: its schemas, tables and views."""

from msgspec import Struct

from workers.database.transactions.interactive import statement
from workers.management.errors import invalid_arguments
from workers.management.identity.store import decode_rows
from workers.management.operation import Operation, OperationContext
from workers.management.operations.account import NoArguments
from workers.management.rights import Right
from workers.sql.files import read_statements

_SQL = read_statements("workers.management.operations", "catalog.sql")
_MOST_NAME = 63


class SchemaSummary(Struct, frozen=True):
    """A schema, and how many tables and views it has."""

    name: str
    owner: str
    tables: int
    comment: str | None = None


class SchemaReference(Struct, frozen=True, forbid_unknown_fields=True):
    """A schema by name."""

    schema: str = "public"


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
        statement(_SQL["schemas"]), timeout_s=context.settings.statement_timeout_s
    )
    return decode_rows(rows, SchemaSummary)


async def list_tables(context: OperationContext, arguments: SchemaReference) -> list[TableSummary]:
    """Return the tables and views of a schema."""
    if not 1 <= len(arguments.schema.encode(errors="replace")) <= _MOST_NAME or "\0" in arguments.schema:
        raise invalid_arguments(f"`schema` must be a name of 1 to {_MOST_NAME} bytes")
    [rows] = await context.database.read(
        statement(_SQL["tables"], arguments.schema), timeout_s=context.settings.statement_timeout_s
    )
    return decode_rows(rows, TableSummary)


def operations() -> list[Operation]:
    """Return the operations of this module."""
    return [
        Operation(
            "catalog.schemas", "List schemas", NoArguments, list[SchemaSummary], Right.READER, list_schemas
        ),
        Operation(
            "catalog.tables",
            "List the tables and views of a schema",
            SchemaReference,
            list[TableSummary],
            Right.READER,
            list_tables,
        ),
    ]
