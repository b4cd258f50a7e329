"""Conditions and ranges of a download: what a client has already, and which bytes it wants. Pure.

Source: RFC 9110, 13 and 14; reference page "storage", section 6.3.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import format_datetime, parsedate_to_datetime

from schemas.numbers import clamp_whole_number

_RANGE = re.compile(r"bytes=([0-9]*)-([0-9]*)", re.IGNORECASE)
_TAG = re.compile(r'(?:W/)?"[^"]*"|\*')


class RangeRefused(Exception):
    """No byte of the body is in the range, or there are several ranges."""


@dataclass(frozen=True, slots=True)
class Range:
    """Bytes from `start` up to, not including, `stop`."""

    start: int
    stop: int

    @property
    def size(self) -> int:
        """Give how many bytes it has."""
        return self.stop - self.start


def is_unchanged(headers: Mapping[str, str], etag: str, modified: int) -> bool:
    """Tell whether the client has the body: by its tags, else by its date in whole seconds. Names are in lower case."""
    tags = headers.get("if-none-match")
    if tags is not None:
        return bool(etag) and any(each == "*" or _bare(each) == _bare(etag) for each in _TAG.findall(tags))
    since = _moment(headers.get("if-modified-since"))
    return bool(modified) and since is not None and modified <= since


def range_of(headers: Mapping[str, str], size: int, etag: str, modified: int) -> Range | None:
    """Give the range that is asked for; None for the whole body.

    A range under `If-Range` is for the body that the client knows. What is no range of bytes is not looked at.
    Raises: RangeRefused.
    """
    text = headers.get("range")
    if text is None or not text.strip().lower().startswith("bytes"):
        return None
    known = headers.get("if-range")
    if known is not None and not _is_same(known, etag, modified):
        return None
    found = _RANGE.fullmatch("".join(text.split()))
    if found is None or not (found[1] or found[2]):
        raise RangeRefused
    first, last = (clamp_whole_number(part, most=size) for part in found.groups())
    if first is None:  # the last so many
        start, stop = size - (last or 0), size
    else:
        start, stop = first, size if last is None else min(last, size - 1) + 1
    if start >= size or start >= stop:
        raise RangeRefused
    return Range(start, stop)


def http_date(modified: int) -> str:
    """Write a time of epoch seconds as headers have it."""
    return format_datetime(datetime.fromtimestamp(modified, UTC), usegmt=True)


def _is_same(known: str, etag: str, modified: int) -> bool:
    """Compare an `If-Range`: a strong tag, or the very date."""
    if known.startswith(('"', "W/")):
        return known == etag and not known.startswith("W/")
    return bool(modified) and _moment(known) == modified


def _bare(tag: str) -> str:
    return tag.removeprefix("W/")


def _moment(text: str | None) -> int | None:
    if not text:
        return None
    try:
        return int(parsedate_to_datetime(text).timestamp())
    except (ValueError, TypeError, OverflowError):
        return None
