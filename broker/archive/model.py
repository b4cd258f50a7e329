"""Values and errors of the stores of an archive."""

from typing import NamedTuple


class StoredFile(NamedTuple):
    """A file of an archive: its name in the store and its size in bytes."""

    name: str
    size: int


class ArchiveStoreDown(Exception):
    """The store cannot be reached, is full or rejects the request; the same may work later. The text has no secrets."""


class ArchiveFileMissing(Exception):
    """The store has no file of this name."""
