"""Short blobs and logs of them for tests."""

import os
from collections.abc import Sequence
from pathlib import Path
from uuid import uuid4

from broker.blobs.blob_names import blob
from broker.blobs.short_log_records import LoggedBlob, encode_record, header_block, new_generation
from broker.blobs.short_log_segment import FOLDER

MIB = 1024 * 1024


def short_blob(size: int = 3000) -> LoggedBlob:
    """Return a new blob of random bytes."""
    return LoggedBlob(blob("bucket", uuid4()), os.urandom(size))


def record(generation: bytes, blobs: Sequence[LoggedBlob]) -> bytes:
    """Return a record in whole blocks."""
    buffer = bytearray(MIB)
    return bytes(buffer[: encode_record(memoryview(buffer), generation, blobs)])


def segment(*groups: Sequence[LoggedBlob]) -> bytes:
    """Return a segment with a record for each group, and unused space."""
    generation = new_generation()
    return b"".join(
        [header_block(generation), *(record(generation, group) for group in groups), bytes(64 * 1024)]
    )


def left_log(root: Path, content: bytes) -> Path:
    """Write a log that a dead process left."""
    path = root / FOLDER / f"{uuid4().hex}.log"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)
    return path
