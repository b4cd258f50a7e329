"""The realtime edge of one process: sockets, broadcasts over HTTP, row changes as server-sent events, and their shared parts.

    GET  /websocket                  the socket of the clients (`sockets/socket.py`), also under /socket/websocket
    GET  /changes                    row changes as server-sent events (`sse.py`)
    POST /api/broadcast...           broadcasts over HTTP (`broadcasts.py`)
    GET  /api/ping, /api/tenants/<name>/health
    else /api/tenants..., /api/openapi   403, empty

Source: docs/reference/realtime.md, sections 1 and 12.
"""

import asyncio
import contextlib
import resource
import secrets
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from urllib.parse import parse_qs

import msgspec
from aiohttp import web

from broker.nats.connection import NatsConnection
from broker.observability.observe import gauge, observe, traceback_of
from broker.requests.call import Calls
from schemas.caller import Caller
from schemas.errors import Unavailable
from schemas.http import Headers, Response
from schemas.settings.realtime import RealtimeSettings
from schemas.settings.tree import Settings
from services.gateway.requests.authentication import Authenticator
from services.middleware.errors import JSON
from services.realtime import sse
from services.realtime.broadcasts import BroadcastRequest, HttpBroadcasts, is_broadcast
from services.realtime.changes.feed import ChangeFeed, open_feed
from services.realtime.channels.client_positions import EdgePositions
from services.realtime.channels.pool_queries import ChannelQueries, ChannelQueryRejected
from services.realtime.channels.services import ChannelServices
from services.realtime.limits import LongWorkLock, RejectionDelay, SocketCounts, TokenBucket
from services.realtime.observations import SocketCrashed
from services.realtime.protocol.frames import VERSIONS
from services.realtime.protocol.join import JoinRequest
from services.realtime.sockets.join_limits import JOINS_OVER_S, ProcessJoinLimits
from services.realtime.sockets.outbox import FrameOutbox
from services.realtime.sockets.socket import RealtimeSocket, SocketClient, SocketStatistics
from services.realtime.tokens import RealtimeTokenRejected, Tokens, identity_of_caller
from services.realtime.topics.hub import TopicHub
from services.realtime.topics.tracker import PresenceTracker

_SOCKETS = ("/websocket", "/socket/websocket")
_TENANTS = "/api/tenants"
_FORBIDDEN = (_TENANTS, "/api/openapi")
"""Paths that administer tenants. There is one tenant, so they answer 403, except for its health."""
_IDLE_CHECK_S = 5.0
_DRAIN_S = 5.0
_RESTARTING = "Realtime is restarting, please standby"


@dataclass(frozen=True, slots=True)
class RealtimeRequest:
    """The parts of a request that this edge reads."""

    http: web.BaseRequest
    path: str
    """Path below the prefix of the area."""
    query: str
    headers: dict[str, str]
    """The first header of each name; names in lower case."""
    key: str
    """The API key; empty if there is none."""
    address: str = ""
    """Address of the client, if it is known."""


