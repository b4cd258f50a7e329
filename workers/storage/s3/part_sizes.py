"""Sizes of the parts that an object was uploaded in, for `partNumber` of GetObject and HeadObject. Pure.

The column `metadata` holds them as runs: `[[5242880, 3], [17, 1]]` are three parts of 5 MiB and one of 17 bytes. Clients
make all parts but the last of one size, so this is short for 10,000 parts as well.
Source: GetObject of the Amazon S3 API reference, `partNumber`; docs/reference/storage.md, section 10.
"""

from collections.abc import Iterable, Mapping
from itertools import groupby

import msgspec

PART_SIZES = "partSizes"
"""Member of the column `metadata`."""


def part_sizes(sizes: Iterable[int]) -> list[list[int]]:
    """Return the runs of equal sizes: pairs of a size in bytes and a number of parts."""
    return [[size, len(list(run))] for size, run in groupby(sizes)]


def part_count(runs: list[tuple[int, int]]) -> int:
    """Return the number of parts."""
    return sum(count for _, count in runs)


def part_span(runs: list[tuple[int, int]], number: int) -> tuple[int, int] | None:
    """Return first byte and end (exclusive) of a part, numbered from 1; None if there are fewer."""
    start, before = 0, 0
    for size, count in runs:
        if number <= before + count:
            first = start + (number - before - 1) * size
            return first, first + size
        start, before = start + size * count, before + count
    return None


def stored_runs(metadata: Mapping[str, object] | None, size: int) -> list[tuple[int, int]]:
    """Read the runs of an object of `size` bytes; empty if it was not uploaded in parts, or they do not fit."""
    try:
        runs = msgspec.convert((metadata or {}).get(PART_SIZES), list[tuple[int, int]])
    except msgspec.ValidationError:
        return []
    is_valid = all(length >= 0 and count > 0 for length, count in runs)
    fits = is_valid and sum(length * count for length, count in runs) == size
    return runs if fits else []


def without_part_sizes(metadata: Mapping[str, object]) -> dict[str, object]:
    """Return the column `metadata` of a copy: copies are not divided into parts."""
    return {name: value for name, value in metadata.items() if name != PART_SIZES}
