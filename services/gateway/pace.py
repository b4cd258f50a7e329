"""How fast bodies come: a bound on each pause, and a least rate over every window, so that no drip holds the door open.

Only the time in which the door waits for the client counts: a slow store or a slow worker is not the client's doing. What
comes within a window is held against what must come in it, and the next window begins with the next piece.
"""

import asyncio
from collections.abc import Awaitable
from dataclasses import dataclass
from typing import TypeVar

from schemas.settings.tree import Gateway

T = TypeVar("T")


class TooSlow(Exception):
    """A body does not come as fast as it must: what a client is told."""


@dataclass(frozen=True, slots=True)
class Patience:
    """What the door asks of bodies. Times in seconds, `rate` in bytes a second; a rate of 0 asks for none."""

    pause_s: float
    rate: float
    window_s: float

    @classmethod
    def of(cls, gateway: Gateway) -> "Patience":
        """Give that of the settings."""
        return cls(gateway.body_timeout, gateway.body_rate, gateway.body_rate_window)


class Pace:
    """The pace of one body."""

    def __init__(self, patience: Patience) -> None:
        self._patience = patience
        self._least = patience.rate * patience.window_s
        self._waited_s, self._size = 0.0, 0

    @property
    def left_s(self) -> float:
        """Give how long the next piece may take: pure."""
        pause_s = self._patience.pause_s
        if self._size >= self._least:
            return pause_s
        return min(pause_s, max(self._patience.window_s - self._waited_s, 0.0))

    def took(self, seconds: float, size: int) -> None:
        """Take note of a piece that was waited for so long. Raises: TooSlow. Pure, but for what it remembers."""
        self._waited_s += seconds
        self._size += size
        if self._waited_s < self._patience.window_s:
            return
        if self._size < self._least:
            raise TooSlow(self._told())
        self._waited_s, self._size = 0.0, 0

    async def wait(self, reading: Awaitable[T]) -> T:
        """Wait for a piece of the body; one that is no bytes counts as nothing. Raises: TooSlow."""
        clock = asyncio.get_running_loop().time
        began_at, left_s = clock(), self.left_s
        try:
            async with asyncio.timeout(left_s):
                piece = await reading
        except TimeoutError:
            is_pause = left_s >= self._patience.pause_s
            raise TooSlow("The body did not arrive in time" if is_pause else self._told()) from None
        self.took(clock() - began_at, len(piece) if isinstance(piece, bytes | bytearray) else 0)
        return piece

    def _told(self) -> str:
        rate, window_s = self._patience.rate, self._patience.window_s
        return f"The body came too slowly: less than {rate:g} bytes a second over {window_s:g} seconds"
