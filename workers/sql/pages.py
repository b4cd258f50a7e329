"""Literal bounds on pages, so that Postgres uses one generic plan for many of them.

A query whose offset is a parameter is planned for each execution: without knowing the offset, a generic plan would assume a
tenth of the table. With a literal bound on offset plus limit, one plan suits every page within it. Source:
PostgreSQL, "Prepared Statements" (generic plans); docs/decisions.md has the figures.
"""

_SMALLEST, _LARGEST = 6, 20


def magnitude(rows: int) -> int | None:
    """Return the smallest power of four that is at least 64 and `rows`; None beyond a million, where a page is slow anyway."""
    if not 0 <= rows <= 1 << _LARGEST:
        return None
    return next(1 << power for power in range(_SMALLEST, _LARGEST + 1, 2) if rows <= 1 << power)
