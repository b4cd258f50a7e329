"""What every endpoint of storage has: the settings, the database, the blob store, the key that signs, the images pool."""

import asyncio
import time
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol, TypeVar

from broker.blobs.store import BlobStore
from schemas.images.reading import Sides
from schemas.images.transform import Order, Rendered
from schemas.settings.storage import Storage
from workers.database.interactive import statement
from workers.database.pool import Pool
from workers.database.session import End, Rows, Statement, Work
from workers.storage.callers import Identity, Settings, become
from workers.storage.s3.keyring import Keyring
from workers.storage.signing import Signer
from workers.storage.tickets import Tickets

T = TypeVar("T")


class Renderer(Protocol):
    """Has a picture made, and tells what lies under the order's key."""

    def __call__(
        self, order: Order, request_id: str, budget_ms: int, client: str = ""
    ) -> Awaitable[Rendered]:
        """Count a new picture for a client, if one is named. Raises: ApiError, as the images pool refuses, or 429."""
        ...


class Errands:
    """Work that is finished whatever becomes of the request that began it."""

    def __init__(self) -> None:
        self._tasks: set[asyncio.Task[Any]] = set()

    async def finish(self, work: Coroutine[Any, Any, T]) -> T:
        """Wait for work that a cancelled request does not end."""
        return await asyncio.shield(self.begin(work))

    def begin(self, work: Coroutine[Any, Any, T]) -> asyncio.Task[T]:
        """Begin work that nobody waits for."""
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._ended)
        return task

    async def close(self, grace_s: float = 5.0) -> None:
        """Wait a while for what is under way, and end the rest."""
        if self._tasks:
            _, late = await asyncio.wait(self._tasks, timeout=grace_s)
            for task in late:
                task.cancel()
            await asyncio.gather(*late, return_exceptions=True)

    def _ended(self, task: asyncio.Task[Any]) -> None:
        self._tasks.discard(task)
        if not task.cancelled():
            task.exception()  # told to who waits, if anybody still does


@dataclass(frozen=True, slots=True)
class Store:
    """One configuration of storage, with what it works on."""

    settings: Storage
    database: Pool
    blobs: BlobStore
    signer: Signer
    tickets: Tickets
    render: Renderer
    clock: Callable[[], float] = field(default=time.time)
    errands: Errands = field(default_factory=Errands)
    keyring: Keyring = field(default_factory=Keyring)
    """What signatures of S3 clients are verified with."""

    @property
    def sides(self) -> Sides:
        """Give the limits of the sides of pictures."""
        own = self.settings.image_transformation
        return Sides(own.limit_min_size, own.limit_max_size)

    async def run(self, settings: Settings, *statements: Statement) -> list[Rows]:
        """Run statements in one transaction, one round trip. Raises: DatabaseError, Disconnected, PoolTimeout."""
        return await self.database.run(Work(settings, statements))

    async def probe(self, settings: Settings, *statements: Statement) -> list[Rows]:
        """Run statements in a transaction that is undone. Raises: as `run`."""
        return await self.database.run(Work(settings, statements, end=End.ROLLBACK))


def switch(identity: Identity) -> Statement:
    """Give the statement that makes the rest of a transaction somebody's."""
    values: Sequence[tuple[str, str]] = become(identity)
    calls = ", ".join(f"pg_catalog.set_config(${2 * i + 1}, ${2 * i + 2}, true)" for i in range(len(values)))
    return statement(f"select {calls}", *(text for pair in values for text in pair))
