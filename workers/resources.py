"""What the pools of one process share: the broker, the database's connections, the schema cache, the settings.

`open_resources` opens them in order, and each is closed in reverse when the process drains. Every pool of the process
then serves its subject, and its health.
"""

import importlib
import os
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import ClassVar
from urllib.parse import quote, urlsplit, urlunsplit

from msgspec.json import encode as encode_json

from broker import subjects
from broker.codec import encode
from broker.nats.connection import Connection
from broker.observability.fault_reports import FaultReporter
from broker.observability.metrics import answer_collect
from broker.observability.observations import DatabaseBack, DatabaseLost, Observation
from broker.observability.observe import gauge, observe
from broker.processes.lifecycle import Process
from broker.requests.serve import Handler, RequestBody, serve
from broker.subjects import Subject
from schemas.database_logins import login_passwords
from schemas.events import CatalogChanged, ConfigChanged
from schemas.http import Request, Response
from schemas.settings.tree import Api, Settings, SettingsError
from workers.database.cache import SchemaCache
from workers.database.connections import PoolEvent, PoolEventKind
from workers.database.pool import Pool
from workers.database.row_body import BodySpace

_HEALTH_CONCURRENCY = 8


class ConnectionLost(Observation, frozen=True):
    """A connection to the database broke, or the server ended it."""

    level: ClassVar[str] = "warning"
    reason: str


class ConnectionDropped(Observation, frozen=True):
    """A caller went away, and its connection to the database did not settle in time."""

    level: ClassVar[str] = "warning"
    reason: str


@dataclass(slots=True)
class Resources:
    """Open connections of a process. `process` is told what to do when it drains."""

    process: Process
    settings: Settings
    connection: Connection
    database: Pool
    cache: SchemaCache
    logins: list[Pool] = field(default_factory=list)
    """Connections of other roles (`login_as`)."""

    @property
    def api(self) -> Api:
        """Give the options as they are now, those kept in the database included."""
        return self.cache.api

    async def login_as(self, role: str) -> Pool:
        """Open connections of a login role of the platform, with its own password; they close at the drain.

        Raises: SettingsError if the address cannot be read.
        """
        pool = await Pool.open(
            self.url_of(role),
            self.settings.db.pool_size,
            prepared=self.settings.api.prepared_statements,
            on_event=_PoolObserver(),
            name=role,
        )
        _close_with(self.process, pool, role)
        self.logins.append(pool)
        return pool

    def url_of(self, role: str) -> str:
        """Return the database's address for a login of the platform. Raises: SettingsError where there is none."""
        return _as_role(
            self.url, role, login_passwords(self.settings).get(role, self.settings.db.password).reveal()
        )

    @property
    def url(self) -> str:
        """Give the database's address, with the login of the interface. Raises: SettingsError where there is none."""
        if self.settings.db.url is None:
            raise SettingsError("a worker needs db.url (DATABASE_URL)")
        return self.settings.db.url.reveal()

    async def serve(self, subject: Subject, handler: Handler, fault: Callable[[], str] = lambda: "") -> None:
        """Answer a subject, and its pool's health, until the process drains.

        `fault` returns why this pool cannot work although the database answers; empty if it can.
        """
        pools = self.settings.pools

        async def health_of_pool(request: Request, body: RequestBody) -> Response:
            if reason := fault():
                return Response(503, body=encode_json({"message": reason}))
            return await self._health(request, body)

        health = await serve(
            self.connection,
            subjects.health(subject.pool),
            health_of_pool,
            concurrency=_HEALTH_CONCURRENCY,
            queue=64,
        )
        serving = await serve(
            self.connection,
            subject,
            handler,
            concurrency=pools.concurrency,
            queue=pools.queue,
            longest_wait=pools.longest_wait,
        )

        async def drain() -> None:
            await serving.drain(pools.drain_timeout)
            await health.stop()

        self.process.on_drain(drain)

    async def _health(self, request: Request, body: RequestBody) -> Response:
        """Tell whether requests can be answered now: the catalog is there and the database answers."""
        del request, body
        if not self.cache.is_loaded:
            return Response(503, body=b'{"message":"the schema cache is not loaded yet"}')
        if not self.cache.is_connected or any(pool.is_refused for pool in (self.database, *self.logins)):
            return Response(503, body=b'{"message":"the database does not answer"}')
        return Response(200, body=b'{"message":"ok"}')


