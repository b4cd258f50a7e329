"""A session that stays open as one role, whose statements run one after another: the queues of that role are consumed through it."""

from typing import Any

import asyncpg

from workers.database.errors import Disconnected, unstorable_text
from workers.database.sessions.leadership import close, database_error_of
from workers.database.sessions.script import connect_as

_ANSWER_S = 60.0
_CACHED_STATEMENTS = 20


class RoleSession:
    """A session from `open` to `close`; one statement at a time."""

    def __init__(self, connection: asyncpg.Connection) -> None:
        self._connection = connection

    @classmethod
    async def open(cls, url: str, role: str, name: str) -> "RoleSession":
        """Open a session as `role`, which the login of `url` may become; `name` is its application name. Raises: Disconnected."""
        return cls(await connect_as(url, role, name, statement_cache_size=_CACHED_STATEMENTS))

    async def ask(self, statement: str, *values: object) -> list[Any]:
        """Run a statement and return its rows. Raises: DatabaseError; Disconnected if the session is lost or does not answer."""
        try:
            return await self._connection.fetch(statement, *values, timeout=_ANSWER_S)
        except asyncpg.PostgresError as error:
            if self._connection.is_closed():
                raise Disconnected(str(error), error.sqlstate) from None
            raise database_error_of(error) from None
        except asyncpg.DataError:
            raise unstorable_text() from None
        except (asyncpg.InterfaceError, asyncpg.InternalClientError, OSError, TimeoutError) as error:
            raise Disconnected(f"no answer from the database: {type(error).__name__}") from None

    async def close(self) -> None:
        """Close the session, or cut it if the server does not answer."""
        await close(self._connection)
