"""Observations of storage: they name things of the schema, never a value of a request."""

from typing import ClassVar

from broker.observability.observations import Observation
from workers.database.errors import DatabaseError

_NAMES_ONLY = ("42", "0A", "53", "55", "57")
"""Classes of SQLSTATE whose messages name things of the schema or the server, not values."""


class StorageRefused(Observation, frozen=True):
    """The database rejected a storage request for a reason that its caller cannot fix."""

    level: ClassVar[str] = "warning"
    request: str
    sqlstate: str
    reason: str
    """The server's message if it holds no values."""
    where: str
    """The function or policy that raised the error, if any."""


class BlobsSwept(Observation, frozen=True):
    """Blobs that no row names were removed."""

    level: ClassVar[str] = "debug"
    tombstones: int
    orphans: int


class StagingSwept(Observation, frozen=True):
    """Staging files of interrupted uploads, whose gateway stopped before it could remove them, were removed."""

    uploads: int


class BlobsMissing(Observation, frozen=True):
    """Rows name blobs that are not in the store: they were deleted there, or a backup was incomplete."""

    level: ClassVar[str] = "error"
    rows: int
    versions: str
    """Some of the versions; `select * from storage.objects where version = ...` finds the objects."""


class RenditionsSwept(Observation, frozen=True):
    """Cached renditions were removed: they were too old, or the cache was full."""

    level: ClassVar[str] = "debug"
    blobs: int
    size: int


class SweepFailed(Observation, frozen=True):
    """A step of the sweep failed; the next run repeats it."""

    level: ClassVar[str] = "warning"
    what: str
    reason: str


def database_refused(error: DatabaseError, request_id: str) -> StorageRefused:
    """Return the observation for a database error. Pure."""
    is_telling = error.code[:2] in _NAMES_ONLY
    lines = (error.context or "").splitlines()
    where = next((line for line in lines if line.startswith(("PL/", "SQL function"))), "")
    return StorageRefused(request_id, error.code, error.message if is_telling else "", where[:200])
