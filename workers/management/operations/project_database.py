"""Operations on the project's database as the official command line has them: a query, the history of migrations, types."""

import datetime
import re
from typing import Any

from msgspec import Struct

from workers.database.transactions.interactive import statement
from workers.management.errors import invalid_arguments
from workers.management.identity.store import decode_rows
from workers.management.operation import Operation, OperationContext
from workers.management.operations.account import NoArguments
from workers.management.project.sessions import apply_migration, run_sql, typescript_types
from workers.management.rights import Right
from workers.sql.files import read_statements

_SQL = read_statements("workers.management.operations", "project_database.sql")
_VERSION = re.compile(r"[0-9]{1,20}", re.ASCII)
_MOST_NAME = 200
_MOST_SCHEMAS = 100


class Query(Struct, frozen=True, forbid_unknown_fields=True):
    """SQL of one or more statements; `parameters` are `$1`... of a single one."""

    query: str
    parameters: list[bool | int | float | str | None] = []


class QueryRows(Struct, frozen=True):
    """The rows of the last statement, by column."""

    rows: list[dict[str, Any]]


class RecordedMigration(Struct, frozen=True):
    """A migration in the project's history."""

    version: str
    name: str = ""


class SubmittedMigration(Struct, frozen=True, forbid_unknown_fields=True):
    """A migration. `version`: digits, by default the time; without `run` it is only recorded."""

    query: str
    name: str = ""
    version: str = ""
    run: bool = True


class TypesRequest(Struct, frozen=True, forbid_unknown_fields=True):
    """The schemas whose types to generate; none: the exposed ones."""

    schemas: list[str] = []


class GeneratedTypes(Struct, frozen=True):
    """The source of the types."""

    types: str


async def read_query(context: OperationContext, arguments: Query) -> QueryRows:
    """Run SQL that only reads, as role `supabase_read_only_user`."""
    return QueryRows(await run_sql(context, arguments.query, arguments.parameters, is_reading=True))


async def run_query(context: OperationContext, arguments: Query) -> QueryRows:
    """Run SQL as role `postgres`."""
    return QueryRows(await run_sql(context, arguments.query, arguments.parameters, is_reading=False))


async def list_migrations(context: OperationContext, arguments: NoArguments) -> list[RecordedMigration]:
    """Return the migrations of the project's history, the oldest first; none before the first one."""
    del arguments
    timeout_s = context.settings.statement_timeout_s
    [[[exists]]] = await context.database.read(statement(_SQL["has_history"]), timeout_s=timeout_s)
    if exists != b"t":
        return []
    [rows] = await context.database.read(statement(_SQL["history"]), timeout_s=timeout_s)
    return decode_rows(rows, RecordedMigration)


async def add_migration(context: OperationContext, arguments: SubmittedMigration) -> RecordedMigration:
    """Run a migration and record it, in one transaction."""
    version = arguments.version or datetime.datetime.now(datetime.UTC).strftime("%Y%m%d%H%M%S")
    if not _VERSION.fullmatch(version):
        raise invalid_arguments("`version` must be digits, as in 20260131120000")
    if len(arguments.name) > _MOST_NAME or not arguments.name.isprintable():
        raise invalid_arguments(f"`name` must be plain text of at most {_MOST_NAME} characters")
    await apply_migration(context, version, arguments.name, arguments.query, run=arguments.run)
    context.after = RecordedMigration(version, arguments.name)
    return RecordedMigration(version, arguments.name)


async def generate_types(context: OperationContext, arguments: TypesRequest) -> GeneratedTypes:
    """Return TypeScript types of the database, as `headwater gen types` prints them."""
    schemas = arguments.schemas or context.configuration.api.schemas
    if len(schemas) > _MOST_SCHEMAS or any("\0" in name for name in schemas):
        raise invalid_arguments(f"`schemas` must be at most {_MOST_SCHEMAS} names")
    return GeneratedTypes(await typescript_types(context, schemas))


def operations() -> list[Operation]:
    """Return the operations of this module."""
    reader, developer = Right.READER, Right.DEVELOPER
    return [
        Operation("project.read_query", "Run SQL that only reads", Query, QueryRows, reader, read_query),
        Operation(
            "project.run_query",
            "Run SQL as role postgres",
            Query,
            QueryRows,
            developer,
            run_query,
            changes=True,
            secrets=frozenset({"parameters"}),
        ),
        Operation(
            "project.migrations",
            "List the applied migrations",
            NoArguments,
            list[RecordedMigration],
            reader,
            list_migrations,
        ),
        Operation(
            "project.add_migration",
            "Run and record a migration",
            SubmittedMigration,
            RecordedMigration,
            developer,
            add_migration,
            changes=True,
        ),
        Operation(
            "project.types", "Generate TypeScript types", TypesRequest, GeneratedTypes, reader, generate_types
        ),
    ]
