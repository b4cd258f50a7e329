"""The edge of GraphQL subscriptions: `GET /graphql/v1` with an upgrade to a WebSocket.

Who a client is stands in headers, in the query (`?apikey=`), or, as browsers can set no headers, in the payload of
`connection_init`: `apikey` and `Authorization` in any case of letters, by themselves or inside `headers`. The payload wins.
Source: docs/graphql-subscriptions.md.
"""

import asyncio
import math
import time
from collections.abc import Callable, Iterator, Mapping

from aiohttp import web

from broker.observability.observe import gauge
from broker.requests.call import Calls
from schemas.caller import Rejected, User
from schemas.http import Headers, Response
from schemas.keys.token_claims import FAR_S
from schemas.numbers import read_json_number
from schemas.settings.tree import Settings
from schemas.subscriptions import METHOD
from services.gateway.doorkeeper import Doorkeeper
from services.gateway.functions import wants_socket
from services.gateway.routes import route_of
from services.middleware.apikey import KeyRefused
from services.middleware.caller_key import CallerKeys
from services.middleware.refusals import refusal
from services.realtime.limits import Sockets
from services.realtime.model import Feed
from services.subscriptions.asking import Asking, Visitor
from services.subscriptions.live import LiveQueries
from services.subscriptions.socket import Admitted, House, Socket, Tally, VisitorRefused
from services.subscriptions.watches import Watches

AREA, PREFIX = "graphql", "/graphql/v1"
_DRAIN_S = 5.0
_LEAST_S = 0.01
"""The log tells of a commit a moment before other transactions see it: no query runs sooner after a change."""
_PASSED_ON = "x-"
_KEPT_BACK = frozenset({"x-forwarded-for", "x-forwarded-host", "x-forwarded-proto", "x-forwarded-port", "x-real-ip",
    "x-api-key", "x-request-id"})  # fmt: skip


class GraphQLSockets:
    """The edge of subscriptions of one process. `feed` is None where row changes are not delivered."""

    def __init__(self, settings: Settings, calls: Calls, keeper: Doorkeeper, feed: Feed | None) -> None:
        self._settings = own = settings.graphql.subscriptions
        self._keeper = keeper
        asking = Asking(calls, settings.gateway.request_timeout, own.max_unsent)
        self._watches = None if feed is None else Watches(feed)
        self._live = (
            None
            if self._watches is None
            else LiveQueries(asking, self._watches, max(float(own.debounce), _LEAST_S), own.max_runs)
        )
        self._house = House(asking, self._live, feed, own)
        self._tally = Tally()
        self._sockets: set[Socket] = set()
        self._count = Sockets(own.max_sockets, 0, own.max_sockets_per_address)
        self._is_draining = False
        self._caller_keys = CallerKeys()
        self._shown = list(self._show())

    async def connect(
        self, request: web.BaseRequest, first: Mapping[str, str], key: str | None, address: str = ""
    ) -> web.StreamResponse | Response:
        """Serve a socket to its end; give a refusal where there is none. `first`: the first header of each name."""
        if self._is_draining:
            return refusal(AREA, 503, "The interface is restarting", headers=[("retry-after", "1")])
        place = self._count.enter("", address)
        if place is None:
            return refusal(AREA, 429, "Too many sockets", headers=[("retry-after", "5")])
        headers = [(name, value) for name, value in first.items() if _is_passed_on(name)]

        async def admit(payload: dict[str, object]) -> Admitted:
            return await self._admit(payload, first, key, headers, address)

        socket = Socket(self._house, self._tally, admit)
        self._sockets.add(socket)
        try:
            return await socket.run(request)
        except web.HTTPBadRequest:
            return refusal(AREA, 400, "A WebSocket handshake is needed here")
        finally:
            self._sockets.discard(socket)
            self._count.leave(place)

    async def drain(self) -> None:
        """Send every client elsewhere and wait until they are gone; new ones are refused meanwhile."""
        self._is_draining = True
        for socket in list(self._sockets):
            socket.drain()
        deadline = time.monotonic() + _DRAIN_S
        while self._sockets and time.monotonic() < deadline:  # noqa: ASYNC110 - handlers end in tasks of the server
            await asyncio.sleep(0.02)

    async def close(self) -> None:
        """End it; the sockets are gone."""
        if self._live is not None:
            await self._live.close()
        for remove in self._shown:
            remove()

    async def _admit(
        self,
        payload: dict[str, object],
        first: Mapping[str, str],
        key: str | None,
        headers: Headers,
        address: str,
    ) -> Admitted:
        """Tell whose a socket is. Raises: VisitorRefused."""
        told = _credentials(payload)
        key = told.get("apikey") or key
        authorization = told.get("authorization") or first.get("authorization")
        found = route_of(PREFIX)
        assert found is not None  # the table of routes has it
        route, now = found[0], time.time()
        try:
            caller = self._keeper.caller(route, key, authorization, now)
            if isinstance(caller, Rejected):
                caller = await self._keeper.second_look(route, key, authorization, now, caller)
        except KeyRefused as error:
            raise VisitorRefused(error.message) from None
        if isinstance(caller, Rejected):
            raise VisitorRefused(caller.message)
        ends = caller.decoded().get("exp") if isinstance(caller, User) else None
        ends_at = read_json_number(ends, least=0, most=FAR_S)
        caller_key = self._caller_keys.key_of(caller, key, lambda: address)
        return Admitted(Visitor(caller, headers, caller_key), math.inf if ends_at is None else ends_at)

    def _show(self) -> Iterator[Callable[[], None]]:
        prefix, tally = "headwater_graphql_", self._tally
        yield gauge(prefix + "sockets", "Open sockets of GraphQL.", lambda: len(self._sockets))
        yield gauge(
            prefix + "operations",
            "Open operations of all sockets of GraphQL.",
            lambda: sum(socket.operations for socket in self._sockets),
        )
        yield gauge(
            prefix + "operations_begun",
            "Operations that were begun over sockets so far.",
            lambda: tally.operations,
        )
        yield gauge(prefix + "results", "Results sent over sockets so far.", lambda: tally.results)
        yield gauge(prefix + "slow_sockets", "Sockets closed so far for reading slowly.", lambda: tally.slow)
        if (live := self._live) is not None:
            yield gauge(prefix + "live_queries", "Different live queries.", lambda: live.size)
            yield gauge(prefix + "live_runs", "Runs of live queries so far.", lambda: live.runs)
        if (watches := self._watches) is not None:
            yield gauge(
                prefix + "watched_tables", "Tables that live queries depend on.", lambda: watches.tables
            )


def is_subscribing(request: web.BaseRequest) -> bool:
    """Tell whether a request is for this edge: an upgrade, or the method that edges use among themselves."""
    return wants_socket(request) or request.method == METHOD


def _is_passed_on(name: str) -> bool:
    return name.startswith(_PASSED_ON) and name not in _KEPT_BACK


def _credentials(payload: Mapping[str, object]) -> dict[str, str]:
    """Give the texts of a payload by their names in lower case; those inside `headers` count as well."""
    inner = payload.get("headers")
    both = {**(inner if isinstance(inner, dict) else {}), **payload}
    found = {str(name).lower(): value for name, value in both.items() if isinstance(value, str) and value}
    return {name: value for name, value in found.items() if name in ("apikey", "authorization")}
