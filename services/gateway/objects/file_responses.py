"""A body that is in a file: its bytes go from the file to the socket in the kernel, where the connection is a plain one."""

import asyncio
import os
from collections.abc import Awaitable, Callable

from aiohttp import web

from services.gateway.objects.conditions import ByteRange
from services.gateway.objects.file_copy import STALL_S

FileCopy = Callable[[int, int, ByteRange], Awaitable[None]]
"""Copies a range of a file to a socket: `copy_to_socket`, or on a thread."""


async def send_file(
    request: web.BaseRequest, sent: web.StreamResponse, file: int, span: ByteRange, copy: FileCopy
) -> bool:
    """Send bytes of a file with `sendfile` after the head, then the end; return False if the connection is not a plain socket.

    Raises: ConnectionResetError, TimeoutError, OSError.
    """
    transport = request.transport
    plain = None if transport is None else transport.get_extra_info("socket")
    if transport is None or plain is None or transport.get_extra_info("sslcontext") is not None:
        return False
    request.writer.send_headers()
    descriptor = os.dup(plain.fileno())
    try:
        await _drained(request, transport)
        # Other requests of this loop iteration have their turn first. Without it all of their bodies come at once, and a
        # download of 1 MB takes a third more of our CPU and twice that of its client (docs/decisions.md).
        await asyncio.sleep(0)
        if transport.is_closing():
            raise ConnectionResetError("the client is gone")
        await copy(file, descriptor, span)
    finally:
        os.close(descriptor)
    request.writer.length = 0  # all of it has left; the end that follows adds nothing
    await sent.write_eof()
    return True


async def _drained(request: web.BaseRequest, transport: asyncio.Transport) -> None:
    """Wait until the connection's buffer is empty, so that nothing of the head comes behind the body."""
    transport.set_write_buffer_limits(high=0)
    try:
        async with asyncio.timeout(STALL_S):
            await request.writer.drain()
    finally:
        transport.set_write_buffer_limits()
