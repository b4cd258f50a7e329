"""The bytes of a log of short blobs: what is read back, what is damaged, what is left from an earlier use."""

import struct
import zlib

from hypothesis import given
from hypothesis import strategies as st

from broker.blobs.short_log_records import (
    BLOCK,
    LogDamaged,
    LoggedBlob,
    decode_segment,
    header_block,
    new_generation,
)
from tests.broker.blobs.short_logs import record, segment, short_blob


def decoded(content: bytes) -> list[LoggedBlob | int]:
    """Return the blobs of a segment, and the sizes of damaged stretches."""
    items = decode_segment(memoryview(content))
    return [item.size if isinstance(item, LogDamaged) else item for item in items]


@given(st.lists(st.lists(st.integers(0, 9000), min_size=1, max_size=5), max_size=5))
def test_what_is_written_is_read(sizes: list[list[int]]) -> None:
    groups = [[short_blob(size) for size in group] for group in sizes]

    assert decoded(segment(*groups)) == [blob for group in groups for blob in group]


def test_records_of_an_earlier_use_are_not_read() -> None:
    before, now = new_generation(), new_generation()
    old, new = [short_blob() for _ in range(8)], short_blob()
    current = header_block(now) + record(now, [new])

    content = current + (header_block(before) + record(before, old) + record(before, old))[len(current) :]

    assert decoded(content) == [new]


def test_a_cut_last_record_is_not_damage() -> None:
    whole, cut = short_blob(), short_blob(5 * BLOCK)
    generation = new_generation()

    content = header_block(generation) + record(generation, [whole]) + record(generation, [cut])[: 2 * BLOCK]

    assert decoded(content + bytes(8 * BLOCK)) == [whole]


def test_records_behind_a_damaged_one_are_read() -> None:
    first, damaged, last = short_blob(), short_blob(2 * BLOCK), short_blob()
    content = bytearray(segment([first], [damaged], [last]))
    content[2 * BLOCK + 100] ^= 1

    assert decoded(bytes(content)) == [first, 3 * BLOCK, last]


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
        bad = record(generation, [short_blob()]).replace(b"objects/bucket-", name.encode())
        bad = _with_checksum(bad)

        assert decoded(header_block(generation) + bad + record(generation, [good])) == [len(bad), good]


def _with_checksum(content: bytes) -> bytes:
    """Correct the checksum of a record with one blob."""
    magic, generation, length, count, _ = struct.unpack_from("<8s16sIII", content)
    body = content[36 : 36 + length]
    return struct.pack("<8s16sIII", magic, generation, length, count, zlib.crc32(body, count)) + content[36:]


def test_a_record_inside_of_a_clients_bytes_is_not_read() -> None:
    forged = record(new_generation(), [short_blob()])
    blobs = [LoggedBlob(short_blob().place, bytes(shift) + forged) for shift in range(0, BLOCK, 16)]
    content = bytearray(segment(blobs[:100]))
    content[BLOCK + 30] ^= 1  # the record that holds them is damaged, so every block of it is looked at

    assert decoded(bytes(content)) == []


@given(st.binary(max_size=3 * BLOCK), st.integers(0, 3 * BLOCK), st.binary(max_size=64))
def test_any_bytes_are_read_without_an_error(tail: bytes, at: int, change: bytes) -> None:
    content = segment([short_blob()])[: 3 * BLOCK]

    decoded(tail)
    decoded(content[:at] + change + content[at + len(change) :])
    decoded(content + tail)
