"""The pool of shapes in a process: it leads and serves, or stands by until the leader is gone.

Shapes are files of one process, so one member of the pool serves. An advisory lock decides which; the others take no requests. The
files of a leader on another machine are not there: clients of its shapes read again (409).
"""

import asyncio
import contextlib
import tempfile
from pathlib import Path

from broker.backoff import Backoff
from broker.jetstream.errors import JetStreamError
from broker.observability.observe import observe, traceback_of
from broker.requests.handler import RequestBody
from broker.requests.serve import serve
from broker.subjects import SYNC, health
from schemas.caller import RejectedCaller
from schemas.errors import ApiError, Unavailable
from schemas.http import Request, Response
from schemas.settings.tree import Api
from schemas.sync import data_folder
from workers.database.connection_pool.pool import ConnectionPool
from workers.database.errors import DatabaseError, Disconnected, PoolTimeout
from workers.database.sessions.leadership import Leadership, LeadershipLost, lead
from workers.request_context.identity import IdentityResolver
from workers.resources import Resources
from workers.sync.errors import TokenRejected
from workers.sync.metrics import SyncMetrics
from workers.sync.observations import SyncCrashed, SyncLeads, SyncWaits
from workers.sync.service import SyncService

_LOCK = (0x68777368, 1)
"""The leader's advisory lock; other parts of the platform use other first halves."""
_NAME = "headwater shapes leader"
_SETTINGS = {"application_name": _NAME, "tcp_user_timeout": "20000"}
_FIRST_S = 5.0
_CONCURRENCY, _QUEUE = 256, 8192
"""Requests that wait for changes wait in the edge, so that few are answered at once."""


async def serve_pool(resources: Resources) -> None:
    """Lead or stand by until the process drains. If realtime or sync is switched off nothing is done."""
    settings = resources.settings
    if not (settings.sync.enabled and settings.realtime.enabled):
        return
    pool = SyncPool(
        resources, data_folder(settings.sync.path) or Path(tempfile.mkdtemp(prefix="headwater-sync-"))
    )
    resources.process.on_drain(pool.close)
    pool.start()
    with contextlib.suppress(TimeoutError):  # a start is not reported as a fault of its first moment
        async with asyncio.timeout(_FIRST_S):
            await pool.has_begun.wait()
    member = await serve(resources.connection, health(SYNC.pool), pool.answer_health, concurrency=8, queue=64)
    resources.process.on_drain(member.stop)


class SyncPool:
    """Leads or stands by from `start` to `close`."""

    def __init__(self, resources: Resources, folder: Path, backoff: Backoff | None = None) -> None:
        self._resources, self._folder = resources, folder
        self._task: asyncio.Task[None] | None = None
        self._backoff = backoff or Backoff(0.1, 5.0)
        self._metrics = SyncMetrics()
        self._identities: tuple[Api, IdentityResolver] | None = None
        self.is_leader = False
        self.is_waiting = False
        self.has_begun = asyncio.Event()
        """Set once it has led or stood by."""

    def start(self) -> None:
        """Start the task."""
        self._task = asyncio.get_running_loop().create_task(self._run())

    async def close(self) -> None:
        """Stop; what is on disk stays."""
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)

    async def answer_health(self, request: Request, body: RequestBody) -> Response:
        """Answer 200 if this member serves shapes or stands by for the one that does, else 503."""
        del request, body
        if self.is_leader or self.is_waiting:
            return Response(200, body=b'{"message":"ok"}')
        return Response(503, body=b'{"message":"shapes are not served yet"}')

    async def _run(self) -> None:
        while True:
            try:
                await lead(
                    self._resources.url, _LOCK, self._lead, self._on_waiting, name=_NAME, settings=_SETTINGS
                )
            except (Unavailable, JetStreamError) as error:
                # At a first start the stream is created a moment later, by the pool that reads the log of Postgres.
                if self._resources.connection.is_connected and self._backoff.is_longest:
                    observe(SyncWaits(str(error)))
            except (LeadershipLost, Disconnected, PoolTimeout, DatabaseError, OSError) as error:
                observe(SyncWaits(str(error) or type(error).__name__))
            except (
                Exception
            ) as error:  # no other task would report it, and without this task no shape is served
                observe(SyncCrashed(traceback_of(error)))
            finally:
                self.is_leader = self.is_waiting = False
            await self._backoff.wait()

    def _on_waiting(self) -> None:
        self.is_waiting = True
        self.has_begun.set()

    async def _lead(self, leadership: Leadership) -> None:
        await leadership.work(self._serve)

    async def _serve(self) -> None:
        """Load the shapes, follow the stream, and serve until cancelled."""
        resources = self._resources
        database = (
            await ConnectionPool.open(  # of its own: realtime's checks of rows must not wait for snapshots
                resources.url,
                resources.settings.db.pool_size,
                prepared=resources.settings.api.prepared_statements,
                name="sync",
                shows_statements=True,
            )
        )
        service = SyncService(
            resources.connection,
            database,
            self._folder,
            resources.settings.sync,
            self._resolver,
            self._role_settings,
            self._metrics,
        )
        try:
            await service.open()
            member = await serve(
                resources.connection, SYNC, service.worker.answer, concurrency=_CONCURRENCY, queue=_QUEUE
            )
            try:
                self.is_leader = True
                self.has_begun.set()
                self._backoff.reset()
                observe(SyncLeads(len(service.registry.by_handle)))
                service.announce_restart()
                await asyncio.Event().wait()
            finally:
                await member.stop()
        finally:
            await service.close()
            await database.close()

    def _role_settings(self, role: str) -> tuple[tuple[str, str], ...]:
        found = self._resources.cache.catalog.roles.get(role)
        return found.settings if found is not None else ()

    def _resolver(self) -> IdentityResolver:
        api = self._resources.api
        if self._identities is None or self._identities[0] is not api:
            self._identities = (api, IdentityResolver(api, _reject))
        return self._identities[1]


def _reject(caller: RejectedCaller | None) -> ApiError:
    return TokenRejected("an access token is required" if caller is None else caller.message)
