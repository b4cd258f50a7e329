"""What every endpoint of storage works with: settings, database, blob store, token keys, the client of the images pool."""

import asyncio
import time
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol, TypeVar

from broker.blobs.store import BlobStore
from schemas.bounded_cache import BoundedCache
from schemas.images.reading import SideLimits
from schemas.images.transform import Rendered, RenderOrder
from schemas.keys.secret import Secret
from schemas.keys.token_keys import KeySet
from schemas.settings.storage import Storage
from schemas.storage_events import ObjectsChanged
from workers.database.connection_pool.pool import ConnectionPool
from workers.database.errors import DatabaseError
from workers.database.protocol.rows import Rows
from workers.database.transactions.interactive import statement
from workers.database.transactions.model import Statement, TransactionEnd, TransactionSpec
from workers.storage.model.names_and_sizes import UploadRules
from workers.storage.model.s3_keyring import S3Keyring
from workers.storage.model.signed_urls import UrlSigner
from workers.storage.model.upload_tickets import TicketSealer
from workers.storage.objects.pages import StoredPages
from workers.storage.requests.identity import SessionSettings, StorageIdentity, role_settings
from workers.storage.requests.outside_cache import OutsideCache
from workers.storage.requests.simultaneous import SimultaneousWork

T = TypeVar("T")

_MOST_RULES = 1000
_MOST_WRITERS = 10_000
_MOST_WRITING_READS = 100
_LARGEST_GROUP = 64
"""Uploads that are written by one statement."""
_READ_ONLY = "25006"
"""SQLSTATE of a write in a transaction that only reads."""


class Renderer(Protocol):
    """Renders an image, and returns what is stored under the order's key."""

    def __call__(
        self, order: RenderOrder, request_id: str, budget_ms: int, client: str = ""
    ) -> Awaitable[Rendered]:
        """Render; count a new rendition for `client`, if it is set. Raises: ApiError of the images pool, or 429."""
        ...


class ShieldedTasks:
    """Tasks that are completed even if the request that started them is cancelled."""

    def __init__(self) -> None:
        self._tasks: set[asyncio.Task[Any]] = set()

    async def run(self, work: Coroutine[Any, Any, T]) -> T:
        """Await a task that cancellation of the request does not cancel."""
        return await asyncio.shield(self.start(work))

    def start(self, work: Coroutine[Any, Any, T]) -> asyncio.Task[T]:
        """Start a background task."""
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._ended)
        return task

    async def close(self, grace_s: float = 5.0) -> None:
        """Wait `grace_s` for the running tasks, then cancel the rest."""
        if self._tasks:
            _, late = await asyncio.wait(self._tasks, timeout=grace_s)
            for task in late:
                task.cancel()
            await asyncio.gather(*late, return_exceptions=True)

    def _ended(self, task: asyncio.Task[Any]) -> None:
        self._tasks.discard(task)
        if not task.cancelled():
            task.exception()  # retrieve the error: the awaiting request, if any, gets it through shield()


