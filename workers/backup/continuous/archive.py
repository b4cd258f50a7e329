"""The files of an archive: their names, what they hold, and reading and writing them sealed (broker/archive/sealing.py).

    archives/<id>                          what the archive belongs to
    <id>/wal/<start>-<end>-<time>          a piece of the log: positions (16 hexadecimal digits), the moment that is covered with it (ms since 1970)
    <id>/covered                           up to which moment everything is stored, while nothing is written
    <id>/history                           the timeline's history file, if the server has one
    <id>/base/<time>/content               a base backup, full or incremental: a tar file as the server sends it
    <id>/base/<time>/manifest              its backup manifest, with the SHA-256 of every file
    <id>/base/<time>/info                  written last: a base backup without it is not complete
    <id>/objects/<blob>                    the bytes of an object's version
    <id>/functions/<time>/<blob>           a deployed function, as of a moment (ms since 1970)
    <id>/copies/<number>                   a list of files below `objects` and `functions` that were written (copy_lists.py)
    <id>/migrations                        the transactions that applied the project's migrations
    <id>/inventory                         which of `covered`, `history`, `migrations`, `copies` and `info` of base backups were written (inventory.py)
    <id>/deleted                           since when copied objects are named by no row

An archive is one unbroken chain of the log on one timeline. Its id is the name of the replication slot, which no base backup contains: so a
restored database, or one whose log has a gap, begins a new archive, and two databases never write into one.
"""

import asyncio
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import NamedTuple, TypeVar

import msgspec
from msgspec import Struct

from broker.archive.sealing import SealBroken, seal
from broker.archive.store import ArchiveFileMissing, ArchiveStore, read_unsealed
from schemas.keys.secret_record import SecretRecord

SLOT_PREFIX = "headwater_archive_"
ARCHIVES = "archives"
_ID = re.compile(SLOT_PREFIX + r"[0-9a-f]{12}")
_PIECE = re.compile(r"([0-9A-F]{16})-([0-9A-F]{16})-([0-9]{1,14})", re.ASCII)
"""A store may name anything: of 14 digits every moment is one that can be written (before the year 5139)."""
_T = TypeVar("_T", bound=Struct)


class ArchiveInfo(Struct, frozen=True):
    """What an archive belongs to. Times are seconds since 1970, by the server's clock."""

    system: str
    """The identifier of the database cluster."""
    timeline: int
    segment_size: int
    """Bytes of a file of the log."""
    server_version: int
    """As in 180006."""
    begun_at: float
    has_inventory: bool = False
    """An inventory was written before this file, so that it is damage if there is none."""


class BaseInfo(SecretRecord, Struct, frozen=True):
    """A complete base backup."""

    name: str
    start_lsn: int
    """The log must be replayed from here."""
    stop_lsn: int
    """The database is consistent from here on."""
    began_at: float
    ended_at: float
    content_bytes: int
    files: int
    headwater: str
    vault_key: str = ""
    """Content of `vault.key`, without which the secrets of the vault cannot be decrypted; empty for an outside database."""
    sealing_key: str = ""
    """Content of `sealing.key`, without which stored settings, second factors and other secrets cannot be decrypted; empty where the
    settings name the key.
    """
    parent: str = ""
    """The base backup since which this one has the changes; empty for a full one."""
    is_link_only: bool = False
    """Moments before the next base backup cannot be restored any more: it stays because later ones are built on it."""


class CoveredMoment(Struct, frozen=True):
    """Everything that was committed before a moment is stored."""

    lsn: int
    time: float


class MigrationMark(Struct, frozen=True):
    """The transaction that applied a migration of the project, and when it was first seen."""

    version: str
    name: str
    transaction: str
    """32 bits of its id."""
    lsn: int
    """Where the log ended when it was seen."""
    time: float
    is_older: bool = False
    """It was applied before the archive began, so no restore from it can stop there."""


class MigrationMarks(Struct, frozen=True):
    """All migrations that an archive knows."""

    marks: list[MigrationMark] = []


class ObjectDeletions(Struct, frozen=True):
    """Since when copied objects are named by no row: name of the blob -> seconds since 1970."""

    since: dict[str, float] = {}


