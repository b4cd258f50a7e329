"""Find rows whose blobs are missing and report them, so that the operator can restore them. Nothing is changed.

`sweep.py` handles the opposite: blobs without a row. Every check is a request to the store, so one run checks a limited
number of rows and the next run continues after them. A lock lets one worker at a time search. Source:
docs/reference/storage.md, section 11.
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
from workers.database.connection_pool.pool import ConnectionPool
from workers.sql.files import read_statements
from workers.storage.model.observations import BlobsMissing

_SQL = read_statements("workers.storage.sweeps", "missing_blobs.sql")
_SETTINGS = (("search_path", "storage"), ("statement_timeout", "60s"))
ROW_AGE_S = 3600.0
"""Minimum age of a row before its blob is checked: by then no writer can be late."""
_BATCH = 500
_BATCHES = 20
_AT_ONCE = 8
_MOST_TOLD = 5


class _Row(Struct, frozen=True):
    id: str
    bucket_id: str
    version: str


class MissingBlobsSearch:
    """Searches for rows without blobs, a few thousand rows in each run."""

    def __init__(self, database: ConnectionPool, blobs: BlobStore, age_s: float = ROW_AGE_S) -> None:
        self._database, self._blobs, self._age_s = database, blobs, age_s
        self._after = ""

    async def search(self) -> int:
        """Check some rows and report those without a blob; return their number. Raises: as the store and the database."""
        async with self._database.transaction(_SETTINGS) as transaction:
            lock = await transaction.rows(_SQL["take_turn"])
            return await self._search() if lock[0][0] == b"t" else 0

    async def _search(self) -> int:
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
            encoded = await transaction.rows(_SQL["page"], self._after, repr(self._age_s), _BATCH)
        return [msgspec.json.decode(row[0] or b"{}", type=_Row) for row in encoded]

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
        """Return the versions that rows still name: an upload may have replaced some meanwhile."""
        if not rows:
            return []
        pairs = msgspec.json.encode([[row.id, row.version] for row in rows])
        async with self._database.transaction(_SETTINGS) as transaction:
            result = await transaction.rows(_SQL["still"], pairs)
        return msgspec.json.decode(result[0][0] or b"[]", type=list[str])