@dataclass(frozen=True, slots=True)
class StorageContext:
    """The settings of storage and the clients that endpoints use."""

    settings: Storage
    database: ConnectionPool
    blobs: BlobStore
    signer: UrlSigner
    tickets: TicketSealer
    render: Renderer
    clock: Callable[[], float] = field(default=time.time)
    tasks: ShieldedTasks = field(default_factory=ShieldedTasks)
    keyring: S3Keyring = field(default_factory=S3Keyring)
    """The secrets that verify signatures of S3 clients."""
    upload_rules: BoundedCache[str, UploadRules] = field(default_factory=lambda: BoundedCache(_MOST_RULES))
    """Rules of buckets without a quota, as they were read last: they may have changed since, so every write compares them."""

    accepted_writers: BoundedCache[tuple[str, str | None, str], bool] = field(
        default_factory=lambda: BoundedCache(_MOST_WRITERS)
    )
    """Role, subject and bucket of callers whose last small upload was accepted (uploads/small.py)."""
    groups: SimultaneousWork[Any, Any] = field(default_factory=lambda: SimultaneousWork(_LARGEST_GROUP))
    """New objects whose rows are written together (uploads/grouped_inserts.py)."""
    groups_paused: BoundedCache[str, float] = field(default_factory=lambda: BoundedCache(_MOST_RULES))
    """Buckets whose objects are written one by one, and until when by `clock`."""
    open_buckets: BoundedCache[str, bool] = field(default_factory=lambda: BoundedCache(_MOST_RULES))
    """Buckets whose last object was found because they are public, not by a policy: which of two ways a lookup tries first."""
    writing_reads: BoundedCache[str, bool] = field(default_factory=lambda: BoundedCache(_MOST_WRITING_READS))
    """Texts of statements that read and whose policies call functions that write."""
    pages: StoredPages = field(default_factory=StoredPages)
    """Pages of listings that the service role has read."""
    outside_cache: OutsideCache | None = None
    """Purges the cache in front of the platform; None in tests."""
    announce: Callable[[ObjectsChanged], object] = field(default=lambda _: None)
    """Publishes what a request has changed to the edges."""

    @property
    def side_limits(self) -> SideLimits:
        """Return the limits of the sides of renditions."""
        image_settings = self.settings.image_transformation
        return SideLimits(image_settings.limit_min_size, image_settings.limit_max_size)

    async def run(self, settings: SessionSettings, *statements: Statement) -> list[Rows]:
        """Run statements in one transaction, one round trip. Raises: DatabaseError, Disconnected, PoolTimeout."""
        return await self.database.run(TransactionSpec(settings, statements))

    async def read(self, settings: SessionSettings, *statements: Statement) -> list[Rows]:
        """Run statements that only read; quick ones of several requests share a connection (shared_reads.py).

        A policy may call a function that writes. Postgres refuses that here before anything is done, and the statements run again
        as `run` runs them; from then on at once. Raises: as `run`.
        """
        text = statements[-1].text
        if text in self.writing_reads:
            return await self.run(settings, *statements)
        spec = TransactionSpec(settings, statements, read_only=True, may_share=True)
        try:
            results, long = await self.database.run_long(spec)
        except DatabaseError as error:
            if error.code != _READ_ONLY:
                raise
            self.writing_reads.put(text, True)
            return await self.run(settings, *statements)
        if long is not None:
            row = results[-1][-1]
            results[-1][-1] = (*row[:-1], b"".join([piece async for piece in long]))
        return results

    async def probe(self, settings: SessionSettings, *statements: Statement) -> list[Rows]:
        """Run statements in a transaction that is rolled back. Raises: as `run`."""
        return await self.database.run(TransactionSpec(settings, statements, end=TransactionEnd.ROLLBACK))


_NO_KEYS = KeySet()


def switch_role(identity: StorageIdentity) -> Statement:
    """Return the statement that changes the role and the claims for the rest of a transaction."""
    values: Sequence[tuple[str, str]] = role_settings(identity)
    calls = ", ".join(f"pg_catalog.set_config(${2 * i + 1}, ${2 * i + 2}, true)" for i in range(len(values)))
    return statement(f"select {calls}", *(text for pair in values for text in pair))


def build_context(
    settings: Storage,
    secret: Secret,
    database: ConnectionPool,
    blobs: BlobStore,
    render: Renderer,
    *,
    clock: Callable[[], float] = time.time,
    keyring: S3Keyring | None = None,
    former: KeySet = _NO_KEYS,
    outside_cache: OutsideCache | None = None,
    announce: Callable[[ObjectsChanged], object] = lambda _: None,
) -> StorageContext:
    """Build the context. `secret` is the one that signs the project's access tokens, `former` what signed them before."""
    key = secret.reveal().encode()
    return StorageContext(
        settings,
        database,
        blobs,
        UrlSigner(key, clock, former),
        TicketSealer(key),
        render,
        clock,
        keyring=keyring or S3Keyring(),
        outside_cache=outside_cache,
        announce=announce,
    )
