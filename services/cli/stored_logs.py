"""The store of log lines on the terminal: which lines a command shows, and how a line is shown.

The files of the store are read directly, so this works while the platform is stopped, or Postgres and NATS are down.
"""

import re
import sqlite3
import time
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import msgspec

from broker.logs import search
from broker.logs.lines import StoredLine
from broker.logs.query import LogFilter
from schemas.logs import LogRecord
from schemas.settings.types import Duration

_POLL_S = 0.3
_PAGE = 500
_UNPRINTED = re.compile(r"[\x00-\x1f\x7f-\x9f\u200e\u200f\u2028-\u202e\u2066-\u2069]")
_COLOURS = {"debug": "2", "info": "0", "warning": "33", "error": "31"}


class InvalidTime(ValueError):
    """A text that is neither a time nor an age."""


def read_time(text: str, now_s: float) -> int:
    """Return epoch milliseconds of a time (`2026-12-01T08:30:00Z`) or an age (`15m`, `2h`, `7d`). Raises: InvalidTime."""
    try:
        days, is_days, rest = text.partition("d")
        if is_days and not rest:
            return round((now_s - Duration(f"{days}s") * 86400) * 1000)
        return round((now_s - Duration(text)) * 1000)
    except ValueError:
        pass
    try:
        at = datetime.fromisoformat(text)
        return round((at if at.tzinfo else at.astimezone()).timestamp() * 1000)
    except (ValueError, OverflowError):
        raise InvalidTime(
            f"{text!r} is neither a time such as 2026-12-01T08:30:00Z nor an age such as 15m, 2h or 7d"
        ) from None


def last_lines(folder: Path, query: LogFilter, count: int) -> list[StoredLine]:
    """Return the last matching lines, the oldest first. Raises: sqlite3.Error."""
    lines: list[StoredLine] = []
    cursor = ""
    while len(lines) < count:
        page = search.search(folder, query, min(count - len(lines), _PAGE), cursor)
        lines += page.lines
        cursor = page.next
        if not cursor:
            break
    return lines[::-1]


def following(folder: Path, query: LogFilter, cursor: str) -> Iterator[StoredLine]:
    """Yield matching lines that arrive after a cursor, for ever; a store that cannot be read at a time is read again."""
    while True:
        try:
            arrived = search.new_lines(folder, query, _PAGE, cursor)
        except sqlite3.Error:
            time.sleep(_POLL_S)
            continue
        cursor = arrived.next
        yield from arrived.lines
        if not arrived.lines:
            time.sleep(_POLL_S)


def json_line(record: LogRecord) -> str:
    """Return a line as JSON on one line."""
    fields = search.line_fields(record)
    fields["at"] = _time_text(record.at_ms)
    del fields["at_ms"]
    return msgspec.json.encode({"at": fields.pop("at"), **fields}).decode()


def text_line(record: LogRecord, *, is_coloured: bool) -> str:
    """Return a line for people: characters that a terminal would obey are shown as escapes."""
    parts = [
        record.process,
        record.area if record.area != record.process else "",
        str(record.status or ""),
        f"{record.duration_ms:g}ms" if record.duration_ms else "",
        record.function,
        record.text,
        *(f"{name}={value}" for name, value in record.fields.items() if value not in ("", None)),
        f"user={record.user}" if record.user else "",
        f"request={record.request_id}" if record.request_id else "",
    ]
    level = f"{record.level:<7}"
    if is_coloured:
        level = f"\x1b[{_COLOURS.get(record.level, '0')}m{level}\x1b[0m"
    return f"{_time_text(record.at_ms)} {level} {plain(' '.join(part for part in parts if part))}"


def plain(text: str) -> str:
    """Return a text with control characters as escapes (pure)."""
    return _UNPRINTED.sub(lambda match: match[0].encode("unicode_escape").decode(), text)


def _time_text(at_ms: int) -> str:
    return datetime.fromtimestamp(at_ms / 1000, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
