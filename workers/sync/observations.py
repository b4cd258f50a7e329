"""What the pool of shapes observes: names of tables and handles, never a value of a row, a filter or a claim."""

from typing import ClassVar

from broker.observability.observations import Observation


class ShapeEnded(Observation, frozen=True):
    """A shape ended: its clients read it again."""

    level: ClassVar[str] = "info"
    table: str
    reason: str


class ShapeFailed(Observation, frozen=True):
    """A defect of the pool ended a shape."""

    level: ClassVar[str] = "error"
    handle: str
    traceback: str


class SyncWaits(Observation, frozen=True):
    """The stream of changes or the database is away: shapes are served, and changes wait."""

    level: ClassVar[str] = "warning"
    reason: str


class SyncCrashed(Observation, frozen=True):
    """A defect of the pool stopped its reading of changes; it begins again, and all shapes end."""

    level: ClassVar[str] = "error"
    traceback: str


class SyncLeads(Observation, frozen=True):
    """This process serves shapes; other members of the pool wait."""

    level: ClassVar[str] = "info"
    shapes: int
