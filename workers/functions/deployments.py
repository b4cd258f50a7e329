"""Deployed functions on this machine: fetched from the blob store, verified, unpacked, and switched to at once.

    deploy --> checked --> its modules fetched --> kept in the store --> note `active` --> told to all workers
    told, or at the start, or once a minute --> what is active --> fetched and unpacked where it is not --> the shelf

Every worker comes to the same state by itself: what it is told is only that it should look. A version is unpacked and
its modules are fetched before requests go to it; processes of the old one finish what they have begun. A version that
cannot be fetched leaves the one before it in place.
"""

import asyncio
import contextlib
import hashlib
import shutil
import time
from collections.abc import Awaitable, Callable, Iterable, Mapping
from functools import partial
from pathlib import Path
from typing import ClassVar

from broker import subjects
from broker.blobs.errors import BlobError
from broker.events import EventSubscription, publish_event, subscribe_events
from broker.nats.connection import NatsConnection
from broker.observability.observations import Observation
from broker.observability.observe import observe
from schemas.errors import Unavailable
from schemas.events import FunctionsChanged
from schemas.functions.deployments import (
    MOST_SECRETS,
    DeployResult,
    FunctionVersion,
    SecretSummary,
    ServeSession,
    secret_fault,
)
from schemas.schedules import InvalidSchedule, parse_schedule
from schemas.settings.functions import FunctionSettings
from workers.functions.admin_errors import DeployRefused, NoVersion, SecretRefused
from workers.functions.bundles import BundleRefused, give_to_us, lay, read_bundle
from workers.functions.overlay import Laid, Overlay
from workers.functions.store import Active, Kept, Store

EVERY_S = 60.0
RETIRED_S = 900.0
"""Seconds that the files of a version are kept which is run no more: its processes may still read them."""
_TRIES_S = 5.0

Check = Callable[[Laid], tuple[list[str], str]]
"""Fetches the modules of an unpacked version; gives warnings, and what failed."""


Give = Callable[[str, Path], None]
"""Lets the user of a function, and no other, read files."""


def give_to_us_as(name: str, path: Path) -> None:
    """Let only the user of this process read files: functions run as it, too."""
    del name
    give_to_us(path)


class DeploymentsUnread(Observation, frozen=True):
    """What is deployed could not be read or unpacked; what was known of it holds."""

    level: ClassVar[str] = "error"
    reason: str


class FunctionSwitched(Observation, frozen=True):
    """Another version of a deployed function is run from now on; none if it was deleted."""

    function: str
    version: int | None


