"""Compare the objects of the time of a replayed log of short blobs with their files, and name those that are lost.

    note of the replay (broker/blobs/short_log_notes.py) --> rows written in its time --> size and MD5 of their files
        all whole, and the log had lacked nothing: the note is deleted     else: the note gets the names, for `headwater doctor`

The replay knows only what the log still has. A disk that lost what it had confirmed may have lost the end of the log and the files
with it; then the rows alone know of them. Nothing is changed but notes. One worker at a time compares.
"""

import hashlib
from collections.abc import Sequence
from pathlib import Path
from typing import ClassVar
from uuid import UUID

import msgspec
from msgspec import Struct

from broker.blobs.blob_names import blob
from broker.blobs.errors import translate_disk_errors
from broker.blobs.short_log_notes import ShortLogNote, read_notes, remove_note, write_note
from broker.blobs.short_log_segment import LARGEST_RECORD
from broker.blobs.store import BlobStore
from broker.observability.observations import Observation
from broker.observability.observe import observe
from workers.database.connection_pool.pool import ConnectionPool
from workers.sql.files import read_statements

_SQL = read_statements("workers.storage.sweeps", "replayed_logs.sql")
_SETTINGS = (("search_path", "storage"), ("statement_timeout", "60s"))
_BATCH = 500
_CLOCKS_S = 600.0
"""The clock of the database may differ from this machine's by so much, and a row is committed after its bytes."""
_MOST_NAMES = 1000
_MOST_TOLD = 5
_MD5_DIGITS = 32


class ObjectsLost(Observation, frozen=True):
    """Objects whose upload was acknowledged have lost their bytes with the machine: the disk did not have what it had confirmed."""

    level: ClassVar[str] = "error"
    objects: int
    names: str
    """Some of them: bucket and name, as JSON. `headwater doctor` has more."""


class _Row(Struct, frozen=True):
    id: str
    bucket_id: str
    name: str
    version: str
    size: int
    etag: str | None = None


async def compare_replayed_logs(database: ConnectionPool, blobs: BlobStore) -> int:
    """Compare what notes ask for; return the number of lost objects. Raises: BlobStoreDown; as the database."""
    folder = blobs.log_folder
    if folder is None:
        return 0
    with translate_disk_errors("compare"):
        return await _compare_all(database, blobs, folder)


async def _compare_all(database: ConnectionPool, blobs: BlobStore, folder: Path) -> int:
    notes = [note for note in await blobs.run(read_notes, folder) if not note.is_compared]
    if not notes:
        return 0
    async with database.transaction(_SETTINGS) as transaction:
        lock = await transaction.rows(_SQL["take_turn"])
        if lock[0][0] != b"t":
            return 0
        return sum([await _compare(database, blobs, folder, note) for note in notes])


async def _compare(database: ConnectionPool, blobs: BlobStore, folder: Path, note: ShortLogNote) -> int:
    lost: list[_Row] = []
    after = ""
    while True:
        async with database.transaction(_SETTINGS) as transaction:
            encoded = await transaction.rows(
                _SQL["page"],
                after,
                repr(note.since - _CLOCKS_S),
                repr(note.until + _CLOCKS_S),
                LARGEST_RECORD,
                _BATCH,
            )
        rows = [msgspec.json.decode(row[0] or b"{}", type=_Row) for row in encoded]
        lost += await _still(database, await blobs.run(_differing, blobs, rows))
        if len(rows) < _BATCH:
            break
        after = rows[-1].id
    if lost:
        names = [f"{row.bucket_id}/{row.name}" for row in lost]
        observe(ObjectsLost(len(lost), msgspec.json.encode(names[:_MOST_TOLD]).decode()))
        compared = msgspec.structs.replace(
            note, is_compared=True, lost=tuple(names[:_MOST_NAMES]), lost_count=len(lost)
        )
        await blobs.run(write_note, folder, compared)
    elif note.absent or note.damaged:
        await blobs.run(write_note, folder, msgspec.structs.replace(note, is_compared=True))
    else:
        await blobs.run(remove_note, folder, note)
    return len(lost)


def _differing(blobs: BlobStore, rows: Sequence[_Row]) -> list[_Row]:
    """Return the rows whose files are missing or have other bytes (in a thread)."""
    return [row for row in rows if not _is_whole(blobs, row)]


def _is_whole(blobs: BlobStore, row: _Row) -> bool:
    try:
        path = blobs.local_path(blob(row.bucket_id, UUID(row.version)))
        content = path.read_bytes() if path else b""
    except (FileNotFoundError, NotADirectoryError, ValueError):
        return False
    if len(content) != row.size:
        return False
    md5 = (row.etag or "").strip('"')
    # That of an upload in parts is no MD5 of its bytes, and has another form.
    return len(md5) != _MD5_DIGITS or hashlib.md5(content, usedforsecurity=False).hexdigest() == md5


async def _still(database: ConnectionPool, rows: Sequence[_Row]) -> list[_Row]:
    """Return the rows that are still there: an upload may have replaced or deleted some meanwhile."""
    if not rows:
        return []
    pairs = msgspec.json.encode([[row.id, row.version] for row in rows])
    async with database.transaction(_SETTINGS) as transaction:
        result = await transaction.rows(_SQL["still"], pairs)
    positions = msgspec.json.decode(result[0][0] or b"[]", type=list[int])
    return [rows[position] for position in sorted(positions)]
