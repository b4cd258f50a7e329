"""The bytes of a log of short blobs: what is read back, what is damaged, what is left from an earlier use."""

import struct
import zlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from broker.blobs.short_log_records import (
    BLOCK,
    LogDamaged,
    LoggedBlob,
    LoggedBlobsAbsent,
    SegmentHeader,
    SegmentMark,
    decode_header,
    decode_mark,
    decode_segment,
    encode_mark,
    header_block,
    new_generation,
)
from tests.broker.blobs.short_logs import record, records, segment, short_blob


def decoded(content: bytes, mark: SegmentMark | None = None) -> list[LoggedBlob | int | str]:
    """Return the blobs of a segment, the sizes of damaged stretches, and how many blobs are absent."""
    items = []
    for item in decode_segment(memoryview(content), mark):
        match item:
            case LogDamaged(size=size):
                items.append(size)
            case LoggedBlobsAbsent(blobs=blobs):
                items.append(f"{blobs} absent")
            case _:
                items.append(item)
    return items


def first_header(generation: bytes) -> bytes:
    """Return the first block of a segment as the first version wrote it."""
    checksum = zlib.crc32(b"HWSHORT1" + generation)
    return struct.pack("<8s16sI", b"HWSHORT1", generation, checksum).ljust(BLOCK, b"\0")


