"""One file of the store: blocks of lines, the index of their terms, counts, and the positions in the streams.

    blocks     512 lines, ordered by time, compressed; with the first and the last time, and the last message of each source. Fewer
               lines are a fresh block, which is not in the index; fresh blocks are merged as soon as they have 512 lines together
    terms      full-text index over the blocks (FTS5, row number = block): terms only, neither text nor places of words
    counts     lines by minute, level and area, for histograms
    names      how often each process, area, kind and function occurs
    positions  stream -> when it was created, and the number of the last message whose lines are here
    runs       process -> the number of its last batch that is here

Lines, positions and runs change in one transaction. So what is read again from a stream is recognized, and nothing is stored
twice or lost, wherever the process is killed. Source: SQLite, "Write-Ahead Logging", "FTS5" (detail, contentless tables).
"""

import contextlib
import sqlite3
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from broker.logs.blocks import matching_lines, pack, unpack
from broker.logs.lines import StoredLine, source_and_seq, terms_of
from broker.logs.query import LogFilter

BLOCK_LINES = 512
_MINUTE_MS = 60_000
_NAMES_OF = ("process", "area", "kind", "function")
_BUSY_S = 5.0
_SCHEMA = """
create table blocks (id integer primary key, is_fresh integer not null, first_ms integer not null, last_ms integer not null,
    lines integer not null, seq_0 integer not null, seq_1 integer not null, data blob not null);
create index fresh_blocks on blocks (lines) where is_fresh;
create index blocks_by_time on blocks (last_ms, first_ms);
create index blocks_by_line on blocks (seq_0);
create index blocks_by_function_line on blocks (seq_1);
create virtual table terms using fts5 (t, content = '', columnsize = 0, detail = none, tokenize = 'unicode61 remove_diacritics 0');
create table counts (minute integer, level text, area text, lines integer not null, primary key (minute, level, area)) without rowid;
create table names (field text, value text, lines integer not null, primary key (field, value)) without rowid;
create table positions (stream text primary key, created text not null, seq integer not null) without rowid;
create table runs (run text primary key, number integer not null) without rowid;
pragma user_version = 1;
"""
_BLOCKS_BY_TIME = (
    """select id, first_ms, last_ms from blocks where last_ms >= ? and first_ms < ? order by last_ms desc"""
)
_BLOCKS_BY_TERMS = """select id, first_ms, last_ms from blocks where last_ms >= ? and first_ms < ?
    and (is_fresh or id in (select rowid from terms where terms match ?)) order by last_ms desc"""
_BLOCKS_BY_ARRIVAL = """select id, first_ms, last_ms from blocks where seq_0 > ? or seq_1 > ? limit ?"""


@dataclass(frozen=True, slots=True)
class StreamPosition:
    """How far a stream was read: when it was created, and the number of the last message whose lines are stored."""

    created: str
    seq: int


@dataclass(frozen=True, slots=True)
class BlockReference:
    """Where a block is, and the times of its first and last line."""

    segment: "LogSegment"
    id: int
    first_ms: int
    last_ms: int

    def lines(self, query: LogFilter) -> Iterator[StoredLine]:
        """Read the matching lines, in the order of time. Raises: sqlite3.Error, NotCompressed."""
        [data] = self.segment.database.execute("select data from blocks where id = ?", (self.id,)).fetchone()
        return matching_lines(data, query)


