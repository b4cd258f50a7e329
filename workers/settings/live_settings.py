"""Follows the settings that are stored in the database, and applies them to the pools of a process without a restart.

    change -> commit with NOTIFY pgrst, 'reload config' -> schema cache of each process (LISTEN) -> `check_soon`
           -> read the row -> open, check, merge -> callback of each pool -> later requests use the new settings

The schema cache also calls after it was disconnected, and every half minute on a server that sends no notifications, so no change is
missed. A pool that is called builds what it needs from the new settings and then exchanges one reference: a request that is under
way finishes with the objects that it began with, and no request looks anything up. A callback that raises leaves its pool as it was.
"""

import asyncio
import time
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from typing import ClassVar

from broker.backoff import Backoff
from broker.observability.observations import Observation
from broker.observability.observe import observe
from schemas.errors import ApiError
from schemas.settings.overlay import EffectiveSettings, SettingsBase, effective_settings
from schemas.settings.tree import Settings, SettingsError
from workers.database.errors import DatabaseError, Disconnected, PoolTimeout
from workers.database.transactions.interactive import statement
from workers.database.transactions.model import TransactionRunner, TransactionSpec
from workers.settings.sealed_values import CannotOpenSettings, SettingsSealer, StoredSettings

_READ = "select version, sealed from headwater.read_stored_settings()"
_NOT_THERE = ("42883", "42501", "3F000")
"""SQLSTATE where the platform's migrations did not run (`db.bootstrap = false`): nothing is stored there."""
_FIRST_PAUSE_S, _LAST_PAUSE_S = 0.2, 5.0

OnSettings = Callable[[Settings], Awaitable[None]]


class SettingsApplied(Observation, frozen=True):
    """The pools of this process use the stored settings of this version. `settings`: how many are stored."""

    version: int
    settings: int
    took_s: float


class SettingsDelayed(Observation, frozen=True):
    """A pool could not apply changed settings, because a part of the platform does not answer; it is tried again."""

    level: ClassVar[str] = "warning"
    version: int
    reason: str


class StoredSettingsIgnored(Observation, frozen=True):
    """Stored settings cannot be used; those of the file apply instead."""

    level: ClassVar[str] = "error"
    settings: tuple[str, ...]
    reasons: tuple[str, ...]


def fixed_settings(settings: Settings) -> "LiveSettings":
    """Return settings that nothing changes: of a process without a database."""
    return LiveSettings(SettingsBase(settings), None)


class LiveSettings:
    """The settings that apply now. Call `load` once, then `follow`, and `close` at the end."""

    def __init__(self, base: SettingsBase, database: TransactionRunner | None) -> None:
        self.base = base
        self.sealer = SettingsSealer(base.settings.auth)
        self.stored = StoredSettings()
        self.effective = EffectiveSettings(base.settings)
        self.fault = ""
        """Why the stored settings cannot be decrypted; empty if they can."""
        self._database = database
        self._callbacks: list[OnSettings] = []
        self._unapplied: list[OnSettings] = []
        self._task: asyncio.Task[None] | None = None
        self._wake = asyncio.Event()
        self._lock = asyncio.Lock()

    @property
    def settings(self) -> Settings:
        """The settings that apply."""
        return self.effective.settings

    @property
    def usable_values(self) -> dict[str, object]:
        """The stored values that are not ignored."""
        return {key: value for key, value in self.stored.values.items() if key not in self.effective.ignored}

    def report_ignored(self, ignored: Mapping[str, str]) -> None:
        """Note stored values that a pool of this process cannot work with, so that administrators see them."""
        self.effective = EffectiveSettings(self.settings, {**self.effective.ignored, **ignored})
        observe(StoredSettingsIgnored(tuple(ignored), tuple(dict.fromkeys(ignored.values()))))

    def on_change(self, callback: OnSettings) -> None:
        """Register what applies changed settings to a pool. It may raise SettingsError: then the pool stays as it was."""
        self._callbacks.append(callback)

    async def load(self) -> None:
        """Read the stored settings for the first time; repeat until the database answers."""
        backoff = Backoff(_FIRST_PAUSE_S, _LAST_PAUSE_S)
        while not await self._read():
            await backoff.wait()

    def follow(self) -> None:
        """Start to apply changes when `check_soon` is called."""
        self._task = asyncio.create_task(self._follow(), name="live settings")

    def check_soon(self) -> None:
        """Read the row soon, because it may have changed."""
        self._wake.set()

    async def check(self) -> None:
        """Read the row now and apply it if it changed."""
        async with self._lock:
            started, before = time.monotonic(), self.stored.version
            if not await self._read():
                self._wake.set()
                return
            waiting = self._callbacks if self.stored.version != before else self._unapplied
            if not waiting:
                return
            self._unapplied = [callback for callback in waiting if not await self._has_applied(callback)]
            if self._unapplied:
                self._wake.set()
                return
            took_s = round(time.monotonic() - started, 4)
            observe(SettingsApplied(self.stored.version, len(self.stored.entries), took_s))

    async def close(self) -> None:
        """Stop following."""
        if self._task is not None:
            self._task.cancel()
            with suppress(asyncio.CancelledError):
                await self._task

    async def _has_applied(self, callback: OnSettings) -> bool:
        """Call back; return False if a part of the platform did not answer, so that it is called again."""
        try:
            await callback(self.settings)
        except SettingsError as error:
            observe(StoredSettingsIgnored((), (str(error),)))
        except (ApiError, DatabaseError, Disconnected, PoolTimeout) as error:
            observe(SettingsDelayed(self.stored.version, type(error).__name__))
            return False
        return True

    async def _follow(self) -> None:
        backoff = Backoff(_FIRST_PAUSE_S, _LAST_PAUSE_S)
        while True:
            await self._wake.wait()
            self._wake.clear()
            try:
                await self.check()
            except Exception as error:  # without this task no changed setting would be applied any more
                observe(SettingsDelayed(self.stored.version, type(error).__name__))
                self._wake.set()
            if self._wake.is_set():  # the database or a part of the platform did not answer
                await backoff.wait()
            else:
                backoff.reset()

    async def _read(self) -> bool:
        """Read the row; return whether the database answered."""
        if self._database is None:
            return True
        try:
            [rows] = await self._database.run(TransactionSpec((), [statement(_READ)]))
        except DatabaseError as error:
            return error.code in _NOT_THERE
        except (Disconnected, PoolTimeout):
            return False
        version, sealed = [column for row in rows for column in row] or (None, None)
        if version is None or sealed is None:
            self._use(StoredSettings())
            return True
        try:
            self._use(self.sealer.open(int(version), bytes(sealed).decode()))
            self.fault = ""
        except CannotOpenSettings as error:
            fault = f"the stored settings cannot be decrypted: {error}"
            if fault != self.fault:
                observe(StoredSettingsIgnored((), (fault,)))
            self.fault = fault
        return True

    def _use(self, stored: StoredSettings) -> None:
        if stored == self.stored:
            return
        effective = effective_settings(self.base, stored.values)
        self.stored, self.effective = stored, effective
        if effective.ignored:
            reasons = tuple(dict.fromkeys(effective.ignored.values()))
            observe(StoredSettingsIgnored(tuple(effective.ignored), reasons))
