"""`limit`, `offset` and the `Range` header, as rows. Source: reference page "rest", section 11; RFC 9110, 14.2."""

import re

from schemas.numbers import clamp_whole_number
from workers.rest.errors import RangeNotSatisfiable
from workers.rest.model import Bound, Range

_HEADER = re.compile(r"([0-9]+)-([0-9]*)")
_INTEGER = re.compile(r"-?[0-9]+")
LARGEST = 2**63 - 1
"""Bounds beyond what Postgres counts are cut to it."""


def parse_range_header(value: str | None) -> Range:
    """Read a `Range` header, both ends included: `0-9` is the first ten rows, `5-` runs to the end.

    Other forms (`bytes=0-9`) are ignored.
    Raises: RangeNotSatisfiable if the end lies before the start.
    """
    found = _HEADER.fullmatch(value or "")
    if not found:
        return Range()
    first = _whole(found[1])
    if not found[2]:
        return Range(first)
    last = min(_whole(found[2]), LARGEST - 1)
    if last < first:
        raise RangeNotSatisfiable(
            "The lower boundary must be lower than or equal to the upper boundary in the Range header."
        )
    return Range(first, last - first + 1)


def parse_limit(text: str) -> int | None:
    """Read `limit`; what is no integer is ignored.

    Raises: RangeNotSatisfiable if it is negative.
    """
    if not _INTEGER.fullmatch(text):
        return None
    limit = _whole(text.removeprefix("-"))
    if limit and text.startswith("-"):
        raise RangeNotSatisfiable("Limit should be greater than or equal to zero.")
    return limit


def parse_offset(text: str) -> int:
    """Read `offset`; what is no integer, or negative, is ignored."""
    return _whole(text) if _INTEGER.fullmatch(text) and not text.startswith("-") else 0


def _whole(digits: str) -> int:
    return clamp_whole_number(digits, most=LARGEST) or 0


def intersection(one: Range, other: Range) -> Range:
    """Give the rows that lie in both ranges. Neither may hold a slot unless the other is whole."""
    if other == Range():
        return one
    if one == Range():
        return other
    offset = max(_number(one.offset), _number(other.offset))
    ends = [_number(r.offset) + _number(r.limit) for r in (one, other) if r.limit is not None]
    return Range(offset, max(min(ends) - offset, 0) if ends else None)


def _number(bound: Bound) -> int:
    if not isinstance(bound, int):
        raise TypeError("a range with a slot cannot be intersected")
    return bound
