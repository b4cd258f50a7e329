"""Refusals of the realtime pool, which only edges see.

ApiError ── BadQuestion      the body is no question of its kind
         ├─ UnknownQuestion  there is no question of that name
         ├─ QuestionFailed   the database refused what it should have answered
         └─ Unavailable      the database cannot answer now (schemas/errors.py)
"""

from schemas.errors import ApiError
from workers.database.errors import DatabaseError

_PASSING_CLASSES = frozenset(("08", "40", "53", "57", "58"))
_PASSING = frozenset(("55P03", "25006"))
_TIMED_OUT = "57014"
_RAISED_BY_SQL = "exec_stmt_raise"


class BadQuestion(ApiError):
    """The body is no question of its kind."""

    status = 400


class UnknownQuestion(ApiError):
    """There is no question of that name."""

    status = 404


class QuestionFailed(ApiError):
    """The database refused what it should have answered: the schema is not as it should be."""

    status = 500


def is_passing(error: DatabaseError) -> bool:
    """Tell whether an error says nothing about what was asked, but about the server now: the same may work later.

    A statement that takes too long does not count, nor does what a function of the project raises under such a code.
    """
    if error.routine == _RAISED_BY_SQL:
        return False
    return error.code in _PASSING or (error.code[:2] in _PASSING_CLASSES and error.code != _TIMED_OUT)
