"""Deployments in the blob store: versions of functions, the active version of each, and secrets.

A version is written once, under its number and digest. The note `active` names the version that runs, and is written last, so an
interrupted deployment changes nothing. If two workers deploy the same function at once, both versions are stored and the `active`
note that was written later is in force.
"""

import re
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field

import msgspec
from msgspec import Struct

from broker.blobs import blob_names
from broker.blobs.blob_names import BlobPath
from broker.blobs.errors import BlobMissing
from broker.blobs.model import BlobInfo
from broker.blobs.store import BlobStore
from schemas.functions.deployments import MOST_PACKED, SecretDigest, Version
from workers.functions.deployments.sealing import SecretSealer

_VERSION = re.compile(r"(\d{6})-([0-9a-f]{64})")
_SMALL = 128 * 1024


class ActiveVersion(Struct, frozen=True):
    """Which version of a function runs."""

    name: str
    number: int
    sha256: str
    at: float


class _SealedSecret(Struct, frozen=True):
    name: str
    sealed: bytes
    digest: str
    at: float


@dataclass(frozen=True, slots=True)
class StoredDeployments:
    """Everything that is deployed now. `unreadable`: secrets that were encrypted under another key, `outdated` under an older one."""

    functions: Mapping[str, ActiveVersion]
    secrets: Mapping[str, str] = field(repr=False)
    digests: tuple[SecretDigest, ...] = ()
    unreadable: tuple[str, ...] = ()
    outdated: tuple[str, ...] = ()


class DeploymentStore:
    """Deployed functions and secrets in a blob store. All methods raise BlobStoreDown if it cannot be reached."""

    def __init__(
        self, blobs: BlobStore, sealer: SecretSealer, clock: Callable[[], float] = time.time
    ) -> None:
        self._blobs, self._sealer, self._clock = blobs, sealer, clock
        self._notes: dict[BlobPath, tuple[BlobInfo, bytes]] = {}

    async def read(self) -> StoredDeployments:
        """Read what is deployed now. Notes that have not changed are not read again."""
        listed = [blob async for blob in self._blobs.list(blob_names.FUNCTIONS)]
        notes: dict[BlobPath, tuple[BlobInfo, bytes]] = {}
        for blob in listed:
            if _VERSION.fullmatch(blob.place.name.rpartition("/")[2]):
                continue
            cached = self._notes.get(blob.place)
            # Two seconds: a note may be rewritten within the resolution of its modification time.
            if cached is not None and cached[0] == blob and time.time() - blob.modified.timestamp() > 2:
                notes[blob.place] = cached
                continue
            try:
                notes[blob.place] = blob, await self._blobs.get_small(blob.place, limit=_SMALL)
            except BlobMissing:
                continue
        self._notes = notes
        return self._parse_notes([data for _, data in notes.values()])

    async def versions(self, name: str) -> list[Version]:
        """Return the versions of a function, newest first."""
        active = await self._active(name)
        versions: list[Version] = []
        async for blob in self._blobs.list(blob_names.function(name)):
            if match := _VERSION.fullmatch(blob.place.name.rpartition("/")[2]):
                number, sha256 = int(match[1]), match[2]
                is_active = active is not None and (active.number, active.sha256) == (number, sha256)
                versions.append(Version(number, sha256, blob.size, blob.modified.timestamp(), is_active))
        return sorted(versions, key=lambda version: (version.number, version.at), reverse=True)

    async def bundle(self, name: str, number: int, sha256: str) -> bytes:
        """Return the bytes of a version. Raises: BlobMissing."""
        return await self._blobs.get_small(
            blob_names.function_version(name, number, sha256), limit=MOST_PACKED
        )

    async def put(self, name: str, number: int, sha256: str, data: bytes) -> None:
        """Store a version; it does not run yet."""
        await self._blobs.put_small(blob_names.function_version(name, number, sha256), data)

    async def activate(self, name: str, number: int, sha256: str) -> ActiveVersion:
        """Make a version the active one."""
        active = ActiveVersion(name, number, sha256, self._clock())
        await self._blobs.put_small(blob_names.function_active(name), msgspec.json.encode(active))
        return active

    async def forget(self, name: str, versions: list[Version]) -> None:
        """Delete versions of a function."""
        await self._blobs.delete(
            blob_names.function_version(name, version.number, version.sha256) for version in versions
        )

    async def delete(self, name: str) -> None:
        """Delete a function with all its versions; the `active` note goes first, so it stops running at once."""
        await self._blobs.delete([blob_names.function_active(name)])
        await self._blobs.delete_folder(blob_names.function(name))

    async def set_secret(self, name: str, value: str) -> None:
        """Store a secret, encrypted."""
        note = _SealedSecret(name, self._sealer.seal(name, value), self._sealer.digest(value), self._clock())
        await self._blobs.put_small(blob_names.function_secret(name), msgspec.json.encode(note))

    async def seal_again(self, stored: StoredDeployments) -> None:
        """Encrypt with the present key the secrets that an older one encrypted."""
        for digest in stored.digests:
            if digest.name not in stored.outdated:
                continue
            place, value = blob_names.function_secret(digest.name), stored.secrets[digest.name]
            with suppress(BlobMissing, msgspec.MsgspecError):
                note = msgspec.json.decode(
                    await self._blobs.get_small(place, limit=_SMALL), type=_SealedSecret
                )
                if self._sealer.open(note.name, note.sealed) != value:  # set meanwhile
                    continue
                sealed, keyed = self._sealer.seal(note.name, value), self._sealer.digest(value)
                note = _SealedSecret(note.name, sealed, keyed, note.at)
                await self._blobs.put_small(place, msgspec.json.encode(note))

    async def unset_secrets(self, names: list[str]) -> None:
        """Delete secrets; names that do not exist are ignored."""
        await self._blobs.delete(blob_names.function_secret(name) for name in names)

    async def _active(self, name: str) -> ActiveVersion | None:
        try:
            data = await self._blobs.get_small(blob_names.function_active(name), limit=_SMALL)
            return msgspec.json.decode(data, type=ActiveVersion)
        except (BlobMissing, msgspec.MsgspecError):
            return None

    def _parse_notes(self, notes: list[bytes]) -> StoredDeployments:
        functions: dict[str, ActiveVersion] = {}
        secrets: dict[str, str] = {}
        digests: list[SecretDigest] = []
        unreadable: list[str] = []
        outdated: list[str] = []
        for data in notes:
            try:
                note = msgspec.json.decode(data, type=dict[str, object])
                if "sealed" not in note:
                    active = msgspec.convert(note, ActiveVersion)
                    functions[active.name] = active
                    continue
                sealed = msgspec.json.decode(data, type=_SealedSecret)
            except msgspec.MsgspecError:
                continue
            digests.append(SecretDigest(sealed.name, sealed.digest, sealed.at))
            value = self._sealer.open(sealed.name, sealed.sealed)
            if value is None:
                unreadable.append(sealed.name)
            else:
                secrets[sealed.name] = value
                if not self._sealer.is_current(sealed.sealed):
                    outdated.append(sealed.name)
        listed = tuple(sorted(digests, key=lambda secret: secret.name))
        return StoredDeployments(functions, secrets, listed, tuple(sorted(unreadable)), tuple(outdated))
