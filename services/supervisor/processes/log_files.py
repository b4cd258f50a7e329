"""Log files of the children: one each, turned over by size; and which of their lines a terminal should show."""

import contextlib
import json
import re
from collections import deque
from collections.abc import Iterable
from pathlib import Path

LIMIT = 10 * 1024 * 1024
"""Bytes after which a log file is turned over."""
KEPT = 3
"""Older files that are kept: NAME.log.1 is the youngest."""

_LONGEST_LINE = 16 * 1024
_TAIL = 60

_POSTGRES = re.compile(rb"(WARNING|FATAL|PANIC):\s+(.*)")
_POSTGRES_ROUTINE = re.compile(
    rb"terminating connection due to|the database system is (starting up|shutting down|not yet accepting)"
)
_NATS = re.compile(
    rb"\[(WRN|ERR|FTL)\]\s+(?!Plaintext passwords detected)(.*)"
)  # its file is readable by us alone
_LEVELS = frozenset({"warning", "error", "critical"})
_REFUSAL = "! "
_SHOWN = (
    "pool", "part", "stream", "subject", "function", "hook", "status", "sqlstate", "id", "request", "error", "reason",
    "message", "hint", "repeated",
)  # fmt: skip
"""Fields of a line that the terminal and the supervisor's log show: what, for whom, why, how often."""


class LogFile:
    """One child's log. Keeps the last lines in memory: they tell why a child did not start."""

    def __init__(self, path: Path, *, limit: int = LIMIT, kept: int = KEPT) -> None:
        self.path = path
        self.tail: deque[str] = deque(maxlen=_TAIL)
        self._limit = limit
        self._kept = kept
        self._rest = b""
        self._file = path.open("ab")
        path.chmod(0o600)

    def write(self, data: bytes) -> list[bytes]:
        """Write a piece of a child's output; give the lines it completes, without line ends."""
        with contextlib.suppress(
            OSError, ValueError
        ):  # a full disk, a closed file: logging ends, the rest goes on
            if self._file.tell() + len(data) > self._limit and self._file.tell():
                self._turn_over()
            self._file.write(data)
            self._file.flush()
        *lines, self._rest = (self._rest + data).split(b"\n")
        if len(self._rest) > _LONGEST_LINE:
            lines.append(self._rest)
            self._rest = b""
        self.tail.extend(line.decode(errors="replace") for line in lines if line.strip())
        return lines

    def close(self) -> None:
        """Close the file."""
        self._file.close()

    def _turn_over(self) -> None:
        self._file.close()
        for number in range(self._kept, 0, -1):
            older = log_name(self.path, number - 1)
            if older.exists():
                older.rename(log_name(self.path, number))
        self._file = self.path.open("ab")
        self.path.chmod(0o600)


def log_name(path: Path, number: int) -> Path:
    """Give the name of the n-th older file of a log; 0 is the log itself."""
    return path.with_name(f"{path.name}.{number}") if number else path


def warning_in(line: bytes) -> str | None:
    """Give what a terminal should show of a child's line; None if it is routine (pure).

    Reads Postgres' and nats-server's own forms and our processes' JSON. An ERROR of Postgres is some client's
    failed statement, so it stays in the log.
    """
    if line.startswith(b"{"):
        return _json_warning(line)
    if found := _NATS.search(line):
        return found[2].decode(errors="replace")
    if (found := _POSTGRES.search(line)) and not _POSTGRES_ROUTINE.search(found[2]):
        return found[2].decode(errors="replace")
    return None


def reason_in(tail: Iterable[str]) -> str:
    """Give the line that best tells why a child ended: its last FATAL or error, else its last words (pure)."""
    lines = [line.strip() for line in tail if line.strip()]
    for line in reversed(lines):
        if shown := warning_in(line.encode()):
            return shown
    return lines[-1] if lines else "it said nothing"


def notice_in(line: bytes) -> str | None:
    """Give a step that a child tells the user, JSON of level `notice`; None if the line is none (pure)."""
    if not line.startswith(b'{"level": "notice"'):
        return None
    try:
        return str(json.loads(line)["event"])
    except (ValueError, KeyError):
        return None


def refusal_in(tail: Iterable[str]) -> str | None:
    """Give a refusal in a child's own words: its last lines that begin with `! `; None if there are none (pure)."""
    found = [line[len(_REFUSAL) :] for line in tail if line.startswith(_REFUSAL)]
    return "\n".join(found).strip() or None


def _json_warning(line: bytes) -> str | None:
    try:
        entry = json.loads(line)
    except ValueError:
        return None
    if not isinstance(entry, dict) or str(entry.get("level", "")).lower() not in _LEVELS:
        return None
    rest = {key: entry[key] for key in _SHOWN if entry.get(key) not in (None, "")}
    shown = ", ".join(f"{key}: {value}" for key, value in rest.items())
    return f"{entry.get('event', 'warning')}{f' ({shown})' if shown else ''}"
