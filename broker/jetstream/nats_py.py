"""JetStream connection (nats-py), separate from the hot-path client, for durable work only.

Why nats-py here: durable consumers (pull requests, acknowledgement, redelivery) are its code, maintained by the NATS
project, and that work waits for a disk, so that its higher CPU time does not matter. Why it does not carry requests:
it takes 37 to 39 us a hop where the hot-path client takes 27 to 31 (`broker/nats/__init__.py`). Its behaviour while
disconnected is not the reason, because the settings below change it.

The connection is opened by the first durable request of a process and closed with the `NatsConnection` it belongs to.
A process without durable requests neither opens it nor imports the library, which loads an HTTP client of 10 MB.

What the library does not do by itself, and is done here:

- It buffers what is published while disconnected and sends it later. Here the buffer is switched off (`pending_size`
  0), so a request fails at once while the broker is away.
- It leaves a request waiting for its time limit when the connection is lost. Here the time limit ends at that moment.
- It closes for good on errors that it does not know, and its reconnecting may stop or hang. Here a client that is
  closed, or that is not connected `_BACK_S` after the hot-path connection is back, is replaced by a new one.
- It uses TLS only where the server requires it. Here also where the URL does (`tls://`).

All servers of one list are used with the credentials of the first: they are one cluster.
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
from broker.nats.addresses import ServerAddress
from broker.nats.connection import NatsConnection
from broker.observability.observations import BrokerBack, BrokerComplained, BrokerLost
from broker.observability.observe import observe
from schemas.errors import Unavailable

_BACK_S = 3.0
_CLOSE_S = 2.0
_LOOK_S = 0.02
_RECONNECT_S = 0.1
_PING_EVERY_S = 5
_UNANSWERED_PINGS = 2


class ConnectionClosed(Unavailable):
    """The connection was closed by its owner and will not be opened again."""

    def __init__(self) -> None:
        super().__init__("the connection to the broker is closed")


class JetStreamClient:
    """The nats-py client of a connection: `connection.linked(JetStreamClient)`."""

    def __init__(self, connection: NatsConnection) -> None:
        self._connection = connection
        self._client: Client | None = None
        self._context: JetStreamContext | None = None
        self._opening = asyncio.Lock()
        self._limits: set[asyncio.Timeout] = set()
        self._is_closed = False
        self._lost_at = 0.0
        self._waiting_since = 0.0
        self._complaint = ""

    @contextlib.asynccontextmanager
    async def use(self, timeout: float) -> AsyncIterator[JetStreamContext]:
        """Provide JetStream for one request. Its time ends after `timeout` seconds, or when the connection is lost.

        Raises: ConnectionClosed; Unavailable while the broker is away; TimeoutError; and what the request itself
        raises. A cancellation of the caller is never lost: the library waits with `asyncio.wait_for`, which in Python
        3.11 returns a result that came in the same moment and forgets the cancellation.
        """
        task = asyncio.current_task()
        cancelled_before = task.cancelling() if task else 0
        try:
            async with asyncio.timeout(timeout) as limit:
                self._limits.add(limit)
                try:
                    yield await self._ready()
                finally:
                    self._limits.discard(limit)
        finally:  # also beside another error
            if task and task.cancelling() > cancelled_before:
                raise asyncio.CancelledError

    async def close(self) -> None:
        """Close for good. The time limit of every running request ends now."""
        self._is_closed = True
        self._end_limits()
        async with self._opening:
            await self._discard()

    async def _ready(self) -> JetStreamContext:
        """Return the context of a connected client; open a new client if the present one does not come back."""
        if self._context is not None and self._client is not None and self._client.is_connected:
            return self._context
        async with self._opening:
            if self._is_closed:
                raise ConnectionClosed
            if not self._connection.is_connected:
                self._waiting_since = 0.0
                raise Unavailable("the broker is not connected")
            if self._client is None or self._context is None or not await self._is_back(self._client):
                await self._discard()
                self._context = await self._open()
            self._waiting_since = 0.0
            return self._context

    async def _is_back(self, client: Client) -> bool:
        """Wait until a client is connected again; return False if it is closed, or not back within `_BACK_S`."""
        self._waiting_since = self._waiting_since or asyncio.get_running_loop().time()
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout_at(self._waiting_since + _BACK_S):
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
        self._client = client = _TlsClient()

        async def on_disconnected() -> None:
            if client is self._client and not self._is_closed:
                self._handle_loss()

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
            error_cb=self._report_error,
            disconnected_cb=on_disconnected,
            reconnected_cb=self._handle_reconnect,
            **_credentials(servers[0]),
        )
        await self._handle_reconnect()
        return client.jetstream()

    async def _discard(self) -> None:
        """Close the client, if there is one. It gets `_CLOSE_S`, because its peer may be silent."""
        client, self._client, self._context = self._client, None, None
        if client is not None:
            # In a task of its own: a client whose server is gone may end in a CancelledError that nobody asked for.
            closing = asyncio.ensure_future(client.close())
            await asyncio.wait([closing], timeout=_CLOSE_S)
            if not closing.done():
                closing.cancel()
            with contextlib.suppress(asyncio.CancelledError, OSError, nats.errors.Error):
                await closing

    def _handle_loss(self) -> None:
        if not self._lost_at:
            self._lost_at = time.monotonic()
            observe(BrokerLost("durable: the connection ended"))
        self._end_limits()

    async def _handle_reconnect(self) -> None:
        if self._lost_at:
            observe(BrokerBack(round(time.monotonic() - self._lost_at, 3)))
        self._lost_at, self._complaint = 0.0, ""

    async def _report_error(self, error: Exception) -> None:
        """Report an error of the server once. A lost connection is reported by `BrokerLost` instead."""
        text = str(error)
        if isinstance(error, OSError | TimeoutError | nats.errors.StaleConnectionError):
            return
        if text != self._complaint:
            self._complaint = text
            observe(BrokerComplained(f"durable: {text}"))

    def _end_limits(self) -> None:
        now = asyncio.get_running_loop().time()
        for limit in self._limits:
            if not limit.expired():
                limit.reschedule(now)
        self._limits.clear()


class _TlsClient(Client):
    """The library's client, changed to use TLS with a server whose URL is `tls://`."""

    async def _process_info(self, info: dict[str, Any], initial_connection: bool = False) -> None:
        # The library reads `tls_required` from this dictionary after this step.
        if self._current_server is not None and self._current_server.uri.scheme == "tls":
            info["tls_required"] = True
        await super()._process_info(info, initial_connection)


def _address(server: ServerAddress) -> str:
    host = f"[{server.host}]" if ":" in server.host else server.host
    return f"{'tls' if server.tls else 'nats'}://{host}:{server.port}"


def _inbox(server: ServerAddress) -> str:
    return subjects.inbox(server.user if server.password else "", secrets.token_hex(9)).removesuffix(".")


def _credentials(server: ServerAddress) -> dict[str, Any]:
    """Return the sign-in arguments. Secrets are passed as functions, which the client calls for each connect."""
    if server.user and server.password:
        return {"user": server.user, "password": server.password.reveal}
    return {"token": lambda: server.user} if server.user else {}
