"""Files that are opened without a thread: only where the kernel has their path in memory."""

import os
from io import FileIO
from pathlib import Path
from typing import Any, Never
from uuid import uuid4

import pytest

from broker.blobs.blob_names import blob
from broker.blobs.cached_open import open_if_cached
from broker.blobs.disk_files import open_for_reading
from broker.blobs.errors import BlobMissing
from broker.blobs.store import BlobStore
from schemas.settings.storage import Storage

_THIS = Path(__file__)


def _can_tell() -> bool:
    descriptor = open_if_cached(_THIS)
    if descriptor is None:
        return False
    os.close(descriptor)
    return True


needs_openat2 = pytest.mark.skipif(not _can_tell(), reason="this kernel lacks openat2 with RESOLVE_CACHED")


async def _no_thread(*_: object, **__: object) -> Never:
    raise AssertionError("a thread was used")


@needs_openat2
async def test_a_file_that_was_just_written_is_opened_without_a_thread(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"some bytes")

    run: Any = _no_thread
    with await open_for_reading(path, blob("b", uuid4()), run) as file:
        assert file.read() == b"some bytes"
        assert not os.get_inheritable(file.fileno())


@needs_openat2
def test_a_missing_file_has_no_descriptor(tmp_path: Path) -> None:
    assert open_if_cached(tmp_path / "missing") is None


async def test_a_missing_file_is_a_missing_blob(tmp_path: Path) -> None:
    store = BlobStore.open(Storage(), tmp_path)

    for _ in range(2):  # the second time the kernel knows that it is missing
        with pytest.raises(BlobMissing):
            await store.get_small(blob("b", uuid4()), limit=1)
    await store.close()


@needs_openat2
def test_descriptors_are_closed_with_their_files(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"x")
    before = len(os.listdir("/proc/self/fd"))

    for _ in range(50):
        descriptor = open_if_cached(path)
        assert descriptor is not None
        FileIO(descriptor).close()

    assert len(os.listdir("/proc/self/fd")) == before
