"""The realtime edge: sockets, broadcasts over HTTP, and what all of them share.

    GET  /websocket                  the socket of the clients (`socket.py`), also under /socket/websocket
    GET  /changes                    row changes as server-sent events (`sse.py`)
    POST /api/broadcast...           broadcasts over HTTP (`broadcasts.py`)
    GET  /api/ping, /api/tenants/<name>/health
    else /api/tenants..., /api/openapi   403, empty

Source: reference page "realtime", sections 1 and 12; architecture, decisions 12 to 14.
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

from broker.nats.connection import Connection
from broker.observability.observe import gauge, observe, traceback_of
from broker.requests.call import Calls
from schemas.caller import Caller
from schemas.errors import Unavailable
from schemas.http import Headers, Response
from schemas.settings.tree import Settings
from services.gateway.doorkeeper import Doorkeeper
from services.middleware.refusals import JSON
from services.realtime import sse
from services.realtime.broadcasts import Broadcasts, Posted, is_broadcast
from services.realtime.changes.feed import ChangeFeed, open_feed
from services.realtime.client_positions import EdgePositions
from services.realtime.frames import VERSIONS
from services.realtime.hub import Hub
from services.realtime.join import Join
from services.realtime.limits import Brake, Rate, Sockets, Turns
from services.realtime.observed import SocketCrashed
from services.realtime.outbox import Outbox
from services.realtime.questions import Questions, Refused
from services.realtime.seat import House
from services.realtime.socket import JOINS_OVER_S, JoinLimits, Socket, Tally, Visitor
from services.realtime.tokens import TokenRefused, Tokens, of_caller
from services.realtime.tracker import Tracker

_SOCKETS = ("/websocket", "/socket/websocket")
_TENANTS = "/api/tenants"
_CLOSED = (_TENANTS, "/api/openapi")
"""What administers tenants, of which there is one: closed to all, but for the health of it."""
_LOOK_EVERY_S = 5.0
_DRAIN_S = 5.0
_RESTARTING = "Realtime is restarting, please standby"


@dataclass(frozen=True, slots=True)
class Asked:
    """A request as it concerns this edge."""

    request: web.BaseRequest
    path: str
    """Below the prefix of the area."""
    query: str
    first: dict[str, str]
    """The first header of each name, in lower case."""
    key: str
    """The API key; empty where there is none."""
    address: str = ""
    """The client's, as far as it is known."""


