"""Reads functions, types, sequences, extensions, publications, roles, and names of all kinds."""

from typing import TypeVar

import msgspec

from schemas.platform_names import PLATFORM_SCHEMAS
from workers.database.transactions.interactive import Value, statement
from workers.management.areas.catalog.model import (
    ExtensionInfo,
    FunctionInfo,
    NameMatch,
    PublicationInfo,
    RoleInfo,
    SequenceInfo,
    TypeInfo,
)
from workers.management.areas.catalog.relations import EMPTY_PATH
from workers.management.interface.identity.store import decode_rows
from workers.management.interface.operation import OperationContext
from workers.sql.files import read_statements
from workers.sql.operators import array_literal

_SQL = read_statements("workers.management.areas.catalog", "objects.sql")
T = TypeVar("T")


async def read_functions(context: OperationContext, schemas: list[str]) -> list[FunctionInfo]:
    """Return the functions of schemas, without those of extensions."""
    return await _read(context, "functions", FunctionInfo, msgspec.json.encode(schemas))


async def read_types(context: OperationContext, schemas: list[str]) -> list[TypeInfo]:
    """Return enums, domains, composite types and ranges of schemas, without those of extensions."""
    return await _read(context, "types", TypeInfo, msgspec.json.encode(schemas))


async def read_sequences(context: OperationContext, schemas: list[str]) -> list[SequenceInfo]:
    """Return the sequences of schemas."""
    return await _read(context, "sequences", SequenceInfo, msgspec.json.encode(schemas))


async def read_extensions(context: OperationContext) -> list[ExtensionInfo]:
    """Return the extensions that are installed or could be."""
    return await _read(context, "extensions", ExtensionInfo)


async def read_publications(context: OperationContext) -> list[PublicationInfo]:
    """Return the publications and their tables."""
    return await _read(context, "publications", PublicationInfo)


async def read_roles(context: OperationContext) -> list[RoleInfo]:
    """Return the roles of the server."""
    return await _read(context, "roles", RoleInfo)


async def search_names(context: OperationContext, text: str, limit: int) -> list[NameMatch]:
    """Return objects whose names contain a text, whatever its case; the project's before the platform's, whole names first."""
    return await _read(context, "search", NameMatch, text, limit, array_literal(PLATFORM_SCHEMAS))


async def _read(context: OperationContext, name: str, kind: type[T], *values: Value) -> list[T]:
    _, rows = await context.database.read(
        statement(EMPTY_PATH), statement(_SQL[name], *values), timeout_s=context.settings.statement_timeout_s
    )
    return decode_rows(rows, kind)
