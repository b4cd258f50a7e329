"""What is known of resumable uploads (pure but for its memory): where they end, and the hash of what has come.

A hash cannot be kept on disk, only in the process that made it; where an upload goes on in another process, the hash is
made anew when it is complete.
"""

from collections import OrderedDict
from collections.abc import Iterable
from typing import NamedTuple
from uuid import UUID

from broker.blobs.blob_names import Place
from broker.blobs.model import Found
from broker.blobs.staging import Md5

_MOST = 1000


class Span(NamedTuple):
    """The rest of a piece from some byte on."""

    place: Place
    start: int


def cover(pieces: Iterable[Found]) -> tuple[list[Span], int]:
    """Give what to read for the whole of an upload, and where it ends.

    `pieces` come in their order. A writer that was given up may have left a piece that overlaps the next one: the bytes
    are the same. After a gap nothing counts.
    """
    spans, end = [], 0
    for piece in pieces:
        start = piece.place.offset or 0
        if start > end:
            break
        if start + piece.size > end:
            spans.append(Span(piece.place, end - start))
            end = start + piece.size
    return spans, end


class Hashes:
    """The running hashes of the uploads that this process serves; the oldest are forgotten."""

    def __init__(self) -> None:
        self._known: OrderedDict[UUID, tuple[int, Md5]] = OrderedDict()

    def take(self, upload: UUID, at: int) -> Md5 | None:
        """Give the hash of an upload's first bytes, to go on with; None if it is not known."""
        offset, md5 = self._known.pop(upload, (0, None))
        if at == 0:
            return Md5()
        return md5 if offset == at else None

    def keep(self, upload: UUID, offset: int, md5: Md5 | None) -> None:
        """Remember the hash of an upload's first bytes."""
        if md5 is not None:
            self._known[upload] = (offset, md5)
            if len(self._known) > _MOST:
                self._known.popitem(last=False)

    def whole(self, upload: UUID, size: int) -> str | None:
        """Give the hash of a whole upload, if it is known."""
        offset, md5 = self._known.get(upload, (0, None))
        return md5.hex if md5 is not None and offset == size else None
