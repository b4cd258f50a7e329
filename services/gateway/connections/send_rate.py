"""The minimum rate at which a client takes its responses, so that clients that read nothing keep no connections and memory for ever.

What is sent waits in a buffer of the kernel, then in one of the connection. When both are full, writing is paused and the answer waits: some
2 MB a connection, without an end if the client never reads. So while writing is paused, each window has to bring the client as many bytes as
one of a request's body has to bring us (`gateway.body_rate`, `gateway.body_rate_window`); otherwise the connection is aborted.

Counted are the bytes that the client's machine has acknowledged (Linux: TCP_INFO). What leaves the connection's buffer would be too coarse:
the kernel takes more only when a third of its own buffer is free. Source: linux/tcp.h, `tcpi_bytes_acked`; RFC 9293, 3.8.6.2.2.
"""

import asyncio
import socket
import struct
import sys
from contextlib import suppress

from services.gateway.requests.transfer_rate import TransferLimits

_NO_LINGER = struct.pack("ii", 1, 0)
_BYTES_ACKED = struct.Struct("=Q")
_AT, _SIZE = 120, 128
"""Where the counter stands in `tcp_info`, and the bytes up to its end (Linux 4.1 and later)."""


class SendRate:
    """Watches one connection while its writing is paused."""

    __slots__ = ("_limits", "_taken", "_timer", "_transport")

    def __init__(self, limits: TransferLimits) -> None:
        self._limits = limits
        self._timer: asyncio.TimerHandle | None = None
        self._transport: asyncio.Transport | None = None
        self._taken = 0

    def pause(self, transport: asyncio.Transport | None) -> None:
        """Begin a window: the client does not take what is sent."""
        if transport is not None and self._timer is None:
            self._transport, self._taken = transport, taken_bytes(transport)
            self._timer = asyncio.get_running_loop().call_later(self._limits.window_s, self._check)

    def resume(self) -> None:
        """End the watch: writing goes on, or the connection is gone."""
        if self._timer is not None:
            self._timer.cancel()
        self._timer = self._transport = None

    def _check(self) -> None:
        transport, self._timer = self._transport, None
        if transport is None or transport.is_closing():
            return
        if taken_bytes(transport) - self._taken < max(1.0, self._limits.rate * self._limits.window_s):
            _reset(transport)
        else:
            self.pause(transport)


def _reset(transport: asyncio.Transport) -> None:
    """End a connection at once. Without the reset the kernel would keep what it has of the response, and go on offering it."""
    connection = transport.get_extra_info("socket")
    if connection is not None:
        with suppress(OSError):
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _NO_LINGER)
    transport.abort()


def taken_bytes(transport: asyncio.Transport) -> int:
    """Return a number that grows with each byte that the client takes."""
    connection = transport.get_extra_info("socket")
    if sys.platform == "linux" and connection is not None:
        try:
            info = connection.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, _SIZE)
        except OSError:
            info = b""
        if len(info) >= _SIZE:
            return int(_BYTES_ACKED.unpack_from(info, _AT)[0])
    return -transport.get_write_buffer_size()
