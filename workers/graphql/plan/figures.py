"""Which aggregates take which columns: a table. Source: reference page "graphql", section 8."""

_NUMERIC = frozenset({"Int", "BigInt", "Float", "BigFloat"})
_COMPARABLE = _NUMERIC | {"String", "Date", "Time", "Datetime", "Boolean"}
FOLDED = {"sum": _NUMERIC, "avg": _NUMERIC, "min": _COMPARABLE, "max": _COMPARABLE}
"""Aggregate -> scalars of the columns it takes."""
NUMBERS = ("sum", "avg")
"""Aggregates that are numbers of their own, not values of the column."""


def is_folded(operator: str, scalar: str, is_list: bool) -> bool:
    """Tell whether an aggregate takes columns of a scalar."""
    return not is_list and scalar in FOLDED[operator]
