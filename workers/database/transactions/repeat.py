"""Send a transaction again if its session had been ended before anything of it ran."""

from collections.abc import Awaitable, Callable
from typing import TypeVar

from workers.database.errors import SessionEnded

ATTEMPTS = 3
"""How often a transaction is sent at most. Several idle sessions may have been ended at once; their ends are all known after the next turn of the event loop."""
T = TypeVar("T")


async def repeat_if_ended(send: Callable[[], Awaitable[T]]) -> T:
    """Call `send`, which takes a connection each time, until its session is alive. Raises: SessionEnded after three attempts."""
    for _ in range(ATTEMPTS - 1):
        try:
            return await send()
        except SessionEnded:
            continue
    return await send()
