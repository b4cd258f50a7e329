"""Conditions and ranges of a download: what a client has already, and which bytes it requests. Pure.

Source: RFC 9110, 13 and 14; docs/reference/storage.md, section 6.3.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass

from schemas.http_dates import parse_http_date
from schemas.numbers import clamp_whole_number

_RANGE = re.compile(r"bytes=([0-9]*)-([0-9]*)", re.IGNORECASE)
_TAG = re.compile(r'(?:W/)?"[^"]*"|\*')


class InvalidByteRange(Exception):
    """No byte of the body is in the range, or there are several ranges."""


@dataclass(frozen=True, slots=True)
class ByteRange:
    """Bytes from `start` up to, not including, `stop`."""

    start: int
    stop: int

    @property
    def size(self) -> int:
        """Return how many bytes it has."""
        return self.stop - self.start


def is_unchanged(headers: Mapping[str, str], etag: str, modified: int) -> bool:
    """Return whether the client has the body: by its tags, else by its date in whole seconds. Names are in lower case."""
    tags = headers.get("if-none-match")
    if tags is not None:
        return bool(etag) and any(tag == "*" or _bare(tag) == _bare(etag) for tag in _TAG.findall(tags))
    since = parse_http_date(headers.get("if-modified-since"))
    return bool(modified) and since is not None and modified <= since


def range_of(headers: Mapping[str, str], size: int, etag: str, modified: int) -> ByteRange | None:
    """Return the requested range; None for the whole body.

    A range with `If-Range` applies only to the body that the client has. Other range units are ignored.
    Raises: InvalidByteRange.
    """
    text = headers.get("range")
    if text is None or not text.strip().lower().startswith("bytes"):
        return None
    validator = headers.get("if-range")
    if validator is not None and not _is_same(validator, etag, modified):
        return None
    match = _RANGE.fullmatch("".join(text.split()))
    if match is None or not (match[1] or match[2]):
        raise InvalidByteRange
    first, last = (clamp_whole_number(part, most=size) for part in match.groups())
    if first is None:  # a suffix range: the last n bytes
        start, stop = size - (last or 0), size
    else:
        start, stop = first, size if last is None else min(last, size - 1) + 1
    if start >= size or start >= stop:
        raise InvalidByteRange
    return ByteRange(start, stop)


def _is_same(validator: str, etag: str, modified: int) -> bool:
    """Compare an `If-Range`: a strong tag, or the very date."""
    if validator.startswith(('"', "W/")):
        return validator == etag and not validator.startswith("W/")
    return bool(modified) and parse_http_date(validator) == modified


def _bare(tag: str) -> str:
    return tag.removeprefix("W/")
