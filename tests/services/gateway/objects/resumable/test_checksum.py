import base64
import hashlib
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from broker.blobs.blob_names import STAGING
from broker.blobs.errors import BlobTooLarge
from broker.blobs.store import BlobStore
from schemas.settings.storage import Storage
from services.gateway.objects.resumable.checksum import (
    MISMATCH,
    PieceChecksum,
    read_checksum,
    verified_pieces,
)
from services.gateway.requests.forward import BodyRejected

DATA = b"hello resumable world"
SHA1 = PieceChecksum("sha1", hashlib.sha1(DATA, usedforsecurity=False).digest())


@pytest.fixture
async def blobs(tmp_path: Path) -> AsyncIterator[BlobStore]:
    one = BlobStore.open(Storage(), tmp_path)
    await one.check()
    yield one
    await one.close()


async def pieces() -> AsyncIterator[bytes]:
    yield DATA[:5]
    yield DATA[5:]


async def left(blobs: BlobStore) -> int:
    return len([each async for each in blobs.list(STAGING)])


def test_header_is_an_algorithm_and_a_hash() -> None:
    text = base64.b64encode(SHA1.digest).decode()

    assert read_checksum(None) is None
    assert read_checksum(f" SHA1 {text} ") == SHA1


@pytest.mark.parametrize("header", ["", "crc32 AAAA", "sha1 ***", "md5 \u00e9"])
def test_header_that_cannot_be_read_is_refused(header: str) -> None:
    with pytest.raises(BodyRejected) as refused:
        read_checksum(header)

    assert refused.value.status == 400


async def test_bytes_come_once_their_hash_is_right(blobs: BlobStore) -> None:
    async with verified_pieces(blobs, pieces(), SHA1, 100) as given:
        got = b"".join([piece async for piece in given])

    assert got == DATA
    assert await left(blobs) == 0


async def test_bytes_of_another_hash_do_not_come(blobs: BlobStore) -> None:
    with pytest.raises(BodyRejected) as refused:
        async with verified_pieces(blobs, pieces(), PieceChecksum("md5", SHA1.digest), 100):
            pytest.fail("they came")

    assert refused.value.status == MISMATCH
    assert await left(blobs) == 0


async def test_bytes_beyond_the_room_do_not_come(blobs: BlobStore) -> None:
    with pytest.raises(BlobTooLarge):
        async with verified_pieces(blobs, pieces(), SHA1, len(DATA) - 1):
            pytest.fail("they came")

    assert await left(blobs) == 0
