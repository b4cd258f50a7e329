"""The statement that applies settings to a transaction. Pure.

Names and values are parameters, so the text depends only on their number and is prepared once. Every function and
operator is schema-qualified, because the statement runs with the rights of the login role and a search path that the
caller chose.
"""

from functools import lru_cache

_MAX_PER_CALL = 90  # a function takes at most 100 arguments
UNLOCK = "pg_catalog.pg_advisory_unlock_all()"
TRANSACTION_ID = "pg_catalog.pg_current_xact_id_if_assigned()::pg_catalog.xid::pg_catalog.text"
"""The id of the transaction, 32 bits as in the log; NULL where it has not written. Evaluated behind what writes."""


@lru_cache(maxsize=512)
def settings_text(count: int, guard: str = "") -> str:
    """Return the statement that releases session advisory locks and applies `count` settings in order.

    `guard` is an expression that is evaluated before everything else.
    """
    calls = [UNLOCK]
    calls += [f"pg_catalog.set_config(${2 * index + 1}, ${2 * index + 2}, true)" for index in range(count)]
    groups = [
        f"pg_catalog.num_nulls({', '.join(calls[start : start + _MAX_PER_CALL])})"
        for start in range(0, count + 1, _MAX_PER_CALL)
    ]
    return f"select {guard + ', ' if guard else ''}{', '.join(groups)}"
