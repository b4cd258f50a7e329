"""Endpoints on the database: a query, migrations, and types."""

from msgspec import Struct

from schemas.http import Response
from workers.management.operations.project_database import GeneratedTypes, QueryRows, RecordedMigration
from workers.management.project.sessions import MAX_SQL_BYTES
from workers.management.project_api.call import ProjectCall, ProjectEndpoint, answered

_MAX_BODY_BYTES = 2 * MAX_SQL_BYTES


class QueryBody(Struct, frozen=True):
    """A query; `read_only` runs it as the role that reads."""

    query: str
    parameters: list[bool | int | float | str | None] = []
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
    name = "project.read_query" if is_reading else "project.run_query"
    result: QueryRows = await call.operate(name, query=body.query, parameters=body.parameters)
    return answered(result.rows, 201)


async def list_migrations(call: ProjectCall) -> Response:
    """Return the applied migrations."""
    rows: list[RecordedMigration] = await call.operate("project.migrations")
    return answered(rows)


async def apply_migration(call: ProjectCall) -> Response:
    """Run a migration and record it."""
    body = call.decoded(MigrationBody)
    await call.operate("project.add_migration", query=body.query, name=body.name)
    return answered({})


async def record_migration(call: ProjectCall) -> Response:
    """Record a migration without running it."""
    body = call.decoded(MigrationBody)
    await call.operate("project.add_migration", query=body.query, name=body.name, run=False)
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
