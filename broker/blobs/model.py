"""Define the values of the blob store, and the interface that every kind of store implements."""

from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from datetime import datetime
from io import FileIO
from pathlib import Path
from typing import ParamSpec, Protocol, TypeVar
from uuid import UUID

from broker.blobs.blob_names import BlobFolder, BlobPath

P = ParamSpec("P")
T = TypeVar("T")

Piece = Sequence[bytes | memoryview]
"""Consecutive bytes of a blob in the chunks in which they arrived: a piece is written and hashed without a copy."""


class ThreadRunner(Protocol):
    """Calls a function in a thread."""

    def __call__(self, function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> Awaitable[T]:
        """Return what the function returns."""
        ...


@dataclass(frozen=True, slots=True)
class StagedBlob:
    """A blob whose bytes are all stored durably; it still has to be promoted, unless `name` equals `place`."""

    place: BlobPath
    """The final path."""
    name: BlobPath
    """The present path."""
    size: int
    md5: str
    """MD5 of the bytes, in hexadecimal digits."""


@dataclass(frozen=True, slots=True)
class BlobInfo:
    """Path, size and time of a blob."""

    place: BlobPath
    size: int
    modified: datetime
    """When it was last written, copied or renamed."""


@dataclass(frozen=True, slots=True)
class OpenBlob:
    """An open blob."""

    size: int
    """Bytes of the whole blob."""
    chunks: AsyncIterator[bytes]
    """The requested bytes, in pieces of some hundred KiB."""
    file: FileIO | None = None
    """The open file on a local disk, for sendfile; None in other stores. It is closed with this object."""


class BlobSink(Protocol):
    """The destination of one blob's bytes. Calls must not overlap."""

    async def write(self, piece: Piece) -> None:
        """Write a piece."""
        ...

    has_thread: bool
    """Whether the bytes are written in a thread, which `finish` lets call a function first."""

    async def finish(
        self, last: Piece, place: BlobPath | None = None, first: Callable[[], object] | None = None
    ) -> None:
        """Write the last piece, which may be empty, and store the blob durably; at its final path, if one is given."""
        ...

    async def abort(self) -> None:
        """Release what was started. It may follow a failure, and a `finish` whose caller was cancelled."""
        ...


class BlobBackend(Protocol):
    """The interface of a kind of store. All methods raise BlobStoreDown, and BlobMissing if they name a blob."""

    @property
    def writes_short(self) -> bool:
        """Whether `put_short` takes milliseconds, so that a transaction may wait for it."""
        ...

    async def put_short(self, place: BlobPath, data: bytes) -> None:
        """Write a new blob durably to its final path. After an error it does not exist."""
        ...

    def staging_name(self, place: BlobPath) -> BlobPath:
        """Return the path under which a blob is written before it is promoted to its final path."""
        ...

    def sink(self, name: BlobPath, limit: int) -> BlobSink:
        """Return a sink for a new blob of at most `limit` bytes. An aborted one leaves nothing."""
        ...

    def append_sink(self, upload: UUID, at: int) -> BlobSink:
        """Return a sink that appends to an upload. An aborted one keeps the bytes that are durable."""
        ...

    async def appended(self, upload: UUID) -> list[BlobInfo]:
        """Return the appended pieces of an upload in order; they may overlap."""
        ...

    def read(self, place: BlobPath, start: int, stop: int | None) -> AbstractAsyncContextManager[OpenBlob]:
        """Open a blob."""
        ...

    def local_path(self, place: BlobPath) -> Path | None:
        """Return the path of a blob's file on the local disk; None in other stores."""
        ...

    @property
    def log_folder(self) -> Path | None:
        """The folder of the logs of short blobs on the local disk; None in other stores."""
        ...

    async def stat(self, place: BlobPath) -> BlobInfo:
        """Return size and time of a blob."""
        ...

    async def promote(self, name: BlobPath, place: BlobPath) -> None:
        """Move a blob from its staging path to its final path. Repeating it is harmless."""
        ...

    async def copy(self, source: BlobPath, target: BlobPath) -> bool:
        """Copy a blob inside the store. Returns False if the store cannot do that for this blob."""
        ...

    async def delete(self, places: Sequence[BlobPath]) -> None:
        """Delete blobs; missing ones are ignored."""
        ...

    async def delete_folder(self, folder: BlobFolder) -> None:
        """Delete all blobs of a folder."""
        ...

    def list(self, folder: BlobFolder) -> AsyncIterator[BlobInfo]:
        """Yield the blobs of a folder, in arbitrary order."""
        ...

    async def abort_unfinished(self, older_than: datetime) -> int:
        """Abort the store's multipart uploads that received no part since a time; return their number."""
        ...

    async def check(self) -> None:
        """Check that the store exists and answers."""
        ...

    async def close(self) -> None:
        """Finish what is still being written."""
        ...
