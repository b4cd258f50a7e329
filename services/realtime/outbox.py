"""Frames leave once a turn of the loop: what one turn has for a socket goes out in one write.

A change or a broadcast becomes a frame for each of many sockets; under load several come in one turn. A write costs the
kernel three times what all else costs, whatever it carries: 1,000 sockets took 70,000 frames a second with a write each.
"""

import asyncio
from typing import Protocol

from broker.observability.observe import observe, traceback_of
from services.realtime.observed import SocketCrashed


class Writer(Protocol):
    """A socket with frames that wait."""

    def flush(self) -> None:
        """Write them."""
        ...


class Outbox:
    """The sockets of this process that have something to write."""

    def __init__(self) -> None:
        self._writers: list[Writer] = []

    def add(self, writer: Writer) -> None:
        """Let a socket write at the end of this turn. Hot path."""
        if not self._writers:
            asyncio.get_running_loop().call_soon(self._flush)
        self._writers.append(writer)

    def _flush(self) -> None:
        writers, self._writers = self._writers, []
        for writer in writers:
            try:
                writer.flush()
            except Exception as error:  # the rim of a socket: one that fails must not stop the others
                observe(SocketCrashed(traceback_of(error)))
