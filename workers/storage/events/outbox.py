"""The outbox: rows that triggers write with each change (schemas/migrations/storage), read in order and forgotten once told.

Any number of workers share it. Who locks the first row of an object has the object, so its events are in one hand at a
time and keep their order. Ids of one object grow in the order of its changes: each change waits for the one before it to
be committed. A worker that dies gives everything back, for the locks end with its connection.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

import msgspec
from msgspec import Raw, Struct

from schemas.storage_events import NOTHING, StorageEvent
from workers.database.interactive import Transaction
from workers.sql.files import read_statements

_SQL = read_statements("workers.storage.events", "outbox.sql")
_WINDOW = 1000
_OBJECTS = 250
_BATCH = 500
_COUNTED = 100_000
_MOST_SIZE = 2**63
_LONGEST_BUCKET = 1000
"""Bytes of an id, of which each may become three of a subject; names of buckets are far shorter."""


class Unreadable(Exception):
    """A row that is no event: somebody wrote it by hand."""


@dataclass(frozen=True, slots=True)
class Row:
    """A row of the outbox; `time` is UTC without saying so, `owner` that of the object if it is still there."""

    id: int
    event: str
    payload: bytes
    time: str
    owner: str | None = None


class Depth(Struct, frozen=True):
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
class Taken:
    """Rows in hand until the transaction ends. `is_all`: nothing was left that nobody has in hand."""

    rows: Sequence[Row]
    is_all: bool


async def take(transaction: Transaction) -> Taken:
    """Take the events of some objects, in order. Raises: DatabaseError, Disconnected, PoolTimeout."""
    heads = [int(row[0] or b"0") for row in await transaction.rows(_SQL["take"], _WINDOW, _OBJECTS)]
    if not heads:
        return Taken([], is_all=True)
    found = await transaction.rows(_SQL["read"], msgspec.json.encode(heads), _WINDOW, _BATCH)
    rows = [_row(*(None if value is None else bytes(value) for value in columns)) for columns in found]
    return Taken(rows, is_all=len(heads) < _OBJECTS and len(rows) < _BATCH)


async def forget(transaction: Transaction, ids: Iterable[int]) -> None:
    """Delete events that are told. Raises: as `take`."""
    await transaction.rows(_SQL["forget"], msgspec.json.encode(sorted(ids)))


async def measure(transaction: Transaction) -> Depth:
    """Tell what waits. Raises: as `take`."""
    return await transaction.one(_SQL["measure"], Depth, _COUNTED) or Depth()


def read_event(row: Row) -> StorageEvent:
    """Give the event that a row tells (pure). Raises: Unreadable."""
    try:
        told = msgspec.json.decode(row.payload, type=_Payload)
        time = msgspec.convert(row.time, datetime).replace(tzinfo=UTC)
    except (msgspec.DecodeError, UnicodeError, RecursionError):
        raise Unreadable("the payload has not the form of an event") from None
    if not 0 < len(told.bucket_id.encode()) <= _LONGEST_BUCKET:
        raise Unreadable("the id of the bucket is empty, or too long for a subject")
    known = _metadata(told.metadata)
    return StorageEvent(
        id=f"{row.id}-{int(time.timestamp() * 1_000_000)}",  # with the time, for ids begin anew with a new database
        sequence=row.id,
        type=row.event,
        bucket=told.bucket_id,
        name=told.name,
        version=told.version,
        size=_size(known.get("size")),
        mimetype=_text(known.get("mimetype")),
        etag=_text(known.get("eTag")),
        owner=told.owner_id or row.owner,
        upload_type=told.upload_type,
        metadata=told.metadata,
        time=time,
        request_id=told.req_id,
    )


def _row(
    id: bytes | None, event: bytes | None, payload: bytes | None, time: bytes | None, owner: bytes | None
) -> Row:
    texts = ((value or b"").decode() for value in (event, time))
    return Row(int(id or b"0"), next(texts), payload or b"", next(texts), owner.decode() if owner else None)


def _metadata(raw: Raw) -> dict[str, object]:
    """Read what is known of an object; rows written by plain SQL may hold anything there."""
    try:
        found = msgspec.json.decode(raw)
    except (msgspec.DecodeError, UnicodeError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}


def _size(value: object) -> int | None:
    is_size = isinstance(value, int) and not isinstance(value, bool) and 0 <= value < _MOST_SIZE
    return value if is_size else None  # type: ignore[return-value]  # narrowed by the line above


def _text(value: object) -> str | None:
    return value if isinstance(value, str) else None
