"""Encode and decode the log of short blobs (pure; `broker/blobs/short_log.py` tells what it is for).

    segment = header block | record | record | ...      header block   magic, generation, use, time, checksum
                                                         record         magic, generation, length, count, blobs before it, checksum of the
                                                                        record before, checksum; then count times length of the name,
                                                                        length of the data, name, data
    mark    = magic, use, blobs, generation, checksum    a file of its own, beside the segment (`short_log_mark.py`)

Everything starts at a multiple of `BLOCK` bytes, so that the file can be written past the page cache. A segment is used many
times: its records are those with the generation of its header, 16 random bytes that are new each time. What follows the last
one is left from an earlier use, or from a write that a power failure cut; no client was answered that it is stored. A client cannot
place a record inside of its own bytes, because it does not know the generation.

A disk may lose what it had confirmed. Each record says how many blobs came before it, so a gap between two records is counted; the
mark says how many were acknowledged in all, so a tail that was cut is counted too. A checksum covers a record and its fields, and
names the record before. Segments of earlier versions (`HWSHORT1`, `HWRECORD`) have no counts and are read as before.
"""

import os
import struct
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from broker.blobs import blob_names
from broker.blobs.blob_names import BlobPath

BLOCK = 4096
GENERATION = 16
_HEADER = struct.Struct("<8s16sQdI")
_HEADER_MAGIC = b"HWSHORT2"
_FIRST_HEADER = struct.Struct("<8s16sI")
_FIRST_HEADER_MAGIC = b"HWSHORT1"
_FIELDS = struct.Struct("<8s16sIIQI")
_CHECKSUM = struct.Struct("<I")
_RECORD_SIZE = _FIELDS.size + _CHECKSUM.size
_RECORD_MAGIC = b"HWRECRD2"
_FIRST_RECORD = struct.Struct("<8s16sIII")
_FIRST_RECORD_MAGIC = b"HWRECORD"
_ENTRY = struct.Struct("<HI")
_MARK = struct.Struct("<8sQQ16s")
_MARK_MAGIC = b"HWMARK01"
MARK_SIZE = _MARK.size + _CHECKSUM.size


@dataclass(frozen=True, slots=True)
class LoggedBlob:
    """A blob of the log: its path in the store, and its bytes."""

    place: BlobPath
    data: bytes


@dataclass(frozen=True, slots=True)
class SegmentHeader:
    """Which use of a segment its records belong to, and when it began: seconds since 1970, 0 if an earlier version wrote it."""

    generation: bytes
    use: int = 0
    started_at: float = 0.0


@dataclass(frozen=True, slots=True)
class SegmentMark:
    """How many blobs were acknowledged in one use of a segment."""

    generation: bytes
    use: int
    blobs: int


class LogDamaged(Exception):
    """Bytes of a log between two records, or of its header, are not what was written. `size` is their number."""

    def __init__(self, size: int) -> None:
        super().__init__(f"{size} bytes of a log of short blobs are damaged")
        self.size = size


class LoggedBlobsAbsent(Exception):
    """Blobs were acknowledged whose records the log does not have any more. `blobs` is their number."""

    def __init__(self, blobs: int) -> None:
        super().__init__(f"{blobs} acknowledged records of a log of short blobs are missing")
        self.blobs = blobs


@dataclass(frozen=True, slots=True)
class _Record:
    blobs: list[LoggedBlob]
    size: int
    """Bytes, in whole blocks."""
    checksum: int
    before: int | None
    """Blobs of earlier records of this use; None if an earlier version wrote it."""
    previous: int = 0
    """Checksum of the record before."""


def header_block(header: SegmentHeader) -> bytes:
    """Return the first block of a segment."""
    fields = _HEADER.pack(_HEADER_MAGIC, header.generation, header.use, header.started_at, 0)[
        : -_CHECKSUM.size
    ]
    return (fields + _CHECKSUM.pack(zlib.crc32(fields))).ljust(BLOCK, b"\0")


def decode_header(block: bytes) -> SegmentHeader | None:
    """Return the header of a segment; None if it is damaged."""
    if len(block) < BLOCK:
        return None
    magic, generation, use, started_at, _ = _HEADER.unpack_from(block)
    if magic == _HEADER_MAGIC:
        header = SegmentHeader(generation, use, started_at)
        return header if block == header_block(header) else None
    checksum = zlib.crc32(_FIRST_HEADER_MAGIC + generation)
    first = _FIRST_HEADER.pack(_FIRST_HEADER_MAGIC, generation, checksum).ljust(BLOCK, b"\0")
    return SegmentHeader(generation) if block == first else None


def encode_mark(mark: SegmentMark) -> bytes:
    """Return the bytes of a mark."""
    fields = _MARK.pack(_MARK_MAGIC, mark.use, mark.blobs, mark.generation)
    return fields + _CHECKSUM.pack(zlib.crc32(fields))


def decode_mark(content: bytes) -> SegmentMark | None:
    """Return a mark; None if it was never written, or is damaged."""
    if len(content) < MARK_SIZE:
        return None
    magic, use, blobs, generation = _MARK.unpack_from(content)
    mark = SegmentMark(generation, use, blobs)
    return mark if magic == _MARK_MAGIC and content[:MARK_SIZE] == encode_mark(mark) else None


