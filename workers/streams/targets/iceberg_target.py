"""Iceberg tables in a folder or on S3. The libraries block, so they work in threads; a thread that is left behind can at most make a version that
another writer has made, which fails."""

import asyncio
import time
from collections.abc import AsyncIterator, Mapping, Sequence

from schemas.changes import Values
from schemas.settings.streams import StreamSettings
from workers.streams.iceberg.snapshot_writer import SnapshotWriter
from workers.streams.iceberg.table_writer import IcebergTable
from workers.streams.iceberg.tidying import tidy
from workers.streams.model import CopyPlace, SourceTable, StreamChange

_FILE_ROWS, _FILE_BYTES = 100_000, 64 * 1024 * 1024
"""Rows and bytes of JSON that become one file of a snapshot."""
_TIDY_S = 60.0


class IcebergTarget:
    """One table of an Iceberg target."""

    keeps_place = True
    newest_epoch = 0

    def __init__(self, settings: StreamSettings, source: SourceTable) -> None:
        self._settings = settings
        self._copy = IcebergTable(settings, source)
        self._tidied_at = 0.0

    async def open(self) -> CopyPlace | None:
        """Return where the table is. Raises: TargetAway."""
        return await asyncio.to_thread(self._copy.open)

    async def fit(self, source: SourceTable, renamed: Sequence[tuple[str, str]]) -> None:
        """Follow columns. Raises: SnapshotNeeded, TargetAway, TargetRejects."""
        copy = IcebergTable(self._settings, source)
        copy.table, copy.unfit = self._copy.table, self._copy.unfit
        await asyncio.to_thread(copy.fit, renamed)
        self._copy = copy

    async def snapshot(self, pages: AsyncIterator[list[Values]], place: CopyPlace) -> int:
        """Write all rows into files, and make them the table in one commit. Raises: TargetAway."""
        writer = await asyncio.to_thread(SnapshotWriter, self._copy)
        waiting: list[Values] = []
        size = 0
        async for page in pages:
            waiting += page
            size += sum(len(value or b"") for row in page for value in row)
            if len(waiting) >= _FILE_ROWS or size >= _FILE_BYTES:
                await asyncio.to_thread(writer.add, waiting, place.snapshot_lsn)
                waiting, size = [], 0
        await asyncio.to_thread(writer.add, waiting, place.snapshot_lsn)
        return await asyncio.to_thread(writer.finish, place, time.time_ns() // 1000)

    async def write(self, changes: Sequence[StreamChange], place: CopyPlace) -> None:
        """Write changes in one commit. Raises: TargetAway."""
        await asyncio.to_thread(self._copy.write, changes, place)

    async def tidy(self) -> None:
        """Merge small files, at most once a minute. Raises: TargetAway."""
        now = time.monotonic()
        if now >= self._tidied_at + _TIDY_S:
            self._tidied_at = now
            await asyncio.to_thread(tidy, self._copy, int(self._settings.file_size))

    def figures(self) -> Mapping[str, float]:
        """Return how many values had to become null."""
        return {"unfit": float(self._copy.unfit)}

    async def close(self) -> None:
        """Nothing is open between two calls."""
