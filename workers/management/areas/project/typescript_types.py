"""Types of the database for TypeScript, read in one session of the role of readers."""

import asyncio
from collections.abc import Sequence

import asyncpg

from schemas.database_logins import READER
from workers.database.errors import DatabaseError, Disconnected
from workers.database.sessions.urls import with_settings
from workers.management.interface.backends.database import ROLE_OF_LOGIN
from workers.management.interface.errors import ManagementError, invalid_arguments
from workers.management.interface.operation import OperationContext
from workers.project.errors import ProjectRejected
from workers.project.project_connection import open_connection
from workers.project.types.read_catalog import read_database
from workers.project.types.typescript import typescript


async def typescript_types(context: OperationContext, schemas: Sequence[str]) -> str:
    """Return the TypeScript types of schemas.

    Raises: ManagementError (400 for one that does not exist; 503), DatabaseError, Disconnected.
    """
    try:
        async with context.database.place():
            url = with_settings(
                await context.database.session_url(READER),
                {
                    "role": ROLE_OF_LOGIN[READER],
                    "statement_timeout": f"{context.settings.statement_timeout_s:g}s",
                },
            )
            async with open_connection(url) as connection:
                return await _generated(connection, schemas)
    except asyncpg.PostgresError as error:
        raise DatabaseError(str(error.sqlstate or "XX000"), str(error)) from None
    except ProjectRejected as error:  # without a URL, or with one that cannot be read
        raise ManagementError(503, "unavailable", str(error)) from None
    except (OSError, asyncpg.InterfaceError) as error:
        raise Disconnected(type(error).__name__) from None


async def _generated(connection: asyncpg.Connection, schemas: Sequence[str]) -> str:
    try:
        database = await read_database(connection, schemas)
    except ProjectRejected as error:
        raise invalid_arguments(str(error)) from None
    return await asyncio.to_thread(typescript, database)  # a second for a schema of thousands of functions
