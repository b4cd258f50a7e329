"""Several projects on one server: what a sleeping platform's server has to know (JSON)."""

from msgspec import Struct


class DatabaseUse(Struct, frozen=True):
    """What uses a database beside the platform itself: numbers of sessions."""

    sessions: int
    """Of other programs, and of jobs and functions that run."""
    working: int
    """Of the platform's own logins, inside a statement or a transaction."""
    readers: int
    """Of the log: consumers of logical replication, and standbys."""
    subscriptions: int
    """Enabled subscriptions, which fetch changes from elsewhere."""


class NextDue(Struct, frozen=True):
    """When the scheduler runs a job next, in seconds since 1970; None: there are no schedules."""

    moment: float | None
