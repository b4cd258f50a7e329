"""Encode and decode the log of short blobs (pure; `broker/blobs/short_log.py` tells what it is for).

    segment = header block | record | record | ...      header block   magic, generation, checksum
                                                         record         magic, generation, length, count, checksum; then count times
                                                                        length of the name, length of the data, name, data

Everything starts at a multiple of `BLOCK` bytes, so that the file can be written past the page cache. A segment is used many
times: its records are those with the generation of its header, 16 random bytes that are new each time. What follows the last
one is left from an earlier use, or from a write that a power failure cut; nobody was told that it is stored. A client cannot
place a record inside of its own bytes, because it does not know the generation.
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
_HEADER = struct.Struct("<8s16sI")
_HEADER_MAGIC = b"HWSHORT1"
_RECORD = struct.Struct("<8s16sIII")
_RECORD_MAGIC = b"HWRECORD"
_ENTRY = struct.Struct("<HI")


@dataclass(frozen=True, slots=True)
class LoggedBlob:
    """A blob of the log: its path in the store, and its bytes."""

    place: BlobPath
    data: bytes


class LogDamaged(Exception):
    """Bytes of a log between two records, or of its header, are not what was written. `size` is their number."""

    def __init__(self, size: int) -> None:
        super().__init__(f"{size} bytes of a log of short blobs are damaged")
        self.size = size


def header_block(generation: bytes) -> bytes:
    """Return the first block of a segment."""
    checksum = zlib.crc32(_HEADER_MAGIC + generation)
    return _HEADER.pack(_HEADER_MAGIC, generation, checksum).ljust(BLOCK, b"\0")


def record_size(blobs: Sequence[LoggedBlob]) -> int:
    """Return the bytes of a record, in whole blocks."""
    return _whole_blocks(_RECORD.size + sum(_entry_size(blob) for blob in blobs))


def encode_record(buffer: memoryview, generation: bytes, blobs: Sequence[LoggedBlob]) -> int:
    """Write a record to the start of a buffer; return its size in whole blocks. The rest of the last block may hold anything."""
    end = _RECORD.size
    for blob in blobs:
        name = blob.place.name.encode()
        _ENTRY.pack_into(buffer, end, len(name), len(blob.data))
        start = end + _ENTRY.size + len(name)
        buffer[end + _ENTRY.size : start] = name
        end = start + len(blob.data)
        buffer[start:end] = blob.data
    length = end - _RECORD.size
    checksum = zlib.crc32(buffer[_RECORD.size : end], len(blobs))
    _RECORD.pack_into(buffer, 0, _RECORD_MAGIC, generation, length, len(blobs), checksum)
    return _whole_blocks(end)


def decode_segment(segment: memoryview) -> Iterator[LoggedBlob | LogDamaged]:
    """Yield the blobs of a segment, and every damaged stretch between them.

    A record that follows a damaged one is as good as any: blobs are immutable, so their order is of no importance.
    """
    header = bytes(segment[:BLOCK])
    if not header.strip(b"\0"):
        return  # its maker died before it was used
    if len(header) < _HEADER.size:
        yield LogDamaged(len(segment))
        return
    _, generation, _ = _HEADER.unpack_from(header)
    if header != header_block(generation):
        yield LogDamaged(len(segment))
        return
    at = whole_to = BLOCK
    while at < len(segment):
        record = _decode_record(segment[at:], generation)
        if record is None:
            at += BLOCK
            continue
        if at > whole_to:
            yield LogDamaged(at - whole_to)
        yield from record[0]
        at = whole_to = at + record[1]


def new_generation() -> bytes:
    """Return a generation that no segment had before."""
    return os.urandom(GENERATION)


def _decode_record(piece: memoryview, generation: bytes) -> tuple[list[LoggedBlob], int] | None:
    """Return the blobs of a record and its size in whole blocks; None if there is no valid record."""
    if len(piece) < _RECORD.size:
        return None
    magic, own, length, count, checksum = _RECORD.unpack_from(piece)
    body = piece[_RECORD.size : _RECORD.size + length]
    if (
        magic != _RECORD_MAGIC
        or own != generation
        or len(body) != length
        or zlib.crc32(body, count) != checksum
    ):
        return None
    blobs = _decode_entries(body, count)
    return None if blobs is None else (blobs, _whole_blocks(_RECORD.size + length))


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
