"""Whether the database has tables with history or with a webhook: read again with each new catalog, in every process of pools.

Without such a table no transaction is signed (workers/database/transactions/causes.py), and without a history no process leads the pool `history`.
"""

import asyncio
from collections.abc import Callable

from workers.database.connection_pool.pool import ConnectionPool
from workers.database.errors import DatabaseError, Disconnected, PoolTimeout
from workers.database.transactions import causes
from workers.database.transactions.model import Statement, TransactionSpec
from workers.sql.files import read_statements

_STATEMENT = Statement(read_statements("workers", "history_watch.sql")["watch"])
_RETRY_S = 5.0
_NOT_THERE = ("42P01", "42883", "42501", "3F000")
"""SQLSTATE of a database that is not migrated yet."""


class HistoryWatch:
    """Follows from `start` to `close`. `on_wanted` are called, once and at every new catalog, while there is work for the pool `history`."""

    def __init__(self, database: ConnectionPool) -> None:
        self._database = database
        self._changed = asyncio.Event()
        self._task: asyncio.Task[None] | None = None
        self._is_wanted = False
        self._on_wanted: list[Callable[[], None]] = []

    def on_wanted(self, callback: Callable[[], None]) -> None:
        """Register a callback; it is called at once if there is work already. It must not raise."""
        self._on_wanted.append(callback)
        if self._is_wanted:
            callback()

    def changed(self) -> None:
        """The catalog was read again."""
        self._changed.set()

    def start(self) -> None:
        """Start the background task."""
        self._task = asyncio.get_running_loop().create_task(self._run(), name="history watch")

    async def close(self) -> None:
        """Stop."""
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)

    async def _run(self) -> None:
        while True:
            await self._changed.wait()
            self._changed.clear()
            try:
                [[(is_needed, is_wanted)]] = await self._database.run(
                    TransactionSpec((), [_STATEMENT], read_only=True)
                )
            except (DatabaseError, Disconnected, PoolTimeout) as error:
                if isinstance(error, DatabaseError) and error.code in _NOT_THERE:
                    continue  # the next catalog comes with the migration
                await asyncio.sleep(_RETRY_S)  # the catalog may not be read again for hours
                self._changed.set()
                continue
            causes.STATE.is_needed = is_needed == b"t"
            self._is_wanted = is_wanted == b"t"
            if self._is_wanted:
                for callback in self._on_wanted:
                    callback()
