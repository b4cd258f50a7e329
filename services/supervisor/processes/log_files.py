"""Log files of the children: one each, rotated by size; and which of their lines a terminal shows."""

import contextlib
import json
import re
from collections import deque
from collections.abc import Iterable
from io import FileIO
from pathlib import Path

LIMIT = 10 * 1024 * 1024
"""Bytes after which a log file is rotated."""
OLDER_FILES = 3
"""Number of older files: NAME.log.1 is the newest."""

_LONGEST_LINE = 16 * 1024
_TAIL = 60
"""Lines that are kept in memory."""

_POSTGRES = re.compile(rb"(WARNING|FATAL|PANIC):\s+(.*)")
_POSTGRES_ROUTINE = re.compile(
    rb"terminating connection due to|the database system is (starting up|shutting down|not yet accepting)"
)
_NATS = re.compile(
    rb"\[(WRN|ERR|FTL)\]\s+(?!Plaintext passwords detected)(.*)"
)  # only the platform's user can read the file
_LEVELS = frozenset({"warning", "error", "critical"})
_REFUSAL = "! "
"""With this a child's lines begin that are for the user: why it does not start."""
_FIELDS = (
    "pool", "part", "stream", "subject", "function", "hook", "status", "sqlstate", "id", "request", "error", "reason",
    "message", "hint", "repeated",
)  # fmt: skip
"""Fields of a line that the terminal and the supervisor's log show: what, for whom, why, how often."""


class LogFile:
    """Log file of one child. Keeps the last 60 lines in memory: they contain the reason when a child does not start."""

    def __init__(self, path: Path, *, limit: int = LIMIT, older_files: int = OLDER_FILES) -> None:
        self.path = path
        self.tail: deque[str] = deque(maxlen=_TAIL)
        self._limit = limit
        self._older_files = older_files
        self._incomplete_line = b""
        self._file = _opened(path)

    def write(self, data: bytes) -> list[bytes]:
        """Write a piece of a child's output; return the lines it completes, without line ends."""
        with contextlib.suppress(OSError, ValueError):  # a full disk or a closed file: the platform goes on
            if self._file.tell() + len(data) > self._limit and self._file.tell():
                with contextlib.suppress(OSError):  # without room for another file this one grows
                    self._rotate()
            self._file.write(data)
        *lines, self._incomplete_line = (self._incomplete_line + data).split(b"\n")
        if len(self._incomplete_line) > _LONGEST_LINE:
            lines.append(self._incomplete_line)
            self._incomplete_line = b""
        self.tail.extend(line.decode(errors="replace") for line in lines if line.strip())
        return lines

    def close(self) -> None:
        """Close the file."""
        self._file.close()

    def _rotate(self) -> None:
        new_file = self.path.with_name(f"{self.path.name}.next")
        file = _opened(new_file)  # first: a disk without room must not push the older files out
        try:
            for number in range(self._older_files, 0, -1):
                older = log_name(self.path, number - 1)
                if older.exists():
                    older.rename(log_name(self.path, number))
            new_file.rename(self.path)
        except OSError:
            file.close()
            new_file.unlink(missing_ok=True)
            raise
        self._file.close()
        self._file = file


def _opened(path: Path) -> FileIO:
    """Open a log. It has no buffer: what a full disk does not take is lost, and closing never fails for it."""
    file = path.open("ab", buffering=0)
    path.chmod(0o600)
    return file


def log_name(path: Path, number: int) -> Path:
    """Return the name of the n-th older file of a log; 0 is the log itself."""
    return path.with_name(f"{path.name}.{number}") if number else path


def warning_in(line: bytes) -> str | None:
    """Return the text that a terminal shows of a child's line, or None for a routine line (pure).

    Reads the formats of Postgres and nats-server and the JSON of our processes. An ERROR of Postgres is a client's failed
    statement, so it stays in the log file.
    """
    if line.startswith(b"{"):
        return _json_warning(line)
    if match := _NATS.search(line):
        return match[2].decode(errors="replace")
    if (match := _POSTGRES.search(line)) and not _POSTGRES_ROUTINE.search(match[2]):
        return match[2].decode(errors="replace")
    return None


def reason_in(tail: Iterable[str]) -> str:
    """Return the line that best explains why a child exited: its last FATAL or error, else its last line (pure)."""
    lines = [line.strip() for line in tail if line.strip()]
    for line in reversed(lines):
        if warning := warning_in(line.encode()):
            return warning
    return lines[-1] if lines else "it wrote nothing"


def is_nats_warning(line: bytes) -> bool:
    """Return whether a line of nats-server is a warning, not an error (pure)."""
    return b"[WRN]" in line


def notice_in(line: bytes) -> str | None:
    """Return the step that a child reports to the user (JSON of level `notice`), or None (pure)."""
    if not line.startswith(b'{"level": "notice"'):
        return None
    try:
        return str(json.loads(line)["event"])
    except (ValueError, KeyError):
        return None


def refusal_in(tail: Iterable[str]) -> str | None:
    """Return the error text that a child wrote for the user: its last lines that begin with `! `; None without any (pure)."""
    lines = [line[len(_REFUSAL) :] for line in tail if line.startswith(_REFUSAL)]
    return "\n".join(lines).strip() or None


def _json_warning(line: bytes) -> str | None:
    try:
        entry = json.loads(line)
    except ValueError:
        return None
    if not isinstance(entry, dict) or str(entry.get("level", "")).lower() not in _LEVELS:
        return None
    rest = {key: entry[key] for key in _FIELDS if entry.get(key) not in (None, "")}
    details = ", ".join(f"{key}: {value}" for key, value in rest.items())
    return f"{entry.get('event', 'warning')}{f' ({details})' if details else ''}"
