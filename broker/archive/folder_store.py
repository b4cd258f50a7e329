"""An archive in a folder of this machine, or of a mounted one. A file is flushed to disk before it gets its name."""

import asyncio
import fcntl
import os
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import BinaryIO
from uuid import uuid4

from broker.archive.model import ArchiveFileMissing, ArchiveStoreDown, StoredFile

_DRAFT = ".draft-"
_READ = 1024 * 1024
_NEW_S = 60.0
"""Age up to which a draft without a lock may be one that is about to be locked."""


class FolderStore:
    """A folder; implements `ArchiveStore`.

    A draft is locked while it is written. The first stream of a process removes the drafts that killed processes left: of a base backup
    one may be as long as the database.
    """

    def __init__(self, root: Path) -> None:
        self._root = root
        self._is_swept = False

    async def put(self, name: str, data: bytes) -> None:
        """Store a small file."""
        await asyncio.to_thread(self._put, name, data)

    async def put_stream(self, name: str, pieces: AsyncIterator[bytes]) -> None:
        """Store a file of any size."""
        draft = self._draft(name)
        try:
            if not self._is_swept:
                self._is_swept = True
                await asyncio.to_thread(self._remove_left_drafts)
            file = await asyncio.to_thread(self._create, draft)
            try:
                async for piece in pieces:
                    await asyncio.to_thread(file.write, piece)
                await asyncio.to_thread(_flush, file)
            finally:
                file.close()
            await asyncio.to_thread(self._publish, draft, name)
        except OSError as error:
            raise self._down(error) from None
        finally:
            with suppress(OSError):
                draft.unlink(missing_ok=True)

    async def read(self, name: str) -> AsyncIterator[bytes]:
        """Yield the content of a file in pieces."""
        try:
            file = await asyncio.to_thread((self._root / name).open, "rb")
            try:
                while piece := await asyncio.to_thread(file.read, _READ):
                    yield piece
            finally:
                file.close()
        except FileNotFoundError:
            raise ArchiveFileMissing(name) from None
        except OSError as error:
            raise self._down(error) from None

    async def list_files(self, folder: str) -> list[StoredFile]:
        """Return all files below a folder."""
        try:
            return await asyncio.to_thread(self._list, folder)
        except OSError as error:
            raise self._down(error) from None

    async def delete(self, names: Sequence[str]) -> None:
        """Delete files and the folders that they leave empty."""
        try:
            await asyncio.to_thread(self._delete, names)
        except OSError as error:
            raise self._down(error) from None

    def _put(self, name: str, data: bytes) -> None:
        draft = self._draft(name)
        try:
            with self._create(draft) as file:
                file.write(data)
                _flush(file)
            self._publish(draft, name)
        except OSError as error:
            with suppress(OSError):
                draft.unlink(missing_ok=True)
            raise self._down(error) from None

    def _draft(self, name: str) -> Path:
        path = self._root / name
        return path.with_name(f"{_DRAFT}{uuid4().hex}")

    def _create(self, draft: Path) -> BinaryIO:
        self._root.mkdir(mode=0o700, parents=True, exist_ok=True)
        draft.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with suppress(OSError):  # a file system without locks
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        return open(descriptor, "wb")

    def _publish(self, draft: Path, name: str) -> None:
        target = self._root / name
        draft.replace(target)
        descriptor = os.open(target.parent, os.O_RDONLY | os.O_DIRECTORY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)

    def _list(self, folder: str) -> list[StoredFile]:
        def fail(error: OSError) -> None:
            if not isinstance(
                error, FileNotFoundError
            ):  # an empty list would make base backups look like left-overs
                raise error

        files = []
        for parent, _, names in os.walk(self._root / folder, onerror=fail):
            for name in names:
                if not name.startswith(_DRAFT):
                    path = Path(parent, name)
                    with suppress(FileNotFoundError):
                        files.append(StoredFile(path.relative_to(self._root).as_posix(), path.stat().st_size))
        return sorted(files)

    def _delete(self, names: Sequence[str]) -> None:
        for name in names:
            path = self._root / name
            path.unlink(missing_ok=True)
            with suppress(OSError):
                while path.parent != self._root:
                    path = path.parent
                    path.rmdir()

    def _remove_left_drafts(self) -> None:
        """Remove the drafts that no process writes any more, and the folders that they leave empty."""
        for parent, _, names in os.walk(self._root):
            for name in names:
                path = Path(parent, name)
                if name.startswith(_DRAFT) and _is_left(path):
                    self._delete([path.relative_to(self._root).as_posix()])

    def _down(self, error: OSError) -> ArchiveStoreDown:
        return ArchiveStoreDown(f"{self._root}: {error.strerror or type(error).__name__}")


def _flush(file: BinaryIO) -> None:
    file.flush()
    os.fsync(file.fileno())


def _is_left(draft: Path) -> bool:
    """Return whether no process writes a draft any more."""
    with suppress(OSError), draft.open("r+b") as file:
        if time.time() - os.fstat(file.fileno()).st_mtime > _NEW_S:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return True
    return False