async def run_pools(process: Process, settings: Settings, modules: list[str]) -> None:
    """Open what the pools share, start each, say that the process is ready, and wait for its end."""
    resources = await open_resources(process, settings)
    for name in modules:
        await importlib.import_module(name).serve_pool(resources)
    process.ready()
    await process.stopped()


async def open_resources(process: Process, settings: Settings) -> Resources:
    """Connect to the broker and the database and load the schema cache.

    Raises: SettingsError without addresses, or with ones that cannot be read; Unavailable if the broker stays away.
    """
    if settings.broker.url is None or settings.db.url is None:
        raise SettingsError("a worker needs broker.url and db.url (NATS_URL and DATABASE_URL)")
    url = settings.db.url.reveal()
    try:
        connection = await Connection.open(
            settings.broker.url.reveal(),
            name="workers",
            max_reconnect_wait=settings.broker.max_reconnect_wait,
            replicas=settings.broker.replicas,
        )
    except ValueError:  # its words may hold a part of the password, as those below
        raise SettingsError("broker.url must be nats://[user:password@]host[:port], or tls://...") from None
    process.on_drain(connection.drain)
    answer_collect(connection)
    report_faults(process, connection)
    cache = SchemaCache(url, settings.api, observe)
    try:
        database = await Pool.open(
            url,
            settings.db.pool_size,
            prepared=settings.api.prepared_statements,
            on_event=_PoolObserver(on_back=cache.request_reload),
            body_space=_body_space(process, settings.api),
            name=urlsplit(url).username or "database",
        )
    except ValueError:
        raise SettingsError("db.url must be postgresql://user:password@host[:port]/database") from None
    _close_with(process, database, urlsplit(url).username or "")
    process.on_drain(cache.close)
    cache.on_change(
        lambda catalog: _tell(connection, subjects.CATALOG_CHANGED, CatalogChanged(catalog.version))
    )
    cache.on_config(lambda _: _tell(connection, subjects.CONFIG_CHANGED, ConfigChanged()))
    await cache.load()
    return Resources(process, settings, connection, database, cache)


def report_faults(process: Process, connection: Connection) -> None:
    """Report the faults of this process to the edges until it drains."""
    reporter = FaultReporter(connection)
    process.on_drain(reporter.close)
    reporter.start()


def _body_space(process: Process, api: Api) -> BodySpace:
    """Return the space for long answers, which all pools of the process share. Raises: SettingsError."""
    folder = api.answer_folder or None
    if folder is not None and not (os.path.isdir(folder) and os.access(folder, os.W_OK)):
        raise SettingsError("api.answer_folder must be a folder that the workers can write to")
    space = BodySpace(folder, api.answer_space, api.max_answer)
    remove = gauge(
        "headwater_rest_answer_bytes",
        "Bytes on disk of answers that are being sent.",
        lambda: space.used,
    )

    async def close() -> None:
        remove()

    process.on_drain(close)
    return space


def _close_with(process: Process, pool: Pool, login: str) -> None:
    """Show the numbers of a pool, by its login role, until it is closed at the drain."""
    shown = (
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

    async def close() -> None:
        for remove in shown:
            remove()
        await pool.close()

    process.on_drain(close)


def _as_role(url: str, role: str, password: str) -> str:
    """Give the address with another login."""
    parts = urlsplit(url)
    place = parts.netloc.rpartition("@")[2]
    return urlunsplit(parts._replace(netloc=f"{quote(role, safe='')}:{quote(password, safe='')}@{place}"))


def _tell(connection: Connection, subject: Subject, event: CatalogChanged | ConfigChanged) -> None:
    """Publish an event if the broker is there; whoever misses it reads the database itself."""
    connection.tell(subject.name, encode(event))


class _PoolObserver:
    """Tells of connections that break, and once when the pool's database is lost, and once when it is back.

    `on_back` is called then too: the schema cache waits up to half a minute between two attempts of its own.
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