class Realtime:
    """The realtime edge of one process. Make one with `open`."""

    def __init__(self, settings: Settings, connection: Connection, calls: Calls, keeper: Doorkeeper) -> None:
        self._settings = own = settings.realtime
        self._connection = connection
        self._feed: ChangeFeed | None = None
        name = secrets.token_hex(8)
        questions = Questions(calls)
        self._house = House(
            hub=Hub(connection, name, own.max_payload),
            tracker=Tracker(
                connection,
                name,
                own.max_presence_events_per_second,
                most_members=own.max_presence_members,
                most_bytes=own.max_presence_size,
            ),
            tokens=Tokens(keeper),
            questions=questions,
            brake=Brake(),
            turns=Turns(),
            feed=lambda: self._feed,
            positions=EdgePositions(
                connection,
                name,
                questions,
                min(own.replay_window, own.retention),
                lambda: self._sockets,
            ),
        )
        self._broadcasts = Broadcasts(
            self._house.hub, self._house.questions, own.max_payload, own.max_broadcasts_per_second
        )
        self._sockets: set[Socket] = set()
        self._count = Sockets(own.max_concurrent_users, own.max_sockets_per_key, own.max_sockets_per_address)
        self._joins = Rate(own.max_joins_per_second, JOINS_OVER_S)
        self._tally = Tally()
        self._outbox = Outbox()
        self._is_draining = False
        self._ending = asyncio.Event()
        self._streams = 0
        self._looking: asyncio.Task[None] | None = None
        self._shown = list(self._show())

    @classmethod
    async def open(
        cls, settings: Settings, connection: Connection, calls: Calls, keeper: Doorkeeper
    ) -> "Realtime":
        """Open the edge, and make it known to the others."""
        _allow_files()
        edge = cls(settings, connection, calls, keeper)
        edge._feed = await open_feed(connection, calls, settings.realtime)
        await edge._house.tracker.start()
        edge._house.positions.start()
        edge._looking = asyncio.get_running_loop().create_task(edge._look())
        return edge

    @property
    def feed(self) -> ChangeFeed | None:
        """Give the row changes of this process, for other edges."""
        return self._feed

    # Requests

    def is_socket(self, path: str) -> bool:
        """Tell whether a path is that of the sockets, which prove themselves otherwise than other requests."""
        return path.rstrip("/") in _SOCKETS

    async def connect(self, asked: Asked) -> web.StreamResponse | Response:
        """Serve a socket to its end; give a refusal where there is none."""
        refused = await self._refused(asked)
        if isinstance(refused, Response):
            return refused
        if self._is_draining:
            return _error(503, _RESTARTING)
        place = self._count.enter(asked.key, asked.address)
        if place is None:
            await self._house.brake.wait()
            return _error(429, "Too many connected users")
        limits = JoinLimits(self._joins, self._may_join)
        socket = Socket(self._house, self._settings, refused, self._tally, limits, self._outbox)
        self._sockets.add(socket)
        try:
            return await socket.run(asked.request)
        except web.HTTPBadRequest:
            return _error(400, "A WebSocket handshake is needed here")
        except (ConnectionError, TimeoutError):
            raise
        except Exception as error:  # the rim of a socket
            observe(SocketCrashed(traceback_of(error)))
            raise ConnectionError("the socket crashed") from None
        finally:
            self._sockets.discard(socket)
            self._count.leave(place)

    def is_stream(self, path: str) -> bool:
        """Tell whether a path is that of row changes as server-sent events."""
        return path.rstrip("/") == sse.PATH

    async def stream(self, asked: Asked, caller: Caller, headers: Headers) -> web.StreamResponse | Response:
        """Send row changes to their end; give a refusal where there are none. Raises: Unavailable, DeadlineExceeded."""
        if asked.request.method != "GET":
            return Response(405, [JSON, ("allow", "GET")], b'{"message":"Method Not Allowed"}')
        try:
            wanted = sse.read_wanted(asked.query, asked.first.get("last-event-id"))
        except ValueError as error:
            return Response(400, [JSON], msgspec.json.encode({"message": str(error)}))
        if self._is_draining:
            raise Unavailable(_RESTARTING)
        place = self._count.enter(asked.key, asked.address)
        if place is None:
            return Response(429, [JSON], b'{"message":"Too many connected users"}')
        self._streams += 1
        try:
            return await sse.serve_changes(
                asked.request,
                self._feed,
                of_caller(caller),
                wanted,
                headers=headers,
                max_unsent=self._settings.max_unsent,
                ending=self._ending,
            )
        finally:
            self._streams -= 1
            self._count.leave(place)

    async def answer(self, asked: Asked, body: bytes, caller: Caller) -> Response:
        """Answer a request that is no socket, of a caller who was let in. Raises: Unavailable, DeadlineExceeded."""
        method, path = asked.request.method, asked.path.rstrip("/")
        if is_broadcast(path):
            if method != "POST":
                return Response(405, [JSON, ("allow", "POST")], b'{"message":"Method Not Allowed"}')
            posted = Posted(
                path=path,
                query=asked.query,
                content_type=asked.first.get("content-type", ""),
                body=body,
                identity=of_caller(caller),
                headers=_own_headers(asked.first),
                key=asked.key,
            )
            try:
                return await self._broadcasts.answer(posted, time.monotonic())
            except Refused:
                return Response(500, [JSON], b'{"message":"Internal error"}')
        if path == "/api/ping" and method in ("GET", "HEAD"):
            return Response(200, [JSON], b'{"message":"Success"}')
        if path.startswith(f"{_TENANTS}/") and path.endswith("/health") and method in ("GET", "HEAD"):
            return Response(200, [JSON], msgspec.json.encode({"data": self._health()}))
        if path in _CLOSED or path.startswith(f"{_TENANTS}/"):
            return Response(403)
        return Response(404, [JSON], b'{"message":"Not Found"}')

    # Its end

    async def drain(self) -> None:
        """Send every client elsewhere and wait until they are gone; new ones are refused meanwhile."""
        self._is_draining = True
        self._ending.set()
        for socket in list(self._sockets):
            socket.drain()
        deadline = time.monotonic() + _DRAIN_S
        while (self._sockets or self._streams) and time.monotonic() < deadline:  # noqa: ASYNC110 - handlers end in tasks of the server
            await asyncio.sleep(0.02)

    async def close(self) -> None:
        """End it; the sockets are gone."""
        if self._looking is not None:
            self._looking.cancel()
        await self._house.positions.close()
        await self._house.tracker.close()
        if self._feed is not None:
            await self._feed.close()
        for remove in self._shown:
            remove()

    # What it knows

    async def _refused(self, asked: Asked) -> Visitor | Response:
        """Look at the handshake: who it is, or the refusal."""
        if not asked.key:
            await self._house.brake.wait()
            return _error(401, "API key is missing")
        options = {name: values[-1] for name, values in parse_qs(asked.query).items()}
        vsn = VERSIONS.get(options.get("vsn", "1.0.0"))
        if vsn is None:
            return _error(400, "The version of the protocol (vsn) is 1.0.0 or 2.0.0")
        try:
            identity = await self._house.tokens.connect(asked.key, time.time())
        except TokenRefused as refused:
            await self._house.brake.wait()
            return _error(401, refused.text)
        user_agent = asked.first.get("user-agent", "")
        return Visitor(vsn, identity, _own_headers(asked.first), asked.address, user_agent)

    def _may_join(self, join: Join) -> str:
        """Give the reason why a join is refused whoever asks; empty: it is not."""
        if self._is_draining:
            return f"RealtimeRestarting: {_RESTARTING}"
        if self._settings.private_only and not join.is_private:
            return "PrivateOnly: This project only allows private channels"
        return ""

    async def _look(self) -> None:
        while True:
            await asyncio.sleep(min(_LOOK_EVERY_S, self._settings.idle_timeout / 4))
            now = time.monotonic()
            for socket in list(self._sockets):
                socket.look(now)

    def _health(self) -> dict[str, object]:
        is_connected = self._connection.is_connected
        return {
            "healthy": is_connected and not self._is_draining,
            "db_connected": self._feed is not None,
            "connected_cluster": len(self._sockets),
            "edges": len(self._house.tracker.edges) + 1,
        }

    def _show(self) -> Iterator[Callable[[], None]]:
        tally, prefix = self._tally, "headwater_realtime_"
        yield gauge(prefix + "sockets", "Open sockets.", lambda: len(self._sockets))
        yield gauge(
            prefix + "channels",
            "Channels of all sockets.",
            lambda: sum(socket.channels for socket in self._sockets),
        )
        yield gauge(prefix + "rooms", "Rooms with members here.", lambda: self._house.hub.size)
        yield gauge(prefix + "deliveries", "Frames sent so far.", lambda: tally.deliveries)
        yield gauge(prefix + "received", "Frames received so far.", lambda: tally.received)
        yield gauge(prefix + "dropped", "Frames dropped so far for their form.", lambda: tally.dropped)
        yield gauge(
            prefix + "slow_consumers", "Sockets closed so far for reading slowly.", lambda: tally.slow
        )


def _allow_files() -> None:
    """Let this process have as many sockets as the system lets it: what shells set is often 1024."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft != hard:
        with contextlib.suppress(ValueError, OSError):  # a system that names no bound takes none
            resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))


def key_of(first: dict[str, str], query: str) -> str:
    """Give the API key of a handshake: a header wins over the query."""
    for name in ("x-api-key", "apikey"):
        if first.get(name):
            return first[name]
    return parse_qs(query).get("apikey", [""])[-1]


def _own_headers(first: dict[str, str]) -> dict[str, str]:
    """Give the headers that policies may look at."""
    return {name: value for name, value in first.items() if name.startswith("x-") and name != "x-api-key"}


def _error(status: int, text: str) -> Response:
    return Response(status, [JSON], msgspec.json.encode({"error": text}))
