"""Blocks of lines, as bytes: packed and compressed, searched without decoding every line (pure).

    4 bytes      length of the head
    head         MessagePack [places, times, lengths]: integers, one of each for a line
    body         the encoded records, one after another, in the order of time

A filter gives needles: bytes that each matching line contains. Only lines with all of them are decoded and compared.
"""

import bisect
from collections.abc import Iterator, Sequence
from itertools import accumulate

import msgspec

from broker.compression import compress, decompress
from broker.logs.lines import StoredLine, decode_record
from broker.logs.query import LogFilter

_MOST_BYTES = 64 * 1024 * 1024
_HEAD_LENGTH = 4
_encode_head = msgspec.msgpack.Encoder().encode
_decode_head = msgspec.msgpack.Decoder(tuple[list[int], list[int], list[int]]).decode


def pack(lines: Sequence[StoredLine]) -> bytes:
    """Return a block of lines that are ordered by time."""
    head = _encode_head((
        [line.place for line in lines], [line.at_ms for line in lines], [len(line.data) for line in lines],
    ))  # fmt: skip
    return compress(b"".join((len(head).to_bytes(_HEAD_LENGTH, "big"), head, *(line.data for line in lines))))


def unpack(data: bytes) -> list[StoredLine]:
    """Return all lines of a block. Raises: NotCompressed."""
    return list(matching_lines(data, LogFilter()))


def matching_lines(data: bytes, query: LogFilter) -> Iterator[StoredLine]:
    """Yield the lines of a block that match, in their order. Raises: NotCompressed."""
    raw = decompress(data, _MOST_BYTES)
    start = _HEAD_LENGTH + int.from_bytes(raw[:_HEAD_LENGTH], "big")
    places, times, lengths = _decode_head(raw[_HEAD_LENGTH:start])
    starts = list(accumulate(lengths, initial=start))
    for index in _candidates(raw, starts, query):
        if query.since_ms <= times[index] < query.until_ms:
            record = raw[starts[index] : starts[index + 1]]
            line = StoredLine(places[index], times[index], record, decode_record(record))
            if query.matches(line.record):
                yield line


def _candidates(raw: bytes, starts: Sequence[int], query: LogFilter) -> Iterator[int]:
    """Yield the indexes of lines that contain all needles of the filter; of all lines without any."""
    names, words = query.needles()
    if not names and not words:
        yield from range(len(starts) - 1)
        return
    lower = raw.lower() if words else b""
    text, needle = (raw, names[0]) if names else (lower, words[0])
    at = text.find(needle, starts[0])
    while at >= 0:
        index = bisect.bisect_right(starts, at) - 1
        start, end = starts[index], starts[index + 1]
        if all(raw.find(name, start, end) >= 0 for name in names) and all(
            lower.find(word, start, end) >= 0 for word in words
        ):
            yield index
        at = text.find(needle, end)
