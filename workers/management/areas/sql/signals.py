"""Signals to sessions of the database, repeated until they had their effect.

The server cancels what a session runs at this moment, and takes the signal at the next place that looks for it. A session between two
statements, or in a function that catches the error, does not stop at the first one.
"""

import asyncio
import time
from collections.abc import Awaitable, Callable
from typing import TypeVar

_LONGEST_S, _PAUSE_S = 2.0, 0.05
T = TypeVar("T")


async def repeat_signal(
    targets: list[T], signal: Callable[[list[T]], Awaitable[list[T]]], *, longest_s: float = _LONGEST_S
) -> list[T]:
    """Signal targets that were signalled once again until they are gone, for up to `longest_s`; return those that remain.

    `signal` signals those of its targets that are still there and returns them.
    """
    deadline = time.monotonic() + longest_s
    while targets and time.monotonic() < deadline:
        await asyncio.sleep(_PAUSE_S)
        targets = await signal(targets)
    return targets
