"""A connection whose requests may be answered directly (`exchange.py`), and the server that makes such connections.

    bytes arrive --> no request is being answered --> direct: no task runs     usual: aiohttp's task of the connection is woken
                 --> one is answered directly     --> held back until its response is sent
                 --> the rest of a short upload   --> direct once it is whole; usual if it is not here soon

aiohttp's parser reads every head but those that repeat a known one. What it has read goes into aiohttp's own queue of
messages, from which a message that is answered directly is taken before the connection's task is woken.
"""

import asyncio
import time
from collections.abc import Awaitable, Callable
from typing import Any

from aiohttp import web
from aiohttp.http_parser import RawRequestMessage

from services.gateway.connections.connection_limits import ConnectionLimits
from services.gateway.connections.listener import ConnectionHandler, GatewayListener
from services.gateway.direct.exchange import DirectExchange, DirectRequests, request_stand_in
from services.gateway.direct.known_heads import KnownHead, KnownPost, known_head
from services.gateway.edge import Edge
from services.gateway.objects.upload_body import BODY_AT_ONCE_S

_MOST_HELD_BACK = 64 * 1024
"""Bytes of further requests that are held in memory while one is answered; then the connection is no longer read."""

_Handle = Callable[[web.BaseRequest], Awaitable[web.StreamResponse]]


class DirectListener(GatewayListener):
    """Makes a handler for each connection to an edge."""

    def __init__(self, edge: Edge, connections: ConnectionLimits, **options: Any) -> None:
        super().__init__(edge, connections, **options)
        self._direct = DirectRequests(edge)

    def __call__(self) -> "DirectConnectionHandler":
        return DirectConnectionHandler(
            self._direct, self, self._edge, self._header_timeout, loop=self._loop, **self._kwargs
        )