class LogSegment:
    """An open file. Use it from one thread at a time. Raises sqlite3.Error from every method."""

    def __init__(self, path: Path, database: sqlite3.Connection) -> None:
        self.path, self.database = path, database
        self._fresh: list[StoredLine] | None = None
        """The lines of fresh blocks, once the writer has read them."""

    @classmethod
    def create(cls, path: Path) -> "LogSegment":
        """Open a file for writing, and create what is missing."""
        segment = cls(
            path, sqlite3.connect(path, timeout=_BUSY_S, isolation_level=None, check_same_thread=False)
        )
        database = segment.database
        database.execute("pragma journal_mode = wal")
        database.execute("pragma synchronous = normal")
        database.execute("pragma journal_size_limit = 4194304")
        if not database.execute("pragma user_version").fetchone()[0]:
            database.executescript(f"begin;{_SCHEMA}commit;")
        return segment

    @classmethod
    def open(cls, path: Path) -> "LogSegment":
        """Open an existing file for reading, as it is now."""
        database = sqlite3.connect(
            f"{path.as_uri()}?mode=ro",
            uri=True,
            timeout=_BUSY_S,
            isolation_level=None,
            check_same_thread=False,
        )
        segment = cls(path, database)
        try:
            database.execute("begin")  # all reads see one state: fresh lines may become blocks meanwhile
            segment.times()
        except sqlite3.Error:
            segment.close()
            raise
        return segment

    def close(self) -> None:
        """Close the file."""
        self.database.close()

    # Writing

    def append(
        self, lines: Sequence[StoredLine], positions: dict[str, StreamPosition], runs: dict[str, int]
    ) -> None:
        """Add lines in one transaction, with what is read of the streams after them."""
        with self._transaction():
            if lines:
                self._add(lines)
                self._count(lines)
            self.set_state(positions, runs)

    def set_state(self, positions: dict[str, StreamPosition], runs: dict[str, int]) -> None:
        """Set positions and the last batches of processes."""
        self.database.executemany(
            "insert or replace into positions values (?, ?, ?)",
            [(stream, position.created, position.seq) for stream, position in positions.items()],
        )
        self.database.executemany("insert or replace into runs values (?, ?)", list(runs.items()))

    def _add(self, lines: Sequence[StoredLine]) -> None:
        """Add lines as blocks, oldest first; the newest that are fewer than a block stay fresh."""
        database = self.database
        if self._fresh is None:
            rows = database.execute("select data from blocks where is_fresh")
            self._fresh = [line for (data,) in rows for line in unpack(data)]
        merged = [*self._fresh, *lines]
        if len(merged) < BLOCK_LINES:
            _insert(database, sorted(lines, key=_order), is_fresh=True)
            self._fresh = merged
            return
        merged.sort(key=_order)
        database.execute("delete from blocks where is_fresh")
        whole = len(merged) - len(merged) % BLOCK_LINES
        for start in range(0, whole, BLOCK_LINES):
            block = merged[start : start + BLOCK_LINES]
            id = _insert(database, block, is_fresh=False)
            database.execute(
                "insert into terms (rowid, t) values (?, ?)", (id, terms_of(line.record for line in block))
            )
        if merged[whole:]:
            _insert(database, merged[whole:], is_fresh=True)
        self._fresh = merged[whole:]

    def _count(self, lines: Sequence[StoredLine]) -> None:
        common = Counter(
            [
                (
                    line.at_ms // _MINUTE_MS,
                    record.level,
                    record.area,
                    record.process,
                    record.kind,
                    record.function,
                )
                for line in lines
                for record in (line.record,)
            ]
        )
        counts: Counter[tuple[int, str, str]] = Counter()
        names: Counter[tuple[str, str]] = Counter()
        for (minute, level, area, process, kind, function), count in common.items():
            counts[minute, level, area] += count
            for name, value in zip(_NAMES_OF, (process, area, kind, function), strict=True):
                if value:
                    names[name, value] += count
        self.database.executemany(
            "insert into counts values (?, ?, ?, ?) on conflict do update set lines = lines + excluded.lines",
            [(*key, count) for key, count in counts.items()],
        )
        self.database.executemany(
            "insert into names values (?, ?, ?) on conflict do update set lines = lines + excluded.lines",
            [(*key, count) for key, count in names.items()],
        )

    @contextlib.contextmanager
    def _transaction(self) -> Iterator[None]:
        self.database.execute("begin immediate")
        try:
            yield
            self.database.execute("commit")
        except BaseException:
            self._fresh = None
            with contextlib.suppress(sqlite3.Error):  # SQLite rolls some errors back by itself
                self.database.execute("rollback")
            raise

    # Reading

    def state(self) -> tuple[dict[str, StreamPosition], dict[str, int]]:
        """Return the positions by stream, and the number of the last batch by process."""
        positions = {
            stream: StreamPosition(created, seq)
            for stream, created, seq in self.database.execute("select stream, created, seq from positions")
        }
        return positions, dict(self.database.execute("select run, number from runs"))

    def times(self) -> tuple[int, int] | None:
        """Return the times of the first and the last line; None without lines."""
        [first, last] = self.database.execute("select min(first_ms), max(last_ms) from blocks").fetchone()
        return None if first is None else (first, last)

    def count(self) -> int:
        """Return the number of lines."""
        [[lines]] = self.database.execute("select coalesce(sum(lines), 0) from blocks")
        return int(lines)

    def blocks(self, query: LogFilter) -> Iterator[BlockReference]:
        """Yield the blocks that may have matching lines, those that end last first."""
        times = (query.since_ms, query.until_ms)
        if expression := query.index_expression():
            rows = self.database.execute(_BLOCKS_BY_TERMS, (*times, expression))
        else:
            rows = self.database.execute(_BLOCKS_BY_TIME, times)
        yield from [BlockReference(self, *row) for row in rows]

    def arrived_after(self, seqs: tuple[int, int], most: int) -> list[BlockReference]:
        """Return up to `most` blocks with lines of messages after these numbers, one for each source."""
        rows = self.database.execute(_BLOCKS_BY_ARRIVAL, (*seqs, most))
        return [BlockReference(self, *row) for row in rows]

    def counts(self, query: LogFilter) -> Iterator[tuple[int, str, int]]:
        """Yield minute (epoch milliseconds), level and number of lines for a filter of times, levels and area alone."""
        rows = self.database.execute(
            "select minute, level, area, lines from counts where minute >= ? and minute < ?",
            (query.since_ms // _MINUTE_MS, min(-(-query.until_ms // _MINUTE_MS), 1 << 60)),
        )
        for minute, level, area, lines in rows:
            if level in query.levels and (not query.area or area == query.area):
                yield minute * _MINUTE_MS, level, lines

    def names(self) -> Iterator[tuple[str, str, int]]:
        """Yield field, value and number of lines of what lines can be filtered by."""
        yield from self.database.execute(
            "select field, value, lines from names order by lines desc limit 2000"
        ).fetchall()


def _order(line: StoredLine) -> tuple[int, int]:
    return line.at_ms, line.place


def _insert(database: sqlite3.Connection, lines: Sequence[StoredLine], *, is_fresh: bool) -> int:
    """Insert lines that are ordered by time as one block; return its number."""
    last = [-1, -1]
    for line in lines:
        source, seq = source_and_seq(line.place)
        last[source] = max(last[source], seq)
    times = (lines[0].at_ms, lines[-1].at_ms)
    cursor = database.execute(
        "insert into blocks (is_fresh, first_ms, last_ms, lines, seq_0, seq_1, data) values (?, ?, ?, ?, ?, ?, ?)",
        (is_fresh, *times, len(lines), *last, pack(lines)),
    )
    assert cursor.lastrowid is not None
    return cursor.lastrowid


def total_size(paths: Iterable[Path]) -> int:
    """Return the bytes of segment files, with what SQLite keeps beside them."""
    size = 0
    for path in paths:
        for name in (path.name, f"{path.name}-wal", f"{path.name}-shm"):
            with contextlib.suppress(OSError):
                size += path.with_name(name).stat().st_size
    return size
