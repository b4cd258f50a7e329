"""Bounds on pages, so that Postgres keeps one plan for many of them.

A page whose place is a parameter is planned anew each time: not knowing how many rows it leaves out, Postgres would plan for a
tenth of the table. Within a literal bound that holds the page and all before it, the plan of any such page suits. Source:
PostgreSQL, "Prepared Statements" (generic plans); docs/decisions.md has the figures.
"""

_SMALLEST, _LARGEST = 6, 20


def magnitude(rows: int) -> int | None:
    """Give a power of four that is not below a number of rows, 64 or more; None beyond a million, where a page is slow anyway."""
    if not 0 <= rows <= 1 << _LARGEST:
        return None
    return next(1 << power for power in range(_SMALLEST, _LARGEST + 1, 2) if rows <= 1 << power)
