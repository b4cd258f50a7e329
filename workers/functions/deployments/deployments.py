"""Deployed functions on this machine: fetched from the blob store, verified, unpacked, and put into force.

    deploy: bundle --> validated --> unpacked --> modules fetched --> stored --> note `active` --> FunctionsChanged to all workers
    every worker, at its start, on FunctionsChanged, once a minute: read the notes --> unpack new versions --> the catalog

The blob store is the only truth: the event only says that a worker should read it now, so a lost event costs at most a minute.
A version is unpacked and its modules are fetched before it receives requests; processes of the old version finish their
requests. If a version cannot be fetched, the previous one stays in force. `_lock` serializes reading the store, `_deploying`
serializes changes by this worker; changes by two workers at once are ordered by the store (`store.py`).
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
    SecretDigest,
    ServeSession,
    Version,
    secret_fault,
)
from schemas.schedules import InvalidSchedule, parse_schedule
from schemas.settings.functions import FunctionSettings
from schemas.settings.job_checks import job_fault
from schemas.settings.queue_checks import queue_fault
from workers.functions.catalog.overlay import Overlay, UnpackedVersion
from workers.functions.deployments.bundles import (
    Bundle,
    BundleRejected,
    read_bundle,
    restrict_to_this_user,
    unpack,
)
from workers.functions.deployments.errors import (
    DeployConflict,
    DeployRejected,
    SecretRejected,
    VersionNotFound,
)
from workers.functions.deployments.store import ActiveVersion, DeploymentStore, StoredDeployments

EVERY_S = 60.0
RETIRED_S = 900.0
"""Seconds that the files of an inactive version are stored: its processes may still read them."""
_RETRY_S = 5.0

VersionCheck = Callable[[UnpackedVersion], tuple[list[str], str]]
"""Fetches the modules of an unpacked version; returns warnings, and what failed."""


GrantRead = Callable[[str, Path], None]
"""Lets the user of a function, and no other user, read files."""


def grant_to_this_user(_: str, path: Path) -> None:
    """Make files readable only for the user of this process: functions run as the same user."""
    restrict_to_this_user(path)


class DeploymentsUnread(Observation, frozen=True):
    """The deployments could not be read or unpacked; the previous state stays in force."""

    level: ClassVar[str] = "error"
    reason: str


class FunctionSwitched(Observation, frozen=True):
    """Another version of a deployed function is in force; `version` is null after the function was deleted."""

    function: str
    version: int | None


class Deployments:
    """The deployed functions of one worker. `use` puts an overlay into force and returns when that is done."""

    def __init__(
        self,
        store: DeploymentStore,
        folder: Path,
        use: Callable[[Overlay], Awaitable[None]],
        check: VersionCheck,
        connection: NatsConnection | None = None,
        *,
        versions_kept: int = 10,
        grant: GrantRead = grant_to_this_user,
        folder_mode: int = 0o700,
    ) -> None:
        self._store, self._folder, self._use, self._check = store, folder, use, check
        self._connection = connection
        self._versions_kept = versions_kept
        self._grant, self._folder_mode = grant, folder_mode
        self._stored = StoredDeployments({}, {})
        self._unpacked: dict[str, UnpackedVersion] = {}
        self._session: ServeSession | None = None
        self._retired: list[tuple[float, Path]] = []
        self._lock = asyncio.Lock()
        self._deploying = asyncio.Lock()
        self._following: EventSubscription | None = None
        self._reading: asyncio.Task[None] | None = None

    async def start(self) -> None:
        """Read the store, and follow its changes from now on."""
        await asyncio.to_thread(self._make_folder)
        if self._connection is not None:
            with contextlib.suppress(Unavailable):
                self._following = await subscribe_events(
                    self._connection, subjects.FUNCTIONS_CHANGED, FunctionsChanged, self._on_change
                )
        is_read = await self.look()
        self._reading = asyncio.get_running_loop().create_task(self._read_regularly(is_read))

    async def stop(self) -> None:
        """Stop following the store, and remove the unpacked versions."""
        if self._following is not None:
            await self._following.close()
        if self._reading is not None:
            self._reading.cancel()
            await asyncio.wait([self._reading])
        await asyncio.to_thread(shutil.rmtree, self._folder, ignore_errors=True)

    @property
    def unpacked(self) -> Mapping[str, UnpackedVersion]:
        """The deployed functions that run here, by name."""
        return self._unpacked

    @property
    def secrets(self) -> tuple[SecretDigest, ...]:
        """The stored secrets, without their values."""
        return self._stored.digests

    async def look(self) -> bool:
        """Read the store and put its state into force; return whether that was possible."""
        async with self._lock:
            try:
                stored = await self._store.read()
                if stored.outdated:
                    await self._store.seal_again(stored)
                    stored = await self._store.read()
            except BlobError as error:
                observe(DeploymentsUnread(str(error)))
                return False
            return await self._apply(stored)

    async def deploy(self, name: str, data: bytes, base: int | None = None) -> DeployResult:
        """Store a bundle as a new version and put it into force.

        Raises: DeployRejected; DeployConflict if `base` is given and another version runs; BlobError.
        """
        sha256 = hashlib.sha256(data).hexdigest()
        try:
            bundle = await asyncio.to_thread(read_bundle, data, name)
        except BundleRejected as error:
            raise DeployRejected(str(error)) from None
        _check_schedule(bundle.manifest.settings)
        if fault := queue_fault(bundle.manifest.settings.queue):
            raise DeployRejected(f"queue: {fault}")
        if fault := job_fault(bundle.manifest.settings.job):
            raise DeployRejected(f"job: {fault}")
        async with self._deploying:
            versions = await self._store.versions(name)
            _check_base(base, versions)
            number = versions[0].number + 1 if versions else 1
            unpacked = await self._unpack(ActiveVersion(name, number, sha256, 0.0), data)
            warnings, failure = await asyncio.to_thread(self._check, unpacked)
            if failure:
                await asyncio.to_thread(shutil.rmtree, unpacked.root.parent, ignore_errors=True)
                raise DeployRejected(failure)
            if base is not None:  # another machine's worker may have switched while modules were fetched
                _check_base(base, await self._store.versions(name))
            await self._store.put(name, number, sha256, data)
            deployed = await self._switch(name, number, sha256, warnings)
            await self._store.forget(
                name, [version for version in versions[self._versions_kept - 1 :] if not version.is_active]
            )
        return deployed

    async def roll_back(self, name: str, number: int | None) -> DeployResult:
        """Activate an older version: the given number, or the one before the active version. Raises: VersionNotFound."""
        async with self._deploying:
            versions = await self._store.versions(name)
            active = next((version for version in versions if version.is_active), None)
            if number is None:
                older = [version for version in versions if active is None or version.number < active.number]
            else:
                older = [version for version in versions if version.number == number]
            if not older:
                raise VersionNotFound
            return await self._switch(name, older[0].number, older[0].sha256, [])

    async def delete(self, name: str) -> None:
        """Delete a function with all its versions. Raises: VersionNotFound if it was not deployed."""
        async with self._deploying:
            if not await self._store.versions(name) and name not in self._unpacked:
                raise VersionNotFound
            await self._store.delete(name)
            self._publish_change(name)
            await self.look()

    async def versions(self, name: str) -> list[Version]:
        """Return the versions of a function, newest first."""
        return await self._store.versions(name)

    async def bundle(self, name: str, number: int | None) -> tuple[Version, Bundle]:
        """Return a stored version of a function, the active one unless a number is given. Raises: VersionNotFound, DeployRejected."""
        for version in await self._store.versions(name):
            if version.number == number or (number is None and version.is_active):
                data = await self._store.bundle(name, version.number, version.sha256)
                try:
                    return version, await asyncio.to_thread(read_bundle, data, name)
                except BundleRejected as error:
                    raise DeployRejected(str(error)) from None
        raise VersionNotFound

    async def stored_bundle(self, name: str, number: int | None) -> bytes:
        """Return the bundle of a version, the active one unless a number is given. Raises: VersionNotFound, BlobError."""
        for version in await self.versions(name):
            if version.number == number or (number is None and version.is_active):
                return await self._store.bundle(name, version.number, version.sha256)
        raise VersionNotFound

    async def set_secrets(self, values: Mapping[str, str]) -> None:
        """Store secrets; functions get them from now on. Raises: SecretRejected, and then none is stored."""
        check_secrets(values, self._stored.digests)
        for name, value in values.items():
            await self._store.set_secret(name, value)
        self._publish_change("")
        await self.look()

    async def unset_secrets(self, names: list[str]) -> None:
        """Delete secrets."""
        await self._store.unset_secrets(names)
        self._publish_change("")
        await self.look()

    async def begin_session(self, session: ServeSession) -> None:
        """Run all functions of this worker with the settings of a session (`headwater functions serve`)."""
        self._session = session
        await self._put_into_force()

    async def end_session(self, session: ServeSession) -> None:
        """End a session, unless another one has replaced it."""
        if self._session is session:
            self._session = None
            await self._put_into_force()

    async def _switch(self, name: str, number: int, sha256: str, warnings: list[str]) -> DeployResult:
        active = await self._store.activate(name, number, sha256)
        self._publish_change(name)
        await self.look()
        versions = await self._store.versions(name)
        stored = next((version for version in versions if version.is_active), None)
        return DeployResult(name, stored or Version(number, sha256, 0, active.at, is_active=True), warnings)

    async def _apply(self, stored: StoredDeployments) -> bool:
        """Unpack new versions, put the state into force, and retire old versions. Return whether all of it succeeded."""
        unpacked: dict[str, UnpackedVersion] = {}
        is_complete = True
        for name, active in stored.functions.items():
            current = self._unpacked.get(name)
            if current is not None and (current.number, current.sha256, current.at) == (
                active.number, active.sha256, active.at,
            ):  # fmt: skip
                unpacked[name] = current
                continue
            try:
                unpacked[name] = await self._unpack(active)
                await asyncio.to_thread(self._check, unpacked[name])
            except (BundleRejected, BlobError, OSError) as error:
                observe(DeploymentsUnread(f"{name}, version {active.number}: {error}"))
                is_complete = False
                if current is not None:
                    unpacked[name] = current
        before, self._unpacked = self._unpacked, unpacked
        if unpacked != before or stored != self._stored:
            self._stored = stored
            await self._put_into_force()
        for name in before.keys() | unpacked.keys():
            if before.get(name) != unpacked.get(name):
                observe(FunctionSwitched(name, unpacked[name].number if name in unpacked else None))
                if name in before:
                    self._retired.append((time.monotonic(), before[name].root.parent))
        return is_complete

    async def _put_into_force(self) -> None:
        warnings = tuple(
            f"the secret {name} cannot be read: it was set under another JWT secret; set it again"
            for name in self._stored.unreadable
        )
        await self._use(Overlay(dict(self._unpacked), self._stored.secrets, self._session, warnings))

    async def _unpack(self, active: ActiveVersion, data: bytes | None = None) -> UnpackedVersion:
        """Unpack a version unless it is unpacked already. Raises: BundleRejected, BlobError, OSError."""
        key = hashlib.sha256(active.name.encode()).hexdigest()[:8]
        folder = self._folder / f"{active.name}-{key}-{active.number}-{active.sha256[:16]}"
        if data is None:
            data = await self._store.bundle(active.name, active.number, active.sha256)
        if folder.is_dir():
            manifest = (await asyncio.to_thread(read_bundle, data, active.name)).manifest
        else:
            manifest = await asyncio.to_thread(
                unpack, data, active.sha256, active.name, folder, partial(self._grant, active.name)
            )
        root = folder / "functions"
        return UnpackedVersion(
            active.name, active.number, active.sha256, active.at, root, manifest.settings, len(data)
        )

    def announce(self) -> None:
        """Publish that this worker now answers."""
        self._publish_change("")

    def _publish_change(self, name: str) -> None:
        if self._connection is not None:
            with contextlib.suppress(Unavailable):  # other workers read the store within a minute
                publish_event(self._connection, subjects.FUNCTIONS_CHANGED, FunctionsChanged(name))

    async def _on_change(self, _: FunctionsChanged) -> None:
        await self.look()

    async def _read_regularly(self, is_read: bool) -> None:
        while True:
            await asyncio.sleep(EVERY_S if is_read else _RETRY_S)
            is_read = await self.look()
            await self._remove_retired()

    async def _remove_retired(self) -> None:
        """Remove the files of retired versions after `RETIRED_S`."""
        used = {version.root.parent for version in self._unpacked.values()}
        expired = [path for at, path in self._retired if time.monotonic() - at > RETIRED_S]
        self._retired = [entry for entry in self._retired if entry[1] not in expired]
        for path in expired:
            if path not in used:
                await asyncio.to_thread(shutil.rmtree, path, ignore_errors=True)

    def _make_folder(self) -> None:
        """Create the folder of this process, empty: every version is unpacked from the store again, and its digest verified."""
        shutil.rmtree(self._folder, ignore_errors=True)
        self._folder.mkdir(parents=True)
        self._folder.chmod(self._folder_mode)


def check_secrets(values: Mapping[str, str], current: Iterable[SecretDigest]) -> None:
    """Raise SecretRejected if secrets are not acceptable, or too many together with the stored ones."""
    for name, value in values.items():
        if fault := secret_fault(name, value):
            raise SecretRejected(fault)
    names = {secret.name for secret in current} | values.keys()
    if len(names) > MOST_SECRETS:
        raise SecretRejected(f"there may be {MOST_SECRETS} secrets at most")


def _check_base(base: int | None, versions: Iterable[Version]) -> None:
    """Refuse a deployment whose files are of another version than the one that runs. Raises: DeployConflict."""
    running = next((version.number for version in versions if version.is_active), None)
    if base is not None and running != base:
        raise DeployConflict(f"The files are of version {base}; {running or 'no version'} runs")


def _check_schedule(settings: FunctionSettings) -> None:
    """Raise DeployRejected if a schedule would never run."""
    if settings.schedule:
        try:
            parse_schedule(settings.schedule, settings.timezone)
        except InvalidSchedule as error:
            raise DeployRejected(str(error)) from None
