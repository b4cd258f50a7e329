"""The schema cache of a process: the current catalog and options, kept in step with the database.

One connection of its own listens on the channel `pgrst` and reads. `reload schema` reads the catalog anew,
`reload config` the options kept in the database, an empty payload both. Changes in a burst end in two reads: one at
once, one after the burst; and the cache rests as long as a read took, so a stream of changes never keeps the server busy.

A read that fails leaves everything as it was, is observed, and is tried again, ever slower up to 32 seconds apart. The
same holds for the connection; after it is back both are read, since notices may have been missed.
Source: reference page "rest", sections 2 and 21.
"""

import asyncio
import random
import time
from collections.abc import Callable
from contextlib import suppress
from typing import ClassVar

import asyncpg
import msgspec

from broker.observability.observations import (
    CatalogReloaded,
    CatalogReloadFailed,
    DatabaseBack,
    DatabaseLost,
    Observation,
)
from schemas.settings.tree import Api
from workers.database.catalog import Catalog
from workers.database.configuration import (
    OptionsIgnored,
    OptionsReloadFailed,
    apply_options,
    read_options,
)
from workers.database.introspect import IntrospectOptions, introspect

CHANNEL = "pgrst"

_FIRST_PAUSE_S, _LONGEST_PAUSE_S = 0.5, 32.0
_WINDOW_S = 0.1
"""Changes within this time of a read share the next one."""
_PROBE_S = 30.0
"""A silent connection is asked for a sign of life this often."""
_CONNECT_S = _ANSWER_S = 10.0
_FAILURES = (
    asyncpg.PostgresError,
    asyncpg.InterfaceError,
    OSError,
    TimeoutError,
    msgspec.MsgspecError,
    LookupError,  # the catalogs contradict themselves: something was dropped between two of their functions
)


class NoticesRefused(Observation, frozen=True):
    """The server announces no changes; the schema cache looks for them every half minute."""

    level: ClassVar[str] = "warning"
    reason: str


