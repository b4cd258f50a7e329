"""Cursors of listings: the position after a page, as a text that clients send back. Pure.

Source: docs/reference/storage.md, section 6.6.
"""

import base64
import binascii
import re
from dataclasses import dataclass
from datetime import datetime

from workers.storage.model.errors import invalid_parameter

COLUMNS = ("name", "created_at", "updated_at")
ORDERS = ("asc", "desc")
_LONGEST = 4096
_LINE = re.compile(r"([loca]):(.*)", re.DOTALL)


@dataclass(frozen=True, slots=True)
class ListingCursor:
    """The last name of a page, the sort order and column, and the last date if sorted by date."""

    last: str = ""
    order: str = "asc"
    column: str = "name"
    after: str = ""
    """ISO 8601; empty when sorted by name."""

    def text(self) -> str:
        """Encode the cursor."""
        lines = [f"l:{self.last}", f"o:{self.order}", f"c:{self.column}"]
        if self.after:
            lines.append(f"a:{self.after}")
        return base64.b64encode("\n".join(lines).encode()).decode()


def parse_cursor(text: str) -> ListingCursor:
    """Decode a cursor. Raises: StorageError (InvalidParameter)."""
    try:
        lines = base64.b64decode(text[:_LONGEST], validate=True).decode().split("\n")
    except (binascii.Error, UnicodeDecodeError, ValueError):
        raise _bad() from None
    values: dict[str, str] = {}
    for line in lines:
        parts = _LINE.fullmatch(line)
        if parts is None or parts[1] in values:
            raise _bad()
        values[parts[1]] = parts[2]
    cursor = ListingCursor(
        values.get("l", ""),
        values.get("o", "asc") or "asc",
        values.get("c", "name") or "name",
        values.get("a", ""),
    )
    _refuse_if_bad(cursor)
    return cursor


def _refuse_if_bad(cursor: ListingCursor) -> None:
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
