"""`limit`, `offset` and the `Range` header, as rows. Source: docs/reference/rest.md, section 11; RFC 9110, 14.2."""

import re

from schemas.numbers import clamp_whole_number
from workers.rest.errors.parse import RangeNotSatisfiable
from workers.rest.model import Bound, RowRange

_HEADER = re.compile(r"([0-9]+)-([0-9]*)")
_INTEGER = re.compile(r"-?[0-9]+")
LARGEST = 2**63 - 1
"""Bounds beyond what Postgres counts are cut to it."""


def parse_range_header(value: str | None) -> RowRange:
    """Read a `Range` header, both ends included: `0-9` is the first ten rows, `5-` runs to the end.

    Other forms (`bytes=0-9`) are ignored.
    Raises: RangeNotSatisfiable if the end lies before the start.
    """
    match = _HEADER.fullmatch(value or "")
    if not match:
        return RowRange()
    first = _whole(match[1])
    if not match[2]:
        return RowRange(first)
    last = min(_whole(match[2]), LARGEST - 1)
    if last < first:
        raise RangeNotSatisfiable(
            "The lower boundary must be lower than or equal to the upper boundary in the Range header."
        )
    return RowRange(first, last - first + 1)


def parse_limit(text: str) -> int | None:
    """Read `limit`; a text that is not an integer is ignored.

    Raises: RangeNotSatisfiable if it is negative.
    """
    if not _INTEGER.fullmatch(text):
        return None
    limit = _whole(text.removeprefix("-"))
    if limit and text.startswith("-"):
        raise RangeNotSatisfiable("Limit should be greater than or equal to zero.")
    return limit


def parse_offset(text: str) -> int:
    """Read `offset`; a negative number or a text that is not an integer is ignored."""
    return _whole(text) if _INTEGER.fullmatch(text) and not text.startswith("-") else 0


def _whole(digits: str) -> int:
    return clamp_whole_number(digits, most=LARGEST) or 0


def intersection(one: RowRange, other: RowRange) -> RowRange:
    """Return the rows that lie in both ranges. Neither may hold a slot unless the other is whole."""
    if other == RowRange():
        return one
    if one == RowRange():
        return other
    offset = max(_number(one.offset), _number(other.offset))
    ends = [_number(r.offset) + _number(r.limit) for r in (one, other) if r.limit is not None]
    return RowRange(offset, max(min(ends) - offset, 0) if ends else None)


def _number(bound: Bound) -> int:
    if not isinstance(bound, int):
        raise TypeError("a range with a slot cannot be intersected")
    return bound
