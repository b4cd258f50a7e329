"""Errors of the realtime pool; only edges see them.

ApiError ── MalformedQuery   the body is not a query of this kind
         ├─ UnknownQuery     the path names no query
         ├─ QueryFailed      the database rejected what it should have answered
         └─ Unavailable      the database cannot answer now (schemas/errors.py)
"""

from schemas.errors import ApiError
from workers.database.errors import DatabaseError

_PASSING_CLASSES = frozenset(("08", "40", "53", "57", "58"))
_PASSING = frozenset(("55P03", "25006"))
_TIMED_OUT = "57014"
_RAISED_BY_SQL = "exec_stmt_raise"


class MalformedQuery(ApiError):
    """The body is not a query of this kind."""

    status = 400


class UnknownQuery(ApiError):
    """The path names no query."""

    status = 404


class QueryFailed(ApiError):
    """The database rejected what it should have answered: the schema is not as expected."""

    status = 500


def is_passing(error: DatabaseError) -> bool:
    """Return whether an error is about the current state of the server, so that the same statement may work later.

    A statement timeout does not count, nor an error with such a code that a function of the project raises.
    """
    if error.routine == _RAISED_BY_SQL:
        return False
    return error.code in _PASSING or (error.code[:2] in _PASSING_CLASSES and error.code != _TIMED_OUT)
