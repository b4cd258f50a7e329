"""The session in which the server converts values of a project's own types to JSON.

Such a conversion runs code of the project: a cast to json, the check of a domain inside a composite type. So it does not run in
the session that reads the log, whose login may replicate, but in a session of the interface's login as `service_role`: role
postgres manages both, and so gains nothing. A type in a schema that `service_role` may not use is published as text. So is one whose
code ends the session: otherwise it would end the reading of the log with it, again and again at the same change.
"""

from collections.abc import Mapping
from typing import Any

import asyncpg

from workers.database.errors import DatabaseError, Disconnected
from workers.database.sessions.leadership import close, database_error_of
from workers.database.sessions.replication import SESSION

SESSION_ENDED = "57P01"
"""SQLSTATE of a conversion that ends its session: admin_shutdown, as of `pg_terminate_backend`."""
_CONNECT_S = 10.0
_ANSWER_S = 10.0
_SETTINGS: Mapping[str, str] = {
    **SESSION,
    "role": "service_role",
    "application_name": "headwater values",
    "statement_timeout": "2s",
}


class Conversions:
    """One session, opened when it is first needed and again when it is lost. `url` is the one of the interface's login."""

    def __init__(self, url: str) -> None:
        self._url = url
        self._connection: asyncpg.Connection | None = None

    async def ask(self, statement: str, *values: object) -> list[Any]:
        """Run a statement, in a new session again if its session ends.

        Raises: DatabaseError if the project's code fails, SESSION_ENDED if it ends the session; Disconnected.
        """
        try:
            return await self._ask(statement, *values)
        except Disconnected:
            await self.close()
        await self._opened()  # raises if the server itself is away
        try:
            return await self._ask(statement, *values)
        except Disconnected as error:
            await self.close()
            if error.code is None:  # no answer: the server is silent, which says nothing of the values
                raise
            raise DatabaseError(SESSION_ENDED, str(error)) from None

    async def _ask(self, statement: str, *values: object) -> list[Any]:
        connection = await self._opened()
        try:
            return await connection.fetch(statement, *values, timeout=_ANSWER_S)
        except asyncpg.PostgresError as error:
            if connection.is_closed() or getattr(error, "severity_en", None) == "FATAL":
                raise Disconnected(str(error), error.sqlstate) from None
            raise database_error_of(error) from None
        except (asyncpg.InterfaceError, asyncpg.InternalClientError, OSError, TimeoutError) as error:
            await self.close()
            raise Disconnected(f"no conversion of values: {type(error).__name__}") from None

    async def _opened(self) -> asyncpg.Connection:
        """Return the session. Raises: Disconnected."""
        try:
            if self._connection is None or self._connection.is_closed():
                self._connection = await asyncpg.connect(
                    self._url, timeout=_CONNECT_S, statement_cache_size=0, server_settings=dict(_SETTINGS)
                )
            return self._connection
        except asyncpg.PostgresError as error:
            raise Disconnected(str(error), error.sqlstate) from None
        except (asyncpg.InterfaceError, asyncpg.InternalClientError, OSError, TimeoutError) as error:
            await self.close()
            raise Disconnected(f"no conversion of values: {type(error).__name__}") from None

    async def close(self) -> None:
        """Close the session, if there is one."""
        if self._connection is not None:
            await close(self._connection)
            self._connection = None
