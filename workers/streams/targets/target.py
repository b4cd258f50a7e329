"""What a stream's target does for one table. An implementation is a module beside this one."""

from collections.abc import AsyncIterator, Mapping, Sequence
from typing import Protocol

from schemas.changes import Values
from workers.streams.model import CopyPlace, SourceTable, StreamChange


class TableTarget(Protocol):
    """One table of a target. All methods raise TargetAway, and TargetRejects where the table can never be taken."""

    keeps_place: bool
    """It stores the place together with the rows. Otherwise the place is stored in the database behind what was written: at least once."""

    @property
    def newest_epoch(self) -> int:
        """Return the epoch of what the target has; that of the next snapshot has to be higher. 0 where epochs are not compared."""

    async def open(self) -> CopyPlace | None:
        """Connect, and return where the target is; None if it has nothing, or keeps no place."""

    async def fit(self, source: SourceTable, renamed: Sequence[tuple[str, str]]) -> None:
        """Follow a changed table: `source` is as it is now. Raises: SnapshotNeeded."""

    async def snapshot(self, pages: AsyncIterator[list[Values]], place: CopyPlace) -> int:
        """Take all rows in the place of what there is; return how many."""

    async def write(self, changes: Sequence[StreamChange], place: CopyPlace) -> None:
        """Take changes; the target is at `place` then."""

    async def tidy(self) -> None:
        """Do what has to be done from time to time."""

    def figures(self) -> Mapping[str, float]:
        """Return what the target counts: the end of a metric's name -> value."""

    async def close(self) -> None:
        """Disconnect."""
