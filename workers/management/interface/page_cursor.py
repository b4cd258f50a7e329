"""Cursors of pages: the sort values of the last row as an opaque text. Pure."""

import base64
import binascii
from typing import TypeVar

import msgspec

from workers.management.interface.errors import ManagementError, invalid_arguments

_LONGEST = 8192
T = TypeVar("T")


def cursor_of(values: object) -> str:
    """Return the cursor of a page whose last row has these sort values."""
    return base64.urlsafe_b64encode(msgspec.json.encode(values)).decode().rstrip("=")


def read_cursor(cursor: str, kind: type[T]) -> T:
    """Return the values in a cursor. Raises: ManagementError (400) for a text that is not a cursor of these pages."""
    try:
        if len(cursor) > _LONGEST:
            raise ValueError
        data = base64.b64decode(cursor + "=" * (-len(cursor) % 4), altchars=b"-_", validate=True)
        return msgspec.json.decode(data, type=kind)
    except (binascii.Error, ValueError, msgspec.MsgspecError):
        raise invalid_arguments("`after` must be `next` of the page before") from None


def check_limit(limit: int, most: int) -> int:
    """Return the number of rows of a page. Raises: ManagementError (400) outside of 1 to `most`."""
    if not 1 <= limit <= most:
        raise invalid_arguments(f"`limit` must be 1 to {most}")
    return limit


def check_text(name: str, text: str, *, longest: int = 1024, least: int = 1) -> str:
    """Return a text that Postgres can store. Raises: ManagementError (400) for a NUL, half a character, or a length outside the bounds."""
    try:
        size = len(text.encode())
    except UnicodeEncodeError:
        raise invalid_arguments(f"`{name}` holds half of a surrogate pair") from None
    if "\0" in text or not least <= size <= longest:
        raise invalid_arguments(f"`{name}` must have {least} to {longest} bytes, none of them NUL")
    return text


def extension_missing(extension: str, purpose: str) -> ManagementError:
    """Return the error of an operation whose extension this database does not have."""
    return ManagementError(
        409,
        "extension_missing",
        f"{purpose} need the extension {extension}, which this database does not have",
        hint=f"create extension {extension};",
    )
