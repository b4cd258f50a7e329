"""What uploads under way may take on a local disk together."""

import uuid
from pathlib import Path

import pytest

from broker.blobs.blob_names import blob
from broker.blobs.errors import StagingFull
from broker.blobs.folder import folder_size
from broker.blobs.staged_bytes import StagedBytes
from broker.blobs.staging import PIECE
from broker.blobs.store import BlobStore
from schemas.settings.storage import Storage
from schemas.settings.types import Size

_LIMIT = 4 * PIECE


def _store(folder: Path) -> BlobStore:
    return BlobStore.open(Storage(staging_limit=Size(_LIMIT)), folder)


async def test_an_upload_beyond_the_limit_is_rejected_and_leaves_nothing(tmp_path: Path) -> None:
    store = _store(tmp_path)
    async with store.stage(blob("b", uuid.uuid4()), limit=2**30) as first:
        for _ in range(3):
            await first.write(b"x" * PIECE)

        with pytest.raises(StagingFull):
            await store.put_small(blob("b", uuid.uuid4()), b"y" * 4 * PIECE)

        staged = await first.finish()
    assert folder_size(tmp_path / "storage" / "staging") == 3 * PIECE
    await store.promote(staged)
    await store.put_small(blob("b", uuid.uuid4()), b"z" * 3 * PIECE)
    await store.close()


async def test_what_other_processes_left_counts(tmp_path: Path) -> None:
    left = tmp_path / "storage" / "staging" / str(uuid.uuid4())
    left.parent.mkdir(parents=True)
    left.write_bytes(b"x" * _LIMIT)
    store = _store(tmp_path)

    with pytest.raises(StagingFull):
        await store.put_small(blob("b", uuid.uuid4()), b"one byte more")
    left.unlink()
    await store.put_small(blob("b", uuid.uuid4()), b"one byte more")
    await store.close()


def test_zero_is_no_limit(tmp_path: Path) -> None:
    StagedBytes(tmp_path, 0).take(2**60)


def test_a_folder_that_is_not_there_is_empty(tmp_path: Path) -> None:
    assert folder_size(tmp_path / "nothing") == 0
