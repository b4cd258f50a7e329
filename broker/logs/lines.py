"""Lines as the store holds them: checked, with a place in the order of arrival; and the terms by which blocks of them are found.

A block is found by the terms of its lines: words of text and fields, and one term for each value that can be asked for by name
(`xl` level, `xa` area, `xp` process, `xf` function, `xu` user, `xr` request id, `xs` status, `xk` kind). Whether a line of that
block really matches is checked on the line, so a term that two values share costs time and nothing else.
"""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import msgspec

from schemas.functions.log_events import LogLine
from schemas.logs import LEVELS, LogRecord

SOURCES = ("LOGS", "FUNCTION_LOGS")
"""Streams that lines come from; their index is in the place of each line."""
MOST_IN_MESSAGE = 1 << 12
"""Lines of one message that a place can number."""
_LATEST_MS = 1 << 53
WORD = re.compile(r"[^\W_]+")

encode_record = msgspec.msgpack.Encoder().encode
decode_record = msgspec.msgpack.Decoder(LogRecord).decode
decode_function_line = msgspec.msgpack.Decoder(LogLine).decode


@dataclass(slots=True, frozen=True)
class StoredLine:
    """A line, its encoded form and its place: `place_of(source, seq, index)`. Places of a source grow in the order of arrival."""

    place: int
    at_ms: int
    data: bytes
    record: LogRecord

    @classmethod
    def of(cls, place: int, record: LogRecord, data: bytes = b"") -> "StoredLine":
        """Return the line of a record; `data` is its encoded form if that is at hand."""
        return cls(place, record.at_ms, data or encode_record(record), record)


def place_of(source: int, seq: int, index: int) -> int:
    """Return the place of a line: the source, the message's number in its stream, the index in the message."""
    return ((seq * MOST_IN_MESSAGE) + min(index, MOST_IN_MESSAGE - 1)) * len(SOURCES) + source


def source_and_seq(place: int) -> tuple[int, int]:
    """Return source and message number of a place."""
    return place % len(SOURCES), place // len(SOURCES) // MOST_IN_MESSAGE


def checked_line(place: int, data: bytes, now_ms: int) -> StoredLine | None:
    """Return an encoded line with usable values, None for one that is not a line. A time ahead of the clock becomes `now_ms`."""
    try:
        record = decode_record(data)
    except (msgspec.MsgspecError, RecursionError):
        return None
    if 0 < record.at_ms <= now_ms and record.level in LEVELS:
        return StoredLine(place, record.at_ms, data, record)
    at_ms = record.at_ms if 0 < record.at_ms <= now_ms else now_ms
    level = record.level if record.level in LEVELS else "info"
    return StoredLine.of(place, msgspec.structs.replace(record, at_ms=at_ms, level=level))


def function_record(line: LogLine, now_ms: int) -> LogRecord:
    """Return the record of a line of a function. What it printed is text, whatever it looks like."""
    at_ms = round(line.at * 1000) if 0 < line.at * 1000 < _LATEST_MS else now_ms
    return LogRecord(
        at_ms=min(at_ms, now_ms),
        level=line.level if line.level in LEVELS else "info",
        process="functions",
        kind=f"function {line.event}",
        text=line.text,
        area="functions",
        function=line.function,
        request_id=line.request_id,
        fields={"version": line.version, "execution": line.execution},
    )


def name_term(prefix: str, value: str) -> str:
    """Return the term of a value that is asked for by name: letters and digits alone, of other scripts their bytes."""
    if not value.isascii():
        plain = value.lower().encode().hex()
    else:
        plain = value.replace("-", "").lower()
        if not plain.isalnum():
            plain = "".join(WORD.findall(plain))
    return prefix + plain[:200]


def terms_of(records: Iterable[LogRecord]) -> str:
    """Return the terms of a block, for the index: its distinct names and words, separated by blanks."""
    texts: set[str] = set()
    requests: set[str] = set()
    users: set[str] = set()
    common: set[tuple[str, str, str, str, str, int]] = set()
    for record in records:
        requests.add(record.request_id)
        users.add(record.user)
        common.add((record.level, record.area, record.process, record.function, record.kind, record.status))
        texts.add(record.text)
        for value in record.fields.values():
            if isinstance(value, str):
                texts.add(value)
            elif not isinstance(value, int | float):
                texts.update(strings_of(value))
    terms = {name_term("xr", value) for value in requests if value}
    terms |= {name_term("xu", value) for value in users if value}
    for *names, status in common:
        terms |= {
            name_term(prefix, str(value)) for prefix, value in zip(_COMMON, names, strict=True) if value
        }
        if status:
            terms |= {f"xs{status}", f"xs{status // 100}xx"}
    return " ".join([*terms, *texts])


_COMMON = ("xl", "xa", "xp", "xf", "xk")


def strings_of(value: Any) -> Iterator[str]:
    """Yield the strings in the fields of a line: values at any depth, without names."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for item in value.values():
            yield from strings_of(item)
    elif isinstance(value, list):
        for item in value:
            yield from strings_of(item)
