"""The sessions of the pool: its own login for its tables, and a login for each role under which SQL of operations runs.

Tenant code (functions, triggers, policies, event triggers) may run in the sessions of developers, readers and viewers, and may say
`reset role`. Their logins are members of one role only, so that gains nothing; tables of administrators are reached by the login
`headwater_management` alone, whose statements are ours and touch nothing of a tenant. Connections are opened when they are first used.
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager

from schemas.database_logins import DEVELOPER, MANAGEMENT, READER, VIEWER
from workers.database.connection_pool.pool import ConnectionPool
from workers.database.errors import Disconnected
from workers.database.protocol.rows import Rows
from workers.database.transactions.interactive import Transaction
from workers.database.transactions.model import Statement, TransactionEnd, TransactionSpec
from workers.management.rights import Right

ROLE_OF_LOGIN = {DEVELOPER: "postgres", READER: "supabase_read_only_user"}

MAX_SQL_SESSIONS = 8
"""Sessions of persons' SQL that one process has at a time."""
_MAX_SESSIONS = 4


def _no_url(login: str) -> str:
    raise Disconnected(f"there is no URL of the login {login}")


class ManagementDatabase:
    """The connection pools of the logins; `open_pool` opens one by the name of its login, `url_of` returns its URL."""

    def __init__(
        self,
        open_pool: Callable[[str], Awaitable[ConnectionPool]],
        url_of: Callable[[str], str] = _no_url,
    ) -> None:
        self.url_of = url_of
        """The URL of a login, for sessions of their own (sql/session.py)."""
        self.sql_places = asyncio.Semaphore(MAX_SQL_SESSIONS)
        self._open_pool = open_pool
        self._pools: dict[str, ConnectionPool] = {}
        self._opening = asyncio.Lock()
        self.sessions = asyncio.Semaphore(_MAX_SESSIONS)
        """Sessions beside the pools that may be open at a time (project/sessions.py)."""

    async def own(self) -> ConnectionPool:
        """Return the pool for the tables of administrators."""
        return await self._pool(MANAGEMENT)

    async def read(
        self, *statements: Statement, timeout_s: float, settings: Sequence[tuple[str, str]] = ()
    ) -> list[Rows]:
        """Run statements that read, as a role that may read everything. Raises: DatabaseError, Disconnected, PoolTimeout."""
        return await self._run(READER, statements, timeout_s, settings)

    async def read_as_developer(self, *statements: Statement, timeout_s: float) -> list[Rows]:
        """Run statements that read, as role `postgres`: those that may call code of the project. Raises: as `read`.

        The role of `read` may read tables that the author of such code may not, those of administrators among them.
        """
        pool = await self._pool(DEVELOPER)
        settings = [("role", ROLE_OF_LOGIN[DEVELOPER]), _timeout(timeout_s)]
        return await pool.run(TransactionSpec(settings, list(statements), read_only=True))

    async def write(
        self, *statements: Statement, timeout_s: float, settings: Sequence[tuple[str, str]] = ()
    ) -> list[Rows]:
        """Run statements in one transaction as role `postgres`. Raises: DatabaseError, Disconnected, PoolTimeout."""
        return await self._run(DEVELOPER, statements, timeout_s, settings)

    def developer_url(self) -> str:
        """Return the URL of the login whose sessions act as role `postgres`, for a session of its own. Raises: Disconnected."""
        return self.url_of(DEVELOPER)

    async def run_for(self, right: Right, *statements: Statement, timeout_s: float) -> list[Rows]:
        """Run statements as the role of a right: a reader's cannot write. Raises: as `write`."""
        login = READER if right is Right.READER else DEVELOPER
        return await self._run(login, statements, timeout_s)

    async def view(
        self, settings: list[tuple[str, str]], *statements: Statement, timeout_s: float
    ) -> list[Rows]:
        """Run statements as a caller of the interfaces: `settings` name its role and claims. Raises: as `write`."""
        pool = await self._pool(VIEWER)
        return await pool.run(TransactionSpec([*settings, _timeout(timeout_s)], list(statements)))

    async def try_as(
        self, settings: list[tuple[str, str]], *statements: Statement, timeout_s: float
    ) -> list[Rows]:
        """Run statements as a caller of the interfaces, in a transaction that only reads and is rolled back. Raises: as `write`."""
        pool = await self._pool(VIEWER)
        spec = TransactionSpec(
            [*settings, _timeout(timeout_s)], list(statements), read_only=True, end=TransactionEnd.ROLLBACK
        )
        return await pool.run(spec)

    @asynccontextmanager
    async def transaction(self, *, timeout_s: float) -> AsyncIterator[Transaction]:
        """Yield a transaction as role `postgres`; `timeout_s` limits each statement. The end of the block commits it.

        Raises: as `write`.
        """
        pool = await self._pool(DEVELOPER)
        settings = [("role", ROLE_OF_LOGIN[DEVELOPER]), _timeout(timeout_s)]
        async with pool.transaction(settings) as transaction:
            yield transaction

    async def run_as_login(self, login: str, statement: Statement, *, timeout_s: float) -> Rows:
        """Run a statement as a login itself, which may signal the login's other sessions. Raises: as `write`."""
        pool = await self._pool(login)
        [rows] = await pool.run(TransactionSpec([("role", "none"), _timeout(timeout_s)], [statement]))
        return rows

    async def _run(
        self,
        login: str,
        statements: tuple[Statement, ...],
        timeout_s: float,
        more: Sequence[tuple[str, str]] = (),
    ) -> list[Rows]:
        pool = await self._pool(login)
        settings = [("role", ROLE_OF_LOGIN[login]), _timeout(timeout_s), *more]
        return await pool.run(TransactionSpec(settings, list(statements)))

    async def _pool(self, login: str) -> ConnectionPool:
        async with self._opening:
            if login not in self._pools:
                self._pools[login] = await self._open_pool(login)
        return self._pools[login]


def _timeout(seconds: float) -> tuple[str, str]:
    return "statement_timeout", str(round(seconds * 1000))
