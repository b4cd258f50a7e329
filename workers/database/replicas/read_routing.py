"""Which reads run on a replica. Callers see no difference but the age of the data, which is bounded.

A read runs on a replica if all of this is true; otherwise on the primary:

- It is a REST or GraphQL request that only reads (`TransactionSpec.may_run_on_replica`), not a live query, and not of isolation level
  serializable.
- It asks for it (`Prefer: replica`), or its role is one of `db.replicas.roles` and it does not ask for the primary (`Prefer: primary`).
- A replica is at most `db.replicas.max_lag` behind the primary (primary_log.py) and contains what the caller wrote: it has
  replayed the log up to the caller's position.

Whatever fails on a replica is run again on the primary: a conflict with the replay (40001, 57P01), a lost connection, a statement
that a standby rejects, or a table that it does not have yet. So an error that a caller sees is always that of the primary.

After a write the worker reads where the log ends, which is behind the commit. The position goes to the caller in the response
(`Headwater-Position`) and to all edges (`POSITIONS`), in this order on one connection: event, response. An edge adds it to the caller's
next reads (`services/gateway/requests/recent_writes.py`), so that clients that know nothing of it read their own writes.
"""

import asyncio
from collections.abc import Callable, Sequence
from contextlib import suppress
from contextvars import ContextVar
from dataclasses import dataclass, replace

import msgspec

from broker.codec import encode
from broker.nats.connection import NatsConnection
from broker.requests.handler import Handler, RequestBody, StreamedResponse
from broker.subjects import POSITIONS
from schemas.http import Headers, Request, Response
from schemas.positions import POSITION, CallerPosition, parse_lsn, position_token, read_position
from schemas.subscriptions import METHOD as SUBSCRIBE
from schemas.subscriptions import PLAN
from workers.database.connection_pool.pool import ConnectionPool
from workers.database.replicas.primary_log import PrimaryLog
from workers.database.replicas.replica import SILENT_S, STATEMENTS, UNANSWERED, Replica, ReplicaSilent
from workers.database.transactions.model import RowsAndLongValue, Statement, TransactionSpec

_SAFE_METHODS = frozenset({"GET", "HEAD", "OPTIONS"})
_LEAST_PERIOD_S, _LONGEST_PERIOD_S = 0.02, 1.0
_PERIODS_OF_LAG = 5
"""A server is measured so many times in the longest lag: the age of a measurement counts as lag."""
_NO_LONGER_FAILED = 400


@dataclass(slots=True)
class ReadRoute:
    """What a request asks for, and what was done for it."""

    asks_replica: bool = False
    asks_primary: bool = False
    position: int = 0
    """The log position that its reads must contain."""
    only_reads: bool = False
    was_replica: bool = False


_ROUTE: ContextVar[ReadRoute | None] = ContextVar("read_route", default=None)


def route_of(headers: Headers) -> ReadRoute:
    """Return what a request asks for; several positions count as the highest."""
    route = ReadRoute()
    for name, value in headers:
        if name == POSITION:
            route.position = max(route.position, *(read_position(part.strip()) for part in value.split(",")))
        elif name == "prefer" and ("replica" in value or "primary" in value):
            preferences = {part.strip() for part in value.split(",")}
            route.asks_primary = route.asks_primary or "primary" in preferences
            route.asks_replica = route.asks_replica or "replica" in preferences
    return route