class DirectConnectionHandler(ConnectionHandler):
    """One connection."""

    __slots__ = (
        "_begun", "_body_timer", "_direct", "_exchange", "_head_at", "_held_back", "_is_paused", "_known_head", "address",
        "stand_in",
    )  # fmt: skip

    def __init__(self, direct: DirectRequests, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self._direct = direct
        self._exchange: DirectExchange | None = None
        self._begun: DirectExchange | None = None
        """A request that was begun directly, and that aiohttp's task will answer."""
        self._known_head: KnownHead | KnownPost | None = None
        """The head of the last request; None unless the parser waits for the beginning of a request."""
        self._held_back = b""
        self._is_paused = False
        self._body_timer: asyncio.TimerHandle | None = None
        """Runs while the only queued message is a short upload whose body is not whole, and no task is woken for it."""
        self._head_at = 0.0
        """When the head of that message arrived, in monotonic seconds."""
        self.address = ""
        self.stand_in = request_stand_in("", "http")

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        peer = transport.get_extra_info("peername")
        self.address = str(peer[0]) if isinstance(peer, tuple) else ""
        scheme = "http" if transport.get_extra_info("sslcontext") is None else "https"
        self.stand_in = request_stand_in(self.address, scheme)
        super().connection_made(transport)

    def data_received(self, data: bytes) -> None:
        if self._exchange is not None:
            self._hold_back(data)
            return
        if self._body_timer is not None:
            self._continue_body(data)
            return
        waiter = self._waiter
        # Without a waiter a request is being answered, or the task of a new connection has not run yet.
        is_idle = self._request_count == 0 if waiter is None else not waiter.done()
        if (
            not is_idle
            or self._messages
            or self._close
            or self._force_close
            or self._paused  # the client does not read its responses
            or self._upgraded
            or self._payload_parser is not None
            or self._listener.is_leaving
        ):
            self._known_head = None
            super().data_received(data)
            return
        known = self._known_head
        if known is not None and (request := known.request_in(data)) is not None:
            exchange = self._direct.begin(self, *request)
            if exchange is not None:
                exchange.source = data
                self._start_directly(exchange)
                return
        self._known_head = None
        self._parse(data)
        if not self._begin_parsed(data) and self._messages and waiter is not None and not waiter.done():
            if self._has_unfinished_upload():
                self._await_body()
            else:
                waiter.set_result(None)
        self.watch_head()

    def _parse(self, data: bytes) -> None:
        """Queue the messages of these bytes without waking the task of the connection."""
        waiter, self._waiter = self._waiter, None
        web.RequestHandler.data_received(self, data)
        self._waiter = waiter

    def _has_unfinished_upload(self) -> bool:
        """Return whether the only queued message is a short upload whose body is still arriving."""
        if len(self._messages) != 1 or self._upgraded or self._force_close:
            return False
        message, payload = self._messages[0]
        if not isinstance(message, RawRequestMessage) or payload.is_eof() or payload.exception() is not None:
            return False
        return self._body_timer is not None or self._direct.awaits_body(message)

    def _await_body(self) -> None:
        self._head_at = time.monotonic()
        self._request_in_progress = True
        self._body_timer = self._loop.call_later(BODY_AT_ONCE_S, self._wake)

    def _continue_body(self, data: bytes) -> None:
        """Take further bytes of a short upload, and begin to answer it once they are all here."""
        self._parse(data)
        if self._has_unfinished_upload():
            return
        self._end_wait()
        if self._begin_parsed(b""):
            assert self._exchange is not None  # it was just begun
            self._exchange.started_at = self._head_at
        else:
            self._wake()

    def _end_wait(self) -> None:
        if self._body_timer is not None:
            self._body_timer.cancel()
            self._body_timer = None

    def _wake(self) -> None:
        """Let the task of the connection answer the upload that was waited for."""
        self._end_wait()
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(None)

    def _begin_parsed(self, data: bytes) -> bool:
        """Begin to answer the message that was parsed from these bytes, if it is one that can be answered directly."""
        if len(self._messages) != 1 or self._upgraded or self._force_close:
            return False
        message, payload = self._messages[0]
        if not isinstance(message, RawRequestMessage):
            return False
        exchange = self._direct.begin_parsed(self, message, payload)
        if exchange is None:
            return False
        self._messages.clear()
        self._known_head = known_head(data, message, exchange.head)
        self._start_directly(exchange)
        return True

    def _start_directly(self, exchange: DirectExchange) -> None:
        self._exchange = exchange
        self._request_in_progress = True

    def _hold_back(self, data: bytes) -> None:
        """Keep the bytes of further requests until the response is sent."""
        self._held_back += data
        if len(self._held_back) > _MOST_HELD_BACK and not self._is_paused and self.transport is not None:
            self._is_paused = True
            self.transport.pause_reading()

    def is_last(self) -> bool:
        """Return whether the connection is to end with this response."""
        return self._listener.is_leaving or self._close

    def end_directly(self, data: bytes, *, is_last: bool) -> None:
        """Send the response of the request that was begun, and go on with the bytes that were held back unless it `is_last`."""
        exchange, self._exchange = self._exchange, None
        self._request_in_progress = False
        if exchange is None or self.transport is None:
            return
        self.transport.write(data)
        if self._parser is not None and not isinstance(exchange.source, bytes):
            self._parser.message_consumed()
        self._next_keepalive_close_time = self._loop.time() + self._keepalive_timeout
        if self._handler_waiter is not None:
            self._handler_waiter.set_result(None)
        if is_last:
            super().close()
            self.transport.close()
        elif self._held_back or self._is_paused:
            self._release()

    def go_on(self, exchange: DirectExchange) -> None:
        """Let aiohttp's task answer the request that was begun."""
        self._exchange, self._begun, self._known_head = None, exchange, None
        source = exchange.source
        if isinstance(source, bytes):
            assert self._parser is not None  # the connection is open, or the exchange were given up
            messages, _, _ = self._parser.feed_data(source)
            for _, payload in messages:
                payload.read_nowait()  # the body was sent to the pool
            self._messages.extend(messages)
        else:
            self._messages.append(source)
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(None)
        if self._held_back or self._is_paused:
            self._release()

    def _release(self) -> None:
        """Take the bytes that were held back."""
        data, self._held_back = self._held_back, b""
        if self._is_paused and self.transport is not None:
            self._is_paused = False
            self.transport.resume_reading()
        if data:
            self.data_received(data)

    def _handle_request(
        self, request: web.BaseRequest, start_time: float | None, request_handler: _Handle
    ) -> Any:
        """Return the coroutine that answers a request; one that was begun directly is resumed."""
        if (begun := self._begun) is not None:
            self._begun, request_handler = None, begun.resume
        return super()._handle_request(request, start_time, request_handler)

    def _is_without_request(self) -> bool:
        return self._exchange is None and super()._is_without_request()

    def _process_keepalive(self) -> None:
        if self._exchange is not None or self._body_timer is not None:
            self._next_keepalive_close_time = self._loop.time() + self._keepalive_timeout
        super()._process_keepalive()

    def close(self) -> None:
        """End the connection once its request is answered."""
        if self._body_timer is not None:
            self._wake()
        if self._exchange is None:
            super().close()
        else:
            self._close = True

    async def shutdown(self, timeout: float | None = 15.0) -> None:
        """End the connection once its request is answered."""
        if self._body_timer is not None:
            self._wake()
        await super().shutdown(timeout)

    def connection_lost(self, exc: BaseException | None) -> None:
        if self._body_timer is not None:
            self._end_wait()
            message, _ = self._messages[0]
            assert isinstance(message, RawRequestMessage)  # it awaits its body
            self._direct.note_gone(self, message, self._head_at)
        for exchange in (self._exchange, self._begun):
            if exchange is not None:
                exchange.give_up()
        self._exchange = self._begun = None
        self._held_back = b""
        super().connection_lost(exc)
