"""Live queries: run once, and again after their tables changed; a result is sent if it differs from the one before.

Theory. Equal queries of equal callers are one query and run once for all. A run starts some milliseconds after the first change
and serves all changes up to its start. A query has one run at a time, and all queries together have `max_runs`. A client that
joins a running query gets the result of a run that starts after it joined, so it never sees less than what was there when it
subscribed.
"""

import asyncio
import contextlib
import hashlib
from collections.abc import Callable
from typing import Protocol

from broker.backoff import Backoff
from broker.codec import encode
from broker.observability.observe import observe, traceback_of
from schemas.errors import ApiError
from schemas.subscriptions import TableName
from services.subscriptions.observations import LiveQueryWaits, SubscriptionCrashed
from services.subscriptions.pool_queries import OperationCaller, OperationQueries, OperationRejected
from services.subscriptions.protocol import errors_of
from services.subscriptions.table_watches import TableWatches

_FIRST_PAUSE_S, _LAST_PAUSE_S = 0.1, 3.0


class LiveQueryListener(Protocol):
    """Receives the results of a live query. Must not block."""

    def result(self, result: bytes) -> None:
        """Receive a result: the JSON of an execution result."""
        ...

    def failed(self, errors: bytes) -> None:
        """Handle that the query ended with errors, a JSON list."""
        ...


class LiveQueries:
    """The live queries of this process."""

    def __init__(
        self, pool: OperationQueries, watches: TableWatches, debounce_s: float, max_runs: int
    ) -> None:
        self._pool, self._watches, self._debounce_s = pool, watches, debounce_s
        self._run_slots = asyncio.Semaphore(max_runs)
        self._queries: dict[bytes, _Query] = {}
        self.runs = 0
        """Number of runs so far."""

    @property
    def size(self) -> int:
        """Return the number of different queries."""
        return len(self._queries)

    def follow(
        self, caller: OperationCaller, operation: bytes, tables: list[TableName], listener: LiveQueryListener
    ) -> Callable[[], None]:
        """Send a listener the results of a query, the current one first; return a function that ends this."""
        key = hashlib.sha256(encode([caller.caller, caller.headers, operation, tables])).digest()
        query = self._queries.get(key)
        if query is None:
            query = self._queries[key] = _Query(self, caller, operation, tables, key)
        query.join(listener)
        return lambda: query.leave(listener)

    async def close(self) -> None:
        """Stop all queries."""
        tasks = [query.task for query in self._queries.values()]
        self._queries.clear()
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def run(self, query: "_Query") -> bytes:
        """Run a query as soon as fewer than `max_runs` run. Raises: OperationRejected, ApiError."""
        async with self._run_slots:
            query.start_run()
            self.runs += 1
            return await self._pool.run(query.caller, query.operation)

    async def watch(self, query: "_Query") -> None:
        """Watch the tables of a query. Raises: OperationRejected, ApiError."""
        for table in query.tables:
            await self._watches.watch(table, query.touch)

    def forget(self, query: "_Query") -> None:
        """Remove a query and stop watching its tables; the same operation creates a new query."""
        if self._queries.get(query.key) is query:
            del self._queries[query.key]
        for table in query.tables:
            self._watches.leave(table, query.touch)

    async def pause(self, wake: asyncio.Event) -> None:
        """Wait `debounce_s` for more changes, or until a new listener joins."""
        if self._debounce_s > 0:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(self._debounce_s):
                    await wake.wait()


class _Query:
    """One query of one caller, for all its listeners."""

    def __init__(
        self,
        all: LiveQueries,
        caller: OperationCaller,
        operation: bytes,
        tables: list[TableName],
        key: bytes,
    ) -> None:
        self.caller, self.operation, self.tables, self.key = caller, operation, tables, key
        self._all = all
        self._listeners: dict[LiveQueryListener, None] = {}
        self._waiting: set[LiveQueryListener] = set()
        """Listeners that wait for a run that has not started."""
        self._underway: set[LiveQueryListener] = set()
        self._changed = asyncio.Event()
        self._joined = asyncio.Event()
        self._last = b""
        self.task = asyncio.get_running_loop().create_task(self._live())

    def join(self, listener: LiveQueryListener) -> None:
        """Add a listener; it gets the result of the next run that starts."""
        self._listeners[listener] = None
        self._waiting.add(listener)
        self._joined.set()
        self._changed.set()

    def leave(self, listener: LiveQueryListener) -> None:
        """Remove a listener; the query ends with the last one."""
        self._listeners.pop(listener, None)
        self._waiting.discard(listener)
        self._underway.discard(listener)
        if not self._listeners:
            self._all.forget(self)
            self.task.cancel()

    def touch(self) -> None:
        """Run again after a change."""
        self._changed.set()

    def start_run(self) -> None:
        """Start a run: changes from now on need another one."""
        self._changed.clear()
        self._joined.clear()
        self._underway |= self._waiting
        self._waiting.clear()

    async def _live(self) -> None:
        try:
            await self._all.watch(self)
            backoff = Backoff(_FIRST_PAUSE_S, _LAST_PAUSE_S, jitter=0.3)
            while True:
                await self._changed.wait()
                if not self._waiting:
                    await self._all.pause(self._joined)
                try:
                    result = await self._all.run(self)
                except ApiError as error:
                    observe(LiveQueryWaits(str(error)))
                    self._changed.set()
                    self._reject_new(error)
                    await backoff.wait()
                else:
                    backoff.reset()
                    self._send(result)
        except OperationRejected as rejected:
            self._end(rejected.errors)
        except ApiError as error:
            self._end(errors_of(str(error), "UNAVAILABLE"))
        except Exception as error:  # no other task would report it
            observe(SubscriptionCrashed(traceback_of(error)))
            self._end(errors_of("Internal error"))

    def _send(self, result: bytes) -> None:
        """Send a result to all listeners, or if it is unchanged, to those that are still without one."""
        digest = hashlib.blake2b(result, digest_size=16).digest()
        receivers = self._underway if digest == self._last else set(self._listeners)
        self._underway, self._last = set(), digest
        for listener in [listener for listener in self._listeners if listener in receivers]:
            listener.result(result)

    def _reject_new(self, error: ApiError) -> None:
        """Send an error to listeners that are still without a result; the others wait for the next run."""
        listeners, self._underway = self._underway, set()
        for listener in listeners:
            listener.failed(errors_of(str(error), "UNAVAILABLE"))

    def _end(self, errors: bytes) -> None:
        listeners = list(self._listeners)
        self._listeners.clear()
        self._all.forget(self)
        for listener in listeners:
            listener.failed(errors)
