"""Log lines of this process that wait to be sent to the store: encoded, bounded, never in the way of the process.

`add` is called on the hot path: it encodes the line and appends it (about 2 us). Beyond `_MOST_BYTES` lines are dropped and
counted; the count is sent with the next batch and observed as `LogLinesDropped`. `broker/observability/log_feed.py` takes
batches from here.

    observe, note_answer, the gateway -> LogBuffer.add -> [encoded lines] -> LogFeed -> stream LOGS -> the store
"""

import random
import secrets
import time
from collections.abc import Mapping
from typing import Any

import msgspec
from msgspec import Raw

from broker.observability.observations import RequestAnswered
from schemas.logs import LEVELS, LONGEST_LINE, MOST_LINES, LogBatch, LogRecord
from schemas.settings.log import LogStoreSettings

_MOST_BYTES = 4 * 1024 * 1024
_BATCH_BYTES = 512 * 1024
_LONGEST_TEXT = 1000
_LONGEST_TRACEBACK = 6000
_MOST_FIELDS = 64
_IDS = ("id", "request", "request_id")
_AREAS = ("pool", "area")
_encode = msgspec.msgpack.Encoder(enc_hook=str).encode


class LogBuffer:
    """The lines of one process that were not sent yet, and which requests leave lines."""

    def __init__(self, process: str, settings: LogStoreSettings, most_bytes: int = _MOST_BYTES) -> None:
        self.run = secrets.token_hex(8)
        """Distinguishes this process from all others, in the ids of its batches."""
        self.process = process
        self.slow_request_s = float(settings.slow_request)
        self.slow_statement_s = float(settings.slow_statement)
        self._fraction = settings.requests
        self._per_second = self._left = settings.requests_per_second
        self._second = 0
        self._most_bytes = most_bytes
        self._lines: list[bytes] = []
        self._bytes = 0
        self._number = 0
        self._dropped = 0
        self.dropped_total = 0
        """Lines that were dropped since the process started."""

    @property
    def waiting(self) -> int:
        """Number of lines that wait to be sent."""
        return len(self._lines)

    def samples(self) -> bool:
        """Return whether the request that begins now leaves lines although it is successful and quick: some a second, then a fraction."""
        second = int(time.monotonic())
        if second != self._second:
            self._second, self._left = second, self._per_second
        if self._left:
            self._left -= 1
            return True
        return self._fraction > 0 and random.random() < self._fraction

    def leaves_lines(self, status: int, duration_s: float, *, is_sampled: bool) -> bool:
        """Return whether a request that is over leaves lines."""
        return is_sampled or status >= 400 or duration_s >= self.slow_request_s

    def add(self, record: LogRecord) -> None:
        """Add a line. It is dropped and counted when the buffer is full."""
        try:
            data = _encode(record)
        except (UnicodeError, TypeError, OverflowError, RecursionError):
            data = b""
        if not data or len(data) > LONGEST_LINE:
            data = _encode(shortened(record))
        if self._bytes + len(data) > self._most_bytes:
            self.drop(1)
            return
        self._bytes += len(data)
        self._lines.append(data)

    def drop(self, lines: int) -> None:
        """Count lines that cannot be sent."""
        self._dropped += lines
        self.dropped_total += lines

    def add_line(self, level: str, text: str, fields: Mapping[str, object]) -> None:
        """Add a line of an observation or of a library, with its fields by name."""
        self.add(line_record(self.process, level, text, fields))

    def take(self, member: str) -> LogBatch | None:
        """Remove the oldest lines as a batch; None if there are none, and none were dropped."""
        if not self._lines and not self._dropped:
            return None
        count, size = 0, 0
        for data in self._lines[:MOST_LINES]:
            if count and size + len(data) > _BATCH_BYTES:
                break
            count, size = count + 1, size + len(data)
        lines = [Raw(data) for data in self._lines[:count]]
        del self._lines[:count]
        self._bytes -= size
        dropped, self._dropped = self._dropped, 0
        self._number += 1
        return LogBatch(self.run, self._number, member, dropped, lines)


def answer_record(process: str, answered: RequestAnswered) -> LogRecord:
    """Return the line of a request that a pool has answered."""
    fields: dict[str, Any] = {}
    if answered.sql_s:
        fields["sql_ms"] = round(answered.sql_s * 1000, 2)
    if answered.reason:
        fields["reason"] = answered.reason
    return LogRecord(
        time.time_ns() // 1_000_000,
        level_of_status(answered.status),
        process,
        "RequestAnswered",
        "A pool answered a request",
        answered.pool,
        answered.status,
        request_id=answered.id,
        duration_ms=round(answered.duration_s * 1000, 2),
        fields=fields,
    )


def level_of_status(status: int) -> str:
    """Return the level of a request's line: a status of 500 is an error, above it a warning."""
    if status < 500:
        return "info"
    return "error" if status == 500 else "warning"


def line_record(process: str, level: str, text: str, fields: Mapping[str, object]) -> LogRecord:
    """Return the record of a line: fields that can be searched by name become its own, the rest stay `fields` (pure but for the time)."""
    rest: dict[str, Any] = dict(fields)
    request_id = next((str(rest.pop(name)) for name in _IDS if rest.get(name)), "")
    area = next((str(rest.pop(name)) for name in _AREAS if rest.get(name)), "")
    status = rest.pop("status", 0)
    return LogRecord(
        at_ms=time.time_ns() // 1_000_000,
        level=level if level in LEVELS else "info",
        process=process,
        kind=str(rest.pop("kind", "")),
        text=text,
        area=area,
        status=status if isinstance(status, int) else 0,
        user=str(rest.pop("user_id", "")),
        function=str(rest.pop("function", "")),
        request_id=request_id,
        fields=rest,
    )


def shortened(record: LogRecord) -> LogRecord:
    """Return a line that can be encoded and is not too long: texts are cut, and what is not plain becomes text (pure)."""
    names = ("process", "kind", "text", "area", "user", "function", "request_id")
    texts = {name: _plain(getattr(record, name), _LONGEST_TEXT) for name in names}
    fields: dict[str, Any] = {}
    room = LONGEST_LINE // 2
    for name, value in list(record.fields.items())[:_MOST_FIELDS]:
        is_number = isinstance(value, int | float) and abs(value) < 2**63
        longest = _LONGEST_TRACEBACK if name == "traceback" else _LONGEST_TEXT
        fields[_plain(name, 100)] = value if is_number else _plain(_text(value), min(longest, max(room, 0)))
        room -= len(str(fields[_plain(name, 100)]))
    return msgspec.structs.replace(record, **texts, fields=fields)


def _text(value: object) -> str:
    try:
        return value if isinstance(value, str) else str(value)
    except RecursionError:
        return type(value).__name__


def _plain(text: str, longest: int) -> str:
    """Return a text of at most `longest` characters that can be encoded as UTF-8; of a longer one the end is cut off."""
    if len(text) > longest:
        text = f"{text[:longest]}... ({len(text)} characters)"
    return text.encode(errors="replace").decode()
