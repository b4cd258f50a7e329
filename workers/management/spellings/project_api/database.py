"""Endpoints on the database: a query, migrations, and types."""

from msgspec import Struct

from schemas.http import Response
from workers.management.areas.migrations.apply import MAX_MIGRATION_CHARACTERS
from workers.management.areas.sql.run import MAX_SQL_BYTES
from workers.management.operations.migrations import MigrationList, NewMigration
from workers.management.operations.project_types import GeneratedTypes
from workers.management.operations.sql import MOST_RESULT_BYTES, SqlResults, SqlText
from workers.management.spellings.project_api.call import ProjectCall, ProjectEndpoint, answered
from workers.management.spellings.project_api.query_rows import last_rows

_MAX_BODY_BYTES = 2 * max(MAX_SQL_BYTES, MAX_MIGRATION_CHARACTERS)
_UNNAMED = "migration"
_NOT_APPLIED = ("pending", "late")

Parameter = bool | int | float | str | None


class QueryBody(Struct, frozen=True):
    """A query; `read_only` runs it as the role that reads."""

    query: str
    parameters: list[Parameter] = []
    read_only: bool = False


class MigrationBody(Struct, frozen=True):
    """A migration; what undoes it (`rollback`) is not stored."""

    query: str
    name: str = ""


async def run_query(call: ProjectCall) -> Response:
    """Run SQL and return the rows of its last statement."""
    body = call.decoded(QueryBody)
    return await _query(call, body, is_reading=body.read_only)


async def read_query(call: ProjectCall) -> Response:
    """Run SQL that only reads."""
    return await _query(call, call.decoded(QueryBody), is_reading=True)


async def _query(call: ProjectCall, body: QueryBody, *, is_reading: bool) -> Response:
    text = SqlText(
        body.query,
        read_only=is_reading,
        as_reader=is_reading,
        parameters=[parameter_text(value) for value in body.parameters],
        max_bytes=MOST_RESULT_BYTES,
        max_cell=MOST_RESULT_BYTES,
    )
    result: SqlResults = await call.operate("sql.run", text)
    return Response(201, answered([]).headers, last_rows(result))


def parameter_text(value: Parameter) -> str | None:
    """Return a parameter as Postgres reads it (pure)."""
    if isinstance(value, bool):
        return "true" if value else "false"
    return value if value is None else str(value)


async def list_migrations(call: ProjectCall) -> Response:
    """Return the applied migrations."""
    listed: MigrationList = await call.operate("migrations.list")
    return answered(
        [
            {"version": migration.version, "name": migration.name}
            for migration in listed.migrations
            if migration.state not in _NOT_APPLIED
        ]
    )


async def apply_migration(call: ProjectCall) -> Response:
    """Run a migration and record it."""
    return await _migration(call, record_only=False)


async def record_migration(call: ProjectCall) -> Response:
    """Record a migration without running it."""
    return await _migration(call, record_only=True)


async def _migration(call: ProjectCall, *, record_only: bool) -> Response:
    body = call.decoded(MigrationBody)
    migration = NewMigration(body.name or _UNNAMED, body.query, despite_pending=True, record_only=record_only)
    await call.operate("migrations.apply", migration)
    return answered({})


async def typescript(call: ProjectCall) -> Response:
    """Return the types of the schemas that `included_schemas` lists."""
    schemas = [name.strip() for name in call.first("included_schemas").split(",") if name.strip()]
    result: GeneratedTypes = await call.operate("project.types", schemas=schemas)
    return answered(result)


_DATABASE = "/v1/projects/{ref}/database"
ENDPOINTS = (
    ProjectEndpoint("POST", f"{_DATABASE}/query", run_query, _MAX_BODY_BYTES),
    ProjectEndpoint("POST", f"{_DATABASE}/query/read-only", read_query, _MAX_BODY_BYTES),
    ProjectEndpoint("GET", f"{_DATABASE}/migrations", list_migrations),
    ProjectEndpoint("POST", f"{_DATABASE}/migrations", apply_migration, _MAX_BODY_BYTES),
    ProjectEndpoint("PUT", f"{_DATABASE}/migrations", record_migration, _MAX_BODY_BYTES),
    ProjectEndpoint("GET", "/v1/projects/{ref}/types/typescript", typescript),
)
