"""Everything that serves shapes in the process that leads: registry, reader of the stream, watch of rights, worker."""

import asyncio
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from broker.codec import encode
from broker.nats.connection import NatsConnection
from broker.subjects import SHAPES_CHANGED
from schemas.settings.sync import SyncSettings
from schemas.sync import PLACE_FILE, ShapesChanged, shapes_folder
from workers.database.connection_pool.pool import ConnectionPool
from workers.request_context.identity import IdentityResolver
from workers.sync.follower import StreamFollower
from workers.sync.metrics import SyncMetrics
from workers.sync.overview import ShapesOverview
from workers.sync.registry import ShapeRegistry
from workers.sync.rights import RightsWatch
from workers.sync.worker import SyncWorker

_MOST_HANDLES = 1000


class SyncService:
    """Shapes from `open` to `close`."""

    def __init__(
        self,
        connection: NatsConnection,
        database: ConnectionPool,
        folder: Path,
        settings: SyncSettings,
        identities: Callable[[], IdentityResolver],
        role_settings: Callable[[str], tuple[tuple[str, str], ...]],
        metrics: SyncMetrics,
    ) -> None:
        self._connection, self._folder = connection, folder
        self._changed: set[str] = set()
        self.registry = ShapeRegistry(
            database, shapes_folder(folder), settings, role_settings, self._on_changed
        )
        self._follower = StreamFollower(connection, self.registry, folder / PLACE_FILE)
        self._watch = RightsWatch(database, self.registry, self._follower)
        self._remove_metrics = metrics.register(self.registry)
        self.worker = SyncWorker(
            self.registry, identities, metrics.count, folder, ShapesOverview(connection, self.registry)
        )

    async def open(self) -> None:
        """Load the shapes of before, and follow the stream. Raises: Unavailable, JetStreamError, Disconnected, PoolTimeout, OSError."""
        await asyncio.to_thread(lambda: self._folder.mkdir(parents=True, exist_ok=True))
        is_continued = await self._follower.start()
        await self.registry.load(is_continued=is_continued)
        self._follower.run()
        self._watch.start()

    def announce_restart(self) -> None:
        """Tell the edges to ask for everything that waits."""
        self._connection.try_publish(SHAPES_CHANGED.name, encode(ShapesChanged(is_restart=True)))

    async def close(self) -> None:
        """Stop; what is on disk stays."""
        self._remove_metrics()
        with suppress(OSError):
            await self._watch.close()
            await self._follower.close()
        await self.registry.close()

    def _on_changed(self, handle: str) -> None:
        """Tell the edges that a shape has changed or ended; the changes of one loop iteration are one message."""
        if not self._changed:
            asyncio.get_running_loop().call_soon(self._publish)
        self._changed.add(handle)

    def _publish(self) -> None:
        handles, self._changed = sorted(self._changed), set()
        for start in range(0, len(handles), _MOST_HANDLES):
            event = ShapesChanged(handles[start : start + _MOST_HANDLES])
            self._connection.try_publish(SHAPES_CHANGED.name, encode(event))
