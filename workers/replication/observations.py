"""What can be observed of replication."""

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
    """Reading of the log was interrupted and is tried again."""

    level: ClassVar[str] = "warning"
    reason: str


class ReplicationCrashed(Observation, frozen=True):
    """Reading of the log ended by a defect of ours; it is tried again."""

    level: ClassVar[str] = "error"
    traceback: str


class ReplicationRefused(Observation, frozen=True):
    """The log cannot be read: the server must be set up for it; everything else goes on."""

    level: ClassVar[str] = "error"
    reason: str


class ChangesLost(Observation, frozen=True):
    """A gap in the row changes was told to subscribers: they must read the tables anew."""

    level: ClassVar[str] = "warning"
    reason: str


class SlotHoldsMuch(Observation, frozen=True):
    """The replication slot keeps back more than half of the log it may: soon changes will be lost."""

    level: ClassVar[str] = "error"
    slot: str
    held_bytes: int
    limit_bytes: int


class CommitsWait(Observation, frozen=True):
    """Every commit waits for the reader of the log: name the standbys in `synchronous_standby_names`, not `*`."""

    level: ClassVar[str] = "error"


class ChangeCut(Observation, frozen=True):
    """A change was too long to be told whole: its long values were left out."""

    table: str


class RoomMessageDropped(Observation, frozen=True):
    """A message to a room was too long and was not sent."""

    level: ClassVar[str] = "warning"
    count: int
