"""Errors of blobs: what the system and the library say, in our words, and nothing of what they should not tell."""

import errno
from uuid import uuid4

import pytest
from obstore.exceptions import GenericError, PermissionDeniedError

from broker.blobs.blob_names import blob
from broker.blobs.errors import (
    BlobError,
    BlobMissing,
    BlobStoreDown,
    BlobStoreFull,
    translate_disk_errors,
)
from broker.blobs.remote_errors import remote_error, translate_remote_errors

PLACE = blob("bucket", uuid4())
SIGNED = "https://me.blob.example/files/x?sig=0123456789abcdef&se=2030"


@pytest.mark.parametrize(
    ("number", "kind"),
    [
        (errno.ENOSPC, BlobStoreFull),
        (errno.EDQUOT, BlobStoreFull),
        (errno.EFBIG, BlobStoreFull),
        (errno.EIO, BlobStoreDown),
        (errno.EACCES, BlobStoreDown),
        (errno.ENOENT, BlobMissing),
    ],
)
def test_an_error_of_the_disk_has_a_kind(number: int, kind: type[BlobError]) -> None:
    with pytest.raises(BlobError) as caught, translate_disk_errors("read", PLACE):
        raise OSError(number, "words")

    assert type(caught.value) is kind


def test_a_missing_file_that_is_no_blob_is_a_fault_of_the_store() -> None:
    with pytest.raises(BlobStoreDown, match="cannot write: No such file"), translate_disk_errors("write"):
        raise FileNotFoundError(errno.ENOENT, "No such file or directory")


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (f"Error performing PUT {SIGNED} in 1ms - Server returned non-2xx status code: 403 Forbidden: <Code>AccessDenied</Code>", "403 Forbidden AccessDenied"),
        (f"Error performing GET {SIGNED}, after 3 retries - Server returned error status code: 503 Slow Down: x", "503 Slow Down"),
        (f"HTTP error: error sending request for url ({SIGNED})", "no connection"),
        (f"something about {SIGNED}", "GenericError"),
    ],
)  # fmt: skip
def test_the_words_of_the_library_are_not_passed_on(text: str, reason: str) -> None:
    with pytest.raises(BlobStoreDown) as caught, translate_remote_errors("write", PLACE):
        raise GenericError(text)

    assert caught.value.reason == reason
    assert "sig=" not in str(caught.value)
    assert caught.value.__suppress_context__


def test_a_missing_object_is_told_from_a_missing_bucket() -> None:
    missing = FileNotFoundError("Object at location x not found: <Code>NoSuchKey</Code>")
    bucket = FileNotFoundError("Object at location x not found: <Code>NoSuchBucket</Code>")

    assert isinstance(remote_error(missing, "read", PLACE), BlobMissing)
    assert isinstance(remote_error(missing, "read"), BlobStoreDown)
    assert isinstance(remote_error(bucket, "read", PLACE), BlobStoreDown)
    assert isinstance(remote_error(PermissionDeniedError("x"), "read", PLACE), BlobStoreDown)
