"""The edge of GraphQL subscriptions: `GET /graphql/v1` with an upgrade to a WebSocket.

The credentials of a client are in headers, in the query (`?apikey=`), or in the payload of `connection_init`, because browsers
cannot set headers: `apikey` and `Authorization` in upper or lower case, at the top level or inside `headers`. The payload has
precedence. Source: docs/graphql-subscriptions.md.
"""

import asyncio
import time
from collections.abc import Callable, Iterator, Mapping

from aiohttp import web

from broker.observability.observe import gauge
from broker.requests.call import Calls
from schemas.caller import RejectedCaller
from schemas.http import Headers, Response
from schemas.settings.tree import Settings
from schemas.subscriptions import METHOD
from services.gateway.functions import is_websocket_request
from services.gateway.requests.authentication import Authenticator
from services.gateway.requests.routes import route_of
from services.middleware.api_keys import ApiKeyRejected
from services.middleware.caller_key import CallerKeys
from services.middleware.errors import error_response
from services.realtime.changes.interface import Feed
from services.realtime.limits import SocketCounts
from services.subscriptions.callers import credentials_of, expiry_of, is_forwarded
from services.subscriptions.live_queries import LiveQueries
from services.subscriptions.pool_queries import OperationCaller, OperationQueries
from services.subscriptions.socket import (
    AdmittedCaller,
    CallerRejected,
    GraphQLSocket,
    GraphQLSocketServices,
    GraphQLSocketStatistics,
)

AREA, PREFIX = "graphql", "/graphql/v1"
_DRAIN_S = 5.0


class GraphQLSocketEdge:
    """The subscription edge of one process. Without row changes, `feed` is None."""

    def __init__(
        self,
        settings: Settings,
        calls: Calls,
        keeper: Authenticator,
        feed: Feed | None,
        live: LiveQueries | None,
    ) -> None:
        self._settings = settings.graphql.subscriptions
        self._keeper = keeper
        queries = OperationQueries(calls, settings.gateway.request_timeout, self._settings.max_unsent)
        self._services = GraphQLSocketServices(queries, live, feed, self._settings)
        self._statistics = GraphQLSocketStatistics()
        self._sockets: set[GraphQLSocket] = set()
        self._counts = SocketCounts(self._settings.max_sockets, 0, self._settings.max_sockets_per_address)
        self._is_draining = False
        self._caller_keys = CallerKeys()
        self._gauges = list(self._register_gauges())

    async def connect(
        self, request: web.BaseRequest, first: Mapping[str, str], key: str | None, address: str = ""
    ) -> web.StreamResponse | Response:
        """Serve a socket to its end, or return the response that rejects it. `first`: the first header of each name."""
        if self._is_draining:
            return error_response(AREA, 503, "The interface is restarting", headers=[("retry-after", "1")])
        counted = self._counts.add("", address)
        if counted is None:
            return error_response(AREA, 429, "Too many sockets", headers=[("retry-after", "5")])
        headers = [(name, value) for name, value in first.items() if is_forwarded(name)]

        async def admit(payload: dict[str, object]) -> AdmittedCaller:
            return await self._admit(payload, first, key, headers, address)

        socket = GraphQLSocket(self._services, self._statistics, admit)
        self._sockets.add(socket)
        try:
            return await socket.run(request)
        except web.HTTPBadRequest:
            return error_response(AREA, 400, "A WebSocket handshake is needed here")
        finally:
            self._sockets.discard(socket)
            self._counts.remove(counted)

    async def drain(self) -> None:
        """Ask every client to reconnect elsewhere and wait until they are gone, `_DRAIN_S` at most; reject new ones."""
        self._is_draining = True
        for socket in list(self._sockets):
            socket.drain()
        deadline = time.monotonic() + _DRAIN_S
        while self._sockets and time.monotonic() < deadline:  # noqa: ASYNC110 - handlers end in tasks of the server
            await asyncio.sleep(0.02)

    async def close(self) -> None:
        """Close the edge. The sockets must be gone."""
        for remove in self._gauges:
            remove()

    async def _admit(
        self,
        payload: dict[str, object],
        first: Mapping[str, str],
        key: str | None,
        headers: Headers,
        address: str,
    ) -> AdmittedCaller:
        """Return the caller of a socket. Raises: CallerRejected."""
        credentials = credentials_of(payload)
        key = credentials.get("apikey") or key
        authorization = credentials.get("authorization") or first.get("authorization")
        match = route_of(PREFIX)
        assert match is not None  # the table of routes has it
        route = match[0]
        try:
            caller = await self._keeper.authenticate(route, key, authorization)
        except ApiKeyRejected as error:
            raise CallerRejected(error.message) from None
        if isinstance(caller, RejectedCaller):
            raise CallerRejected(caller.message)
        caller_key = self._caller_keys.key_of(caller, key, lambda: address)
        return AdmittedCaller(OperationCaller(caller, headers, caller_key), expiry_of(caller))

    def _register_gauges(self) -> Iterator[Callable[[], None]]:
        prefix, statistics = "headwater_graphql_", self._statistics
        yield gauge(prefix + "sockets", "Open sockets of GraphQL.", lambda: len(self._sockets))
        yield gauge(
            prefix + "operations",
            "Open operations of all sockets of GraphQL.",
            lambda: sum(socket.operations for socket in self._sockets),
        )
        yield gauge(
            prefix + "operations_begun",
            "Operations that were started over sockets so far.",
            lambda: statistics.operations,
        )
        yield gauge(prefix + "results", "Results sent over sockets so far.", lambda: statistics.results)
        yield gauge(
            prefix + "slow_sockets", "Sockets closed so far for reading slowly.", lambda: statistics.slow
        )


def is_subscribing(request: web.BaseRequest) -> bool:
    """Return whether a request is for this edge: an upgrade, or the method that edges use for the pool."""
    return is_websocket_request(request) or request.method == METHOD
