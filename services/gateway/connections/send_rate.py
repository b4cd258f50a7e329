"""The minimum rate at which clients take their responses, so that those that read nothing keep no connections and memory for ever.

What is sent waits in a buffer of the kernel, then in one of the connection: some 2 MB, without an end if the client never reads. So once a
window every connection is looked at. If the kernel has bytes that it could not send, both now and a window ago, the client must have taken as
many in between as a client must send of a request's body (`gateway.body_rate`, `gateway.body_rate_window`); otherwise the connection is reset.

The kernel is asked (Linux: TCP_INFO), for it knows of every way to send: by tasks, directly, by `sendfile`, through TLS, and on a connection that
is closing. Bytes that left the connection's own buffer would be too coarse: the kernel takes more only when a third of its buffer is free. Elsewhere
that buffer is all there is to look at. Source: linux/tcp.h, `tcpi_bytes_acked` and `tcpi_notsent_bytes`; RFC 9293, 3.8.6.2.2.
"""

import asyncio
import socket
import struct
import sys
from collections.abc import Iterator
from contextlib import suppress

from services.gateway.requests.transfer_rate import TransferLimits

_NO_LINGER = struct.pack("ii", 1, 0)
_INFO = struct.Struct("=120xQ16xI")
"""Bytes that were acknowledged, and bytes that wait to be sent for the first time (Linux 4.6 and later)."""
_AT_ONCE = 500
"""Connections of one look that are looked at without a pause for others."""


class SendRates:
    """Watches the connections of a listener."""

    def __init__(self, limits: TransferLimits) -> None:
        self._window_s = limits.window_s
        self._least = max(1.0, limits.rate * limits.window_s)
        self._taken: dict[asyncio.Transport, int | None] = {}
        """What each client had taken when its connection was last looked at; None if nothing waited for it."""
        self._timer: asyncio.TimerHandle | None = None

    def add(self, transport: asyncio.Transport) -> None:
        """Watch a connection."""
        self._taken[transport] = None
        if self._timer is None:
            self._wait()

    def remove(self, transport: asyncio.Transport) -> None:
        """Forget a connection that is gone."""
        self._taken.pop(transport, None)
        if not self._taken and self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _wait(self) -> None:
        loop = asyncio.get_running_loop()
        self._timer = loop.call_later(self._window_s, lambda: self._look(iter(list(self._taken))))

    def _look(self, transports: Iterator[asyncio.Transport]) -> None:
        for _ in range(_AT_ONCE):
            transport = next(transports, None)
            if transport is None:
                self._timer = None
                if self._taken:
                    self._wait()
                return
            if transport in self._taken:
                self._look_at(transport)
        self._timer = asyncio.get_running_loop().call_later(0, self._look, transports)

    def _look_at(self, transport: asyncio.Transport) -> None:
        taken, before = taken_bytes(transport), self._taken[transport]
        self._taken[transport] = taken
        if taken is not None and before is not None and taken - before < self._least:
            _reset(transport)


def taken_bytes(transport: asyncio.Transport) -> int | None:
    """Return a number that grows with each byte that the client takes, or None if nothing waits to be taken."""
    connection = transport.get_extra_info("socket")
    if sys.platform == "linux" and connection is not None:
        try:
            info = connection.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, _INFO.size)
        except OSError:
            info = b""
        if len(info) == _INFO.size:
            acknowledged, unsent = _INFO.unpack(info)
            return acknowledged if unsent else None
    unsent = transport.get_write_buffer_size()
    return -unsent if unsent else None


def _reset(transport: asyncio.Transport) -> None:
    """End a connection at once. Without the reset the kernel would keep what it has of the response, and go on offering it."""
    connection = transport.get_extra_info("socket")
    if connection is not None:
        with suppress(OSError):
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _NO_LINGER)
    transport.abort()
