"""What the replication worker observes."""

from typing import ClassVar

from broker.observability.observations import Observation


class ReplicationStarted(Observation, frozen=True):
    """This process leads replication: row changes are read from the log."""

    slot: str
    lsn: str


class ReplicationWaits(Observation, frozen=True):
    """Another process leads replication; this one stands by."""

    slot: str


class ReplicationLost(Observation, frozen=True):
    """Reading the log was interrupted; it is tried again."""

    level: ClassVar[str] = "warning"
    reason: str


class ReplicationCrashed(Observation, frozen=True):
    """Reading the log failed because of an error in our own code; it is tried again."""

    level: ClassVar[str] = "error"
    traceback: str


class ReplicationRefused(Observation, frozen=True):
    """The log cannot be read: the server must be configured for it. Everything else continues."""

    level: ClassVar[str] = "error"
    reason: str


class ChangesLost(Observation, frozen=True):
    """Row changes were lost; subscribers were notified of the gap and must read the tables again."""

    level: ClassVar[str] = "warning"
    reason: str


class SlotRetainsTooMuch(Observation, frozen=True):
    """The replication slot retains more than half of the log that it may retain: soon changes will be lost."""

    level: ClassVar[str] = "error"
    slot: str
    held_bytes: int
    limit_bytes: int


class CommitsWait(Observation, frozen=True):
    """Every commit waits for the reader of the log: `synchronous_standby_names` must name the standbys, not `*`."""

    level: ClassVar[str] = "error"


class ChangeCut(Observation, frozen=True):
    """A change was too long: its long values were left out."""

    table: str


class BroadcastTooLong(Observation, frozen=True):
    """Messages of the database to a topic were too long and were not sent."""

    level: ClassVar[str] = "warning"
    count: int
