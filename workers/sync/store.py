"""A shape on disk: the bytes of its snapshot, its log, and which row each key has now. One folder a shape.

    snapshot    the bodies of the snapshot's answers, one behind the other: each is a chunk
    state.db    SQLite: `chunks` (ranges), `log` (messages by offset), `rows` (key -> the row, in `snapshot` or by itself), `notes`

A change of the log and of the rows is one transaction of SQLite, so a killed process leaves either both or none. Nothing is synced:
after a crash of the whole machine the pool drops all shapes (`registry.py`). All functions block; the pool calls them in threads, one
at a time for each shape.
"""

import asyncio
import shutil
import sqlite3
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TypeVar

from schemas.sync import SEPARATOR
from workers.sync.parameters import Offset

T = TypeVar("T")
_SCHEMA = """
create table if not exists notes (name text primary key, value blob) without rowid;
create table if not exists chunks (number integer primary key, at integer, size integer, rows_size integer);
create table if not exists log (lsn integer, number integer, body blob, primary key (lsn, number)) without rowid;
create table if not exists rows (key blob primary key, at integer, size integer, value blob) without rowid;
"""
_AT_ONCE = 500
"""Keys in one statement."""
_VALUE, _HEADERS = b',"value":', b',"headers":{"operation":"insert"'
_KEY, _VALUE_SIZE, _SEPARATOR_SIZE = len(b'{"key":'), len(_VALUE), len(SEPARATOR)


async def in_thread(work: Callable[[], T]) -> T:
    """Run work on a store in a thread. A caller that is cancelled waits for its end: nothing else may use the store meanwhile."""
    running = asyncio.ensure_future(asyncio.to_thread(work))
    try:
        return await asyncio.shield(running)
    except asyncio.CancelledError:
        while not running.done():
            with suppress(asyncio.CancelledError):
                await asyncio.wait([running])
        raise


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

    def append_chunk(self, number: int, pieces: Sequence[bytes], end: bytes = b"") -> None:
        """Add a chunk of the snapshot: some joined messages, and behind the last chunk the message `end`."""
        rows = SEPARATOR.join(pieces)
        body = b"".join((b"[", rows, SEPARATOR if rows and end else b"", end, b"]"))
        self._file.write(body)
        self._file.flush()
        with self._transaction():
            place = (number, self._written, len(body), len(rows))
            self._database.execute("insert into chunks values (?, ?, ?, ?)", place)
        self._written += len(body)

    def place_of_chunk(self, number: int) -> tuple[int, int]:
        """Return where the body of a chunk begins in the file `snapshot`, and its length. Raises: LookupError."""
        found = self._database.execute("select at, size from chunks where number = ?", (number,)).fetchone()
        if found is None:
            raise LookupError(f"there is no chunk {number}")
        return int(found[0]), int(found[1])

    def chunk(self, number: int) -> bytes:
        """Return the body of a chunk. Raises: LookupError."""
        return self._read(*self.place_of_chunk(number))

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
            statement = "insert or replace into rows values (?, ?, ?, null)"
            self._database.executemany(statement, self._entries(number))

    def end_index(self) -> None:
        """Note that every chunk is indexed."""
        self.note(indexed=b"1")

    def _entries(self, number: int) -> Iterator[tuple[bytes, int, int]]:
        """Return key, place and size of the value of each message; what stands before and behind a value has one length."""
        at, size = self._database.execute(
            "select at + 1, rows_size from chunks where number = ?", (number,)
        ).fetchone()
        messages = self._read(at, size).split(SEPARATOR) if size else []
        tail = len(messages[0]) - messages[0].rindex(_HEADERS) if messages else 0
        for message in messages:
            key_end = message.index(_VALUE, _KEY)  # a quote inside of a key follows a backslash
            yield (
                message[_KEY:key_end],
                at + key_end + _VALUE_SIZE,
                len(message) - tail - key_end - _VALUE_SIZE,
            )
            at += len(message) + _SEPARATOR_SIZE

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
