"""Messages of the streams of log lines -> lines for the store, each exactly once (pure but for the clock it is given).

A batch that comes a second time has the number of one that is stored. A number that is missing is a batch that left the stream
before it was read; that, and lines that a process had to drop, becomes a line of its own, so that a gap is seen where it is.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field

import msgspec

from broker.compression import NotCompressed, decompress
from broker.jetstream.ordered_reader import StoredMessage
from broker.logs.lines import StoredLine, checked_line, decode_function_line, function_record, place_of
from schemas.logs import MOST_LINES, LogBatch, LogRecord

LOGS, FUNCTION_LOGS = 0, 1
"""Sources of lines: indexes of `broker.logs.lines.SOURCES`."""
_MOST_BATCH_BYTES = 64 * 1024 * 1024
_decode = msgspec.msgpack.Decoder(LogBatch).decode


@dataclass(slots=True)
class ReadLines:
    """Lines of some messages, the last number of each process in them; how many messages were not readable; how many lines of
    functions were missing."""

    lines: list[StoredLine] = field(default_factory=list)
    runs: dict[str, int] = field(default_factory=dict)
    unreadable: int = 0
    missing: int = 0


def read_batches(messages: Sequence[StoredMessage], stored_runs: dict[str, int], now_ms: int) -> ReadLines:
    """Return the lines of batches that are not stored yet."""
    read = ReadLines()
    for message in messages:
        batch = _batch_of(message.payload)
        if batch is None:
            read.unreadable += 1
            continue
        last = read.runs.get(batch.run, stored_runs.get(batch.run, 0))
        if batch.number <= last:
            continue
        read.runs[batch.run] = batch.number
        if last and batch.number > last + 1:
            text = f"{batch.number - last - 1} batches of lines left the stream before they were stored"
            read.lines.append(_gap(message.seq, len(batch.lines), batch, text, now_ms))
        if batch.dropped:
            text = f"{batch.dropped} lines were dropped, because more were written than could be sent"
            read.lines.append(_gap(message.seq, len(batch.lines) + 1, batch, text, now_ms))
        for index, data in enumerate(batch.lines[:MOST_LINES]):
            line = checked_line(place_of(LOGS, message.seq, index), bytes(data), now_ms)
            if line is not None:
                read.lines.append(line)
    return read


def read_function_lines(
    messages: Sequence[StoredMessage], stored_runs: dict[str, int], now_ms: int
) -> ReadLines:
    """Return the lines of functions."""
    read = ReadLines()
    for message in messages:
        try:
            line = decode_function_line(message.payload)
        except (msgspec.MsgspecError, RecursionError):
            read.unreadable += 1
            continue
        last = read.runs.get(line.run, stored_runs.get(line.run, 0))
        if last and line.number > last + 1:
            read.missing += line.number - last - 1
        if line.number:
            read.runs[line.run] = max(line.number, last)
        record = function_record(line, now_ms)
        read.lines.append(StoredLine.of(place_of(FUNCTION_LOGS, message.seq, 0), record))
    return read


def _batch_of(payload: bytes) -> LogBatch | None:
    try:
        return _decode(decompress(payload, _MOST_BATCH_BYTES))
    except (NotCompressed, msgspec.MsgspecError, RecursionError):
        return None


def _gap(seq: int, index: int, batch: LogBatch, text: str, now_ms: int) -> StoredLine:
    """Return the line that stands for lines that are missing. Their process's log file has them."""
    record = LogRecord(
        now_ms, "warning", "log store", "LogLinesMissing", text, fields={"member": batch.member}
    )
    return StoredLine.of(place_of(LOGS, seq, index), record)
