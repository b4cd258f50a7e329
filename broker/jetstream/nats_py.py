"""The connection that carries what is durable: that of the package `nats-py`, beside our own for the hot path.

It is opened by the first durable order of a process and closed with the `Connection` it belongs to; a process that
gives no such order neither opens it nor imports the package (which brings an HTTP client of 10 MB with it).

What the package does not do by itself, and is done here:

- It keeps what is published while disconnected and sends it later. Here it may keep nothing (`pending_size` 0), so
  that an order fails when it cannot be given.
- It leaves an order waiting for its time limit when the connection is lost. Here the limit is over at once.
- It closes for good on errors it does not know, and its reconnecting may end or hang. Here a client that is closed,
  or is not back `_BACK_S` after our own connection, is replaced by a new one.
- It speaks TLS only where the server demands it. Here also where the URL does.

All servers of one list are entered with the credentials of the first: they are one cluster.
"""

import asyncio
import contextlib
import secrets
import ssl
import time
from collections.abc import AsyncIterator
from typing import Any

import nats.errors
from nats.aio.client import Client
from nats.js import JetStreamContext

from broker import subjects
from broker.nats.connection import Connection
from broker.nats.protocol import Server
from broker.observability.observations import BrokerBack, BrokerComplained, BrokerLost
from broker.observability.observe import observe
from schemas.errors import Unavailable

_BACK_S = 3.0
_CLOSE_S = 2.0
_LOOK_S = 0.02
_RECONNECT_S = 0.1
_PING_EVERY_S = 5
_UNANSWERED_PINGS = 2


class Closed(Unavailable):
    """The connection was closed by its owner: no order will ever be taken again."""

    def __init__(self) -> None:
        super().__init__("the connection to the broker is closed")


class Durable:
    """The durable side of a connection: `connection.companion(Durable)`."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._client: Client | None = None
        self._context: JetStreamContext | None = None
        self._opening = asyncio.Lock()
        self._limits: set[asyncio.Timeout] = set()
        self._is_closed = False
        self._lost_at = 0.0
        self._missed_since = 0.0
        self._complaint = ""

    @contextlib.asynccontextmanager
    async def use(self, timeout: float) -> AsyncIterator[JetStreamContext]:
        """Give JetStream for one order. Its time ends after `timeout` seconds, or when the connection is lost.

        Raises: Closed; Unavailable while the broker is away; TimeoutError; and what the order itself raises.
        """
        async with asyncio.timeout(timeout) as limit:
            self._limits.add(limit)
            try:
                yield await self._ready()
            finally:
                self._limits.discard(limit)

    async def close(self) -> None:
        """Close for good. What waits is told that it is over."""
        self._is_closed = True
        self._end_limits()
        async with self._opening:
            await self._discard()

    async def _ready(self) -> JetStreamContext:
        """Give the context of a client that is connected; open one if there is none to wait for."""
        if self._context is not None and self._client is not None and self._client.is_connected:
            return self._context
        async with self._opening:
            if self._is_closed:
                raise Closed
            if not self._connection.is_connected:
                self._missed_since = 0.0
                raise Unavailable("the broker is not connected")
            if self._client is None or self._context is None or not await self._is_back(self._client):
                await self._discard()
                self._context = await self._open()
            self._missed_since = 0.0
            return self._context

    async def _is_back(self, client: Client) -> bool:
        """Wait until a client is connected again; give False if it is closed or is missed for too long."""
        self._missed_since = self._missed_since or asyncio.get_running_loop().time()
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout_at(self._missed_since + _BACK_S):
                while not client.is_connected and not client.is_closed:  # noqa: ASYNC110 - its callback may never come
                    await asyncio.sleep(_LOOK_S)
        return client.is_connected

    async def _open(self) -> JetStreamContext:
        try:
            return await self._connect()
        except BaseException:
            await self._discard()
            raise

    async def _connect(self) -> JetStreamContext:
        servers = self._connection.servers
        context = None
        if any(server.tls for server in servers) or self._connection.is_secured:
            context = await asyncio.get_running_loop().run_in_executor(None, ssl.create_default_context)
        self._client = client = _Client()

        async def lost() -> None:
            if client is self._client and not self._is_closed:
                self._lose()

        await client.connect(
            servers=[_address(server) for server in servers],
            name=f"{self._connection.name} (durable)",
            inbox_prefix=_inbox(servers[0]),
            pending_size=0,
            max_reconnect_attempts=-1,
            reconnect_time_wait=_RECONNECT_S,  # type: ignore[arg-type]  # declared as int, used as seconds
            ping_interval=_PING_EVERY_S,
            max_outstanding_pings=_UNANSWERED_PINGS,
            tls=context,
            error_cb=self._complain,
            disconnected_cb=lost,
            reconnected_cb=self._come_back,
            **_credentials(servers[0]),
        )
        await self._come_back()
        return client.jetstream()

    async def _discard(self) -> None:
        """Close the client, if there is one; it gets little time, for its peer may be silent."""
        client, self._client, self._context = self._client, None, None
        if client is not None:
            with contextlib.suppress(TimeoutError, OSError, nats.errors.Error):
                async with asyncio.timeout(_CLOSE_S):
                    await client.close()

    def _lose(self) -> None:
        if not self._lost_at:
            self._lost_at = time.monotonic()
            observe(BrokerLost("durable: the connection ended"))
        self._end_limits()

    async def _come_back(self) -> None:
        if self._lost_at:
            observe(BrokerBack(round(time.monotonic() - self._lost_at, 3)))
        self._lost_at, self._complaint = 0.0, ""

    async def _complain(self, error: Exception) -> None:
        """Observe what the server refuses, once; that it cannot be reached is told by `BrokerLost`."""
        words = str(error)
        if isinstance(error, OSError | TimeoutError | nats.errors.StaleConnectionError):
            return
        if words != self._complaint:
            self._complaint = words
            observe(BrokerComplained(f"durable: {words}"))

    def _end_limits(self) -> None:
        now = asyncio.get_running_loop().time()
        for limit in self._limits:
            if not limit.expired():
                limit.reschedule(now)
        self._limits.clear()


class _Client(Client):
    """The package's client, made to speak TLS with a server whose URL demands it (`tls://`)."""

    async def _process_info(self, info: dict[str, Any], initial_connection: bool = False) -> None:
        # The package reads `tls_required` after this step; what it reads is this very dictionary.
        if self._current_server is not None and self._current_server.uri.scheme == "tls":
            info["tls_required"] = True
        await super()._process_info(info, initial_connection)


def _address(server: Server) -> str:
    host = f"[{server.host}]" if ":" in server.host else server.host
    return f"{'tls' if server.tls else 'nats'}://{host}:{server.port}"


def _inbox(server: Server) -> str:
    return subjects.inbox(server.user if server.password else "", secrets.token_hex(9)).removesuffix(".")


def _credentials(server: Server) -> dict[str, Any]:
    """Give how to sign in. Secrets are given as functions: the client asks them for each connect and keeps no text."""
    if server.user and server.password:
        return {"user": server.user, "password": server.password.reveal}
    return {"token": lambda: server.user} if server.user else {}
