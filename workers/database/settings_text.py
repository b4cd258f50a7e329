"""The statement that applies settings to a transaction. Pure.

Names and values are parameters, so that the text depends on their number alone and is prepared once. Every function and
operator names its schema, because the statement runs with the rights of the login role and a search path that is not ours.
"""

from functools import lru_cache

_IN_A_CALL = 90  # a function takes 100 arguments at most
UNLOCK = "pg_catalog.pg_advisory_unlock_all()"


@lru_cache(maxsize=512)
def settings_text(count: int, guard: str = "") -> str:
    """Return the statement that releases session advisory locks and applies `count` settings in their order.

    `guard` is an expression that is evaluated before everything else.
    """
    calls = [UNLOCK]
    calls += [f"pg_catalog.set_config(${2 * index + 1}, ${2 * index + 2}, true)" for index in range(count)]
    groups = [
        f"pg_catalog.num_nulls({', '.join(calls[start : start + _IN_A_CALL])})"
        for start in range(0, count + 1, _IN_A_CALL)
    ]
    return f"select {guard + ', ' if guard else ''}{', '.join(groups)}"
