"""Rights of administrators: an owner may do everything, a developer all but administrators and keys, a reader only look.

A right includes those below it. Reading is all that a token without `may_write` can do, whatever its rights.
"""

from enum import StrEnum


class Right(StrEnum):
    """The rights of an administrator or a token, and the right that an operation needs."""

    READER = "reader"
    DEVELOPER = "developer"
    OWNER = "owner"

    def includes(self, needed: "Right") -> bool:
        """Return whether these rights suffice for an operation."""
        return _ORDER.index(self) >= _ORDER.index(needed)


_ORDER = (Right.READER, Right.DEVELOPER, Right.OWNER)
