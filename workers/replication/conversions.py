"""The session in which the server converts values of a project's own types to JSON.

Such a conversion runs code of the project: a cast to json, the check of a domain inside a composite type. So it does not run in
the session that reads the log, whose login may replicate, but in a session of the interface's login as `service_role`: role
postgres manages both, and so gains nothing. A type in a schema that `service_role` may not use is published as text.
"""

from collections.abc import Mapping
from typing import Any

import asyncpg

from workers.database.errors import Disconnected
from workers.database.sessions.leadership import close, database_error_of
from workers.database.sessions.replication import SESSION

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
        """Run a statement. Raises: DatabaseError if the project's code fails; Disconnected."""
        try:
            if self._connection is None or self._connection.is_closed():
                self._connection = await asyncpg.connect(
                    self._url, timeout=_CONNECT_S, statement_cache_size=0, server_settings=dict(_SETTINGS)
                )
            return await self._connection.fetch(statement, *values, timeout=_ANSWER_S)
        except asyncpg.PostgresError as error:
            if self._connection is None or self._connection.is_closed():
                raise Disconnected(str(error), error.sqlstate) from None
            raise database_error_of(error) from None
        except (asyncpg.InterfaceError, asyncpg.InternalClientError, OSError, TimeoutError) as error:
            await self.close()
            raise Disconnected(f"no conversion of values: {type(error).__name__}") from None

    async def close(self) -> None:
        """Close the session, if there is one."""
        if self._connection is not None:
            await close(self._connection)
            self._connection = None
