"""Pauses between attempts that grow exponentially, with jitter.

After a failure every process of the platform retries. Without jitter all of them, having failed at the same moment,
would retry at the same moments as well and overload the part that is just starting again. So each pause is shortened
at random by up to `jitter` of its length. The pause never exceeds `longest_s`, so a part that was away for an hour is
used again within that time of its return.
"""

import asyncio
import random


class Backoff:
    """The pauses of one retry loop: `first_s`, then each `factor` times the one before, up to `longest_s`."""

    __slots__ = ("_factor", "_first_s", "_jitter", "_longest_s", "_next_s")

    def __init__(self, first_s: float, longest_s: float, *, factor: float = 2.0, jitter: float = 0.2) -> None:
        self._first_s, self._longest_s = first_s, longest_s
        self._factor, self._jitter = factor, jitter
        self._next_s = first_s

    def next_s(self) -> float:
        """Return the length of the next pause in seconds, and lengthen the one after it."""
        pause_s = min(self._next_s, self._longest_s)
        self._next_s = min(self._next_s * self._factor, self._longest_s)
        return pause_s * random.uniform(1 - self._jitter, 1.0)

    @property
    def is_longest(self) -> bool:
        """Whether the next pause is as long as pauses get."""
        return self._next_s >= self._longest_s

    async def wait(self) -> None:
        """Sleep for the next pause."""
        await asyncio.sleep(self.next_s())

    def reset(self) -> None:
        """Start with the first pause again, after an attempt that succeeded."""
        self._next_s = self._first_s
