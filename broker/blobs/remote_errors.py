"""Translate the errors of the library of object stores into those of the blob store. Their texts may contain signed URLs: never shown."""

import re
from collections.abc import Iterator
from contextlib import contextmanager

from obstore.exceptions import BaseError

from broker.blobs.blob_names import BlobPath
from broker.blobs.errors import BlobError, BlobMissing, BlobStoreDown

REMOTE_ERRORS = (BaseError, OSError)
"""The exceptions of the library; a missing object is a FileNotFoundError."""

_CODE = re.compile(r"<Code>(\w{1,60})</Code>", re.ASCII)
_STATUS = re.compile(r"status code: (\d{3}(?: [A-Za-z ]{1,40})?)", re.ASCII)
_NO_BUCKET = ("NoSuchBucket", "ContainerNotFound")


@contextmanager
def translate_remote_errors(doing: str, place: BlobPath | None = None) -> Iterator[None]:
    """Translate the errors of the library."""
    try:
        yield
    except REMOTE_ERRORS as error:
        raise remote_error(error, doing, place) from None


def remote_error(error: Exception, doing: str, place: BlobPath | None = None) -> BlobError:
    """Translate an error of the library. A missing bucket makes the store unavailable; it is not a missing blob."""
    text = str(error)
    if isinstance(error, FileNotFoundError) and place is not None and not _names_bucket(text):
        return BlobMissing(place)
    return BlobStoreDown(doing, _reason(error, text))


def _names_bucket(text: str) -> bool:
    return any(code in text for code in _NO_BUCKET)


def _reason(error: Exception, text: str) -> str:
    status, code = _STATUS.search(text), _CODE.search(text)
    reason = " ".join(match[1] for match in (status, code) if match)
    if not reason and "error sending request" in text:
        return "no connection"
    return reason or type(error).__name__
