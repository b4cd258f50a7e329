"""The sessions of the pool: its own login for its tables, and a login for each role under which SQL of operations runs.

Tenant code (functions, triggers, policies, event triggers) may run in the sessions of developers, readers and viewers, and may say
`reset role`. Their logins are members of one role only, so that gains nothing; tables of administrators are reached by the login
`headwater_management` alone, whose statements are ours and touch nothing of a tenant. Connections are opened when they are first used.

Such code can change the password and the settings of its own login: PostgreSQL lets each role do that. So they are compared before
each session of a person, and when the server rejects a login, and set again (`restore_login`). Separate logins for persons' SQL
would not help: a trigger runs in the sessions of the pools too.

The role of readers reads what is the project's and no table of administrators. What these hold of use is encrypted or a digest with a key
that the database does not have all the same, for dumps and copies (identity/personal_data.py, identity/secrets.py).
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
from workers.management.interface.backends.session_logins import login_verifier, restore_login
from workers.management.interface.errors import ManagementError
from workers.management.interface.identity.own_pool import OwnPool, personal_data
from workers.management.interface.identity.seal_old_rows import seal_administrators

ROLE_OF_LOGIN = {DEVELOPER: "postgres", READER: "supabase_read_only_user"}

MAX_SQL_SESSIONS = 8
"""Sessions beside the pools that one process has at a time: SQL of persons, of whichever operation or interface."""
_WAIT_S = 5.0
"""Longest time to wait for one."""
_REJECTED = ("28P01", "28000")
"""SQLSTATE of a login with a wrong password, and of one that may not connect."""


class ManagementDatabase:
    """The connection pools of the logins; `open_pool` opens one by the name of its login, `url_of` returns its URL."""

    def __init__(
        self,
        open_pool: Callable[[str], Awaitable[ConnectionPool]],
        url_of: Callable[[str], str],
    ) -> None:
        self.url_of = url_of
        """The URL of a login; a session beside the pools takes `session_url`."""
        self._verifiers: dict[str, str] = {}
        self._places = asyncio.Semaphore(MAX_SQL_SESSIONS)
        self._open_pool = open_pool
        self._pools: dict[str, ConnectionPool] = {}
        self._own: OwnPool | None = None
        self._opening = asyncio.Lock()

    async def own(self) -> OwnPool:
        """Return the pool for the tables of administrators. Raises: DatabaseError, Disconnected, PoolTimeout."""
        if self._own is None:
            own = OwnPool(await self._pool(MANAGEMENT), personal_data(self.url_of(MANAGEMENT)))
            await seal_administrators(own)
            self._own = own
        return self._own

    async def read(
        self, *statements: Statement, timeout_s: float, settings: Sequence[tuple[str, str]] = ()
    ) -> list[Rows]:
        """Run statements that read, as the role of readers. Raises: DatabaseError, Disconnected, PoolTimeout."""
        return await self._run(READER, statements, timeout_s, settings)

    async def read_as_developer(self, *statements: Statement, timeout_s: float) -> list[Rows]:
        """Run statements that read, as role `postgres`: those that may call code of the project. Raises: as `read`.

        The role of `read` passes row security, which the author of such code may not.
        """
        settings = [("role", ROLE_OF_LOGIN[DEVELOPER]), _timeout(timeout_s)]
        return await self._transact(DEVELOPER, TransactionSpec(settings, list(statements), read_only=True))

    async def write(
        self, *statements: Statement, timeout_s: float, settings: Sequence[tuple[str, str]] = ()
    ) -> list[Rows]:
        """Run statements in one transaction as role `postgres`. Raises: DatabaseError, Disconnected, PoolTimeout."""
        return await self._run(DEVELOPER, statements, timeout_s, settings)

    async def take_place(self) -> None:
        """Reserve one of the `MAX_SQL_SESSIONS` places for a session beside the pools. Raises: ManagementError (503)."""
        try:
            async with asyncio.timeout(_WAIT_S):
                await self._places.acquire()
        except TimeoutError:
            raise ManagementError(
                503,
                "busy",
                f"{MAX_SQL_SESSIONS} SQL sessions are in use; try again soon",
                headers=[("retry-after", "2")],
            ) from None

    def release_place(self) -> None:
        """Release a place that `take_place` reserved."""
        self._places.release()

    @asynccontextmanager
    async def place(self) -> AsyncIterator[None]:
        """Reserve a place for the block. Raises: ManagementError (503)."""
        await self.take_place()
        try:
            yield
        finally:
            self.release_place()

    async def session_url(self, login: str) -> str:
        """Return the URL of a login for a session beside the pools, which works whatever a session before did to the login.

        Raises: as `write`.
        """
        url = self.url_of(login)
        await self._restore(login)
        return url

    async def view(
        self, settings: list[tuple[str, str]], *statements: Statement, timeout_s: float
    ) -> list[Rows]:
        """Run statements as a caller of the interfaces: `settings` name its role and claims. Raises: as `write`."""
        return await self._transact(
            VIEWER, TransactionSpec([*settings, _timeout(timeout_s)], list(statements))
        )

    async def try_as(
        self, settings: list[tuple[str, str]], *statements: Statement, timeout_s: float
    ) -> list[Rows]:
        """Run statements as a caller of the interfaces, in a transaction that only reads and is rolled back. Raises: as `write`."""
        spec = TransactionSpec(
            [*settings, _timeout(timeout_s)], list(statements), read_only=True, end=TransactionEnd.ROLLBACK
        )
        return await self._transact(VIEWER, spec)

    @asynccontextmanager
    async def transaction(self, *, timeout_s: float) -> AsyncIterator[Transaction]:
        """Yield a transaction as role `postgres`; `timeout_s` limits each statement. The end of the block commits it.

        Raises: as `write`.
        """
        settings = [("role", ROLE_OF_LOGIN[DEVELOPER]), _timeout(timeout_s)]
        await self._transact(DEVELOPER, TransactionSpec((), [Statement("select 1")]))  # opens a connection
        async with (await self._pool(DEVELOPER)).transaction(settings) as transaction:
            yield transaction

    async def run_as_login(self, login: str, statement: Statement, *, timeout_s: float) -> Rows:
        """Run a statement as a login itself, which may signal the login's other sessions. Raises: as `write`."""
        spec = TransactionSpec([("role", "none"), _timeout(timeout_s)], [statement])
        [rows] = await self._transact(login, spec)
        return rows

    async def _run(
        self,
        login: str,
        statements: tuple[Statement, ...],
        timeout_s: float,
        more: Sequence[tuple[str, str]] = (),
    ) -> list[Rows]:
        settings = [("role", ROLE_OF_LOGIN[login]), _timeout(timeout_s), *more]
        return await self._transact(login, TransactionSpec(settings, list(statements)))

    async def _transact(self, login: str, spec: TransactionSpec) -> list[Rows]:
        """Run a transaction; once more if it failed because the login had another password."""
        pool = await self._pool(login)
        try:
            return await pool.run(spec)
        except Disconnected as error:
            if error.code not in _REJECTED:
                raise
            pool = await self._reopened(login, pool)
        return await pool.run(spec)

    async def _reopened(self, login: str, rejected: ConnectionPool) -> ConnectionPool:
        """Return a new pool of a login that the server rejected: the old one waits before it tries to connect again."""
        await self._restore(login)
        async with self._opening:
            if self._pools.get(login) is rejected:
                del self._pools[login]
                await rejected.close()
        return await self._pool(login)

    async def _restore(self, login: str) -> None:
        """Set the password and settings of a login again if they are others. Raises: DatabaseError, Disconnected."""
        if login not in self._verifiers:
            self._verifiers[login] = await asyncio.to_thread(login_verifier, self.url_of(login))
        await restore_login(await self.own(), login, self._verifiers[login])

    async def _pool(self, login: str) -> ConnectionPool:
        async with self._opening:
            if login in self._pools:
                return self._pools[login]
            try:
                pool = await self._open_pool(login)
            except Disconnected as error:
                if error.code not in _REJECTED or login == MANAGEMENT:
                    raise
                pool = None
            if pool is not None:
                self._pools[login] = pool
                return pool
        await self._restore(login)
        async with self._opening:
            if login not in self._pools:
                self._pools[login] = await self._open_pool(login)
            return self._pools[login]


def _timeout(seconds: float) -> tuple[str, str]:
    return "statement_timeout", str(round(seconds * 1000))
