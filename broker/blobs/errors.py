"""What can go wrong with blobs.

    BlobError
    +- BlobMissing          the blob is not there
    +- BlobTooLarge         more bytes came than the limit allows
    +- BlobOffset           an append does not begin where the upload ends
    +- BlobStoreDown        the store cannot be reached or refuses us; may work later
       +- BlobStoreFull     it has no room
          +- StagingFull    uploads under way take as much of it as they may

No text of the store's own goes into them: it may hold signed addresses. `status` and `reason` are what is safe to tell.
"""

import errno
import re
from collections.abc import Iterator
from contextlib import contextmanager

from obstore.exceptions import BaseError

from broker.blobs.blob_names import Place

REMOTE_ERRORS = (BaseError, OSError)
"""What the library raises; a missing object is a FileNotFoundError."""

_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
_CODE = re.compile(r"<Code>(\w{1,60})</Code>", re.ASCII)
_STATUS = re.compile(r"status code: (\d{3}(?: [A-Za-z ]{1,40})?)", re.ASCII)
_NO_BUCKET = ("NoSuchBucket", "ContainerNotFound")


class BlobError(Exception):
    """Something went wrong with a blob."""


class BlobMissing(BlobError):
    """The blob is not there."""

    def __init__(self, place: Place) -> None:
        super().__init__(f"{place.name} is not there")
        self.place = place


class BlobTooLarge(BlobError):
    """More bytes came than the limit allows."""

    def __init__(self, limit: int) -> None:
        super().__init__(f"more than {limit} bytes")
        self.limit = limit


class BlobOffset(BlobError):
    """An append does not begin where the upload ends, at `end`."""

    def __init__(self, end: int) -> None:
        super().__init__(f"the upload ends at {end}")
        self.end = end


class BlobStoreDown(BlobError):
    """The store cannot be reached, or refuses us. The same may work later."""

    def __init__(self, doing: str, reason: str) -> None:
        super().__init__(f"cannot {doing}: {reason}")
        self.doing = doing
        self.reason = reason


class BlobStoreFull(BlobStoreDown):
    """The store has no room."""


class StagingFull(BlobStoreFull):
    """Uploads that are under way take as many bytes as all of them together may (`storage.staging_limit`)."""

    def __init__(self, limit: int) -> None:
        super().__init__("write", f"uploads under way take all of the {limit} bytes that they may")
        self.limit = limit


@contextmanager
def disk_errors(doing: str, place: Place | None = None) -> Iterator[None]:
    """Translate what the operating system says."""
    try:
        yield
    except OSError as error:
        if place is not None and isinstance(error, FileNotFoundError):
            raise BlobMissing(place) from None
        kind = BlobStoreFull if error.errno in _FULL else BlobStoreDown
        raise kind(doing, error.strerror or type(error).__name__) from None


@contextmanager
def remote_errors(doing: str, place: Place | None = None) -> Iterator[None]:
    """Translate what the library says."""
    try:
        yield
    except REMOTE_ERRORS as error:
        raise remote_error(error, doing, place) from None


def remote_error(error: Exception, doing: str, place: Place | None = None) -> BlobError:
    """Translate what the library said. A bucket that does not exist is no missing blob."""
    text = str(error)
    if isinstance(error, FileNotFoundError) and place is not None and not _names_bucket(text):
        return BlobMissing(place)
    return BlobStoreDown(doing, _reason(error, text))


def _names_bucket(text: str) -> bool:
    return any(code in text for code in _NO_BUCKET)


def _reason(error: Exception, text: str) -> str:
    status, code = _STATUS.search(text), _CODE.search(text)
    told = " ".join(found[1] for found in (status, code) if found)
    if not told and "error sending request" in text:
        return "no connection"
    return told or type(error).__name__
