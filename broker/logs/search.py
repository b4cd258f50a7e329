"""Read the store: pages of a search, all lines of a request, new lines, histograms, values to filter by.

Lines come in the order of time, and of their places within a millisecond. Blocks overlap in time, because processes send their
lines when they can: a line is returned once no unread block can have a later one. A search that takes too long returns what it
has, with a cursor from where to go on. Works on the files alone; the writer may write meanwhile.
"""

import contextlib
import heapq
import sqlite3
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import msgspec
from msgspec import Struct

from broker.logs.lines import SOURCES, StoredLine, source_and_seq
from broker.logs.query import InvalidLogQuery, LogFilter
from broker.logs.segment import BlockReference, LogSegment, StreamPosition
from broker.logs.store import segment_paths
from schemas.logs import LogRecord
from schemas.numbers import parse_whole_number

MOST_OF_REQUEST = 2000
"""Lines of one request that are returned."""
_LONGEST_S = 5.0
_MOST_NUMBER = (1 << 62) - 1
_MOST_BUCKETS = 500
_LEAST_BUCKET_MS = 60_000
_MOST_NEW_BLOCKS = 200
"""Blocks that one look for new lines reads: fresh ones have some lines, others 512."""


class LogPage(Struct, frozen=True):
    """Lines, the newest first. `next`: cursor of the next page, empty at the end; `is_complete`: whether the page was filled or all read."""

    lines: list[StoredLine]
    next: str
    is_complete: bool


class NewLines(Struct, frozen=True):
    """Lines in the order of arrival, and the cursor of what comes after them.

    `is_gap`: the cursor was too far behind, and what arrived since is left out; a search finds it.
    """

    lines: list[StoredLine]
    next: str
    is_gap: bool = False


class HistogramBar(Struct, frozen=True):
    """Number of lines of a level from `at_ms` on, for the width of the histogram's bars."""

    at_ms: int
    level: str
    lines: int


class Histogram(Struct, frozen=True):
    """Bars in the order of time. `is_complete`: whether all matching lines are counted."""

    width_ms: int
    bars: list[HistogramBar]
    is_complete: bool


class FieldValue(Struct, frozen=True):
    """A value that lines can be filtered by, and how many have it."""

    value: str
    lines: int


class StoreState(Struct, frozen=True):
    """What the store has."""

    lines: int
    bytes: int
    first_ms: int
    last_ms: int


def search(
    folder: Path, query: LogFilter, limit: int, cursor: str = "", longest_s: float = _LONGEST_S
) -> LogPage:
    """Return up to `limit` matching lines before the cursor. Raises: InvalidLogQuery, sqlite3.Error."""
    before = _read_pair(cursor) if cursor else (_MOST_NUMBER, _MOST_NUMBER)
    narrowed = replace(query, until_ms=min(query.until_ms, before[0] + 1))
    stop_at = time.monotonic() + longest_s
    page: list[StoredLine] = []
    with _segments(folder) as segments:
        for line in _newest_first(segments, narrowed, before, stop_at):
            if isinstance(line, int):  # the time is over: all later lines were returned
                return LogPage(page, f"{line + 1}.0", is_complete=False)
            page.append(line)
            if len(page) == limit:
                return LogPage(page, f"{line.at_ms}.{line.place}", is_complete=True)
    return LogPage(page, "", is_complete=True)


def lines_of_request(folder: Path, request_id: str, longest_s: float = _LONGEST_S) -> LogPage:
    """Return the lines of a request in the order of time, the first 2,000 of the newest. Raises: sqlite3.Error."""
    page = search(folder, LogFilter(request_id=request_id), MOST_OF_REQUEST, longest_s=longest_s)
    return LogPage(page.lines[::-1], page.next, page.is_complete)


def new_lines(folder: Path, query: LogFilter, limit: int, cursor: str = "") -> NewLines:
    """Return lines that arrived after the cursor; without one, none, and the cursor of what comes next.

    Lines of one message are returned together, so there may be more than `limit`. Raises: InvalidLogQuery, sqlite3.Error.
    """
    with _segments(folder) as segments:
        if not cursor:
            return NewLines([], _cursor_of(_stored_seqs(segments)))
        seqs = _read_pair(cursor)
        stored = _stored_seqs(segments)
        if any(seq > last for seq, last in zip(seqs, stored, strict=True)):  # the stream was created again
            return NewLines([], _cursor_of(stored))
        references: list[BlockReference] = []
        for segment in reversed(segments):
            newer = segment.arrived_after(seqs, _MOST_NEW_BLOCKS)
            references += newer
            if not newer or len(references) >= _MOST_NEW_BLOCKS:
                break
        if len(references) >= _MOST_NEW_BLOCKS:
            return NewLines([], _cursor_of(stored), is_gap=True)
        arrived = [
            line for reference in references for line in reference.lines(query) if _is_after(line, seqs)
        ]
    arrived.sort(key=lambda line: (line.at_ms, line.place))
    lines, last = [], list(seqs)
    for source in range(len(SOURCES)):
        of_source = sorted(
            (line for line in arrived if line.place % len(SOURCES) == source), key=lambda line: line.place
        )
        if len(of_source) > limit:
            cut = source_and_seq(of_source[limit - 1].place)[1]
            lines += [line for line in of_source if source_and_seq(line.place)[1] <= cut]
            last[source] = cut
        else:
            lines += of_source
            last[source] = stored[source]
    lines.sort(key=lambda line: (line.at_ms, line.place))
    return NewLines(lines, _cursor_of((last[0], last[1])))


