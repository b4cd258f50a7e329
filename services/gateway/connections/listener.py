"""aiohttp's server with error responses of our own, a limit on the time that the head of a request may take, and one on connections.

A connection waits for a head from the moment it is open: one that sends nothing, or a byte now and then, is closed after
`header_timeout`, and the bytes that do come do not lengthen it. aiohttp alone closes it after its keep-alive time-out, which
is meant for clients that have had an answer.

What the HTTP parser rejects never reaches `Edge.handle`. aiohttp would answer it in plain text, repeat its bytes and log
them: they may hold a key.
"""

import asyncio
import socket
from contextlib import suppress
from functools import partial
from typing import Any, Protocol

from aiohttp import web, web_runner
from aiohttp.http_exceptions import HttpProcessingError, LineTooLong

from broker.observability.observe import observe, traceback_of
from broker.observability.tracing import STATE
from broker.processes.inherited_sockets import InheritedSockets
from services.gateway.connections.connection_limits import ConnectionLimits
from services.gateway.connections.send_rate import SendRates
from services.gateway.edge import RequestCrashed
from services.gateway.request_spans import trace_requests
from services.gateway.requests.head_checks import answer_in_http11, is_unknown_method
from services.gateway.requests.transfer_rate import TransferLimits

_SPARE = 4096
"""Characters by which the parser's limit exceeds `max_url`: within them the refusal has the shape of its area."""

BACKLOG = 2048
"""Connections that may wait until they are accepted."""
_LINGER_S = 10.0
"""Seconds for which the rest of a refused body is still taken in, and dropped: a connection that is closed on bytes under
way loses the answer too, and the client never reads why. Source: RFC 9112, 9.6."""


_LOOK_S = 0.02


class HttpAnswers(Protocol):
    """What answers the requests of a port."""

    async def handle(self, http: web.BaseRequest, /) -> web.StreamResponse:
        """Answer one request."""

    def reject(self, status: int, message: str) -> web.Response:
        """Return the response to bytes that the HTTP parser rejected."""


class GatewayListener(web.Server):
    """Makes a handler for each connection."""

    def __init__(
        self,
        edge: HttpAnswers,
        connections: ConnectionLimits,
        *,
        max_url: int,
        max_headers: int,
        header_timeout: float,
        keepalive_timeout: float,
        transfer: TransferLimits,
    ) -> None:
        super().__init__(
            edge.handle if STATE.tracing is None else trace_requests(STATE.tracing, edge.handle),
            handler_cancellation=True,
            keepalive_timeout=keepalive_timeout,
            max_line_size=max_url + _SPARE,
            max_field_size=max_headers,
            access_log=None,
            lingering_time=_LINGER_S,
            auto_decompress=False,
        )
        self._edge = edge
        self.connections_open = connections
        self._header_timeout = header_timeout
        self._send_rates = SendRates(transfer)
        self.is_leaving = False

    def leave(self) -> None:
        """Close connections from now on when they have had their answer, and say so in it."""
        self.is_leaving = True

    def connection_made(self, handler: web.RequestHandler, transport: asyncio.Transport) -> None:
        """Watch whether the client takes its responses."""
        super().connection_made(handler, transport)
        self._send_rates.add(transport)

    def connection_lost(self, handler: web.RequestHandler, exc: BaseException | None = None) -> None:
        """Forget the connection."""
        transport = self._connections.get(handler)
        if transport is not None:
            self._send_rates.remove(transport)
        super().connection_lost(handler, exc)

    def __call__(self) -> "ConnectionHandler":
        return ConnectionHandler(self, self._edge, self._header_timeout, loop=self._loop, **self._kwargs)

    async def heads_received(self, limit_s: float) -> None:
        """Wait until every open connection has sent the whole head of its first request, `limit_s` at most."""
        loop = asyncio.get_running_loop()
        until = loop.time() + limit_s
        while True:
            await asyncio.sleep(_LOOK_S)  # also for connections that were accepted in the last loop iteration
            awaited = any(
                isinstance(connection, ConnectionHandler) and connection.awaits_head
                for connection in self.connections
            )
            if not awaited or loop.time() >= until:
                return

    def handler_for(self, entered: str) -> "ConnectionHandler":
        """Return the handler of a connection that is already counted: `entered` is what it leaves with."""
        handler = self()
        handler.entered = entered
        return handler


class Site(web.TCPSite):
    """A port that listens without TLS (with TLS: tls_port.py), on inherited sockets if there are any."""

    def __init__(self, runner: web.ServerRunner, host: str, port: int, inherited: InheritedSockets) -> None:
        super().__init__(runner, host, port, reuse_port=True, backlog=BACKLOG)
        self._where = (host, port)
        self._inherited = inherited
        self._others: list[asyncio.Server] = []

    async def start(self) -> None:
        """Listen: on the inherited sockets, or on sockets of our own. Raises: OSError."""
        await web_runner.BaseSite.start(self)
        server = self._runner.server
        assert server is not None
        listen = partial(asyncio.get_running_loop().create_server, server, backlog=BACKLOG)
        if not self._inherited.sockets:
            host, port = self._where
            self._server = await listen(host, port, reuse_port=True)
            return
        self._server, *self._others = [await listen(sock=inherited) for inherited in self._inherited.sockets]

    async def stop(self) -> None:
        """Stop listening.

        The supervisor keeps the inherited sockets open as well, so connections would queue there without an edge to accept them.
        `shutdown` stops the listening for every process that has the socket (Linux); the next edge starts it again with `listen`.
        Sockets of systemd go on listening: connections wait there for the service that it starts again.
        """
        if not self._inherited.is_kept:
            for inherited in self._inherited.sockets:
                with suppress(OSError):
                    inherited.shutdown(socket.SHUT_RDWR)
        for server in self._others:
            server.close()
        await super().stop()


