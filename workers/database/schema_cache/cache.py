"""The schema cache of a process: the current catalog and options, reloaded when the database announces a change.

One dedicated connection listens on the channel `pgrst` and reads. The payload `reload schema` reloads the catalog,
`reload config` the options stored in the database, an empty payload both. A burst of notifications causes two reads: one
immediately, one after the burst. After a read the cache pauses for as long as the read took, so continuous notifications
never keep the server busy.

After a failed read the catalog and options stay as they were, the failure is observed, and the read is repeated with
growing pauses (0.5 to 32 s, 20 % jitter). The same applies to the connection; after it is back both are read, because
notifications may have been missed.

A session that has read the catalog is replaced once it is idle: the server keeps 3 MB of what it read until the session ends.
Source: docs/reference/rest.md, sections 2 and 21.
"""

import asyncio
import time
from collections.abc import Callable
from contextlib import suppress
from typing import ClassVar

import asyncpg
import msgspec

from broker.backoff import Backoff
from broker.observability.observations import (
    CatalogReloaded,
    CatalogReloadFailed,
    DatabaseBack,
    DatabaseLost,
    Observation,
)
from schemas.settings.tree import Api
from workers.database.schema_cache.catalog import Catalog
from workers.database.schema_cache.database_options import (
    OptionsIgnored,
    OptionsReloadFailed,
    apply_options,
    read_options,
)
from workers.database.schema_cache.introspect import IntrospectOptions, introspect

CHANNEL = "pgrst"

_FIRST_PAUSE_S, _LONGEST_PAUSE_S = 0.5, 32.0
_WINDOW_S = 0.1
"""Notifications within this time after a read share the next read."""
_PROBE_S = 30.0
"""Interval of the check that an idle connection still answers."""
_CATCH_UP_S = 5.0
_CONNECT_S = _ANSWER_S = 10.0
_FAILURES = (
    asyncpg.PostgresError,
    asyncpg.InterfaceError,
    OSError,
    TimeoutError,
    msgspec.MsgspecError,
    LookupError,  # the system catalogs are inconsistent: something was dropped between two function calls on them
)


class NotificationsUnavailable(Observation, frozen=True):
    """The server sends no notifications (a standby); the schema cache is reloaded every half minute."""

    level: ClassVar[str] = "warning"
    reason: str


