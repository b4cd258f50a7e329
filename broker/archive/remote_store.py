"""An archive in an object store (S3, Google Cloud Storage, Azure), by the library `obstore`. A put is atomic there."""

from collections.abc import AsyncIterator, Sequence
from contextlib import suppress

import obstore
from obstore.store import ObjectStore

from broker.archive.model import ArchiveFileMissing, ArchiveStoreDown, StoredFile
from broker.blobs.errors import BlobStoreDown
from broker.blobs.remote_errors import REMOTE_ERRORS, remote_error

_PAGE = 1000
_DELETED = 256
"""Names of one request to delete, the most of Azure: several such requests at once broke the connection of its emulator."""
_PART = 16 * 1024 * 1024
"""Bytes of a part: 10,000 parts, the most of S3, are 156 GiB."""
_READ = 1024 * 1024


class RemoteStore:
    """A bucket; implements `ArchiveStore`."""

    def __init__(self, store: ObjectStore) -> None:
        self._store = store

    async def put(self, name: str, data: bytes) -> None:
        """Store a small file by one request."""
        try:
            await obstore.put_async(self._store, name, data, use_multipart=False)
        except REMOTE_ERRORS as error:
            raise _down(error, "write") from None

    async def put_stream(self, name: str, pieces: AsyncIterator[bytes]) -> None:
        """Store a file of any size, in parts."""
        try:
            await obstore.put_async(
                self._store, name, pieces, use_multipart=True, chunk_size=_PART, max_concurrency=2
            )
        except REMOTE_ERRORS as error:
            raise _down(error, "write") from None

    async def read(self, name: str) -> AsyncIterator[bytes]:
        """Yield the content of a file in pieces."""
        try:
            result = await obstore.get_async(self._store, name)
            async for piece in result.stream(min_chunk_size=_READ):
                yield bytes(piece)
        except FileNotFoundError:
            raise ArchiveFileMissing(name) from None
        except REMOTE_ERRORS as error:
            raise _down(error, "read") from None

    async def list_files(self, folder: str) -> list[StoredFile]:
        """Return all files below a folder, read a page at a time."""
        files = []
        try:
            prefix = f"{folder}/" if folder else None
            async for page in obstore.list(self._store, prefix, chunk_size=_PAGE):
                files += [StoredFile(meta["path"], meta["size"]) for meta in page]
        except REMOTE_ERRORS as error:
            raise _down(error, "list") from None
        return sorted(files)

    async def delete(self, names: Sequence[str]) -> None:
        """Delete files, several by a request where the store can."""
        for start in range(0, len(names), _DELETED):
            page = list(names[start : start + _DELETED])
            try:
                await obstore.delete_async(self._store, page)
            except FileNotFoundError:  # some stores stop at the first missing file
                await self._delete_singly(page)
            except REMOTE_ERRORS as error:
                raise _down(error, "delete") from None

    async def _delete_singly(self, names: Sequence[str]) -> None:
        for name in names:
            try:
                with suppress(FileNotFoundError):
                    await obstore.delete_async(self._store, name)
            except REMOTE_ERRORS as error:
                raise _down(error, "delete") from None


def _down(error: Exception, doing: str) -> ArchiveStoreDown:
    """Return the error without texts of the store, which may include signed URLs."""
    blob_error = remote_error(error, doing)
    return ArchiveStoreDown(
        str(blob_error) if isinstance(blob_error, BlobStoreDown) else type(error).__name__
    )
