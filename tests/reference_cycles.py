"""Objects that only the garbage collector would free."""

import asyncio
import contextlib
import gc
from collections.abc import AsyncIterator


def _count(kind: type[object]) -> int:
    return sum(type(item) is kind for item in gc.get_objects())


@contextlib.asynccontextmanager
async def no_cycles(kind: type[object]) -> AsyncIterator[None]:
    """See that the objects of a type that the block makes are freed although the collector does not run."""
    gc.collect()
    before = _count(kind)
    gc.disable()
    try:
        yield
        async with asyncio.timeout(60):
            while _count(kind) > before:
                await asyncio.sleep(0.01)
    finally:
        gc.enable()
