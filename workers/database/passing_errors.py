"""Which errors of the database may pass by themselves, so that trying again helps. Pure."""

from workers.database.errors import DatabaseError

_LASTING = ("0A", "21", "22", "23", "42", "54", "P0")
"""Classes of errors that what is written causes itself. Others pass: a lock, a time limit, a full disk, a server that stops."""


def is_passing(error: DatabaseError) -> bool:
    """Return whether what was refused with this error may be written later."""
    return not error.code.startswith(_LASTING)
