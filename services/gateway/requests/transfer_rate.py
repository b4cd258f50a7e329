"""The minimum transfer rate of request bodies, so that slow clients cannot keep connections and tasks busy for ever.

Two limits apply: each pause lasts at most `pause_s`, and every window of `window_s` brings at least `rate * window_s` bytes.
Only the time during which the gateway waits for the client counts, not a slow store or worker. A window that has passed
is checked when its last piece arrives; the next window starts with the next piece.
"""

import asyncio
from collections.abc import Awaitable
from dataclasses import dataclass
from typing import TypeVar

from schemas.settings.tree import Gateway

T = TypeVar("T")


class BodyTooSlow(Exception):
    """A body arrives too slowly; the text is sent to the client."""


@dataclass(frozen=True, slots=True)
class TransferLimits:
    """The limits for bodies: times in seconds, `rate` in bytes a second (0: no minimum rate)."""

    pause_s: float
    rate: float
    window_s: float

    @classmethod
    def of(cls, gateway: Gateway) -> "TransferLimits":
        """Return the limits of the settings."""
        return cls(gateway.body_timeout, gateway.body_rate, gateway.body_rate_window)


class TransferRate:
    """Measures the rate of one body."""

    def __init__(self, limits: TransferLimits) -> None:
        self._limits = limits
        self._window_bytes = limits.rate * limits.window_s
        self._waited_s, self._size = 0.0, 0

    @property
    def left_s(self) -> float:
        """Return how many seconds the next piece may take."""
        pause_s = self._limits.pause_s
        if self._size >= self._window_bytes:
            return pause_s
        return min(pause_s, max(self._limits.window_s - self._waited_s, 0.0))

    def record(self, seconds: float, size: int) -> None:
        """Count a piece of `size` bytes that took `seconds` to arrive. Raises: BodyTooSlow."""
        self._waited_s += seconds
        self._size += size
        if self._waited_s < self._limits.window_s:
            return
        if self._size < self._window_bytes:
            raise BodyTooSlow(self._too_slow())
        self._waited_s, self._size = 0.0, 0

    async def wait(self, reading: Awaitable[T]) -> T:
        """Wait for a piece of the body; a result that is not bytes counts as 0 bytes. Raises: BodyTooSlow."""
        clock = asyncio.get_running_loop().time
        started_at, left_s = clock(), self.left_s
        try:
            async with asyncio.timeout(left_s):
                piece = await reading
        except TimeoutError:
            is_pause = left_s >= self._limits.pause_s
            raise BodyTooSlow("The body did not arrive in time" if is_pause else self._too_slow()) from None
        self.record(clock() - started_at, len(piece) if isinstance(piece, bytes | bytearray) else 0)
        return piece

    def _too_slow(self) -> str:
        rate, window_s = self._limits.rate, self._limits.window_s
        return f"The body came too slowly: less than {rate:g} bytes a second over {window_s:g} seconds"
