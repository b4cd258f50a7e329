"""Resources that the pools of one process share: broker connection, connection pool, schema cache, settings.

`open_resources` opens them in order, and they are closed in reverse order when the process drains. Every pool of the process
then serves its subject and its health check.
"""

import importlib
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from urllib.parse import quote, urlsplit, urlunsplit

from msgspec.json import encode as encode_json

from broker import subjects
from broker.codec import encode
from broker.nats.connection import NatsConnection
from broker.observability.observe import gauge, observe
from broker.processes.connect import connect_broker, report_faults
from broker.processes.lifecycle import ManagedProcess, environment_variables
from broker.requests.handler import Handler, RequestBody
from broker.subjects import Subject
from schemas.causes import cause_keys
from schemas.database_logins import AUTH, STORAGE, login_passwords
from schemas.events import CatalogChanged, ConfigChanged
from schemas.http import Request, Response
from schemas.settings.checks import listed_urls
from schemas.settings.overlay import SettingsBase
from schemas.settings.tree import Api, Settings, SettingsError
from workers.database.connection_pool.pool import ConnectionPool
from workers.database.protocol.row_body import BodySpace
from workers.database.replicas.read_routing import ReplicaReads
from workers.database.replicas.start import open_replicas
from workers.database.schema_cache.cache import SchemaCache
from workers.database.transactions import causes
from workers.history_watch import HistoryWatch
from workers.observed_pool import PoolObserver, watch_pool
from workers.served_pool import ALIVE, serve_subject
from workers.settings.live_settings import LiveSettings, OnSettings
from workers.settings.serve_edges import serve_edge_settings

_CACHE_AWAY_S = 60.0
"""A schema cache that has been disconnected for this long is a reason not to be ready."""
_WITH_POSITIONS = (subjects.REST, subjects.GRAPHQL, subjects.AUTH, subjects.STORAGE)
"""Requests whose writes a caller must find in its next reads."""
_ON_ONE_POOL = _WITH_POSITIONS
"""Requests that use one connection pool alone: that of the login of their own, if there is one."""
_READING = (subjects.REST, subjects.GRAPHQL)
"""Requests whose reads may run on a replica."""


@dataclass(slots=True)
class Resources:
    """Open resources of a process. Closing functions are registered with `process`, which calls them when it drains."""

    process: ManagedProcess
    live: LiveSettings
    connection: NatsConnection
    database: ConnectionPool
    cache: SchemaCache
    body_space: BodySpace = field(default_factory=BodySpace)
    """Disk space for long responses."""
    _new_logins: list[ConnectionPool] = field(default_factory=list)
    """Connection pools of other roles (`login_as`) that belong to the pool which is served next."""
    history_watch: HistoryWatch = field(init=False)
    """Whether tables have a history."""
    replicas: ReplicaReads | None = None
    """The read replicas, once a pool that uses them is served."""

    def __post_init__(self) -> None:
        self.history_watch = HistoryWatch(self.database)

    @property
    def settings(self) -> Settings:
        """The settings that apply now, those stored in the database included."""
        return self.live.settings

    @property
    def api(self) -> Api:
        """The current options, including those stored in the database."""
        return self.cache.api

    async def login_as(self, role: str, *, least_connections: int = 1) -> ConnectionPool:
        """Open a connection pool for a login role of the platform, with its own password; it is closed at the drain.

        It has `db.pool_size` connections, and at least `least_connections`.
        Raises: SettingsError if the address cannot be read.
        """
        url = self.url_of(role)
        pool = await ConnectionPool.open(
            url,
            max(self.settings.db.pool_size, least_connections),
            prepared=self.settings.api.prepared_statements,
            on_event=PoolObserver(),
            name=role,
            shows_statements=role in (AUTH, STORAGE),
        )
        watch_pool(self.process, pool, url)
        self._new_logins.append(pool)
        return pool

    def url_of(self, role: str) -> str:
        """Return the database's URL for a login of the platform. Raises: SettingsError without a URL."""
        return _with_login(
            self.url, role, login_passwords(self.settings).get(role, self.settings.db.password).reveal()
        )

    @property
    def url(self) -> str:
        """The database's URL, with the login of the data pools. Raises: SettingsError without a URL."""
        if self.settings.db.url is None:
            raise SettingsError("a worker needs db.url (HEADWATER_DB_URL)")
        return self.settings.db.url.reveal()

    async def serve(self, subject: Subject, handler: Handler, fault: Callable[[], str] = lambda: "") -> None:
        """Serve a subject and the health check of its pool until the process drains.

        `fault` returns why this pool cannot work although the database answers; "" if it can.
        """
        logins, self._new_logins = tuple(self._new_logins), []
        if listed_urls(self.settings.db.replicas) and subject in _WITH_POSITIONS:
            handler = (await self._open_replicas(subject)).served(handler)

        async def health_of_pool(request: Request, body: RequestBody) -> Response:
            del request, body
            if reason := fault():
                return _not_ready(reason)
            return self._health(logins)

        await serve_subject(
            self.process,
            self.connection,
            self.settings.pools,
            subject,
            handler,
            health=health_of_pool,
            outage=_outage_of(logins[0] if logins else self.database) if subject in _ON_ONE_POOL else None,
        )

    async def _open_replicas(self, subject: Subject) -> ReplicaReads:
        """Return the read replicas of the process. Reads go there once a pool that reads from them is served."""
        if self.replicas is None:
            self.replicas = await open_replicas(self.settings, self.connection, self.body_space)
            self.process.on_drain(self.replicas.close)
        if subject in _READING and self.database.read_elsewhere is None:
            self.replicas.start()
            self.database.read_elsewhere = self.replicas.read
        return self.replicas

    def _health(self, logins: Sequence[ConnectionPool]) -> Response:
        """Answer a health check of a pool with these logins: 200 if the catalog is loaded and the database answers, else 503.

        Requests are answered while the schema cache alone is disconnected; that counts once it lasts.
        """
        if not self.cache.is_loaded:
            return _not_ready("the schema cache is not loaded yet")
        if self.database.is_refused:
            return _not_ready("the database does not answer")
        for pool in logins:
            if pool.is_refused:
                return _not_ready(f"the database does not answer the login {pool.name}")
        if not self.cache.is_connected:
            if not self.database.state.open:
                return _not_ready("the database does not answer")
            if self.cache.disconnected_s > _CACHE_AWAY_S:
                return _not_ready("schema changes are not followed: the schema cache cannot connect")
            self.cache.request_reload()
        return Response(200, body=ALIVE)