class SchemaCache:
    """The catalog and the options of one database. Call `load` once and `close` at the end."""

    def __init__(self, url: str, api: Api, observe: Callable[[msgspec.Struct], None]) -> None:
        self._url = url
        self._settings = self._api = api
        self._observe = observe
        self._catalog = Catalog()
        self._loaded = asyncio.Event()
        self._is_connected = False
        self._lost_at: float | None = None
        """When the connection was lost; None while it is open, and before the first attempt failed."""
        self._requests = 0
        """Counts calls of `request_reload`: one that comes during an attempt to connect must shorten the pause after it."""
        self._session: asyncpg.Connection
        self._has_read = False
        """Whether the session has read the catalog."""
        self._wake = asyncio.Event()
        self._schema_requested = self._options_requested = True
        self._is_reading = False
        self._read_ended = asyncio.Event()
        """Set at the end of the next read of the catalog, which then gets another one."""
        self._is_listening = False
        """Whether the session gets notifications now."""
        self._answered = asyncio.Event()
        """Set when the session has answered next: Postgres has sent it then what was announced before it was asked."""
        self._last_error: str | None = None
        self._backoff = Backoff(_FIRST_PAUSE_S, _LONGEST_PAUSE_S)
        self._on_change: list[Callable[[Catalog], None]] = []
        self._on_config: list[Callable[[Api], None]] = []
        self._on_options_read: list[Callable[[], object]] = []
        self._task: asyncio.Task[None] | None = None

    @property
    def catalog(self) -> Catalog:
        """The current catalog; an empty one of version 0 until the first is loaded."""
        return self._catalog

    @property
    def api(self) -> Api:
        """The settings, overridden by the options stored in the database."""
        return self._api

    @property
    def is_loaded(self) -> bool:
        return self._loaded.is_set()

    @property
    def is_following(self) -> bool:
        """Whether the cache follows changes: false before `load` and after `close`."""
        return self._task is not None and not self._task.done()

    @property
    def is_connected(self) -> bool:
        """Whether the connection on which notifications arrive is open."""
        return self._is_connected

    @property
    def disconnected_s(self) -> float:
        """For how many seconds that connection has been lost."""
        return 0.0 if self._lost_at is None else time.monotonic() - self._lost_at

    @property
    def last_error(self) -> str | None:
        """The error of the last connection attempt or read; None if it succeeded.

        Requests can be served after a failed read, because the earlier catalog and options are still in use.
        """
        return self._last_error

    @property
    def _is_requested(self) -> bool:
        return self._schema_requested or self._options_requested

    def on_change(self, callback: Callable[[Catalog], None]) -> None:
        """Register a callback for each new catalog, including the first. It must not raise."""
        self._on_change.append(callback)

    def on_config(self, callback: Callable[[Api], None]) -> None:
        """Register a callback for changed options. It must not raise."""
        self._on_config.append(callback)

    def on_options_read(self, callback: Callable[[], object]) -> None:
        """Register a callback for each time the options are read, changed or not. It must not raise."""
        self._on_options_read.append(callback)

    def use_settings(self, api: Api) -> None:
        """Replace the settings that the options of the database override; both are applied at the next read, which is requested."""
        self._settings = api
        if self._task is None:
            self._api = api
        else:
            self.request_reload(schema=False)

    async def load(self) -> None:
        """Wait for the first catalog, without a time limit; then follow changes in the background."""
        self._task = asyncio.create_task(self._follow(), name="schema cache")
        loaded = asyncio.create_task(self._loaded.wait())
        try:
            await asyncio.wait((self._task, loaded), return_when=asyncio.FIRST_COMPLETED)
        except asyncio.CancelledError:
            await self.close()
            raise
        finally:
            loaded.cancel()
        if not self._loaded.is_set():
            await self._task

    async def close(self) -> None:
        """Stop following and close the connection."""
        if self._task is not None:
            self._task.cancel()
            await asyncio.wait((self._task,))

    def request_reload(self, *, schema: bool = True, options: bool = True) -> None:
        """Request that the catalog, the options or both are read soon."""
        self._requests += 1
        self._schema_requested |= schema
        self._options_requested |= options
        self._wake.set()

    async def catch_up(self) -> bool:
        """Wait, for at most 5 s, while a read of the catalog is due or under way; return whether there is a new catalog.

        For a request that names what the current catalog does not have: a client may be faster than the read after its own change,
        and than the notification of it.
        """
        before, deadline = self._catalog.version, asyncio.get_running_loop().time() + _CATCH_UP_S
        with suppress(TimeoutError):
            async with asyncio.timeout_at(deadline):
                if self._is_listening and not (self._is_reading or self._schema_requested):
                    self._wake.set()
                    await self._answered.wait()
                while self.is_following and (self._is_reading or self._schema_requested):
                    await self._read_ended.wait()
                    if self._last_error is not None:
                        break
        return self._catalog.version != before

    def _on_notification(self, _connection: object, _pid: int, _channel: str, payload: object) -> None:
        match payload:
            case "":
                self.request_reload()
            case "reload schema":
                self.request_reload(options=False)
            case "reload config":
                self.request_reload(schema=False)

    async def _follow(self) -> None:
        """Connect and serve the connection until it breaks, in a loop."""
        while True:
            requests = self._requests
            try:
                self._session = await self._connected()
                try:
                    is_listening = await self._listen(self._session)
                    self._is_connected, self._is_listening = True, is_listening
                    if self._lost_at is not None:
                        self._observe(DatabaseBack(after_s=time.monotonic() - self._lost_at))
                        self._lost_at = None
                    await self._serve(is_listening)
                finally:
                    self._is_connected = self._is_listening = False
                    self._answered.set()
                    requests = self._requests
                    await _closed(self._session)
            except Exception as error:
                if not isinstance(error, _FAILURES) and not self.is_loaded:
                    raise  # `load` raises it; later, without this task, no change of the schema would be seen
                self._last_error = _reason(error)
                if self._lost_at is None:
                    self._lost_at = time.monotonic()
                    self._observe(DatabaseLost(reason=self._last_error))
            await self._pause(requests)

    async def _connected(self) -> asyncpg.Connection:
        """Open a session. Raises: one of `_FAILURES`."""
        return await asyncpg.connect(
            self._url,
            timeout=_CONNECT_S,
            server_settings={"application_name": "headwater schema cache"},
        )

    async def _listen(self, connection: asyncpg.Connection) -> bool:
        """Listen for notifications; return whether the server sends them (a standby does not)."""
        connection.add_termination_listener(self._on_termination)
        try:
            await connection.add_listener(CHANNEL, self._on_notification)
        except asyncpg.ReadOnlySQLTransactionError as error:
            self._observe(NotificationsUnavailable(reason=_reason(error)))
            return False
        return True

    def _on_termination(self, _connection: object) -> None:
        self._wake.set()

    async def _serve(self, is_listening: bool) -> None:
        """Read everything, then what notifications request. Raises: one of `_FAILURES` when the connection is lost."""
        self.request_reload()
        while True:
            await self._wait_for_request(is_listening)
            started, requests = time.monotonic(), self._requests
            self._wake.clear()
            answered, self._answered = self._answered, asyncio.Event()
            try:
                if not self._is_requested and not self._session.is_closed():
                    await self._session.execute("select 1", timeout=_ANSWER_S)
                reads_now = self._is_requested
                succeeded = await self._read(self._session)
            finally:
                answered.set()
            if self._session.is_closed():
                raise ConnectionResetError(self._last_error or "the server closed the connection")
            if succeeded:
                self._backoff.reset()
                if reads_now:
                    await asyncio.sleep(max(_WINDOW_S, time.monotonic() - started))
            else:
                await self._pause(requests)
                self._wake.set()

    async def _wait_for_request(self, is_listening: bool) -> None:
        """Wait for a request to read. Meanwhile check that the server answers, or request a read if it sends no notifications.

        Raises: one of `_FAILURES` if it does not answer.
        """
        while not self._wake.is_set():
            try:
                async with asyncio.timeout(_PROBE_S):
                    await self._wake.wait()
            except TimeoutError:
                if not is_listening:
                    self.request_reload()
                elif self._has_read:
                    await self._renew()
                else:
                    await self._session.execute("select 1", timeout=_ANSWER_S)

    async def _renew(self) -> None:
        """Listen in a new session, then close the one that has read. Raises: one of `_FAILURES`."""
        renewed = await self._connected()
        try:
            await self._listen(renewed)
        except BaseException:
            await _closed(renewed)
            raise
        has_read_in, self._session, self._has_read = self._session, renewed, False
        has_read_in.remove_termination_listener(self._on_termination)
        await _closed(has_read_in)

    async def _read(self, connection: asyncpg.Connection) -> bool:
        """Read what was requested; return whether all succeeded. A failed read stays requested."""
        self._last_error = None
        if self._options_requested:
            self._options_requested = False
            if not await self._read_options(connection):
                self._options_requested = True
        if self._schema_requested:
            self._schema_requested, self._is_reading, self._has_read = False, True, True
            try:
                if not await self._read_schema(connection):
                    self._schema_requested = True
            finally:
                self._is_reading = False
                ended, self._read_ended = self._read_ended, asyncio.Event()
                ended.set()
        return self._last_error is None

    async def _read_options(self, connection: asyncpg.Connection) -> bool:
        try:
            rows = await read_options(connection, self._settings.pre_config, _ANSWER_S)
        except _FAILURES as error:
            self._last_error = _reason(error)
            self._observe(OptionsReloadFailed(reason=self._last_error))
            return False
        for notify in self._on_options_read:
            notify()
        api, warnings = apply_options(self._settings, rows)
        if warnings:
            self._observe(OptionsIgnored(reasons=tuple(warnings)))
        if api != self._api:
            self._schema_requested |= _introspection(api) != _introspection(self._api)
            self._api = api
            for callback in self._on_config:
                callback(api)
        return True

    async def _read_schema(self, connection: asyncpg.Connection) -> bool:
        started = time.monotonic()
        try:
            catalog = await introspect(connection, _introspection(self._api), self._catalog.version + 1)
        except _FAILURES as error:
            self._last_error = _reason(error)
            self._observe(CatalogReloadFailed(reason=self._last_error))
            return False
        self._catalog = catalog
        self._loaded.set()
        functions = sum(len(overloads) for overloads in catalog.functions.values())
        took_s = time.monotonic() - started
        self._observe(CatalogReloaded(catalog.version, len(catalog.relations), functions, took_s))
        for callback in self._on_change:
            callback(catalog)
        return True

    async def _pause(self, requests: int) -> None:
        """Wait before the next attempt, longer each time. A request for a read ends the wait: a notification, or a pool whose
        database is back. `requests` is their number when the failed attempt began: one that came during it counts as well.
        """
        pause_s = self._backoff.next_s()
        await asyncio.sleep(_WINDOW_S)
        if self._requests != requests:
            return
        self._wake.clear()
        with suppress(TimeoutError):
            async with asyncio.timeout(pause_s):
                await self._wake.wait()


def _introspection(api: Api) -> IntrospectOptions:
    return IntrospectOptions(tuple(api.schemas), tuple(api.extra_search_path))


async def _closed(connection: asyncpg.Connection) -> None:
    with suppress(*_FAILURES):
        await connection.close(timeout=1.0)


def _reason(error: BaseException) -> str:
    return f"{type(error).__name__}: {error}".splitlines()[0]
