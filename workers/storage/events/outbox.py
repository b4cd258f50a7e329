"""The outbox table: triggers write a row with each change (schemas/migrations/storage); workers read rows in order and
delete them.

Any number of workers share it. The worker that locks the first row of an object owns all its rows, so one worker at a
time publishes the events of an object, in order. Ids of one object grow in the order of its changes, because each
change waits for the commit of the one before. If a worker dies, its locks end with its connection.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

import msgspec
from msgspec import Raw, Struct

from schemas.storage_events import NOTHING, StorageEvent
from workers.database.transactions.interactive import Transaction, statement
from workers.sql.files import read_statements

_SQL = read_statements("workers.storage.events", "outbox.sql")
_WINDOW = 1000
_OBJECTS = 250
_BATCH = 500
_COUNTED = 100_000
_MOST_SIZE = 2**63
_LONGEST_BUCKET = 1000
"""Maximum bytes of a bucket id: each may become three in a subject. Bucket names are far shorter."""


class UnreadableRow(Exception):
    """A row that is not an event: it was written by hand."""


@dataclass(frozen=True, slots=True)
class OutboxRow:
    """A row of the outbox; `time` is UTC without a zone, `owner` the owner of the object if the object still exists."""

    id: int
    event: str
    payload: bytes
    time: str
    owner: str | None = None


class OutboxDepth(Struct, frozen=True):
    """How many events wait (at most 100,000 are counted), and how long the oldest has waited."""

    count: int = 0
    age_s: float = 0.0


class _Payload(Struct, frozen=True, rename="camel"):
    bucket_id: str
    name: str
    version: str | None = None
    metadata: Raw = NOTHING
    upload_type: str | None = None
    req_id: str | None = None
    owner_id: str | None = None


@dataclass(frozen=True, slots=True)
class ClaimedRows:
    """Rows that are locked until the transaction ends. `is_all`: no other unlocked rows remain."""

    rows: Sequence[OutboxRow]
    is_all: bool


async def claim_rows(transaction: Transaction) -> ClaimedRows:
    """Lock and return the events of some objects, in order. Raises: DatabaseError, Disconnected, PoolTimeout."""
    heads = [int(row[0] or b"0") for row in await transaction.rows(_SQL["take"], _WINDOW, _OBJECTS)]
    if not heads:
        return ClaimedRows([], is_all=True)
    columns_of_rows = await transaction.rows(_SQL["read"], msgspec.json.encode(heads), _WINDOW, _BATCH)
    rows = [
        _row(*(None if value is None else bytes(value) for value in columns)) for columns in columns_of_rows
    ]
    return ClaimedRows(rows, is_all=len(heads) < _OBJECTS and len(rows) < _BATCH)


async def delete_rows(transaction: Transaction, ids: Iterable[int]) -> None:
    """Delete published events and commit, in one round trip. Raises: as `claim_rows`."""
    await transaction.run_last(statement(_SQL["forget"], msgspec.json.encode(sorted(ids))))


async def measure(transaction: Transaction) -> OutboxDepth:
    """Measure the waiting events. Raises: as `claim_rows`."""
    return await transaction.one(_SQL["measure"], OutboxDepth, _COUNTED) or OutboxDepth()


def read_event(row: OutboxRow) -> StorageEvent:
    """Return the event of a row (pure). Raises: UnreadableRow."""
    try:
        payload = msgspec.json.decode(row.payload, type=_Payload)
        time = msgspec.convert(row.time, datetime).replace(tzinfo=UTC)
    except (msgspec.DecodeError, UnicodeError, RecursionError):
        raise UnreadableRow("the payload has not the form of an event") from None
    if not 0 < len(payload.bucket_id.encode()) <= _LONGEST_BUCKET:
        raise UnreadableRow("the id of the bucket is empty, or too long for a subject")
    metadata = _metadata(payload.metadata)
    return StorageEvent(
        id=f"{row.id}-{int(time.timestamp() * 1_000_000)}",  # with the time, because a new database starts ids from 1 again
        sequence=row.id,
        type=row.event,
        bucket=payload.bucket_id,
        name=payload.name,
        version=payload.version,
        size=_size(metadata.get("size")),
        mimetype=_text(metadata.get("mimetype")),
        etag=_text(metadata.get("eTag")),
        owner=payload.owner_id or row.owner,
        upload_type=payload.upload_type,
        metadata=payload.metadata,
        time=time,
        request_id=payload.req_id,
    )


def _row(
    id: bytes | None, event: bytes | None, payload: bytes | None, time: bytes | None, owner: bytes | None
) -> OutboxRow:
    texts = ((value or b"").decode() for value in (event, time))
    return OutboxRow(
        int(id or b"0"), next(texts), payload or b"", next(texts), owner.decode() if owner else None
    )


def _metadata(raw: Raw) -> dict[str, object]:
    """Decode the metadata of an object; rows written by plain SQL may hold anything."""
    try:
        metadata = msgspec.json.decode(raw)
    except (msgspec.DecodeError, UnicodeError, RecursionError):
        return {}
    return metadata if isinstance(metadata, dict) else {}


def _size(value: object) -> int | None:
    is_size = isinstance(value, int) and not isinstance(value, bool) and 0 <= value < _MOST_SIZE
    return value if is_size else None  # type: ignore[return-value]  # narrowed by the line above


def _text(value: object) -> str | None:
    return value if isinstance(value, str) else None
