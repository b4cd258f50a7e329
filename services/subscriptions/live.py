"""Live queries: run once, and again after their tables changed; a result is sent where it differs from the one before.

Equal queries of equal callers are one: they run together. A run begins some milliseconds after the first change, and
serves all changes up to then; one run at a time, and so many of all queries. Who comes to a query that runs already gets a
run that begins after it came, so nobody sees less than what was there when it asked.
"""

import asyncio
import contextlib
import hashlib
import random
from collections.abc import Callable
from typing import Protocol

from broker.codec import encode
from broker.observability.observe import observe, traceback_of
from schemas.errors import ApiError
from schemas.subscriptions import Table
from services.subscriptions.asking import Asking, OperationRefused, Visitor
from services.subscriptions.observed import LiveQueryWaits, SubscriptionCrashed
from services.subscriptions.protocol import errors_of
from services.subscriptions.watches import Watches

_FIRST_PAUSE_S, _LAST_PAUSE_S = 0.1, 3.0


class Listener(Protocol):
    """Who gets the results of a live query. Must not block."""

    def result(self, result: bytes) -> None:
        """Take a result: the JSON of an execution result."""
        ...

    def refused(self, errors: bytes) -> None:
        """Hear that the query is over because of errors, a JSON list."""
        ...


class LiveQueries:
    """The live queries of this process."""

    def __init__(self, asking: Asking, watches: Watches, debounce_s: float, max_runs: int) -> None:
        self._asking, self._watches, self._debounce_s = asking, watches, debounce_s
        self._turns = asyncio.Semaphore(max_runs)
        self._queries: dict[bytes, _Query] = {}
        self.runs = 0
        """How often queries were run so far."""

    @property
    def size(self) -> int:
        """How many different queries there are."""
        return len(self._queries)

    def follow(
        self, visitor: Visitor, operation: bytes, tables: list[Table], listener: Listener
    ) -> Callable[[], None]:
        """Let somebody hear of a query's results, the present one first; give what ends that."""
        key = hashlib.sha256(encode([visitor.caller, visitor.headers, operation, tables])).digest()
        query = self._queries.get(key)
        if query is None:
            query = self._queries[key] = _Query(self, visitor, operation, tables, key)
        query.join(listener)
        return lambda: query.leave(listener)

    async def close(self) -> None:
        """End all queries."""
        tasks = [query.task for query in self._queries.values()]
        self._queries.clear()
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def run(self, query: "_Query") -> bytes:
        """Run a query when it is its turn. Raises: OperationRefused, ApiError."""
        async with self._turns:
            query.begin()
            self.runs += 1
            return await self._asking.run(query.visitor, query.operation)

    async def watch(self, query: "_Query") -> None:
        """Hear of the changes of a query's tables. Raises: OperationRefused, ApiError."""
        for table in query.tables:
            await self._watches.watch(table, query.touch)

    def forget(self, query: "_Query") -> None:
        """Hear no more of a query's tables; who asks for it again gets another one."""
        if self._queries.get(query.key) is query:
            del self._queries[query.key]
        for table in query.tables:
            self._watches.leave(table, query.touch)

    async def pause(self, wake: asyncio.Event) -> None:
        """Wait for more changes, or until somebody new cannot wait."""
        if self._debounce_s > 0:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(self._debounce_s):
                    await wake.wait()


class _Query:
    """One query of one caller, for all who listen."""

    def __init__(
        self, all: LiveQueries, visitor: Visitor, operation: bytes, tables: list[Table], key: bytes
    ) -> None:
        self.visitor, self.operation, self.tables, self.key = visitor, operation, tables, key
        self._all = all
        self._listeners: dict[Listener, None] = {}
        self._waiting: set[Listener] = set()
        """Who has no result yet, and none underway."""
        self._underway: set[Listener] = set()
        self._changed = asyncio.Event()
        self._joined = asyncio.Event()
        self._last = b""
        self.task = asyncio.get_running_loop().create_task(self._live())

    def join(self, listener: Listener) -> None:
        """Let somebody have the next result that is asked for from now on."""
        self._listeners[listener] = None
        self._waiting.add(listener)
        self._joined.set()
        self._changed.set()

    def leave(self, listener: Listener) -> None:
        """Tell somebody nothing more; nobody is left: it is over."""
        self._listeners.pop(listener, None)
        self._waiting.discard(listener)
        self._underway.discard(listener)
        if not self._listeners:
            self._all.forget(self)
            self.task.cancel()

    def touch(self) -> None:
        """Hear of a change."""
        self._changed.set()

    def begin(self) -> None:
        """Begin a run: what changes from now on needs another."""
        self._changed.clear()
        self._joined.clear()
        self._underway |= self._waiting
        self._waiting.clear()

    async def _live(self) -> None:
        try:
            await self._all.watch(self)
            pause_s = _FIRST_PAUSE_S
            while True:
                await self._changed.wait()
                if not self._waiting:
                    await self._all.pause(self._joined)
                try:
                    result = await self._all.run(self)
                except ApiError as error:
                    observe(LiveQueryWaits(str(error)))
                    self._changed.set()
                    self._refuse_newcomers(error)
                    await asyncio.sleep(pause_s * random.uniform(0.7, 1.0))
                    pause_s = min(2 * pause_s, _LAST_PAUSE_S)
                else:
                    pause_s = _FIRST_PAUSE_S
                    self._tell(result)
        except OperationRefused as refused:
            self._end(refused.errors)
        except ApiError as error:
            self._end(errors_of(str(error), "UNAVAILABLE"))
        except Exception as error:  # the rim of a task that nobody else watches
            observe(SubscriptionCrashed(traceback_of(error)))
            self._end(errors_of("Internal error"))

    def _tell(self, result: bytes) -> None:
        digest = hashlib.blake2b(result, digest_size=16).digest()
        told = self._underway if digest == self._last else set(self._listeners)
        self._underway, self._last = set(), digest
        for listener in [each for each in self._listeners if each in told]:
            listener.result(result)

    def _refuse_newcomers(self, error: ApiError) -> None:
        """Tell those who have had no result that there is none; the others wait for the next."""
        newcomers, self._underway = self._underway, set()
        for listener in newcomers:
            listener.refused(errors_of(str(error), "UNAVAILABLE"))

    def _end(self, errors: bytes) -> None:
        listeners = list(self._listeners)
        self._listeners.clear()
        self._all.forget(self)
        for listener in listeners:
            listener.refused(errors)
