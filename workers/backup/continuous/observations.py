"""Observations of continuous backup (docs/observability.md)."""

from typing import ClassVar

from broker.observability.observations import Observation


class ArchiveBegun(Observation, frozen=True):
    """A new archive was begun: `reason` is why no earlier one could be continued."""

    archive: str
    reason: str


class LogGivenUp(Observation, frozen=True):
    """A part of the log is not stored: moments from `since` until the next base backup is complete cannot be restored."""

    level: ClassVar[str] = "error"
    archive: str
    since: str
    reason: str


class BaseBackupStored(Observation, frozen=True):
    """A base backup is complete."""

    archive: str
    name: str
    bytes: int
    seconds: float
    parent: str
    """The base backup since which it has the changes; empty for a full one."""


class IncrementalBackupRefused(Observation, frozen=True):
    """The changes since the base backup `parent` could not be had, so a full one is made instead."""

    level: ClassVar[str] = "warning"
    archive: str
    parent: str
    reason: str


class BackupsDeleted(Observation, frozen=True):
    """What only moments before `backup.retention` needed was deleted."""

    archive: str
    bases: int
    pieces: int
    objects: int


class ArchiveStreamLost(Observation, frozen=True):
    """The stream of the log from the database ended; it is opened again."""

    level: ClassVar[str] = "warning"
    reason: str
