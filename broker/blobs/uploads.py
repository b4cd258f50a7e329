"""Compute the end of a resumable upload from its pieces, and remember the running hash of its first bytes.

The state of a hash cannot be stored on disk, only in the process that computed it. When an upload continues in
another process, the whole blob is hashed again when it is complete.
"""

from collections.abc import Iterable
from typing import NamedTuple
from uuid import UUID

from broker.blobs.blob_names import BlobPath
from broker.blobs.model import BlobInfo
from broker.blobs.staging import Md5
from schemas.bounded_cache import BoundedCache

_MOST = 1000


class PieceRange(NamedTuple):
    """The bytes of a piece from `start` on."""

    place: BlobPath
    start: int


def covering_ranges(pieces: Iterable[BlobInfo]) -> tuple[list[PieceRange], int]:
    """Return the ranges to read for the whole upload, and its end.

    `pieces` are in order. A writer that was given up may have left a piece that overlaps the next one; the bytes are
    the same. Pieces behind a gap are ignored.
    """
    spans, end = [], 0
    for piece in pieces:
        start = piece.place.offset or 0
        if start > end:
            break
        if start + piece.size > end:
            spans.append(PieceRange(piece.place, end - start))
            end = start + piece.size
    return spans, end


class UploadHashes:
    """The running hashes of the uploads that this process serves; the oldest are removed."""

    def __init__(self) -> None:
        self._entries: BoundedCache[UUID, tuple[int, Md5]] = BoundedCache(_MOST)

    def take(self, upload: UUID, at: int) -> Md5 | None:
        """Remove and return the hash of an upload's first bytes, to continue it; None if this process does not have it."""
        offset, md5 = self._entries.pop(upload, (0, None))
        if at == 0:
            return Md5()
        return md5 if offset == at else None

    def store(self, upload: UUID, offset: int, md5: Md5 | None) -> None:
        """Store the hash of an upload's first bytes."""
        if md5 is not None:
            self._entries.put(upload, (offset, md5))

    def whole(self, upload: UUID, size: int) -> str | None:
        """Return the hash of a whole upload, if this process has it."""
        offset, md5 = self._entries.get(upload, (0, None))
        return md5.hex if md5 is not None and offset == size else None