class RealtimeEdge:
    """The realtime edge of one process. Created with `open`."""

    def __init__(
        self, settings: Settings, connection: NatsConnection, calls: Calls, keeper: Authenticator
    ) -> None:
        self._settings = limits = settings.realtime
        self._connection = connection
        self._feed: ChangeFeed | None = None
        name = secrets.token_hex(8)
        queries = ChannelQueries(calls)
        self._services = ChannelServices(
            hub=TopicHub(connection, name, limits.max_payload),
            tracker=PresenceTracker(
                connection,
                name,
                limits.max_presence_events_per_second,
                most_members=limits.max_presence_members,
                most_bytes=limits.max_presence_size,
            ),
            tokens=Tokens(keeper),
            queries=queries,
            rejection_delay=RejectionDelay(),
            long_work=LongWorkLock(),
            feed=lambda: self._feed,
            positions=EdgePositions(
                connection,
                name,
                queries,
                min(limits.replay_window, limits.retention),
                lambda: self._sockets,
            ),
        )
        self._broadcasts = HttpBroadcasts(
            self._services.hub, queries, limits.max_payload, limits.max_broadcasts_per_second
        )
        self._sockets: set[RealtimeSocket] = set()
        self._counts = SocketCounts(
            limits.max_concurrent_users, limits.max_sockets_per_key, limits.max_sockets_per_address
        )
        joins = TokenBucket(limits.max_joins_per_second, JOINS_OVER_S)
        self._join_limits = ProcessJoinLimits(joins, self._join_rejection)
        self._statistics = SocketStatistics()
        self._outbox = FrameOutbox()
        self._is_draining = False
        self._stopping = asyncio.Event()
        self._streams = 0
        self._idle_check: asyncio.Task[None] | None = None
        self._gauges = list(self._register_gauges())

    @classmethod
    async def open(
        cls, settings: Settings, connection: NatsConnection, calls: Calls, keeper: Authenticator
    ) -> "RealtimeEdge":
        """Open the edge and announce it to the other edges."""
        _raise_file_limit()
        edge = cls(settings, connection, calls, keeper)
        edge._feed = await open_feed(connection, calls, settings.realtime)
        await edge._services.tracker.start()
        edge._services.positions.start()
        edge._idle_check = asyncio.get_running_loop().create_task(edge._close_idle_sockets())
        return edge

    def use(self, limits: RealtimeSettings) -> None:
        """Serve later sockets by these limits; open ones keep theirs, but for `private_only` and the counts of sockets."""
        self._settings = limits
        self._counts.use(
            limits.max_concurrent_users, limits.max_sockets_per_key, limits.max_sockets_per_address
        )

    @property
    def feed(self) -> ChangeFeed | None:
        """Return the feed of row changes of this process, for other edges."""
        return self._feed

    # Requests

    def is_socket(self, path: str) -> bool:
        """Return whether a path is for sockets, which authenticate differently from other requests."""
        return path.rstrip("/") in _SOCKETS

    async def connect(self, request: RealtimeRequest) -> web.StreamResponse | Response:
        """Serve a socket to its end, or return the response that rejects it."""
        client = await self._authenticate(request)
        if isinstance(client, Response):
            return client
        if self._is_draining:
            return _error(503, _RESTARTING)
        counted = self._counts.add(request.key, request.address)
        if counted is None:
            await self._services.rejection_delay.wait()
            return _error(429, "Too many connected users")
        socket = RealtimeSocket(
            self._services, self._settings, client, self._statistics, self._join_limits, self._outbox
        )
        self._sockets.add(socket)
        try:
            return await socket.run(request.http)
        except web.HTTPBadRequest:
            return _error(400, "A WebSocket handshake is needed here")
        except (ConnectionError, TimeoutError):
            raise
        except Exception as error:  # an error of our own ends this socket only
            observe(SocketCrashed(traceback_of(error)))
            raise ConnectionError("the socket crashed") from None
        finally:
            self._sockets.discard(socket)
            self._counts.remove(counted)

    def is_stream(self, path: str) -> bool:
        """Return whether a path is that of row changes as server-sent events."""
        return path.rstrip("/") == sse.PATH

    async def stream(
        self, request: RealtimeRequest, caller: Caller, headers: Headers
    ) -> web.StreamResponse | Response:
        """Serve row changes until the client leaves, or return the response that rejects the request.

        Raises: Unavailable, DeadlineExceeded.
        """
        if request.http.method not in ("GET", "HEAD"):
            return Response(405, [JSON, ("allow", "GET, HEAD")], b'{"message":"Method Not Allowed"}')
        try:
            changes = sse.parse_changes_request(request.query, request.headers.get("last-event-id"))
        except ValueError as error:
            return Response(400, [JSON], msgspec.json.encode({"message": str(error)}))
        if request.http.method == "HEAD":
            return Response(200, [(name.lower(), value) for name, value in sse.HEADERS])
        if self._is_draining:
            raise Unavailable(_RESTARTING)
        counted = self._counts.add(request.key, request.address)
        if counted is None:
            return Response(429, [JSON], b'{"message":"Too many connected users"}')
        self._streams += 1
        try:
            return await sse.serve_changes(
                request.http,
                self._feed,
                identity_of_caller(caller),
                changes,
                headers=headers,
                max_unsent=self._settings.max_unsent,
                stopping=self._stopping,
            )
        finally:
            self._streams -= 1
            self._counts.remove(counted)

    async def answer(self, request: RealtimeRequest, body: bytes, caller: Caller) -> Response:
        """Answer an HTTP request of an authenticated caller. Raises: Unavailable, DeadlineExceeded."""
        method, path = request.http.method, request.path.rstrip("/")
        if is_broadcast(path):
            if method != "POST":
                return Response(405, [JSON, ("allow", "POST")], b'{"message":"Method Not Allowed"}')
            broadcast = BroadcastRequest(
                path=path,
                query=request.query,
                content_type=request.headers.get("content-type", ""),
                body=body,
                identity=identity_of_caller(caller),
                headers=_policy_headers(request.headers),
                key=request.key,
            )
            try:
                return await self._broadcasts.answer(broadcast, time.monotonic())
            except ChannelQueryRejected:
                return Response(500, [JSON], b'{"message":"Internal error"}')
        if path == "/api/ping" and method in ("GET", "HEAD"):
            return Response(200, [JSON], b'{"message":"Success"}')
        if path.startswith(f"{_TENANTS}/") and path.endswith("/health") and method in ("GET", "HEAD"):
            return Response(200, [JSON], msgspec.json.encode({"data": self._health()}))
        if path in _FORBIDDEN or path.startswith(f"{_TENANTS}/"):
            return Response(403)
        return Response(404, [JSON], b'{"message":"Not Found"}')

    # The end

    async def drain(self) -> None:
        """Ask every client to reconnect elsewhere and wait until they are gone, `_DRAIN_S` at most; reject new ones."""
        self._is_draining = True
        self._stopping.set()
        for socket in list(self._sockets):
            socket.drain()
        deadline = time.monotonic() + _DRAIN_S
        while (self._sockets or self._streams) and time.monotonic() < deadline:  # noqa: ASYNC110 - handlers end in tasks of the server
            await asyncio.sleep(0.02)

    async def close(self) -> None:
        """Close the edge. The sockets must be gone."""
        if self._idle_check is not None:
            self._idle_check.cancel()
        await self._services.positions.close()
        await self._services.tracker.close()
        if self._feed is not None:
            await self._feed.close()
        for remove in self._gauges:
            remove()

    # Handshakes, idle sockets, metrics

    async def _authenticate(self, request: RealtimeRequest) -> SocketClient | Response:
        """Return the client of a handshake, or the response that rejects it."""
        if not request.key:
            await self._services.rejection_delay.wait()
            return _error(401, "API key is missing")
        options = {name: values[-1] for name, values in parse_qs(request.query).items()}
        vsn = VERSIONS.get(options.get("vsn", "1.0.0"))
        if vsn is None:
            return _error(400, "The version of the protocol (vsn) is 1.0.0 or 2.0.0")
        try:
            identity = await self._services.tokens.connect(request.key, time.time())
        except RealtimeTokenRejected as rejected:
            await self._services.rejection_delay.wait()
            return _error(401, rejected.text)
        user_agent = request.headers.get("user-agent", "")
        return SocketClient(vsn, identity, _policy_headers(request.headers), request.address, user_agent)

    def _join_rejection(self, join: JoinRequest) -> str:
        """Return the reason why a join of any client is rejected, or ""."""
        if self._is_draining:
            return f"RealtimeRestarting: {_RESTARTING}"
        if self._settings.private_only and not join.is_private:
            return "PrivateOnly: This project only allows private channels"
        return ""

    async def _close_idle_sockets(self) -> None:
        while True:
            await asyncio.sleep(min(_IDLE_CHECK_S, self._settings.idle_timeout / 4))
            now = time.monotonic()
            for socket in list(self._sockets):
                socket.close_if_idle(now)

    def _health(self) -> dict[str, object]:
        is_connected = self._connection.is_connected
        return {
            "healthy": is_connected and not self._is_draining,
            "db_connected": self._feed is not None,
            "connected_cluster": len(self._sockets),
            "edges": len(self._services.tracker.edges) + 1,
        }

    def _register_gauges(self) -> Iterator[Callable[[], None]]:
        statistics, prefix = self._statistics, "headwater_realtime_"
        yield gauge(prefix + "sockets", "Open sockets.", lambda: len(self._sockets))
        yield gauge(
            prefix + "channels",
            "Channels of all sockets.",
            lambda: sum(socket.channels for socket in self._sockets),
        )
        yield gauge(
            prefix + "rooms", "Topics that channels of this process joined.", lambda: self._services.hub.size
        )
        yield gauge(prefix + "deliveries", "Frames sent so far.", lambda: statistics.deliveries)
        yield gauge(prefix + "received", "Frames received so far.", lambda: statistics.received)
        yield gauge(prefix + "dropped", "Malformed frames dropped so far.", lambda: statistics.dropped)
        yield gauge(
            prefix + "slow_consumers", "Sockets closed so far for reading slowly.", lambda: statistics.slow
        )


def _raise_file_limit() -> None:
    """Raise the limit of open files to the hard limit: the soft limit of shells is often 1024."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft != hard:
        with contextlib.suppress(
            ValueError, OSError
        ):  # some systems report no hard limit and reject the call
            resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))


def key_of(first: dict[str, str], query: str) -> str:
    """Return the API key of a handshake; a header has precedence over the query."""
    for name in ("x-api-key", "apikey"):
        if first.get(name):
            return first[name]
    return parse_qs(query).get("apikey", [""])[-1]


def _policy_headers(first: dict[str, str]) -> dict[str, str]:
    """Return the headers that policies may read."""
    return {name: value for name, value in first.items() if name.startswith("x-") and name != "x-api-key"}


def _error(status: int, text: str) -> Response:
    return Response(status, [JSON], msgspec.json.encode({"error": text}))
