"""What is logged when the database rejects a change: usually a trigger of the project on `auth.users` raised an error.

The response says little about it, so the log names the function and the server's message; never a value of the request.
Source: docs/reference/auth.md, section 28.
"""

from typing import ClassVar

from broker.observability.observations import Observation
from workers.database.errors import DatabaseError

_MAX_LENGTH = 200
_NAMES_ONLY = ("42", "23", "0A", "53", "55", "57")
"""Classes of SQLSTATE whose messages name objects of the schema or the server, and contain no values."""


class ChangeRejected(Observation, frozen=True):
    """The database rejected a change to a user."""

    level: ClassVar[str] = "warning"
    request: str
    sqlstate: str
    function: str
    """The function that raised the error, with its line; empty if a statement of auth failed."""
    reason: str
    """The server's message if it contains no values, else empty."""
    hint: str


def change_rejected(error: DatabaseError, request_id: str) -> ChangeRejected:
    """Return what is logged of an error. Pure."""
    has_no_values = error.code[:2] in _NAMES_ONLY
    return ChangeRejected(
        request_id,
        error.code,
        function_of(error.context),
        error.message if has_no_values else "",
        (error.hint or "") if has_no_values else "",
    )


def function_of(context: str | None) -> str:
    """Return the top function of the server's call stack, with the line, or an empty text."""
    lines = (context or "").splitlines()
    return next((line[:_MAX_LENGTH] for line in lines if line.startswith(("PL/", "SQL function"))), "")
