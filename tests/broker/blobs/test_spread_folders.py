"""The hint that keeps folders apart on ext4: it is set where the file system has it, and nothing else changes."""

import fcntl
import os
import sys
from pathlib import Path
from uuid import uuid4

from broker.blobs.blob_names import blob
from broker.blobs.spread_folders import spread_folders_in
from broker.blobs.store import BlobStore
from schemas.settings.storage import Storage

_GET_FLAGS, _SET_FLAGS = 0x80086601, 0x40086602
_TOP_OF_HIERARCHY = 0x00020000


def flags_of(folder: Path) -> int | None:
    """Return the flags of a folder; None if it is on a file system that does not keep the hint."""
    descriptor, flags = os.open(folder, os.O_RDONLY), bytearray(8)
    try:
        fcntl.ioctl(descriptor, _GET_FLAGS, flags)
        hinted = int.from_bytes(flags[:4], sys.byteorder) | _TOP_OF_HIERARCHY
        fcntl.ioctl(descriptor, _SET_FLAGS, hinted.to_bytes(4, sys.byteorder) + bytes(4))
        is_known = int.from_bytes(fcntl.ioctl(descriptor, _GET_FLAGS, bytes(8))[:4], sys.byteorder) == hinted
        fcntl.ioctl(descriptor, _SET_FLAGS, bytes(flags))
    except OSError:
        return None
    finally:
        os.close(descriptor)
    return int.from_bytes(flags[:4], sys.byteorder) if is_known else None


def test_a_missing_folder_is_no_error(tmp_path: Path) -> None:
    spread_folders_in(tmp_path / "missing")

    assert not (tmp_path / "missing").exists()


async def test_folders_of_objects_are_spread_and_others_are_not(tmp_path: Path) -> None:
    store, place = BlobStore.open(Storage(), tmp_path), blob("bucket", uuid4())

    await store.put_short(place, b"x")

    path = store.local_path(place)
    assert path is not None
    shard, bucket, objects = list(path.parents)[:3]
    known = flags_of(bucket)
    hints = [
        known if flags is None else flags & _TOP_OF_HIERARCHY
        for flags in map(flags_of, (shard, bucket, objects))
    ]
    assert hints == ([None] * 3 if known is None else [0, _TOP_OF_HIERARCHY, _TOP_OF_HIERARCHY])
    await store.close()