class Deployments:
    """What is deployed. `use` is called with what shall lie over the project's folder, and returns when it does."""

    def __init__(
        self,
        store: Store,
        folder: Path,
        use: Callable[[Overlay], Awaitable[None]],
        check: Check,
        connection: NatsConnection | None = None,
        *,
        versions_kept: int = 10,
        give: Give = give_to_us_as,
        folder_mode: int = 0o700,
    ) -> None:
        self._store, self._folder, self._use, self._check = store, folder, use, check
        self._connection = connection
        self._versions_kept = versions_kept
        self._give, self._folder_mode = give, folder_mode
        self._kept = Kept({}, {})
        self._laid: dict[str, Laid] = {}
        self._session: ServeSession | None = None
        self._retired: list[tuple[float, Path]] = []
        self._lock = asyncio.Lock()
        self._deploying = asyncio.Lock()
        self._following: EventSubscription | None = None
        self._repeating: asyncio.Task[None] | None = None

    async def start(self) -> None:
        """Come to the state of the store, and follow it from now on."""
        await asyncio.to_thread(self._make_folder)
        if self._connection is not None:
            with contextlib.suppress(Unavailable):
                self._following = await subscribe_events(
                    self._connection, subjects.FUNCTIONS_CHANGED, FunctionsChanged, self._hear
                )
        is_read = await self.look()
        self._repeating = asyncio.get_running_loop().create_task(self._repeat(is_read))

    async def stop(self) -> None:
        """Follow it no more."""
        if self._following is not None:
            await self._following.close()
        if self._repeating is not None:
            self._repeating.cancel()
            await asyncio.wait([self._repeating])
        await asyncio.to_thread(shutil.rmtree, self._folder, ignore_errors=True)

    @property
    def laid(self) -> Mapping[str, Laid]:
        """The deployed functions that are run here, by name."""
        return self._laid

    @property
    def secrets(self) -> tuple[SecretSummary, ...]:
        """The secrets that are kept, without their values."""
        return self._kept.known

    async def look(self) -> bool:
        """Come to the state of the store; tell whether that was possible."""
        async with self._lock:
            try:
                kept = await self._store.read()
            except BlobError as error:
                observe(DeploymentsUnread(str(error)))
                return False
            return await self._apply(kept)

    async def deploy(self, name: str, data: bytes) -> DeployResult:
        """Take a bundle and run it. Raises: DeployRefused, BlobError."""
        sha256 = hashlib.sha256(data).hexdigest()
        try:
            bundle = await asyncio.to_thread(read_bundle, data, name)
        except BundleRefused as refused:
            raise DeployRefused(str(refused)) from None
        _check_schedule(bundle.manifest.settings)
        async with self._deploying:
            versions = await self._store.versions(name)
            number = versions[0].number + 1 if versions else 1
            laid = await self._lay(Active(name, number, sha256, 0.0), data)
            warnings, failure = await asyncio.to_thread(self._check, laid)
            if failure:
                await asyncio.to_thread(shutil.rmtree, laid.root.parent, ignore_errors=True)
                raise DeployRefused(failure)
            await self._store.put(name, number, sha256, data)
            deployed = await self._switch(name, number, sha256, warnings)
            await self._store.forget(
                name, [each for each in versions[self._versions_kept - 1 :] if not each.is_active]
            )
        return deployed

    async def roll_back(self, name: str, number: int | None) -> DeployResult:
        """Run an older version again: the one of a number, or the one before that which is run. Raises: NoVersion."""
        async with self._deploying:
            versions = await self._store.versions(name)
            active = next((each for each in versions if each.is_active), None)
            if number is None:
                older = [each for each in versions if active is None or each.number < active.number]
            else:
                older = [each for each in versions if each.number == number]
            if not older:
                raise NoVersion
            return await self._switch(name, older[0].number, older[0].sha256, [])

    async def delete(self, name: str) -> None:
        """Drop a function with all its versions. Raises: NoVersion if it was not deployed."""
        async with self._deploying:
            if not await self._store.versions(name) and name not in self._laid:
                raise NoVersion
            await self._store.delete(name)
            self._tell(name)
            await self.look()

    async def versions(self, name: str) -> list[FunctionVersion]:
        """Give the versions of a function, the newest first."""
        return await self._store.versions(name)

    async def set_secrets(self, values: Mapping[str, str]) -> None:
        """Keep secrets; functions have them from now on. Raises: SecretRefused before any is kept."""
        check_secrets(values, self._kept.known)
        for name, value in values.items():
            await self._store.set_secret(name, value)
        self._tell("")
        await self.look()

    async def unset_secrets(self, names: list[str]) -> None:
        """Drop secrets."""
        await self._store.unset_secrets(names)
        self._tell("")
        await self.look()

    async def begin_session(self, session: ServeSession) -> None:
        """Run all functions of this worker as a session asks for."""
        self._session = session
        await self._show()

    async def end_session(self, session: ServeSession) -> None:
        """Run them as before, unless another session came."""
        if self._session is session:
            self._session = None
            await self._show()

    async def _switch(self, name: str, number: int, sha256: str, warnings: list[str]) -> DeployResult:
        active = await self._store.activate(name, number, sha256)
        self._tell(name)
        await self.look()
        found = next((each for each in await self._store.versions(name) if each.is_active), None)
        return DeployResult(
            name, found or FunctionVersion(number, sha256, 0, active.at, is_active=True), warnings
        )

    async def _apply(self, kept: Kept) -> bool:
        """Unpack what is new, run it, and drop what is run no more. Give whether all of it was possible."""
        laid: dict[str, Laid] = {}
        is_whole = True
        for name, active in kept.functions.items():
            known = self._laid.get(name)
            if known is not None and (known.number, known.sha256, known.at) == (
                active.number, active.sha256, active.at,
            ):  # fmt: skip
                laid[name] = known
                continue
            try:
                laid[name] = await self._lay(active)
                await asyncio.to_thread(self._check, laid[name])
            except (BundleRefused, BlobError, OSError) as error:
                observe(DeploymentsUnread(f"{name}, version {active.number}: {error}"))
                is_whole = False
                if known is not None:
                    laid[name] = known
        before, self._laid = self._laid, laid
        if laid != before or kept != self._kept:
            self._kept = kept
            await self._show()
        for name in before.keys() | laid.keys():
            if before.get(name) != laid.get(name):
                observe(FunctionSwitched(name, laid[name].number if name in laid else None))
                if name in before:
                    self._retired.append((time.monotonic(), before[name].root.parent))
        return is_whole

    async def _show(self) -> None:
        warnings = tuple(
            f"the secret {name} cannot be read: it was set under another JWT secret; set it again"
            for name in self._kept.unreadable
        )
        await self._use(Overlay(dict(self._laid), self._kept.secrets, self._session, warnings))

    async def _lay(self, active: Active, data: bytes | None = None) -> Laid:
        """Unpack a version, unless it is here. Raises: BundleRefused, BlobError, OSError."""
        key = hashlib.sha256(active.name.encode()).hexdigest()[:8]
        folder = self._folder / f"{active.name}-{key}-{active.number}-{active.sha256[:16]}"
        if data is None:
            data = await self._store.bundle(active.name, active.number, active.sha256)
        if folder.is_dir():
            manifest = (await asyncio.to_thread(read_bundle, data, active.name)).manifest
        else:
            manifest = await asyncio.to_thread(
                lay, data, active.sha256, active.name, folder, partial(self._give, active.name)
            )
        root = folder / "functions"
        return Laid(active.name, active.number, active.sha256, active.at, root, manifest.settings)

    def announce(self) -> None:
        """Tell all who follow functions that this worker answers now."""
        self._tell("")

    def _tell(self, name: str) -> None:
        if self._connection is not None:
            with contextlib.suppress(Unavailable):  # the others look by themselves, later
                publish_event(self._connection, subjects.FUNCTIONS_CHANGED, FunctionsChanged(name))

    async def _hear(self, event: FunctionsChanged) -> None:
        del event
        await self.look()

    async def _repeat(self, is_read: bool) -> None:
        while True:
            await asyncio.sleep(EVERY_S if is_read else _TRIES_S)
            is_read = await self.look()
            await self._clear()

    async def _clear(self) -> None:
        """Remove the files of versions whose last requests have ended."""
        used = {each.root.parent for each in self._laid.values()}
        over = [path for at, path in self._retired if time.monotonic() - at > RETIRED_S]
        self._retired = [each for each in self._retired if each[1] not in over]
        for path in over:
            if path not in used:
                await asyncio.to_thread(shutil.rmtree, path, ignore_errors=True)

    def _make_folder(self) -> None:
        """Make the folder of this process anew: everything is unpacked from the store, whose digests are verified."""
        shutil.rmtree(self._folder, ignore_errors=True)
        self._folder.mkdir(parents=True)
        self._folder.chmod(self._folder_mode)


def check_secrets(values: Mapping[str, str], known: Iterable[SecretSummary]) -> None:
    """Refuse secrets that cannot be kept beside those that are. Raises: SecretRefused."""
    for name, value in values.items():
        if fault := secret_fault(name, value):
            raise SecretRefused(fault)
    names = {each.name for each in known} | values.keys()
    if len(names) > MOST_SECRETS:
        raise SecretRefused(f"there may be {MOST_SECRETS} secrets at most")


def _check_schedule(settings: FunctionSettings) -> None:
    """Refuse a schedule that would never run. Raises: DeployRefused."""
    if settings.schedule:
        try:
            parse_schedule(settings.schedule, settings.timezone)
        except InvalidSchedule as error:
            raise DeployRefused(str(error)) from None