class ConnectionHandler(web.RequestHandler):
    """One connection."""

    __slots__ = ("_edge", "_head_timer", "_header_timeout", "_is_open", "_listener", "entered")

    def __init__(
        self, server: GatewayListener, edge: HttpAnswers, header_timeout: float, **options: Any
    ) -> None:
        super().__init__(server, **options)
        self._listener = server
        self._edge = edge
        self._header_timeout = header_timeout
        self._head_timer: asyncio.TimerHandle | None = None
        self._is_open = False
        self.entered: str | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        peer = transport.get_extra_info("peername")
        self._is_open = True
        if self.entered is None:
            self.entered = self._listener.connections_open.enter(str(peer[0]) if peer else "")
        super().connection_made(transport)
        if self.entered is None:
            self.force_close()
        else:
            self._await_head()

    @property
    def awaits_head(self) -> bool:
        """Whether the head of its first request, or the rest of a head, is yet to come."""
        return self._head_timer is not None

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        self.watch_head()

    def watch_head(self) -> None:
        """Limit the time for the rest of a head that has begun; a whole one ends that."""
        if self._is_without_request():  # there are bytes, and no request yet
            self._await_head()
        elif self._head_timer is not None:
            self._head_timer.cancel()
            self._head_timer = None

    def _await_head(self) -> None:
        """Close the connection when no whole head has come in time; a head that is awaited already gets no more time."""
        if self._head_timer is None:
            self._head_timer = self._loop.call_later(self._header_timeout, self.force_close)

    def _is_without_request(self) -> bool:
        """Return whether no request is being handled and none is queued.

        Between the parsing of a request and its handler aiohttp shows neither: then its waiter is done, or gone. Only before the
        first request the waiter may be missing because the task of the connection has not run yet.
        """
        waiter = self._waiter
        is_idle = not waiter.done() if waiter is not None else self._request_count == 0
        return is_idle and not self._messages

    async def finish_response(
        self, request: web.BaseRequest, resp: web.StreamResponse, start_time: float | None
    ) -> tuple[web.StreamResponse, bool]:
        """Send a response. While the edge shuts down, it says `Connection: close`, or the client's next request would be cut off."""
        if self._listener.is_leaving and not resp.prepared:
            resp.force_close()
        return await super().finish_response(request, resp, start_time)

    async def shutdown(self, timeout: float | None = 15.0) -> None:
        """End the connection once its request is answered; the rest of a refused body is not waited for."""
        if not self._request_in_progress:
            self.force_close()
        await super().shutdown(timeout)

    def connection_lost(self, exc: BaseException | None) -> None:
        if self._head_timer is not None:
            self._head_timer.cancel()
        self._leave()
        super().connection_lost(exc)

    def leave_unopened(self) -> None:
        """Remove the connection from the counts if it was never opened: its TLS handshake failed."""
        if not self._is_open:
            self._leave()

    def _leave(self) -> None:
        if self.entered is not None:
            self._listener.connections_open.leave(self.entered)
            self.entered = None

    def handle_error(
        self,
        request: web.BaseRequest,
        status: int = 500,
        exc: BaseException | None = None,
        message: str | None = None,
    ) -> web.StreamResponse:
        """Answer what the parser refused, and what cannot be sent. Source: RFC 9112, 3; RFC 6585, 5."""
        if request.writer.output_size > 0 or isinstance(exc, ConnectionError):
            raise ConnectionError("the answer has begun, or the client is gone")
        if exc is not None and not isinstance(exc, HttpProcessingError):
            observe(RequestCrashed("", traceback_of(exc)))
        answer_in_http11(request)  # the parser names HTTP/1.0 for what it rejected
        answer = self._edge.reject(*self._words(status, exc))
        answer.force_close()
        return answer

    def _words(self, status: int, exc: BaseException | None) -> tuple[int, str]:
        if isinstance(exc, LineTooLong):
            if exc.args[1] == self.max_line_size:
                return 414, "The URL is too long"
            return 431, f"A header is longer than {self.max_field_size} bytes"
        if isinstance(exc, HttpProcessingError):
            if exc.message.startswith("Too many headers"):
                return 431, f"There are more than {self.max_headers} headers"
            if is_unknown_method(exc.message):
                return 501, "No interface here has this method"
            if "Invalid HTTP version" in exc.message:
                return 505, "This HTTP version is not spoken here: send HTTP/1.1"
            if "HTTPS traffic" in exc.message:
                return 400, "This port speaks HTTP, and the request is HTTPS: use http://"
            return 400, "The request is not valid HTTP"
        return status, "The gateway could not answer"
