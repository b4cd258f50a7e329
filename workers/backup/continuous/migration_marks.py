"""Remembers which transaction applied each migration of the project, so that a restore can stop just before it.

The row of a migration is written in the migration's last transaction, and the row's `xmin` is that transaction. The row is read in a session of
role postgres, for the table is the project's.
"""

import asyncpg

from workers.backup.continuous import inventory
from workers.backup.continuous.archive import Archive, MigrationMark, MigrationMarks
from workers.backup.continuous.row_statements import STATEMENTS


class MarkReader:
    """The marks of one archive. Those of its first look were applied before it began."""

    def __init__(self, archive: Archive) -> None:
        self._archive = archive
        self._marks: dict[tuple[str, str], MigrationMark] | None = None

    async def read_new(self, owner: asyncpg.Connection, lsn: int, now: float) -> int:
        """Store the marks of new migrations, seen at a position and a moment; return their number.

        Raises: ArchiveStoreDown, SealBroken, the driver's errors.
        """
        is_first = False
        if self._marks is None:
            stored = await self._archive.read_struct("migrations", MigrationMarks)
            is_first = stored is None
            known = stored.marks if stored is not None else []
            self._marks = {(mark.version, mark.transaction): mark for mark in known}
        has_table = await owner.fetchval(STATEMENTS["has_migrations"])
        rows = await owner.fetch(STATEMENTS["migrations"]) if has_table else []
        new = {
            (row["version"], row["transaction"]): MigrationMark(
                row["version"], row["name"], row["transaction"], lsn, now, is_first
            )
            for row in rows
            if (row["version"], row["transaction"]) not in self._marks
        }
        if new or is_first:
            marks = self._marks | new
            await self._archive.write_struct("migrations", MigrationMarks(list(marks.values())))
            await inventory.note(self._archive, "migrations")
            self._marks = marks
        return len(new)
