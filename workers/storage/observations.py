"""What storage tells of its work: the names of things, never a value of a request."""

from typing import ClassVar

from broker.observability.observations import Observation
from workers.database.errors import DatabaseError

_NAMES_ONLY = ("42", "0A", "53", "55", "57")
"""Classes of SQLSTATE whose messages name things of the schema or the server, not values."""


class StorageRefused(Observation, frozen=True):
    """The database refused a request of storage for what its caller cannot mend."""

    level: ClassVar[str] = "warning"
    request: str
    sqlstate: str
    reason: str
    """The server's message where it holds no values."""
    where: str
    """The function or policy that raised, if one did."""


class BlobsSwept(Observation, frozen=True):
    """Bytes that no row names any more were removed."""

    level: ClassVar[str] = "debug"
    tombstones: int
    orphans: int


class StagingSwept(Observation, frozen=True):
    """Uploads that broke off, whose edge died before it could remove their bytes, were removed."""

    uploads: int


class BlobsMissing(Observation, frozen=True):
    """Rows name bytes that are not in the store: somebody took them from there, or a backup was not whole."""

    level: ClassVar[str] = "error"
    rows: int
    versions: str
    """Some of the versions; `select * from storage.objects where version = ...` tells the objects."""


class RenditionsSwept(Observation, frozen=True):
    """Pictures made of objects were removed from the cache: they were too old, or too many."""

    level: ClassVar[str] = "debug"
    blobs: int
    size: int


class SweepFailed(Observation, frozen=True):
    """A turn of the sweep could not be finished; the next one tries again."""

    level: ClassVar[str] = "warning"
    what: str
    reason: str


def database_refused(error: DatabaseError, request_id: str) -> StorageRefused:
    """Give what is observed of an error. Pure."""
    is_telling = error.code[:2] in _NAMES_ONLY
    lines = (error.context or "").splitlines()
    where = next((line for line in lines if line.startswith(("PL/", "SQL function"))), "")
    return StorageRefused(request_id, error.code, error.message if is_telling else "", where[:200])
