"""The events of a live read: a whole result, or what is different from the one before as a JSON Patch. Pure.

A result is the text `<Content-Range>\\n<body>` (`read_queries.py`). The rows of a body are compared as texts, so numbers keep all their
digits. Source: WHATWG HTML, "Server-sent events"; RFC 6902 (JSON Patch); RFC 6901 (JSON Pointer).
"""

import hashlib
from collections.abc import Iterator
from difflib import SequenceMatcher

import msgspec

_MOST_ROWS = 2000
"""Rows between the first and the last difference that are compared; with more, the whole result is sent."""
_read_rows = msgspec.json.Decoder(list[msgspec.Raw]).decode
UNCHANGED = b"event: unchanged\ndata: {}\n\n"
EXPIRED = b'event: expired\ndata: {"message":"JWT expired"}\n\n'


def result_id(result: bytes) -> bytes:
    """Return the id of a result: equal results have equal ids, on every edge."""
    return hashlib.blake2b(result, digest_size=16).hexdigest().encode()


def result_event(result: bytes) -> bytes:
    """Return the event with a whole result."""
    content_range, _, body = result.partition(b"\n")
    return _range_event(content_range) + _event(b"result", result_id(result), body)


def change_event(before: bytes, after: bytes) -> bytes:
    """Return the event that leads from one result to the next: a patch, or the whole result where that is not longer."""
    old_range, _, old = before.partition(b"\n")
    new_range, _, new = after.partition(b"\n")
    patch = _patch(old, new)
    if patch is None or len(patch) >= len(new):
        return result_event(after)
    ranged = _range_event(new_range) if new_range != old_range else b""
    return ranged + _event(b"patch", result_id(after), patch)


def error_event(body: bytes) -> bytes:
    """Return the event before the end of a stream whose read failed: the body of its error."""
    return _event(b"error", b"", body)


def _event(name: bytes, id: bytes, data: bytes) -> bytes:
    # A carriage return can only be white space between the tokens of JSON; here it would end the line.
    lines = b"\ndata: ".join(data.replace(b"\r", b" ").split(b"\n"))
    return b"%bevent: %b\ndata: %b\n\n" % (b"id: %b\n" % id if id else b"", name, lines)


def _range_event(content_range: bytes) -> bytes:
    """Return the event with a range whose total is known; nothing for one without a count."""
    if not content_range or content_range.endswith(b"/*"):
        return b""
    return b"event: range\ndata: %b\n\n" % content_range


def _patch(old: bytes, new: bytes) -> bytes | None:
    """Return the operations that turn one body into another; None if both are not lists, or differ in too many places."""
    if not (old.startswith(b"[") and new.startswith(b"[")):
        return None
    before = [bytes(row) for row in _read_rows(old)]
    after = [bytes(row) for row in _read_rows(new)]
    first, last = 0, 0
    shorter = min(len(before), len(after))
    while first < shorter and before[first] == after[first]:
        first += 1
    while last < shorter - first and before[-1 - last] == after[-1 - last]:
        last += 1
    changed, replacing = before[first : len(before) - last], after[first : len(after) - last]
    if max(len(changed), len(replacing)) > _MOST_ROWS:
        return None
    return b"[" + b",".join(_operations(changed, replacing, first)) + b"]"


def _operations(before: list[bytes], after: list[bytes], at: int) -> Iterator[bytes]:
    """Yield the operations for a stretch of rows that begins at an index. Each refers to the rows as the one before left them."""
    for _, start, end, new_start, new_end in SequenceMatcher(
        None, before, after, autojunk=False
    ).get_opcodes():
        place = at + new_start
        replaced = min(end - start, new_end - new_start)
        if before[start:end] != after[new_start:new_end]:
            for offset in range(replaced):
                yield _operation(b"replace", place + offset, after[new_start + offset])
            for _ in range(end - start - replaced):
                yield b'{"op":"remove","path":"/%d"}' % (place + replaced)
            for index in range(new_start + replaced, new_end):
                yield _operation(b"add", at + index, after[index])


def _operation(name: bytes, index: int, row: bytes) -> bytes:
    return b'{"op":"%b","path":"/%d","value":%b}' % (name, index, row)
