"""What was deployed, in the blob store: versions of functions, which of them is run, and secrets.

A version is written once, under its number and its digest; the note `active` names the one that is run and is written
last, so a deployment that breaks off changes nothing. Two deployments of one function at the same time both stand; the
note of the later one holds.
"""

import re
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import msgspec
from msgspec import Struct

from broker.blobs import blob_names
from broker.blobs.blob_names import BlobPath
from broker.blobs.errors import BlobMissing
from broker.blobs.model import BlobInfo
from broker.blobs.store import BlobStore
from schemas.functions.deployments import MOST_PACKED, FunctionVersion, SecretSummary
from workers.functions.sealing import Sealer

_VERSION = re.compile(r"(\d{6})-([0-9a-f]{64})")
_SMALL = 128 * 1024


class Active(Struct, frozen=True):
    """Which version of a function is run."""

    name: str
    number: int
    sha256: str
    at: float


class _Sealed(Struct, frozen=True):
    name: str
    sealed: bytes
    digest: str
    at: float


@dataclass(frozen=True, slots=True)
class Kept:
    """All that is deployed now. `unreadable` are secrets that were encrypted with another platform's secret."""

    functions: Mapping[str, Active]
    secrets: Mapping[str, str]
    known: tuple[SecretSummary, ...] = ()
    unreadable: tuple[str, ...] = ()


class Store:
    """Deployed functions and secrets in a blob store. All methods raise BlobStoreDown where it cannot be reached."""

    def __init__(self, blobs: BlobStore, sealer: Sealer, clock: Callable[[], float] = time.time) -> None:
        self._blobs, self._sealer, self._clock = blobs, sealer, clock
        self._notes: dict[BlobPath, tuple[BlobInfo, bytes]] = {}

    async def read(self) -> Kept:
        """Read what is deployed now. Notes that have not changed are not read again."""
        found = [each async for each in self._blobs.list(blob_names.FUNCTIONS)]
        notes: dict[BlobPath, tuple[BlobInfo, bytes]] = {}
        for each in found:
            if _VERSION.fullmatch(each.place.name.rpartition("/")[2]):
                continue
            known = self._notes.get(each.place)
            if known is not None and known[0] == each and time.time() - each.modified.timestamp() > 2:
                notes[each.place] = known
                continue
            try:
                notes[each.place] = each, await self._blobs.get_small(each.place, limit=_SMALL)
            except BlobMissing:
                continue
        self._notes = notes
        return self._kept([data for _, data in notes.values()])

    async def versions(self, name: str) -> list[FunctionVersion]:
        """Give the versions of a function, the newest first."""
        active = await self._active(name)
        found: list[FunctionVersion] = []
        async for each in self._blobs.list(blob_names.function(name)):
            if read := _VERSION.fullmatch(each.place.name.rpartition("/")[2]):
                number, sha256 = int(read[1]), read[2]
                is_active = active is not None and (active.number, active.sha256) == (number, sha256)
                found.append(FunctionVersion(number, sha256, each.size, each.modified.timestamp(), is_active))
        return sorted(found, key=lambda each: (each.number, each.at), reverse=True)

    async def bundle(self, name: str, number: int, sha256: str) -> bytes:
        """Give the bytes of a version. Raises: BlobMissing."""
        return await self._blobs.get_small(
            blob_names.function_version(name, number, sha256), limit=MOST_PACKED
        )

    async def put(self, name: str, number: int, sha256: str, data: bytes) -> None:
        """Keep a version; it is not run yet."""
        await self._blobs.put_small(blob_names.function_version(name, number, sha256), data)

    async def activate(self, name: str, number: int, sha256: str) -> Active:
        """Have a version be run."""
        active = Active(name, number, sha256, self._clock())
        await self._blobs.put_small(blob_names.function_active(name), msgspec.json.encode(active))
        return active

    async def forget(self, name: str, versions: list[FunctionVersion]) -> None:
        """Drop versions of a function."""
        await self._blobs.delete(
            blob_names.function_version(name, each.number, each.sha256) for each in versions
        )

    async def delete(self, name: str) -> None:
        """Drop a function with all its versions; it is not run from the first moment."""
        await self._blobs.delete([blob_names.function_active(name)])
        await self._blobs.delete_folder(blob_names.function(name))

    async def set_secret(self, name: str, value: str) -> None:
        """Keep a secret, encrypted."""
        note = _Sealed(name, self._sealer.seal(name, value), self._sealer.digest(value), self._clock())
        await self._blobs.put_small(blob_names.function_secret(name), msgspec.json.encode(note))

    async def unset_secrets(self, names: list[str]) -> None:
        """Drop secrets; those that are not there are fine."""
        await self._blobs.delete(blob_names.function_secret(name) for name in names)

    async def _active(self, name: str) -> Active | None:
        try:
            data = await self._blobs.get_small(blob_names.function_active(name), limit=_SMALL)
            return msgspec.json.decode(data, type=Active)
        except (BlobMissing, msgspec.MsgspecError):
            return None

    def _kept(self, notes: list[bytes]) -> Kept:
        functions: dict[str, Active] = {}
        secrets: dict[str, str] = {}
        known: list[SecretSummary] = []
        unreadable: list[str] = []
        for data in notes:
            try:
                note = msgspec.json.decode(data, type=dict[str, object])
                if "sealed" not in note:
                    active = msgspec.convert(note, Active)
                    functions[active.name] = active
                    continue
                sealed = msgspec.json.decode(data, type=_Sealed)
            except msgspec.MsgspecError:
                continue
            known.append(SecretSummary(sealed.name, sealed.digest, sealed.at))
            opened = self._sealer.open(sealed.name, sealed.sealed)
            if opened is None:
                unreadable.append(sealed.name)
            else:
                secrets[sealed.name] = opened
        listed = tuple(sorted(known, key=lambda each: each.name))
        return Kept(functions, secrets, listed, tuple(sorted(unreadable)))
