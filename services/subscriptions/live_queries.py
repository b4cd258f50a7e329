"""Live queries of GraphQL and REST: run once, and again after their tables changed; a result is sent if it differs from the one before.

Theory. Equal queries of equal callers are one query and run once for all. A run starts some milliseconds after the first change
and serves all changes up to its start. A query has one run at a time, and all queries together have `max_runs`. A client that
joins a running query gets the result of a run that starts after it joined, so it never sees less than what was there when it
subscribed. After a change of the schema (tables, policies, grants) a query asks again which tables it depends on, and runs again.
A query that depends on what cannot be followed runs again every `repeat_s` seconds.
"""

import asyncio
import contextlib
import hashlib
from collections.abc import Callable

from broker.backoff import Backoff
from broker.observability.observe import observe, traceback_of
from schemas.errors import ApiError
from schemas.subscriptions import LiveQueryPlan, TableName
from services.subscriptions.live_source import LiveQueryListener, LiveSource
from services.subscriptions.observations import LiveQueryWaits, SubscriptionCrashed
from services.subscriptions.pool_queries import OperationRejected
from services.subscriptions.protocol import errors_of
from services.subscriptions.table_watches import TableWatches

_FIRST_PAUSE_S, _LAST_PAUSE_S = 0.1, 3.0


class LiveQueries:
    """The live queries of this process."""

    def __init__(
        self, watches: TableWatches, debounce_s: float, max_runs: int, repeat_s: float = 0.0
    ) -> None:
        self.watches, self._debounce_s = watches, debounce_s
        self.repeat_s = repeat_s
        """Seconds between runs of a query that depends on what cannot be followed; 0: it does not run again for that."""
        self._run_slots = asyncio.Semaphore(max_runs)
        self._queries: dict[bytes, _Query] = {}
        self.runs = 0
        """Number of runs so far."""

    @property
    def size(self) -> int:
        """Return the number of different queries."""
        return len(self._queries)

    def follow(
        self, source: LiveSource, listener: LiveQueryListener, plan: LiveQueryPlan | None = None
    ) -> Callable[[], None]:
        """Send a listener the results of a query, the current one first; return a function that ends this.

        `plan` is that of the query where it is known already.
        """
        key = source.key
        query = self._queries.get(key)
        if query is None:
            query = self._queries[key] = _Query(self, source, key, plan)
        query.join(listener)
        return lambda: query.leave(listener)

    def renew(self) -> None:
        """Let every query look again for its tables and run: the schema changed."""
        for query in self._queries.values():
            query.renew()

    async def close(self) -> None:
        """Stop all queries."""
        tasks = [query.task for query in self._queries.values()]
        self._queries.clear()
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def run(self, query: "_Query") -> bytes:
        """Run a query as soon as fewer than `max_runs` run, behind a new plan if it needs one. Raises: OperationRejected, ApiError."""
        async with self._run_slots:
            if query.is_stale:
                await self.watch(query, await query.source.plan())
            query.start_run()
            self.runs += 1
            return await query.source.run()

    async def watch(self, query: "_Query", plan: LiveQueryPlan) -> None:
        """Watch the tables of a plan instead of those that the query had. Raises: OperationRejected, ApiError."""
        query.is_stale, query.is_repeated = False, plan.is_repeated
        before, tables = query.tables, list[TableName]()
        try:
            for table in plan.tables:
                await self.watches.watch(table, query.touch)
                tables.append(table)
            for table in plan.further:
                with contextlib.suppress(OperationRejected):
                    await self.watches.watch(table, query.touch)
                    tables.append(table)
        except BaseException:
            query.is_stale = True
            for table in set(tables).difference(before):
                self.watches.leave(table, query.touch)
            raise
        query.tables = tables
        query.is_repeated = query.is_repeated or len(tables) < len(plan.tables) + len(plan.further)
        for table in set(before).difference(tables):
            self.watches.leave(table, query.touch)

    def forget(self, query: "_Query") -> None:
        """Remove a query and stop watching its tables; the same operation creates a new query."""
        if self._queries.get(query.key) is query:
            del self._queries[query.key]
        for table in query.tables:
            self.watches.leave(table, query.touch)

    async def pause(self, wake: asyncio.Event) -> None:
        """Wait `debounce_s` for more changes, or until a new listener joins."""
        if self._debounce_s > 0:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(self._debounce_s):
                    await wake.wait()


class _Query:
    """One query of one caller, for all its listeners."""

    def __init__(self, all: LiveQueries, source: LiveSource, key: bytes, plan: LiveQueryPlan | None) -> None:
        self.source, self.key, self._plan = source, key, plan
        self.tables: list[TableName] = []
        self.is_stale = False
        """It has to ask again for the tables that it depends on."""
        self.is_repeated = False
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

    def renew(self) -> None:
        """Ask again for the tables, and run."""
        self.is_stale = True
        self._changed.set()

    def start_run(self) -> None:
        """Start a run: changes from now on need another one."""
        self._changed.clear()
        self._joined.clear()
        self._underway |= self._waiting
        self._waiting.clear()

    async def _live(self) -> None:
        try:
            await self._all.watch(self, self._plan or await self.source.plan())
            backoff = Backoff(_FIRST_PAUSE_S, _LAST_PAUSE_S, jitter=0.3)
            while True:
                await self._wait()
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
            self._end(rejected)
        except ApiError as error:
            self._end(OperationRejected(errors_of(str(error), "UNAVAILABLE")))
        except Exception as error:  # no other task would report it
            observe(SubscriptionCrashed(traceback_of(error)))
            self._end(OperationRejected(errors_of("Internal error")))

    async def _wait(self) -> None:
        """Wait until a run is due."""
        repeat_s = self._all.repeat_s if self.is_repeated else 0.0
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(repeat_s or None):
                await self._changed.wait()
        if self._changed.is_set() and not self._waiting:
            await self._all.pause(self._joined)

    def _send(self, result: bytes) -> None:
        """Send a result to all listeners, or if it is unchanged, to those that are still without one."""
        digest = hashlib.blake2b(result, digest_size=16).digest()
        receivers = self._underway if digest == self._last else set(self._listeners)
        self._underway, self._last = set(), digest
        for listener in [listener for listener in self._listeners if listener in receivers]:
            listener.result(result)

    def _reject_new(self, error: ApiError) -> None:
        """Send an error to listeners that are still without a result; the others wait for the next run."""
        listeners, self._underway = self._underway | self._waiting, set()
        self._waiting.clear()
        for listener in listeners:
            listener.failed(OperationRejected(errors_of(str(error), "UNAVAILABLE")))

    def _end(self, rejected: OperationRejected) -> None:
        listeners = list(self._listeners)
        self._listeners.clear()
        self._all.forget(self)
        for listener in listeners:
            listener.failed(rejected)