def histogram(folder: Path, query: LogFilter, bars: int, longest_s: float = _LONGEST_S) -> Histogram:
    """Count matching lines by time and level, in up to `bars` bars of whole minutes. Raises: InvalidLogQuery, sqlite3.Error."""
    if not 1 <= bars <= _MOST_BUCKETS:
        raise InvalidLogQuery(f"`histogram` must be 0, or 1 to {_MOST_BUCKETS} bars")
    stop_at = time.monotonic() + longest_s
    with _segments(folder) as segments:
        times = [ends for segment in segments if (ends := segment.times()) is not None]
        if not times:
            return Histogram(_LEAST_BUCKET_MS, [], is_complete=True)
        since = max(query.since_ms, min(first for first, _ in times))
        until = min(query.until_ms, max(last for _, last in times) + 1)
        minutes = max(1, -(-(until - since) // (bars * _LEAST_BUCKET_MS)))
        width = minutes * _LEAST_BUCKET_MS
        counts: Counter[tuple[int, str]] = Counter()
        is_complete = True
        for segment in reversed(segments):
            if not query.needs_lines:
                for minute, level, lines in segment.counts(query):
                    counts[minute // width * width, level] += lines
                continue
            for reference in segment.blocks(query):
                if time.monotonic() > stop_at:
                    is_complete = False
                    break
                for line in reference.lines(query):
                    counts[line.at_ms // width * width, line.record.level] += 1
    result = [HistogramBar(at, level, lines) for (at, level), lines in sorted(counts.items())]
    return Histogram(width, result, is_complete)


def field_values(folder: Path) -> dict[str, list[FieldValue]]:
    """Return the values that lines can be filtered by, the most frequent first: process, area, kind, function. Raises: sqlite3.Error."""
    counts: Counter[tuple[str, str]] = Counter()
    with _segments(folder) as segments:
        for segment in segments:
            for field, value, lines in segment.names():
                counts[field, value] += lines
    fields: dict[str, list[FieldValue]] = {}
    for (field, value), lines in counts.most_common():
        fields.setdefault(field, []).append(FieldValue(value, lines))
    return fields


def store_state(folder: Path) -> StoreState:
    """Return how many lines the store has, from when to when, and its bytes. Raises: sqlite3.Error."""
    lines, times = 0, list[tuple[int, int]]()
    with _segments(folder) as segments:
        for segment in segments:
            lines += segment.count()
            times += [ends] if (ends := segment.times()) is not None else []
    size = sum(path.stat().st_size for path in segment_paths(folder))
    return StoreState(
        lines,
        size,
        min((first for first, _ in times), default=0),
        max((last for _, last in times), default=0),
    )


def line_fields(record: LogRecord) -> dict[str, object]:
    """Return a line as JSON shows it: without fields that are empty."""
    named = msgspec.structs.asdict(record)
    return {name: value for name, value in named.items() if value not in ("", 0, 0.0, {})}


@contextlib.contextmanager
def _segments(folder: Path) -> Iterator[list[LogSegment]]:
    """Open all segments for reading, the oldest first; one that was deleted meanwhile, or cannot be read, is left out."""
    segments: list[LogSegment] = []
    try:
        for path in segment_paths(folder):
            with contextlib.suppress(sqlite3.Error):
                segments.append(LogSegment.open(path))
        yield segments
    finally:
        for segment in segments:
            segment.close()


def _newest_first(
    segments: Sequence[LogSegment], query: LogFilter, before: tuple[int, int], stop_at: float
) -> Iterator[StoredLine | int]:
    """Yield matching lines, the newest first; when the time is over, the time (epoch ms) up to which blocks are unread."""
    references: Iterator[BlockReference] = heapq.merge(
        *(segment.blocks(query) for segment in segments), key=lambda reference: -reference.last_ms
    )
    waiting: list[tuple[int, int, StoredLine]] = []
    for number, reference in enumerate(references):
        while waiting and -waiting[0][0] > reference.last_ms:
            yield heapq.heappop(waiting)[2]
        if number and time.monotonic() > stop_at:
            yield reference.last_ms
            return
        for line in reference.lines(query):
            if (line.at_ms, line.place) < before:
                heapq.heappush(waiting, (-line.at_ms, -line.place, line))
    while waiting:
        yield heapq.heappop(waiting)[2]


def _stored_seqs(segments: Sequence[LogSegment]) -> tuple[int, int]:
    """Return the number of the last stored message of each source."""
    positions: dict[str, StreamPosition] = segments[-1].state()[0] if segments else {}
    first, second = (positions[name].seq if name in positions else 0 for name in SOURCES)
    return first, second


def _is_after(line: StoredLine, seqs: tuple[int, int]) -> bool:
    source, seq = source_and_seq(line.place)
    return seq > seqs[source]


def _cursor_of(seqs: tuple[int, int]) -> str:
    return f"{seqs[0]}.{seqs[1]}"


def _read_pair(cursor: str) -> tuple[int, int]:
    """Return the two numbers of a cursor. Raises: InvalidLogQuery."""
    first, _, second = cursor.partition(".")
    numbers = (parse_whole_number(first, most=_MOST_NUMBER), parse_whole_number(second, most=_MOST_NUMBER))
    if numbers[0] is None or numbers[1] is None:
        raise InvalidLogQuery("`cursor` must be one that an answer contains")
    return numbers[0], numbers[1]
