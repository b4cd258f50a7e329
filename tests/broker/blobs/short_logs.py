"""Short blobs and logs of them for tests."""

import os
from collections.abc import Sequence
from pathlib import Path
from uuid import uuid4

from broker.blobs.blob_names import blob
from broker.blobs.short_log_mark import mark_path
from broker.blobs.short_log_records import (
    BLOCK,
    LoggedBlob,
    SegmentHeader,
    SegmentMark,
    decode_header,
    encode_mark,
    encode_record,
    header_block,
    new_generation,
)
from broker.blobs.short_log_segment import FOLDER

MIB = 1024 * 1024


def short_blob(size: int = 3000) -> LoggedBlob:
    """Return a new blob of random bytes."""
    return LoggedBlob(blob("bucket", uuid4()), os.urandom(size))


def records(generation: bytes, *groups: Sequence[LoggedBlob]) -> list[bytes]:
    """Return the records of a segment from its first one on, each in whole blocks."""
    buffer, before, checksum = bytearray(MIB), 0, 0
    contents = []
    for group in groups:
        size, checksum = encode_record(memoryview(buffer), generation, group, before, checksum)
        contents.append(bytes(buffer[:size]))
        before += len(group)
    return contents


def record(generation: bytes, blobs: Sequence[LoggedBlob]) -> bytes:
    """Return the first record of a segment in whole blocks."""
    return records(generation, blobs)[0]


def segment(*groups: Sequence[LoggedBlob]) -> bytes:
    """Return a segment with a record for each group, and unused space."""
    header = SegmentHeader(new_generation(), 1, 1_790_000_000.0)
    return b"".join([header_block(header), *records(header.generation, *groups), bytes(64 * 1024)])


def left_mark(log: Path, blobs: int, content: bytes) -> None:
    """Write the mark of a log with this content, which counted some blobs."""
    header = decode_header(content[:BLOCK])
    assert header is not None
    mark_path(log).write_bytes(encode_mark(SegmentMark(header.generation, header.use, blobs)))


def left_log(root: Path, content: bytes) -> Path:
    """Write a log that a dead process left."""
    path = root / FOLDER / f"{uuid4().hex}.log"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)
    return path