class ReplicaReads:
    """The replicas of a process. `primary` has two connections, for measurements and positions of writes."""

    def __init__(
        self,
        replicas: Sequence[Replica],
        primary: ConnectionPool,
        log: PrimaryLog,
        connection: NatsConnection,
        *,
        roles: Sequence[str],
        max_lag_s: float,
    ) -> None:
        self.replicas = replicas
        self.fallbacks = 0
        """Reads that ran on the primary because no replica was fresh enough."""
        self.on_close: Sequence[Callable[[], None]] = ()
        """Called when it is closed."""
        self._primary, self._log, self._connection = primary, log, connection
        self._roles, self._max_lag_s = frozenset(roles), max_lag_s
        self._loop = asyncio.get_running_loop()
        self._tasks: list[asyncio.Task[None]] = []

    def start(self) -> None:
        """Begin to measure."""
        period_s = min(max(self._max_lag_s / _PERIODS_OF_LAG, _LEAST_PERIOD_S), _LONGEST_PERIOD_S)
        self._tasks = [self._loop.create_task(replica.follow(period_s)) for replica in self.replicas]
        self._tasks.append(self._loop.create_task(self._measure_primary(period_s)))

    async def close(self) -> None:
        """Stop, and close all connections."""
        for call in self.on_close:
            call()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        await asyncio.gather(self._primary.close(), *(replica.close() for replica in self.replicas))

    async def read(self, spec: TransactionSpec) -> RowsAndLongValue | None:
        """Run a read on a replica; None if it must run on the primary."""
        route = _ROUTE.get()
        if route is None:
            return None
        route.only_reads = True
        replica = self._choose(spec, route)
        if replica is None:
            return None
        try:
            result = await replica.read(spec)
        except (*UNANSWERED, ReplicaSilent):
            replica.retried += 1
            return None
        replica.served += 1
        route.was_replica = True
        return result

    def served(self, handler: Handler) -> Handler:
        """Return a handler that reads from replicas where it may, and whose responses to writes have a position."""

        async def answer(request: Request, body: RequestBody) -> Response | StreamedResponse:
            route = route_of(request.headers)
            is_live = request.method == SUBSCRIBE
            if is_live:  # it runs because a row changed, which a replica may not have yet
                route.asks_primary = True
            token = _ROUTE.set(route)
            try:
                response = await handler(request, body)
            finally:
                _ROUTE.reset(token)
            if route.was_replica:
                return (
                    _with_header(response, "preference-applied", "replica")
                    if route.asks_replica
                    else response
                )
            is_write = request.method not in _SAFE_METHODS and not route.only_reads
            if is_live and request.path != PLAN:  # mutations over a socket are planned, which executes them
                is_write = False
            if is_write and response.status < _NO_LONGER_FAILED:
                return _with_header(response, POSITION, await self._position_after_write(request))
            return response

        return answer

    def _choose(self, spec: TransactionSpec, route: ReadRoute) -> Replica | None:
        """Return the least busy replica that a read may use."""
        if route.asks_primary or (spec.isolation or "").lower() == "serializable":
            return None
        if not route.asks_replica and not any(
            name == "role" and value in self._roles for name, value in spec.settings
        ):
            return None
        fresh = [
            replica
            for replica in self.replicas
            if replica.lag_s() <= self._max_lag_s and replica.replayed >= route.position
        ]
        if not fresh:
            self.fallbacks += 1
            return None
        return min(fresh, key=lambda replica: replica.load)

    async def _position_after_write(self, request: Request) -> str:
        """Return the token of a write that has ended, and publish it to the edges."""
        position = None
        with suppress(*UNANSWERED, ValueError):
            async with asyncio.timeout(SILENT_S):
                rows = await self._primary.run(TransactionSpec((), [Statement(STATEMENTS["position"])]))
                position = parse_lsn((rows[0][0][0] or b"").decode())
        token = position_token(position, self._max_lag_s)
        if request.caller_key:
            self._connection.try_publish(POSITIONS.name, encode(CallerPosition(request.caller_key, token)))
        return token

    async def _measure_primary(self, period_s: float) -> None:
        while True:
            at = self._loop.time()
            with suppress(*UNANSWERED, ValueError):
                async with asyncio.timeout(SILENT_S):
                    rows = await self._primary.run(TransactionSpec((), [Statement(STATEMENTS["primary"])]))
                    self._log.add(at, rows[0][0])
            await asyncio.sleep(period_s)


def _with_header(response: Response | StreamedResponse, name: str, value: str) -> Response | StreamedResponse:
    headers = [*response.headers, (name, value)]
    if isinstance(response, StreamedResponse):
        return replace(response, headers=headers)
    return msgspec.structs.replace(response, headers=headers)