class WalPiece(NamedTuple):
    """A stored piece of the log."""

    start: int
    end: int
    time: float
    """Everything that was committed before it, by the server's clock, is in this piece and those before."""
    name: str
    size: int


@dataclass(frozen=True, slots=True)
class Archive:
    """One archive in a store. The first of `keys` encrypts."""

    store: ArchiveStore
    keys: Sequence[bytes] = field(repr=False)
    id: str
    inventory_lock: asyncio.Lock = field(default_factory=asyncio.Lock, compare=False, repr=False)

    async def write(self, name: str, content: bytes | bytearray) -> int:
        """Seal and store a small file; return its stored size. Raises: ArchiveStoreDown."""
        path = self.path(name)
        sealed = await asyncio.to_thread(seal, path, self.keys[0], content)
        await self.store.put(path, sealed)
        return len(sealed)

    async def read(self, name: str) -> bytes:
        """Return the content of a small file. Raises: ArchiveFileMissing, ArchiveStoreDown, SealBroken."""
        return await read_unsealed(self.store, self.path(name), self.keys)

    async def write_struct(self, name: str, value: Struct) -> None:
        """Store a value. Raises: ArchiveStoreDown."""
        await self.write(name, msgspec.json.encode(value))

    async def read_struct(self, name: str, kind: type[_T]) -> _T | None:
        """Return a value, or None if there is none. Raises: ArchiveStoreDown, SealBroken."""
        try:
            return msgspec.json.decode(await self.read(name), type=kind)
        except ArchiveFileMissing:
            return None
        except msgspec.MsgspecError as error:
            raise SealBroken(f"{self.path(name)} cannot be read: {error}") from None

    def path(self, name: str) -> str:
        """Return the name of a file in the store."""
        return f"{ARCHIVES}/{self.id}" if name == "info" else f"{self.id}/{name}"

    async def pieces(self) -> list[WalPiece]:
        """Return the stored pieces of the log in order. Raises: ArchiveStoreDown."""
        pieces = []
        for file in await self.store.list_files(f"{self.id}/wal"):
            if match := _PIECE.fullmatch(file.name.rpartition("/")[2]):
                start, end, milliseconds = int(match[1], 16), int(match[2], 16), int(match[3])
                pieces.append(WalPiece(start, end, milliseconds / 1000, file.name, file.size))
        return sorted(pieces)

    async def bases(self) -> list[BaseInfo]:
        """Return the complete base backups, the oldest first. Raises: ArchiveStoreDown, SealBroken."""
        names = [file.name for file in await self.store.list_files(f"{self.id}/base")]
        bases = []
        for name in names:
            if name.endswith("/info"):
                info = await self.read_struct(name.removeprefix(f"{self.id}/"), BaseInfo)
                bases += [info] if info else []
        return sorted(bases, key=lambda base: base.start_lsn)


def piece_name(start: int, end: int, time: float) -> str:
    """Return the name of a piece of the log (pure)."""
    return f"wal/{start:016X}-{end:016X}-{int(time * 1000)}"


def segment_name(lsn: int, timeline: int, segment_size: int) -> str:
    """Return the name of the file of `pg_wal` that has a position (pure). Source: PostgreSQL, "WAL Internals"."""
    number, per_id = lsn // segment_size, 2**32 // segment_size
    return f"{timeline:08X}{number // per_id:08X}{number % per_id:08X}"


def is_archive_id(text: str) -> bool:
    """Return whether a text is the id of an archive (pure)."""
    return _ID.fullmatch(text) is not None


async def list_archives(store: ArchiveStore, keys: Sequence[bytes]) -> Mapping[str, ArchiveInfo]:
    """Return the archives of a store by their ids, the oldest first. Raises: ArchiveStoreDown, SealBroken."""
    archives = {}
    for file in await store.list_files(ARCHIVES):
        id = file.name.rpartition("/")[2]
        if is_archive_id(id) and (info := await Archive(store, keys, id).read_struct("info", ArchiveInfo)):
            archives[id] = info
    return dict(sorted(archives.items(), key=lambda item: item[1].begun_at))


def moment_text(time: float) -> str:
    """Return a moment as `2026-11-22 10:15:00.123 UTC` (pure)."""
    return f"{datetime.fromtimestamp(time, UTC):%Y-%m-%d %H:%M:%S.%f}"[:-3] + " UTC"
