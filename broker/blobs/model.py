"""What passes between the parts of the blob store: values, and what a backend must be able to do."""

from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from datetime import datetime
from io import FileIO
from pathlib import Path
from typing import ParamSpec, Protocol, TypeVar
from uuid import UUID

from broker.blobs.blob_names import Folder, Place

P = ParamSpec("P")
T = TypeVar("T")


class Run(Protocol):
    """Call a function in a thread."""

    def __call__(self, function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> Awaitable[T]:
        """Give what the function gives."""
        ...


@dataclass(frozen=True, slots=True)
class Staged:
    """A blob that is written wholly and safely; not promoted yet unless its name is its place."""

    place: Place
    """Where it shall lie."""
    name: Place
    """Where it lies."""
    size: int
    md5: str
    """In hex."""


@dataclass(frozen=True, slots=True)
class Found:
    """A blob as the store shows it."""

    place: Place
    size: int
    modified: datetime
    """When it was last written, copied or renamed."""


@dataclass(frozen=True, slots=True)
class Reading:
    """An open blob."""

    size: int
    """Bytes of the whole blob."""
    chunks: AsyncIterator[bytes]
    """The bytes that were asked for, in pieces of some hundred KiB."""
    file: FileIO | None = None
    """The open file on a local disk, for sendfile; None elsewhere. It is closed with the reading."""


class Sink(Protocol):
    """Where the bytes of one blob go. Calls follow one another."""

    async def write(self, piece: bytes) -> None:
        """Take a piece."""
        ...

    async def finish(self, last: bytes, place: Place | None = None) -> None:
        """Take the last piece, which may be empty, and make all of it safe; at its place, if one is named."""
        ...

    async def abort(self) -> None:
        """Let go of what was begun. It may follow a failure, and a `finish` whose caller has left."""
        ...


class Backend(Protocol):
    """What a kind of store must be able to do. All raise BlobStoreDown, and BlobMissing where a blob is named."""

    def staging_name(self, place: Place) -> Place:
        """Say under which name a blob is written that shall lie at a place."""
        ...

    def sink(self, name: Place, limit: int) -> Sink:
        """Begin a blob of at most so many bytes. What is aborted leaves nothing."""
        ...

    def append_sink(self, upload: UUID, at: int) -> Sink:
        """Begin to append to an upload. What is aborted keeps the bytes that are safe."""
        ...

    async def appended(self, upload: UUID) -> list[Found]:
        """List what was appended to an upload, in its order; pieces may overlap."""
        ...

    def read(self, place: Place, start: int, stop: int | None) -> AbstractAsyncContextManager[Reading]:
        """Open a blob."""
        ...

    def local_path(self, place: Place) -> Path | None:
        """Give the path of a blob's file on the local disk."""
        ...

    async def stat(self, place: Place) -> Found:
        """Look a blob up."""
        ...

    async def promote(self, name: Place, place: Place) -> None:
        """Have a blob that was written under its staging name lie at its place. Doing it twice is fine."""
        ...

    async def copy(self, source: Place, target: Place) -> bool:
        """Copy a blob without reading it. False: this store cannot, for this blob."""
        ...

    async def delete(self, places: Sequence[Place]) -> None:
        """Delete blobs; what is not there is fine."""
        ...

    async def delete_folder(self, folder: Folder) -> None:
        """Delete all blobs of a folder."""
        ...

    def list(self, folder: Folder) -> AsyncIterator[Found]:
        """List the blobs of a folder, in no order."""
        ...

    async def abort_begun(self, older_than: datetime) -> int:
        """Abort the store's own multipart uploads that had no part since a time; return how many."""
        ...

    async def check(self) -> None:
        """Make sure that the store is there and answers."""
        ...
