"""A shape on disk: the bytes of its snapshot, its log, and which row each key has now. One folder a shape.

    snapshot    the messages of the snapshot, joined as bodies have them; chunks are ranges of it
    state.db    SQLite: `chunks` (ranges), `log` (messages by offset), `rows` (key -> the row, in `snapshot` or by itself), `notes`

A change of the log and of the rows is one transaction of SQLite, so a killed process leaves either both or none. Nothing is synced:
after a crash of the whole machine the pool drops all shapes (`registry.py`). All functions block; the pool calls them in threads, one
at a time for each shape.
"""

import itertools
import shutil
import sqlite3
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from schemas.sync import SEPARATOR
from workers.sync.parameters import Offset

_SCHEMA = """
create table if not exists notes (name text primary key, value blob) without rowid;
create table if not exists chunks (number integer primary key, at integer, size integer);
create table if not exists log (lsn integer, number integer, body blob, primary key (lsn, number)) without rowid;
create table if not exists rows (key blob primary key, at integer, size integer, value blob) without rowid;
"""
_AT_ONCE = 500
"""Keys in one statement."""
_INDEXED_AT_ONCE = 2000
_VALUE, _HEADERS = b',"value":', b',"headers":{"operation":"insert"'
_KEY = len(b'{"key":')


class ShapeStore:
    """One shape on disk."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self.folder = folder
        self._database = sqlite3.connect(folder / "state.db", check_same_thread=False, isolation_level=None)
        for setting in ("journal_mode = wal", "synchronous = off", "cache_size = -512", "temp_store = file"):
            self._database.execute(f"pragma {setting}")
        self._database.executescript(_SCHEMA)
        self._file = (folder / "snapshot").open("a+b")
        self._written = self._file.seek(0, 2)

    # Notes

    def note(self, **notes: bytes) -> None:
        """Store facts about the shape."""
        with self._transaction():
            self._note(notes)

    def notes(self) -> dict[str, bytes]:
        """Return all facts that were stored."""
        return dict(self._database.execute("select name, value from notes"))

    # The snapshot

    def append_chunk(self, number: int, messages: Sequence[bytes]) -> None:
        """Add a chunk of the snapshot."""
        body = SEPARATOR.join(messages)
        self._file.write(body)
        self._file.flush()
        with self._transaction():
            self._database.execute("insert into chunks values (?, ?, ?)", (number, self._written, len(body)))
        self._written += len(body)

    def chunk(self, number: int) -> bytes:
        """Return the messages of a chunk, joined. Raises: LookupError."""
        found = self._database.execute("select at, size from chunks where number = ?", (number,)).fetchone()
        if found is None:
            raise LookupError(f"there is no chunk {number}")
        return self._read(*found)

    def count_chunks(self) -> int:
        """Return the number of chunks."""
        (count,) = self._database.execute("select count(*) from chunks").fetchone()
        return int(count)

    def begin_index(self) -> None:
        """Forget what an earlier attempt has indexed."""
        self._database.execute("delete from rows")

    def index_chunk(self, number: int) -> None:
        """Note for each key of a chunk where its row stands. Memory does not grow with the snapshot."""
        with self._transaction():
            entries = self._entries(number)
            while some := list(itertools.islice(entries, _INDEXED_AT_ONCE)):
                self._database.executemany("insert or replace into rows values (?, ?, ?, null)", some)

    def end_index(self) -> None:
        """Note that every chunk is indexed."""
        self.note(indexed=b"1")

    def _entries(self, number: int) -> Iterator[tuple[bytes, int, int]]:
        at, size = self._database.execute(
            "select at, size from chunks where number = ?", (number,)
        ).fetchone()
        for message in self._read(at, size).split(SEPARATOR) if size else ():
            key_end = _end_of_text(message, _KEY)
            value_at = key_end + len(_VALUE)
            value_end = message.rindex(_HEADERS)
            yield message[_KEY:key_end], at + value_at, value_end - value_at
            at += len(message) + len(SEPARATOR)

    # Rows

    def rows_of(self, keys: Sequence[bytes]) -> dict[bytes, bytes]:
        """Return the rows of those keys that the shape has."""
        rows: dict[bytes, bytes] = {}
        for start in range(0, len(keys), _AT_ONCE):
            some = keys[start : start + _AT_ONCE]
            marks = ",".join("?" * len(some))
            statement = f"select key, at, size, value from rows where key in ({marks})"  # noqa: S608 - question marks alone
            for key, at, size, value in self._database.execute(statement, some):
                rows[key] = self._read(at, size) if value is None else value
        return rows

    def first_keys(self, most: int) -> list[bytes]:
        """Return the keys of the shape's rows, `most` at most."""
        return [key for (key,) in self._database.execute("select key from rows limit ?", (most,))]

    def begin_comparison(self) -> None:
        """Forget the keys of an earlier comparison."""
        self._database.execute("create temp table if not exists present (key blob primary key) without rowid")
        self._database.execute("delete from present")

    def add_present(self, keys: Iterable[bytes]) -> None:
        """Add keys that the caller sees now."""
        with self._transaction():
            self._database.executemany("insert or ignore into present values (?)", [(key,) for key in keys])

    def present_after(self, key: bytes, most: int) -> list[bytes]:
        """Return some of the keys that were added, in their order, behind one."""
        statement = "select key from present where key > ? order by key limit ?"
        return [found for (found,) in self._database.execute(statement, (key, most))]

    def end_comparison(self) -> int:
        """Compare: return how many keys are only here, or only among those that were added."""
        database = self._database
        database.execute("drop table if exists temp.differing")
        database.execute(
            "create temp table differing as"
            " select key from (select key from rows except select key from present)"
            " union all select key from (select key from present except select key from rows)"
        )
        database.execute("delete from present")
        (count,) = database.execute("select count(*) from differing").fetchone()
        return int(count)

    def differing(self, after: int, most: int) -> list[tuple[int, bytes]]:
        """Return some of the keys that differ, with their numbers, behind a number."""
        return self._database.execute(
            "select rowid, key from differing where rowid > ? order by rowid limit ?", (after, most)
        ).fetchall()

    # The log

    def apply(
        self, lsn: int, messages: Iterable[tuple[int, bytes]], rows: Mapping[bytes, bytes | None]
    ) -> None:
        """Append messages, and set or remove rows, at once."""
        with self._transaction():
            self._database.executemany(
                "insert into log values (?, ?, ?)", [(lsn, number, body) for number, body in messages]
            )
            self._database.executemany(
                "insert or replace into rows values (?, 0, 0, ?)",
                [(key, value) for key, value in rows.items() if value is not None],
            )
            self._database.executemany(
                "delete from rows where key = ?", [(key,) for key, value in rows.items() if value is None]
            )

    def log_after(self, offset: Offset, most: int) -> tuple[list[bytes], Offset, bool]:
        """Return messages behind an offset, about `most` bytes; the offset of the last; and whether it is the end."""
        bodies: list[bytes] = []
        size, last = 0, offset
        cursor = self._database.execute(
            "select lsn, number, body from log where (lsn, number) > (?, ?) order by lsn, number", offset
        )
        for lsn, number, body in cursor:
            if size >= most:
                cursor.close()
                return bodies, last, False
            bodies.append(body)
            size += len(body) + len(SEPARATOR)
            last = lsn, number
        return bodies, last, True

    def last_offset(self) -> Offset | None:
        """Return the offset of the last message of the log."""
        found = self._database.execute(
            "select lsn, number from log order by lsn desc, number desc limit 1"
        ).fetchone()
        return (found[0], found[1]) if found else None

    def sizes(self) -> tuple[int, int]:
        """Return the bytes of the snapshot, and of the whole folder."""
        total = sum(file.stat().st_size for file in self.folder.iterdir() if file.is_file())
        return self._written, total

    def close(self) -> None:
        """Close the files."""
        self._database.close()
        self._file.close()

    def remove(self) -> None:
        """Close the files and delete them."""
        self.close()
        shutil.rmtree(self.folder, ignore_errors=True)

    def _read(self, at: int, size: int) -> bytes:
        self._file.seek(at)
        return self._file.read(size)

    def _note(self, notes: Mapping[str, bytes]) -> None:
        self._database.executemany("insert or replace into notes values (?, ?)", list(notes.items()))

    @contextmanager
    def _transaction(self) -> Iterator[None]:
        self._database.execute("begin")
        try:
            yield
        except BaseException:
            self._database.execute("rollback")
            raise
        self._database.execute("commit")


def _end_of_text(message: bytes, start: int) -> int:
    """Return where the JSON text that begins at `start` ends."""
    at = start + 1
    while True:
        at = message.index(b'"', at)
        backslashes = at - len(message[:at].rstrip(b"\\"))
        if backslashes % 2 == 0:
            return at + 1
        at += 1
