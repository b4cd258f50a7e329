"""Define the errors of the blob store, and translate those of the disk; `remote_errors.py` translates those of the library.

    BlobError
    +- BlobMissing          the blob does not exist
    +- BlobTooLarge         more bytes than the limit allows
    +- BlobOffset           an append does not start at the end of the upload
    +- BlobStoreDown        the store cannot be reached or rejects the request; it may work later
       +- BlobStoreFull     the store is out of space
          +- StagingFull    unfinished uploads use all the space they may

They never contain texts of the store, which may include signed URLs. `doing` and `reason` are safe to report.
"""

import errno
from collections.abc import Iterator
from contextlib import contextmanager

from broker.blobs.blob_names import BlobPath

_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)


class BlobError(Exception):
    """An operation on a blob failed."""


class BlobMissing(BlobError):
    """The blob does not exist."""

    def __init__(self, place: BlobPath) -> None:
        super().__init__(f"{place.name} is not there")
        self.place = place


class BlobTooLarge(BlobError):
    """More bytes were written than the limit allows."""

    def __init__(self, limit: int) -> None:
        super().__init__(f"more than {limit} bytes")
        self.limit = limit


class BlobOffset(BlobError):
    """An append does not start at the end of the upload, which is at `end`."""

    def __init__(self, end: int) -> None:
        super().__init__(f"the upload ends at {end}")
        self.end = end


class BlobStoreDown(BlobError):
    """The store cannot be reached, or rejects the request. The same may work later."""

    def __init__(self, doing: str, reason: str) -> None:
        super().__init__(f"cannot {doing}: {reason}")
        self.doing = doing
        self.reason = reason


class BlobStoreFull(BlobStoreDown):
    """The store is out of space."""


class StagingFull(BlobStoreFull):
    """All unfinished uploads together have reached their limit of bytes (`storage.staging_limit`)."""

    def __init__(self, limit: int) -> None:
        super().__init__("write", f"uploads under way take all of the {limit} bytes that they may")
        self.limit = limit


@contextmanager
def translate_disk_errors(doing: str, place: BlobPath | None = None) -> Iterator[None]:
    """Translate the errors of the operating system."""
    try:
        yield
    except OSError as error:
        if place is not None and isinstance(error, FileNotFoundError):
            raise BlobMissing(place) from None
        kind = BlobStoreFull if error.errno in _FULL else BlobStoreDown
        raise kind(doing, error.strerror or type(error).__name__) from None
