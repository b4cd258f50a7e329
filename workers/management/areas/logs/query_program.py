"""Runs a SELECT over log lines in an SQLite database in memory; a program for a process of its own.

    python -m workers.management.areas.logs.query_program

A `LogSqlTask` is read from stdin as JSON, a `LogSqlRows` written to stdout; with exit code 3 the output is the message of an error.

What a text can do is bounded four times: SQLite's authorizer allows SELECT from `lines` and functions alone (no ATTACH, PRAGMA, writes or
extensions); a handler that SQLite calls every few thousand steps ends it after `LONGEST_S`; its memory has a limit; and the process has
limits of CPU, memory and files, for what a single step of SQLite does. The pool ends the process when its time is over (query_process.py).
Source: SQLite, "Compile-Time Authorization Callbacks", "Run-Time Limits", "PRAGMA hard_heap_limit".
"""

import resource
import sqlite3
import sys
import time
from typing import Any

import msgspec
from msgspec import Struct

REJECTED = 3
"""Exit code with which the output is the message of an error."""
LONGEST_S = 3.0
COLUMNS = (
    "id", "at", "at_ms", "level", "process", "kind", "area", "status", "user", "function", "request_id", "duration_ms", "text", "fields",
)  # fmt: skip
"""The columns of the table `lines`. `at` is RFC 3339 in UTC, `at_ms` milliseconds since 1970, `fields` JSON."""
_TYPES = {"at_ms": "integer", "status": "integer", "duration_ms": "real"}
_MOST_HEAP = 128 * 1024 * 1024
_MOST_MEMORY = 1024 * 1024 * 1024
_MOST_VALUE = 1024 * 1024
"""Bytes of one value, and so of a row."""
_MOST_RESULT_COLUMNS = 100
_STEPS = 2000
_EXACT = 2**53
_ALLOWED = {sqlite3.SQLITE_SELECT, sqlite3.SQLITE_READ, sqlite3.SQLITE_FUNCTION, sqlite3.SQLITE_RECURSIVE}


class LogSqlTask(Struct, frozen=True):
    """A SELECT, the lines as rows of `COLUMNS`, and the most rows and bytes of the result."""

    sql: str
    lines: list[list[str | int | float | None]]
    most_rows: int
    most_bytes: int


class LogSqlRows(Struct, frozen=True):
    """The result. `is_cut`: there are more rows than may be returned."""

    columns: list[str]
    rows: list[list[Any]]
    is_cut: bool


class LogSqlRejected(Exception):
    """The text cannot be run, or took too long; the text says why."""


def run_query(task: LogSqlTask) -> LogSqlRows:
    """Run a task. Raises: LogSqlRejected."""
    with sqlite3.connect(":memory:") as connection:
        _fill(connection, task.lines)
        _confine(connection)
        try:
            return _rows(connection.execute(task.sql), task)
        except (sqlite3.Error, sqlite3.Warning, MemoryError) as error:
            raise LogSqlRejected(_reason(error)) from None


def _reason(error: Exception) -> str:
    text = str(error)
    if text == "interrupted":
        return f"it took longer than {LONGEST_S:g} seconds; choose fewer lines or a simpler query"
    if "not authorized" in text or "prohibited" in text:
        return "only SELECT from the table `lines` may run"
    if isinstance(error, MemoryError):
        return "it needs more memory than a query may have"
    return text or type(error).__name__


def _fill(connection: sqlite3.Connection, lines: list[list[str | int | float | None]]) -> None:
    connection.execute(f"pragma hard_heap_limit = {_MOST_HEAP}")
    connection.execute("pragma temp_store = memory")
    columns = ", ".join(f'"{name}" {_TYPES.get(name, "text")}' for name in COLUMNS)
    connection.execute(f"create table lines ({columns})")
    places = ", ".join("?" * len(COLUMNS))
    connection.executemany(f"insert into lines values ({places})", lines)  # noqa: S608 - question marks
    connection.commit()


def _confine(connection: sqlite3.Connection) -> None:
    """Leave a connection in which a text can only read `lines`, for `LONGEST_S` from now on."""
    connection.execute("pragma query_only = on")
    connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, _MOST_VALUE)
    connection.setlimit(sqlite3.SQLITE_LIMIT_COLUMN, _MOST_RESULT_COLUMNS)
    connection.setlimit(sqlite3.SQLITE_LIMIT_EXPR_DEPTH, 100)
    connection.setlimit(sqlite3.SQLITE_LIMIT_COMPOUND_SELECT, 20)
    connection.setlimit(sqlite3.SQLITE_LIMIT_LIKE_PATTERN_LENGTH, 500)
    connection.set_authorizer(_authorize)
    until = time.monotonic() + LONGEST_S
    connection.set_progress_handler(lambda: time.monotonic() > until, _STEPS)


def _authorize(action: int, first: str | None, second: str | None, *_: str | None) -> int:
    """Return whether a step of a statement may be compiled. For READ `first` is a table, for FUNCTION `second` a function."""
    is_allowed = action in _ALLOWED
    if action == sqlite3.SQLITE_READ and (first or "").lower().startswith(("sqlite_", "pragma_")):
        is_allowed = False
    if action == sqlite3.SQLITE_FUNCTION and (second or "").lower() == "load_extension":
        is_allowed = False
    return sqlite3.SQLITE_OK if is_allowed else sqlite3.SQLITE_DENY


def _rows(cursor: sqlite3.Cursor, task: LogSqlTask) -> LogSqlRows:
    if cursor.description is None:
        raise LogSqlRejected("the text has no SELECT")
    columns = [str(column[0]) for column in cursor.description]
    rows: list[list[Any]] = []
    size = 0
    for row in cursor:
        values = [_value(value) for value in row]
        size += len(msgspec.json.encode(values))
        if len(rows) == task.most_rows or size > task.most_bytes:
            return LogSqlRows(columns, rows, is_cut=True)
        rows.append(values)
    return LogSqlRows(columns, rows, is_cut=False)


def _value(value: object) -> object:
    """Return a value as JSON has it: what no number of JSON stands for exactly becomes text."""
    if isinstance(value, bytes):
        return value.hex()
    if isinstance(value, int) and abs(value) > _EXACT:
        return str(value)
    if isinstance(value, float) and value in (float("inf"), float("-inf")):
        return str(value)
    return value


def main() -> int:
    """Read a task, run it, write its rows."""
    resource.setrlimit(resource.RLIMIT_CPU, (round(LONGEST_S) + 5, round(LONGEST_S) + 5))
    resource.setrlimit(resource.RLIMIT_AS, (_MOST_MEMORY, _MOST_MEMORY))
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))
    task = msgspec.json.decode(sys.stdin.buffer.read(), type=LogSqlTask)
    try:
        output = msgspec.json.encode(run_query(task))
    except LogSqlRejected as error:
        sys.stdout.buffer.write(str(error).encode(errors="replace"))
        return REJECTED
    sys.stdout.buffer.write(output)
    return 0


if __name__ == "__main__":
    sys.exit(main())
