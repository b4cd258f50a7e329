"""The pool auth in a process of its own life, on a real broker and a real database."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from broker.processes.lifecycle import OK, ManagedProcess
from schemas.settings.tree import Settings
from workers.auth.pool import serve_pool
from workers.resources import open_resources


@asynccontextmanager
async def running_auth(settings: Settings) -> AsyncIterator[None]:
    """Run the pool in a process that lives in this one; it drains in order after the block."""
    process, is_ready = ManagedProcess("auth", settings), asyncio.Event()

    async def main(process: ManagedProcess) -> None:
        await serve_pool(await open_resources(process, settings))
        process.ready()
        is_ready.set()
        await process.stopped()

    life, ready = asyncio.create_task(process.run(main)), asyncio.create_task(is_ready.wait())
    await asyncio.wait({life, ready}, return_when=asyncio.FIRST_COMPLETED)
    assert is_ready.is_set()
    try:
        yield
    finally:
        process.stop("the test is over")
        code = await life
    assert code == OK
