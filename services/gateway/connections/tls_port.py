"""The gateway's port with TLS: connections are counted when they are accepted, before their handshake.

asyncio's own server hands a connection over after the handshake, so connections that never finish theirs would count nowhere. Here a
socket is counted against `gateway.max_connections` and its share of an address first; it is closed after `gateway.handshake_timeout`
without a finished handshake. While certificates come by TLS-ALPN-01, the client's first message is looked at before.
"""

import asyncio
import errno
import socket
import ssl
from collections.abc import Callable
from contextlib import suppress

from broker.observability.observe import gauge
from broker.processes.inherited_sockets import InheritedSockets
from services.certificates.challenges import ACME_PROTOCOL, ChallengeResponder
from services.gateway.connections import client_hello
from services.gateway.connections.listener import BACKLOG, GatewayListener

_ACCEPTED_AT_ONCE = 64
"""Connections that are accepted in one loop iteration; others get their turn between."""
_FULL = frozenset({errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM})
_PAUSE_S = 1.0
_LAST_HANDSHAKES_S = 3.0
"""Seconds in which handshakes are finished before an edge closes."""
_NEXT_LOOK_S, _LONGEST_LOOK_S = 0.02, 1.0
"""Pauses between two looks at a first message that has come in part, each twice the last: its socket stays readable, so nothing else
reports the rest.
"""


class TlsPort:
    """Listens, and hands connections to aiohttp's server."""

    def __init__(
        self,
        server: GatewayListener,
        host: str,
        port: int,
        context: ssl.SSLContext,
        handshake_s: float,
        inherited: InheritedSockets,
        responder: ChallengeResponder | None = None,
    ) -> None:
        self._server, self._context, self._handshake_s = server, context, handshake_s
        self._where = (host, port)
        self._responder = responder
        self._listening: list[socket.socket] = []
        self._inherited = inherited
        self._opening: set[asyncio.Task[None]] = set()
        self._failed = 0
        self._remove_gauges: list[Callable[[], None]] = []

    async def start(self) -> None:
        """Listen: on the inherited sockets, or on sockets of our own. Raises: OSError."""
        loop = asyncio.get_running_loop()
        self._listening = [*self._inherited.sockets] or await self._bind()
        for listening in self._listening:
            listening.listen(BACKLOG)
            loop.add_reader(listening, self._accept, listening)
        self._remove_gauges = [
            gauge(
                "headwater_tls_handshakes",
                "Connections of this process whose TLS handshake runs.",
                lambda: len(self._opening),
            ),
            gauge(
                "headwater_tls_handshakes_failed",
                "Connections of this process that ended without a finished TLS handshake.",
                lambda: self._failed,
            ),
        ]

    async def stop(self) -> None:
        """Stop listening. An inherited socket is shut down: the next edge listens on it again (`Site.stop`).

        Handshakes in progress are finished: no other process can continue them.
        """
        loop = asyncio.get_running_loop()
        for remove in self._remove_gauges:
            remove()
        for listening in self._listening:
            loop.remove_reader(listening)
            if listening in self._inherited.sockets and not self._inherited.is_kept:
                with suppress(OSError):
                    listening.shutdown(socket.SHUT_RDWR)
            listening.close()
        self._listening = []
        if self._opening:
            await asyncio.wait(self._opening, timeout=_LAST_HANDSHAKES_S)
        for opening in self._opening:
            opening.cancel()
        await asyncio.gather(*self._opening, return_exceptions=True)

    async def _bind(self) -> list[socket.socket]:
        host, port = self._where
        loop = asyncio.get_running_loop()
        addresses = await loop.getaddrinfo(
            host or None, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )
        bound = []
        try:
            for family, _, _, _, address in dict.fromkeys(addresses):
                bound.append(
                    socket.create_server(address[:2], family=family, reuse_port=True, backlog=BACKLOG)
                )
                bound[-1].setblocking(False)
        except OSError:
            for opened in bound:
                opened.close()
            raise
        return bound

    def _accept(self, listening: socket.socket) -> None:
        """Accept what waits. Without free descriptors nothing is accepted for a second."""
        for _ in range(_ACCEPTED_AT_ONCE):
            try:
                connection, address = listening.accept()
            except OSError as error:
                if error.errno in _FULL:
                    loop = asyncio.get_running_loop()
                    loop.remove_reader(listening)
                    loop.call_later(_PAUSE_S, self._resume, listening)
                return
            connection.setblocking(False)
            entered = self._server.connections_open.enter(str(address[0]))
            if entered is None:
                connection.close()
                continue
            opening = asyncio.get_running_loop().create_task(self._open(connection, entered))
            self._opening.add(opening)
            opening.add_done_callback(self._opening.discard)

    def _resume(self, listening: socket.socket) -> None:
        if listening in self._listening:
            asyncio.get_running_loop().add_reader(listening, self._accept, listening)

    async def _open(self, connection: socket.socket, entered: str) -> None:
        """Carry out the handshake; from then on the handler has the connection and its place in the counts."""
        handler = self._server.handler_for(entered)
        is_handed_over = False
        try:
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            async with asyncio.timeout(2 * self._handshake_s):
                context = self._context if self._responder is None else await self._context_for(connection)
                is_handed_over = True
                await asyncio.get_running_loop().connect_accepted_socket(
                    lambda: handler, connection, ssl=context, ssl_handshake_timeout=self._handshake_s
                )
        except (OSError, TimeoutError):  # ssl.SSLError is an OSError; the client is gone, or speaks no TLS
            self._failed += 1
        finally:
            if not is_handed_over:
                connection.close()
            handler.leave_unopened()

    async def _context_for(self, connection: socket.socket) -> ssl.SSLContext:
        """Return the gateway's context, or that of a challenge for an authority that looks for one."""
        assert self._responder is not None
        hello = client_hello.read_client_hello(await self._first_bytes(connection))
        if hello is None or ACME_PROTOCOL not in hello.protocols:
            return self._context
        return await self._responder.context(hello.host) or self._context

    async def _first_bytes(self, connection: socket.socket) -> bytes:
        """Return the first record without taking it. Raises: TimeoutError, OSError."""
        pause = _NEXT_LOOK_S
        async with asyncio.timeout(self._handshake_s):
            while True:
                try:
                    data = connection.recv(client_hello.LONGEST, socket.MSG_PEEK)
                except BlockingIOError:
                    await _readable(connection)
                    continue
                if not data:
                    raise ConnectionError("the client closed the connection")
                if client_hello.is_whole(data):
                    return data
                await asyncio.sleep(pause)
                pause = min(2 * pause, _LONGEST_LOOK_S)


async def _readable(connection: socket.socket) -> None:
    loop = asyncio.get_running_loop()
    ready: asyncio.Future[None] = loop.create_future()

    def report() -> None:
        if not ready.done():
            ready.set_result(None)

    loop.add_reader(connection, report)
    try:
        await ready
    finally:
        loop.remove_reader(connection)
