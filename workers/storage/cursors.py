"""Cursors of listings: where a page ended, as a text that clients hand back. Pure. Source: reference page "storage", 6.6."""

import base64
import binascii
import re
from dataclasses import dataclass
from datetime import datetime

from workers.storage.errors import invalid_parameter

COLUMNS = ("name", "created_at", "updated_at")
ORDERS = ("asc", "desc")
_LONGEST = 4096
_LINE = re.compile(r"([loca]):(.*)", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Cursor:
    """The last name of a page, how it was sorted, and by dates the last date."""

    last: str = ""
    order: str = "asc"
    column: str = "name"
    after: str = ""
    """ISO 8601; empty where names sort."""

    def text(self) -> str:
        """Spell it."""
        lines = [f"l:{self.last}", f"o:{self.order}", f"c:{self.column}"]
        if self.after:
            lines.append(f"a:{self.after}")
        return base64.b64encode("\n".join(lines).encode()).decode()


def parse_cursor(text: str) -> Cursor:
    """Read a cursor. Raises: StorageError (InvalidParameter)."""
    try:
        lines = base64.b64decode(text[:_LONGEST], validate=True).decode().split("\n")
    except (binascii.Error, UnicodeDecodeError, ValueError):
        raise _bad() from None
    found: dict[str, str] = {}
    for line in lines:
        parts = _LINE.fullmatch(line)
        if parts is None or parts[1] in found:
            raise _bad()
        found[parts[1]] = parts[2]
    cursor = Cursor(
        found.get("l", ""),
        found.get("o", "asc") or "asc",
        found.get("c", "name") or "name",
        found.get("a", ""),
    )
    _refuse_if_bad(cursor)
    return cursor


def _refuse_if_bad(cursor: Cursor) -> None:
    if not cursor.last or "\0" in cursor.last or cursor.order not in ORDERS or cursor.column not in COLUMNS:
        raise _bad()
    if cursor.column == "name" and not cursor.after:
        return
    try:
        moment = datetime.fromisoformat(cursor.after)
    except ValueError:
        raise _bad() from None
    if moment.tzinfo is None:
        raise _bad()


def _bad() -> Exception:
    return invalid_parameter("continuation token")