def record_size(blobs: Sequence[LoggedBlob]) -> int:
    """Return the bytes of a record, in whole blocks."""
    return _whole_blocks(_RECORD_SIZE + sum(_entry_size(blob) for blob in blobs))


def encode_record(
    buffer: memoryview, generation: bytes, blobs: Sequence[LoggedBlob], before: int, previous: int
) -> tuple[int, int]:
    """Write a record to the start of a buffer; return its size in whole blocks, and its checksum.

    `before` is the number of blobs of earlier records, `previous` the checksum of the last one. The rest of the last block may
    hold anything.
    """
    end = _RECORD_SIZE
    for blob in blobs:
        name = blob.place.name.encode()
        _ENTRY.pack_into(buffer, end, len(name), len(blob.data))
        start = end + _ENTRY.size + len(name)
        buffer[end + _ENTRY.size : start] = name
        end = start + len(blob.data)
        buffer[start:end] = blob.data
    _FIELDS.pack_into(buffer, 0, _RECORD_MAGIC, generation, end - _RECORD_SIZE, len(blobs), before, previous)
    checksum = zlib.crc32(buffer[_RECORD_SIZE:end], zlib.crc32(buffer[: _FIELDS.size]))
    _CHECKSUM.pack_into(buffer, _FIELDS.size, checksum)
    return _whole_blocks(end), checksum


def decode_segment(
    segment: memoryview, mark: SegmentMark | None = None
) -> Iterator[LoggedBlob | LogDamaged | LoggedBlobsAbsent]:
    """Yield the blobs of a segment, every damaged stretch between them, and at last the number of blobs that are missing.

    A record that follows a damaged one is as good as any: blobs are immutable, so their order is of no importance.
    """
    block = bytes(segment[:BLOCK])
    header = decode_header(block)
    known = absent = 0
    if header is not None:
        at = whole_to = BLOCK
        checksum = 0
        while at < len(segment):
            record = _decode_record(segment[at:], header.generation)
            if record is None:
                at += BLOCK
                continue
            if at > whole_to:
                yield LogDamaged(at - whole_to)
            if record.before is not None:
                if record.before > known:
                    absent += record.before - known
                elif record.before < known or record.previous != checksum:
                    yield LogDamaged(record.size)  # it does not follow what stands before it
                known, checksum = record.before + len(record.blobs), record.checksum
            yield from record.blobs
            at = whole_to = at + record.size
    elif block.strip(b"\0"):
        yield LogDamaged(len(segment))
    # Without a header nothing was acknowledged, if the mark knows of nothing: its maker died before it was used.
    absent += max(_acknowledged(header, mark) - known, 0)
    if absent:
        yield LoggedBlobsAbsent(absent)


def _acknowledged(header: SegmentHeader | None, mark: SegmentMark | None) -> int:
    """Return how many blobs the mark knows of in this use; 0 if it is older: it is not synced, so it may be."""
    if mark is None or (header is not None and mark.use < header.use):
        return 0
    return mark.blobs


def new_generation() -> bytes:
    """Return a generation that no segment had before."""
    return os.urandom(GENERATION)


def _decode_record(piece: memoryview, generation: bytes) -> _Record | None:
    """Return a record; None if there is no valid one."""
    magic = bytes(piece[: len(_RECORD_MAGIC)])
    if magic == _RECORD_MAGIC and len(piece) >= _RECORD_SIZE:
        _, own, length, count, before, previous = _FIELDS.unpack_from(piece)
        (checksum,) = _CHECKSUM.unpack_from(piece, _FIELDS.size)
        start, seed = _RECORD_SIZE, zlib.crc32(piece[: _FIELDS.size])
    elif magic == _FIRST_RECORD_MAGIC and len(piece) >= _FIRST_RECORD.size:
        _, own, length, count, checksum = _FIRST_RECORD.unpack_from(piece)
        start, seed, before, previous = _FIRST_RECORD.size, count, None, 0
    else:
        return None
    body = piece[start : start + length]
    if own != generation or len(body) != length or zlib.crc32(body, seed) != checksum:
        return None
    blobs = _decode_entries(body, count)
    return (
        None if blobs is None else _Record(blobs, _whole_blocks(start + length), checksum, before, previous)
    )


def _decode_entries(body: memoryview, count: int) -> list[LoggedBlob] | None:
    """Return the blobs of a record; None if a name is not that of an object in the store."""
    blobs: list[LoggedBlob] = []
    at = 0
    for _ in range(count):
        if at + _ENTRY.size > len(body):
            return None
        name_length, data_length = _ENTRY.unpack_from(body, at)
        start = at + _ENTRY.size + name_length
        at = start + data_length
        place = blob_names.parse_path(bytes(body[start - name_length : start]).decode("ascii", "replace"))
        if at > len(body) or place is None or not blob_names.is_in(blob_names.OBJECTS, place):
            return None
        blobs.append(LoggedBlob(place, bytes(body[start:at])))
    return blobs


def _entry_size(blob: LoggedBlob) -> int:
    return _ENTRY.size + len(blob.place.name) + len(blob.data)


def _whole_blocks(size: int) -> int:
    return -(-size // BLOCK) * BLOCK
