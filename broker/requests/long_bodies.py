"""Lets the handlers of long bodies begin one after the other.

A handler reads a long body at once: parsing ten megabytes of JSON takes a third of a second, in which the event loop does nothing else.
Bodies of one client that arrive together would be parsed one after the other within one iteration of the loop, and the process would be
silent for as long as all of them take: its callers would take it for dead (`pool_tracker.py`), also those of short requests.
"""

import asyncio
from weakref import WeakKeyDictionary

LONG = 256 * 1024
"""Bytes of a body from which on its handler waits for its turn."""

_locks: WeakKeyDictionary[asyncio.AbstractEventLoop, asyncio.Lock] = WeakKeyDictionary()


async def wait_for_turn() -> None:
    """Return in an iteration of the loop in which no other handler of a long body begins; first come, first served."""
    lock = _locks.setdefault(asyncio.get_running_loop(), asyncio.Lock())
    async with lock:  # whoever waits for it is woken in a later iteration
        await asyncio.sleep(0)
