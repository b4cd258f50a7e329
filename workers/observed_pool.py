"""What a process observes of its connection pools: lost and dropped connections, an absent database, metrics, and pools that stall."""

import asyncio
import time
from collections.abc import Callable
from typing import ClassVar
from urllib.parse import urlsplit

from broker.observability.observations import DatabaseBack, DatabaseLost, Observation
from broker.observability.observe import gauge, observe
from broker.processes.lifecycle import ManagedProcess
from workers.database.connection_pool.open_connections import PoolEvent, PoolEventKind
from workers.database.connection_pool.pool import ConnectionPool
from workers.database.connection_pool.silence_watch import SilenceWatch
from workers.database.connection_pool.stall_watch import StallWatch


class ConnectionLost(Observation, frozen=True):
    """A connection to the database broke, or the server closed it."""

    level: ClassVar[str] = "warning"
    reason: str


class ConnectionDropped(Observation, frozen=True):
    """A caller was cancelled, and its connection to the database did not settle in time."""

    level: ClassVar[str] = "warning"
    reason: str


def watch_pool(process: ManagedProcess, pool: ConnectionPool, url: str) -> None:
    """Register the metrics of a connection pool, by its login role, watch it, and close it at the drain."""
    login = urlsplit(url).username or ""
    gauges = (
        gauge(
            "headwater_database_connections",
            "Open connections of the pool.",
            lambda: pool.state.open,
            login=login,
        ),
        gauge(
            "headwater_database_waiting",
            "Requests that wait for a connection.",
            lambda: pool.state.waiting,
            login=login,
        ),
    )
    watches = (
        asyncio.create_task(StallWatch(pool, url, process.fail).run(), name="stall watch"),
        asyncio.create_task(SilenceWatch(pool, url).run(), name="silence watch"),
    )

    async def close() -> None:
        for watch in watches:
            watch.cancel()
        for remove in gauges:
            remove()
        await pool.close()

    process.on_drain(close)


class PoolObserver:
    """Observes broken connections, and once when the pool's database is lost, and once when it is back.

    When it is back, `on_back` is called, because the schema cache waits up to half a minute between its own attempts.
    """

    def __init__(self, on_back: Callable[[], object] = lambda: None) -> None:
        self._on_back = on_back
        self._lost_at: float | None = None

    def __call__(self, event: PoolEvent) -> None:
        match event.kind:
            case PoolEventKind.LOST:
                observe(ConnectionLost(event.message))
            case PoolEventKind.DROPPED:
                observe(ConnectionDropped(event.message))
            case PoolEventKind.REFUSED if self._lost_at is None:
                self._lost_at = time.monotonic()
                observe(DatabaseLost(reason=event.message))
            case PoolEventKind.CONNECTED if self._lost_at is not None:
                observe(DatabaseBack(after_s=time.monotonic() - self._lost_at))
                self._lost_at = None
                self._on_back()