def first_record(generation: bytes, blobs: list[LoggedBlob]) -> bytes:
    """Return a record as the first version wrote it."""
    body = b"".join(
        struct.pack("<HI", len(blob.place.name), len(blob.data)) + blob.place.name.encode() + blob.data
        for blob in blobs
    )
    fields = struct.pack(
        "<8s16sIII", b"HWRECORD", generation, len(body), len(blobs), zlib.crc32(body, len(blobs))
    )
    whole = fields + body
    return whole.ljust(-(-len(whole) // BLOCK) * BLOCK, b"\0")


@given(st.lists(st.lists(st.integers(0, 9000), min_size=1, max_size=5), max_size=5))
def test_what_is_written_is_read(sizes: list[list[int]]) -> None:
    groups = [[short_blob(size) for size in group] for group in sizes]

    assert decoded(segment(*groups)) == [blob for group in groups for blob in group]


def test_records_of_an_earlier_use_are_not_read() -> None:
    before, now = new_generation(), new_generation()
    old, new = [short_blob() for _ in range(8)], short_blob()
    current = header_block(SegmentHeader(now)) + record(now, [new])
    earlier = header_block(SegmentHeader(before)) + b"".join(records(before, old, old))

    content = current + earlier[len(current) :]

    assert decoded(content) == [new]


def test_a_cut_last_record_is_not_damage() -> None:
    whole, cut = short_blob(), short_blob(5 * BLOCK)
    generation = new_generation()
    first, second = records(generation, [whole], [cut])

    content = header_block(SegmentHeader(generation)) + first + second[: 2 * BLOCK]

    assert decoded(content + bytes(8 * BLOCK)) == [whole]


def test_records_behind_a_damaged_one_are_read() -> None:
    first, damaged, last = short_blob(), short_blob(2 * BLOCK), short_blob()
    content = bytearray(segment([first], [damaged], [last]))
    content[2 * BLOCK + 100] ^= 1

    assert decoded(bytes(content)) == [first, 3 * BLOCK, last, "1 absent"]


def test_a_damaged_header_is_reported() -> None:
    content = bytearray(segment([short_blob()]))
    content[9] ^= 1

    assert decoded(bytes(content)) == [len(content)]


def test_an_unused_segment_has_no_blobs() -> None:
    assert decoded(bytes(8 * BLOCK)) == []
    assert decoded(b"") == []


def test_names_outside_of_the_objects_are_damage() -> None:
    generation, good = new_generation(), short_blob()
    assert good.place.name.startswith("objects/bucket-")
    for name in (
        "staging/bucket-",
        "../ects/bucket-",
        "objects/../../.",
        "/bjects/bucket-",
        "objects\0bucket-",
    ):
        bad, last = records(generation, [short_blob()], [good])
        bad = _with_checksum(bad.replace(b"objects/bucket-", name.encode()))

        assert decoded(header_block(SegmentHeader(generation)) + bad + last) == [len(bad), good, "1 absent"]


def _with_checksum(content: bytes) -> bytes:
    """Correct the checksum of a record."""
    (length,) = struct.unpack_from("<I", content, 24)
    checksum = zlib.crc32(content[48 : 48 + length], zlib.crc32(content[:44]))
    return content[:44] + struct.pack("<I", checksum) + content[48:]


def test_a_segment_of_the_first_version_is_read() -> None:
    generation, blobs = new_generation(), [short_blob(), short_blob(2 * BLOCK)]
    content = first_header(generation) + first_record(generation, blobs) + first_record(generation, blobs[:1])

    assert decoded(content + bytes(4 * BLOCK)) == [*blobs, blobs[0]]
    assert decode_header(content[:BLOCK]) == SegmentHeader(generation)


_GENERATION = bytes(range(16))
_GROUPS = [[short_blob(100) for _ in range(size)] for size in (3, 1, 2)]
_HEADER = header_block(SegmentHeader(_GENERATION, 7, 5.0))
_PARTS = records(_GENERATION, *_GROUPS)
_ALL = [blob for group in _GROUPS for blob in group]


def _mark(blobs: int, use: int = 7) -> SegmentMark:
    return SegmentMark(_GENERATION if use == 7 else bytes(16), use, blobs)


@pytest.mark.parametrize(
    ("content", "mark", "items"),
    [
        ([_HEADER, *_PARTS], _mark(6), _ALL),
        ([_HEADER, *_PARTS], _mark(4), _ALL),  # it is not synced, so it may know of fewer
        ([_HEADER, *_PARTS], _mark(900, use=6), _ALL),  # of an earlier use
        ([_HEADER, *_PARTS[:2]], _mark(6), [*_ALL[:4], "2 absent"]),
        ([_HEADER, _PARTS[0], bytes(2 * BLOCK)], _mark(6), [*_ALL[:3], "3 absent"]),
        ([_HEADER, bytes(BLOCK), *_PARTS[1:]], None, [BLOCK, *_ALL[3:], "3 absent"]),
        ([_HEADER, bytes(BLOCK), *_PARTS[1:2]], _mark(6), [BLOCK, _ALL[3], "5 absent"]),
        ([_HEADER, _PARTS[1], *_PARTS[1:]], None, [_ALL[3], BLOCK, _ALL[3], *_ALL[4:], "3 absent"]),
        ([_HEADER], _mark(6), ["6 absent"]),
        ([_HEADER], _mark(6, use=8), ["6 absent"]),  # the disk lost the beginning of a use
        ([b""], _mark(6), ["6 absent"]),
        ([bytes(4 * BLOCK)], _mark(6), ["6 absent"]),
        ([bytes(4 * BLOCK)], _mark(0), []),
        ([b"x" * 4 * BLOCK], _mark(6), [4 * BLOCK, "6 absent"]),
    ],
)  # fmt: skip
def test_acknowledged_records_that_are_missing_are_counted(content, mark, items) -> None:
    assert decoded(b"".join(content), mark) == items


@given(st.integers(0, 44 * 8 - 1))
def test_a_flipped_bit_of_a_record_is_told(bit: int) -> None:
    last = bytearray(_PARTS[-1])
    last[bit // 8] ^= 1 << bit % 8

    assert decoded(b"".join([_HEADER, *_PARTS[:-1], bytes(last)]), _mark(6)) == [*_ALL[:4], "2 absent"]


@given(st.integers(0, 2**63), st.integers(0, 2**63), st.integers(0, 43), st.integers(1, 255))
def test_a_mark_is_read_whole_or_not_at_all(use: int, blobs: int, at: int, change: int) -> None:
    mark = SegmentMark(new_generation(), use, blobs)
    content = bytearray(encode_mark(mark))
    assert decode_mark(bytes(content) + bytes(50)) == mark

    content[at] ^= change

    assert decode_mark(bytes(content)) is None


def test_a_record_inside_of_a_clients_bytes_is_not_read() -> None:
    forged = record(new_generation(), [short_blob()])
    blobs = [LoggedBlob(short_blob().place, bytes(shift) + forged) for shift in range(0, BLOCK, 16)]
    content = bytearray(segment(blobs[:100]))
    content[BLOCK + 30] ^= 1  # the record that holds them is damaged, so every block of it is looked at

    assert decoded(bytes(content)) == []
    assert forged in content


@given(st.binary(max_size=3 * BLOCK), st.integers(0, 3 * BLOCK), st.binary(max_size=64))
def test_any_bytes_are_read_without_an_error(tail: bytes, at: int, change: bytes) -> None:
    content = segment([short_blob()])[: 3 * BLOCK]

    decoded(tail)
    decoded(content[:at] + change + content[at + len(change) :])
    decoded(content + tail)
