"""Where an archive is stored: a folder, or an object store. Names are relative, with `/` between their parts.

A file is written whole or not at all, and is durable when `put` returns. All methods raise ArchiveStoreDown; `read` raises
ArchiveFileMissing too.
"""

from collections.abc import AsyncIterator, Sequence
from pathlib import Path
from typing import Protocol

from broker.archive.folder_store import FolderStore
from broker.archive.model import ArchiveFileMissing as ArchiveFileMissing
from broker.archive.model import ArchiveStoreDown as ArchiveStoreDown
from broker.archive.model import StoredFile
from broker.archive.remote_store import RemoteStore
from broker.archive.sealing import FileOpener
from broker.blobs.connect import connect
from schemas.settings.backup import Backup
from schemas.settings.tree import SettingsError


class ArchiveStore(Protocol):
    """The interface of a store."""

    async def put(self, name: str, data: bytes) -> None:
        """Store a small file, replacing an earlier one of this name."""

    async def put_stream(self, name: str, pieces: AsyncIterator[bytes]) -> None:
        """Store a file of any size."""

    def read(self, name: str) -> AsyncIterator[bytes]:
        """Yield the content of a file in pieces."""

    async def list_files(self, folder: str) -> list[StoredFile]:
        """Return all files below a folder, sorted by name; those of the whole store for an empty name."""

    async def delete(self, names: Sequence[str]) -> None:
        """Delete files; missing ones are ignored."""


def open_archive_store(settings: Backup) -> ArchiveStore:
    """Return the store of the settings, without accessing it. Raises: SettingsError."""
    if settings.backend == "file":
        if not settings.path:
            raise SettingsError("backup.path must name the folder of the archive")
        return FolderStore(Path(settings.path))
    try:
        return RemoteStore(connect(settings))
    except ValueError as error:
        raise SettingsError(f"[backup] names no usable store: {type(error).__name__}") from None


async def read_unsealed(store: ArchiveStore, name: str, keys: Sequence[bytes]) -> bytes:
    """Return the content of a small sealed file. Raises: ArchiveFileMissing, ArchiveStoreDown, SealBroken.

    It is opened while it arrives, so that a store that sends something else, without an end, takes no more memory than a frame.
    """
    opener, content = FileOpener(name, keys), bytearray()
    async for piece in store.read(name):
        content += opener.feed(piece)
    opener.finish()
    return bytes(content)
