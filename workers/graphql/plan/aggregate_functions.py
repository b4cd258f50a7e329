"""Table of the aggregate functions and the columns they take. Source: docs/reference/graphql.md, section 8."""

_NUMERIC = frozenset({"Int", "BigInt", "Float", "BigFloat"})
_COMPARABLE = _NUMERIC | {"String", "Date", "Time", "Datetime", "Boolean"}
COLUMN_AGGREGATES = {"sum": _NUMERIC, "avg": _NUMERIC, "min": _COMPARABLE, "max": _COMPARABLE}
"""Aggregate function -> scalars of the columns that it takes."""
NUMERIC_RESULTS = ("sum", "avg")
"""Functions whose result is numeric, whatever the type of the column. The others return a value of the column's type."""


def takes_column(operator: str, scalar: str, is_list: bool) -> bool:
    """Return whether an aggregate function takes columns of a scalar."""
    return not is_list and scalar in COLUMN_AGGREGATES[operator]
