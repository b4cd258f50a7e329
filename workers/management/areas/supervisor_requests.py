"""Requests that the supervisor takes from files (broker/processes/request_file.py): wait until it has."""

import asyncio
import time
from collections.abc import Callable
from typing import TypeVar

_TAKEN_S, _LOOK_S = 8.0, 0.1
"""The supervisor looks once a second."""

T = TypeVar("T")


async def wait_until_taken(read: Callable[[], T | None]) -> T | None:
    """Return what `read`, which reads a file, returns as soon as that is not None; None after 8 s."""
    until = time.monotonic() + _TAKEN_S
    while time.monotonic() < until:
        if (status := await asyncio.to_thread(read)) is not None:
            return status
        await asyncio.sleep(_LOOK_S)  # the supervisor answers by a file alone
    return None
