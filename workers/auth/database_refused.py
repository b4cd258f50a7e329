"""What stands in the log when the database refuses a change: most often a trigger of the project on the users.

Callers are told little of it, so the log names the function and what is missing; never a value of the request.
Source: reference page "auth", section 28.
"""

from typing import ClassVar

from broker.observability.observations import Observation
from workers.database.errors import DatabaseError

_LONGEST = 200
_NAMES_ONLY = ("42", "23", "0A", "53", "55", "57")
"""Classes of SQLSTATE whose messages name things of the schema or the server, not values."""


class DatabaseRefused(Observation, frozen=True):
    """The database refused a change of accounts."""

    level: ClassVar[str] = "warning"
    request: str
    sqlstate: str
    function: str
    """That which raised, with its line; empty if a statement of ours did."""
    reason: str
    """The server's message where it holds no values."""
    hint: str


def database_refused(error: DatabaseError, request_id: str) -> DatabaseRefused:
    """Give what is observed of an error. Pure."""
    is_telling = error.code[:2] in _NAMES_ONLY
    return DatabaseRefused(
        request_id,
        error.code,
        function_of(error.context),
        error.message if is_telling else "",
        (error.hint or "") if is_telling else "",
    )


def function_of(context: str | None) -> str:
    """Give the function at the top of a call stack of the server, with the line; empty without one."""
    lines = (context or "").splitlines()
    return next((line[:_LONGEST] for line in lines if line.startswith(("PL/", "SQL function"))), "")