class SchemaCache:
    """Holds the catalog and the options of one database. `load` it once, `close` it at the end."""

    def __init__(self, url: str, api: Api, observe: Callable[[msgspec.Struct], None]) -> None:
        self._url = url
        self._settings = self._api = api
        self._observe = observe
        self._catalog = Catalog()
        self._loaded = asyncio.Event()
        self._is_connected = False
        self._wake = asyncio.Event()
        self._wants_schema = self._wants_options = True
        self._last_error: str | None = None
        self._pause_s = _FIRST_PAUSE_S
        self._on_change: list[Callable[[Catalog], None]] = []
        self._on_config: list[Callable[[Api], None]] = []
        self._task: asyncio.Task[None] | None = None

    @property
    def catalog(self) -> Catalog:
        """Give the current catalog; an empty one of version 0 until the first is loaded."""
        return self._catalog

    @property
    def api(self) -> Api:
        """Give the settings with the options kept in the database over them."""
        return self._api

    @property
    def is_loaded(self) -> bool:
        return self._loaded.is_set()

    @property
    def is_following(self) -> bool:
        """Tell whether changes are still followed: false before `load` and after `close`."""
        return self._task is not None and not self._task.done()

    @property
    def is_connected(self) -> bool:
        """Tell whether the connection stands on which changes are noticed."""
        return self._is_connected

    @property
    def last_error(self) -> str | None:
        """Give what went wrong at the last connection or read; None when it went well.

        A failed read says nothing against serving requests: the catalog and options before it are still there.
        """
        return self._last_error

    def on_change(self, callback: Callable[[Catalog], None]) -> None:
        """Call back with each new catalog, the first included. The callback must not raise."""
        self._on_change.append(callback)

    def on_config(self, callback: Callable[[Api], None]) -> None:
        """Call back with the options whenever they changed. The callback must not raise."""
        self._on_config.append(callback)

    async def load(self) -> None:
        """Wait for the first catalog, for as long as the database does not answer; then follow changes."""
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
        """Have the catalog, the options or both read soon."""
        self._wants_schema |= schema
        self._wants_options |= options
        self._wake.set()

    def _noticed(self, _connection: object, _pid: int, _channel: str, payload: object) -> None:
        match payload:
            case "":
                self.request_reload()
            case "reload schema":
                self.request_reload(options=False)
            case "reload config":
                self.request_reload(schema=False)

    async def _follow(self) -> None:
        """Connect, serve the connection until it breaks, connect again."""
        lost_at: float | None = None
        while True:
            try:
                connection = await asyncpg.connect(
                    self._url,
                    timeout=_CONNECT_S,
                    server_settings={"application_name": "headwater schema cache"},
                )
                try:
                    is_listening = await self._listen(connection)
                    self._is_connected = True
                    if lost_at is not None:
                        self._observe(DatabaseBack(after_s=time.monotonic() - lost_at))
                        lost_at = None
                    await self._serve(connection, is_listening)
                finally:
                    self._is_connected = False
                    await _closed(connection)
            except _FAILURES as error:
                self._last_error = _reason(error)
                if lost_at is None:
                    lost_at = time.monotonic()
                    self._observe(DatabaseLost(reason=self._last_error))
            await self._rest()

    async def _listen(self, connection: asyncpg.Connection) -> bool:
        """Ask for notices; tell whether the server sends them (a standby does not)."""
        connection.add_termination_listener(lambda _: self._wake.set())
        try:
            await connection.add_listener(CHANNEL, self._noticed)
        except asyncpg.ReadOnlySQLTransactionError as error:
            self._observe(NoticesRefused(reason=_reason(error)))
            return False
        return True

    async def _serve(self, connection: asyncpg.Connection, is_listening: bool) -> None:
        """Read everything, then what notices ask for. Raises: one of `_FAILURES` when the connection is lost."""
        self.request_reload()
        while True:
            await self._awake(connection, is_listening)
            started = time.monotonic()
            self._wake.clear()
            is_well = await self._read(connection)
            if connection.is_closed():
                raise ConnectionResetError(self._last_error or "the server closed the connection")
            if is_well:
                self._pause_s = _FIRST_PAUSE_S
                await asyncio.sleep(max(_WINDOW_S, time.monotonic() - started))
            else:
                await self._rest()
                self._wake.set()

    async def _awake(self, connection: asyncpg.Connection, is_listening: bool) -> None:
        """Wait until there is something to read; meanwhile ask the server for a sign of life, or look for changes."""
        while not self._wake.is_set():
            try:
                async with asyncio.timeout(_PROBE_S):
                    await self._wake.wait()
            except TimeoutError:
                if is_listening:
                    await connection.execute("select 1", timeout=_ANSWER_S)
                else:
                    self.request_reload()

    async def _read(self, connection: asyncpg.Connection) -> bool:
        """Read what is wanted; tell whether all went well. What failed stays wanted."""
        self._last_error = None
        if self._wants_options:
            self._wants_options = False
            if not await self._read_options(connection):
                self._wants_options = True
        if self._wants_schema:
            self._wants_schema = False
            if not await self._read_schema(connection):
                self._wants_schema = True
        return self._last_error is None

    async def _read_options(self, connection: asyncpg.Connection) -> bool:
        try:
            rows = await read_options(connection, self._settings.pre_config, _ANSWER_S)
        except _FAILURES as error:
            self._last_error = _reason(error)
            self._observe(OptionsReloadFailed(reason=self._last_error))
            return False
        api, warnings = apply_options(self._settings, rows)
        if warnings:
            self._observe(OptionsIgnored(reasons=tuple(warnings)))
        if api != self._api:
            self._wants_schema |= _introspection(api) != _introspection(self._api)
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

    async def _rest(self) -> None:
        """Wait before another attempt, longer each time, unless a notice asks for one."""
        pause_s = self._pause_s * random.uniform(0.8, 1.2)
        self._pause_s = min(self._pause_s * 2, _LONGEST_PAUSE_S)
        await asyncio.sleep(_WINDOW_S)
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
