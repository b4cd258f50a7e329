"""Rows whose bytes are gone: told to the operator, so that he can bring them back from a backup. Nothing is changed.

The other way round, bytes without a row, is `sweep.py`. Every look-up asks the store, so a turn looks at so many rows, and the
next one goes on behind them. One worker at a time looks. Source: reference page "storage", section 11.
"""

import asyncio
from collections.abc import Sequence
from uuid import UUID

import msgspec
from msgspec import Struct

from broker.blobs.blob_names import blob
from broker.blobs.errors import BlobMissing
from broker.blobs.store import BlobStore
from broker.observability.observe import observe
from workers.database.pool import Pool
from workers.sql.files import read_statements
from workers.storage.observations import BlobsMissing

_SQL = read_statements("workers.storage", "missing.sql")
_SETTINGS = (("search_path", "storage"), ("statement_timeout", "60s"))
ROW_AGE_S = 3600.0
"""How old a row is before its bytes are looked for: until then nobody is late."""
_BATCH = 500
_BATCHES = 20
_AT_ONCE = 8
_MOST_TOLD = 5


class _Row(Struct, frozen=True):
    id: str
    bucket_id: str
    version: str


class Missing:
    """Looks for rows without bytes, some more in each turn."""

    def __init__(self, database: Pool, blobs: BlobStore, age_s: float = ROW_AGE_S) -> None:
        self._database, self._blobs, self._age_s = database, blobs, age_s
        self._after = ""

    async def look(self) -> int:
        """Look at some rows and tell of those whose bytes are gone; give how many. Raises: as the store and the database."""
        async with self._database.transaction(_SETTINGS) as transaction:
            taken = await transaction.rows(_SQL["take_turn"])
            return await self._turn() if taken[0][0] == b"t" else 0

    async def _turn(self) -> int:
        lost: list[str] = []
        for _ in range(_BATCHES):
            rows = await self._page()
            there = await self._lookups(rows)
            gone = [row for row, is_there in zip(rows, there, strict=True) if not is_there]
            lost += await self._still(gone)
            self._after = rows[-1].id if len(rows) == _BATCH else ""
            if not self._after:
                break
        if lost:
            observe(BlobsMissing(len(lost), " ".join(lost[:_MOST_TOLD])))
        return len(lost)

    async def _page(self) -> list[_Row]:
        async with self._database.transaction(_SETTINGS) as transaction:
            found = await transaction.rows(_SQL["page"], self._after, repr(self._age_s), _BATCH)
        return [msgspec.json.decode(row[0] or b"{}", type=_Row) for row in found]

    async def _lookups(self, rows: Sequence[_Row]) -> list[bool]:
        places = asyncio.Semaphore(_AT_ONCE)

        async def is_there(row: _Row) -> bool:
            async with places:
                return await self._has(row)

        return await asyncio.gather(*(is_there(row) for row in rows))

    async def _has(self, row: _Row) -> bool:
        try:
            await self._blobs.stat(blob(row.bucket_id, UUID(row.version)))
        except (BlobMissing, ValueError):
            return False
        return True

    async def _still(self, rows: Sequence[_Row]) -> list[str]:
        """Give the versions of rows that name them still: another upload may have come meanwhile."""
        if not rows:
            return []
        asked = msgspec.json.encode([[row.id, row.version] for row in rows])
        async with self._database.transaction(_SETTINGS) as transaction:
            found = await transaction.rows(_SQL["still"], asked)
        return msgspec.json.decode(found[0][0] or b"[]", type=list[str])