def _outage_of(pool: ConnectionPool) -> Callable[[], int | None]:
    return lambda: pool.outage


def _not_ready(message: str) -> Response:
    return Response(503, body=encode_json({"message": message}))


async def run_pools(process: ManagedProcess, settings: Settings, modules: list[str]) -> None:
    """Open the shared resources, start each pool, report that the process is ready, and wait until it stops."""
    resources = await open_resources(process, settings)
    for name in modules:
        await importlib.import_module(name).serve_pool(resources)
    await resources.live.check()  # what changed while the pools were built
    resources.live.follow()
    process.on_drain(resources.live.close)
    process.ready()
    await process.stopped()


async def open_resources(process: ManagedProcess, settings: Settings) -> Resources:
    """Connect to the broker and the database and load the schema cache.

    Raises: SettingsError without URLs, or with ones that cannot be read; Unavailable if the broker does not answer.
    """
    if settings.broker.url is None or settings.db.url is None:
        raise SettingsError(
            "a worker needs broker.url and db.url (HEADWATER_BROKER_URL and HEADWATER_DB_URL)"
        )
    url = settings.db.url.reveal()
    causes.configure(cause_keys(settings.auth)[0])
    connection = await connect_broker(process, settings, "workers")
    report_faults(process, connection)
    cache = SchemaCache(url, settings.api, observe)
    space = _body_space(process, settings.api)
    try:
        database = await ConnectionPool.open(
            url,
            settings.db.pool_size,
            prepared=settings.api.prepared_statements,
            on_event=PoolObserver(on_back=cache.request_reload),
            body_space=space,
            name=urlsplit(url).username or "database",
            shows_statements=True,
        )
    except ValueError:
        raise SettingsError("db.url must be postgresql://user:password@host[:port]/database") from None
    watch_pool(process, database, url)
    process.on_drain(cache.close)
    cache.on_change(
        lambda catalog: _publish(connection, subjects.CATALOG_CHANGED, CatalogChanged(catalog.version))
    )
    cache.on_config(lambda _: _publish(connection, subjects.CONFIG_CHANGED, ConfigChanged()))
    live = LiveSettings(SettingsBase(settings, environment_variables()), database)
    await live.load()
    cache.use_settings(live.settings.api)
    cache.on_options_read(live.check_soon)
    live.on_change(_use_api(cache))
    await cache.load()
    process.on_drain(await serve_edge_settings(connection, live))
    resources = Resources(process, live, connection, database, cache, space)
    cache.on_change(lambda _: resources.history_watch.changed())
    resources.history_watch.changed()
    resources.history_watch.start()
    process.on_drain(resources.history_watch.close)
    return resources


def _use_api(cache: SchemaCache) -> OnSettings:
    async def use(settings: Settings) -> None:
        cache.use_settings(settings.api)

    return use


def _body_space(process: ManagedProcess, api: Api) -> BodySpace:
    """Return the disk space for long responses, which all pools of the process share. Raises: SettingsError."""
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


def _with_login(url: str, role: str, password: str) -> str:
    """Return the URL with another login."""
    parts = urlsplit(url)
    place = parts.netloc.rpartition("@")[2]
    return urlunsplit(parts._replace(netloc=f"{quote(role, safe='')}:{quote(password, safe='')}@{place}"))


def _publish(connection: NatsConnection, subject: Subject, event: CatalogChanged | ConfigChanged) -> None:
    """Publish an event if the broker is connected; a subscriber that misses it reads the database itself."""
    connection.try_publish(subject.name, encode(event))
