"""Rows of resumable uploads, and the lease that makes one request at a time their writer.

The blob store knows how many bytes an upload has; the row holds the last offset that was reported. A writer holds the
lease for `LEASE_S` and renews it while bytes arrive. Another request sets the column that asks for the lease and polls;
the writer sees that at its next renewal and stops. If a gateway dies, its lease ends by itself. Every write names the
writer's random id, so a writer that lost its lease without noticing cannot change the row.

All functions raise DatabaseError, Disconnected, PoolTimeout.
"""

import asyncio
from collections.abc import Sequence
from uuid import UUID, uuid4

import msgspec
from msgspec import Struct

from schemas.blobs import BlobReference
from schemas.resumable_uploads import LEASE_S, WAIT_S
from workers.database.protocol.rows import Rows
from workers.database.transactions.interactive import Value, decode_first, statement
from workers.sql.files import read_statements
from workers.storage.requests.context import StorageContext
from workers.storage.tus.errors import expired, lease_lost, lease_timeout, no_such_upload
from workers.storage.tus.headers import UploadName

SQL = read_statements("workers.storage.tus", "rows.sql")

_UUID_BYTES = 16
_FIRST_PAUSE_S, _LONGEST_PAUSE_S = 0.02, 0.25

LOGIN_ROLE_SETTINGS = (("search_path", "storage"), ("statement_timeout", "30s"), ("lock_timeout", "5s"))
"""Settings of a transaction of the login role."""


class ResumableUpload(Struct, frozen=True):
    """The row of an upload."""

    bucket_id: str
    key: str
    version: str
    upload_length: int | None
    upload_offset: int
    upload_metadata: str | None
    content_type: str
    cache_control: str
    user_metadata: msgspec.Raw
    owner_id: str | None
    upsert: bool
    writer: str | None
    expires_at: int
    """Epoch seconds."""
    is_expired: bool
    is_complete: bool

    @property
    def blob(self) -> BlobReference:
        """The blob of its object."""
        return BlobReference(self.bucket_id, self.version)

    @property
    def name(self) -> UploadName:
        """The content of its URL's last segment."""
        return UploadName(self.bucket_id, self.key, self.version)

    @property
    def own_metadata(self) -> bytes | None:
        """The client's user metadata as JSON."""
        text = bytes(self.user_metadata)
        return None if text == b"null" else text


async def create(context: StorageContext, writer: UUID | None, *values: Value) -> ResumableUpload:
    """Insert a row; `values` are the statement's, up to the upsert flag."""
    held = (None, LEASE_S) if writer is None else (str(writer), LEASE_S)
    lasts = repr(float(context.settings.tus_expiry))
    rows = await _run(context, "begin", *values, lasts, held[0], repr(held[1]))
    row = decode_first(rows, ResumableUpload)
    assert row is not None  # an insert without a conflict clause returns its row or raises
    return row


async def find(context: StorageContext, name: UploadName) -> ResumableUpload:
    """Return an upload. Raises: TusError: 404, or 410 if it has expired."""
    row = await look_up(context, name.version)
    if row is None or (row.bucket_id, row.key) != (name.bucket, name.key):
        raise no_such_upload()
    if row.is_expired:
        raise expired()
    return row


async def look_up(context: StorageContext, version: str) -> ResumableUpload | None:
    """Return an upload by its version, expired or not; None if it does not exist."""
    return decode_first(await _run(context, "find", version), ResumableUpload)


async def acquire_lease(
    context: StorageContext, version: str, lease_s: float = LEASE_S
) -> tuple[ResumableUpload, UUID | None]:
    """Wait for the lease and take it. Return the upload as it is then, and the writer's id.

    A complete upload is returned without an id. Raises: TusError (404, 503).
    """
    writer = uuid4()
    pauses = _Pauses()
    while True:
        # One conditional UPDATE takes the lease, so two requests cannot both get it. If it fails, "wait" marks the row:
        # the writer sees the mark at its next renewal and stops.
        is_held = await _run(context, "hold", version, str(writer), repr(lease_s))
        row = None
        if is_held or not await _run(context, "wait", version):
            row = await look_up(context, version)
            if row is None:
                raise no_such_upload()
        if row is not None and (is_held or row.is_complete):
            return row, None if row.is_complete else writer
        await pauses.next()


async def wait_until_free(context: StorageContext, version: str) -> None:
    """Wait until the lease of an upload is free. Raises: TusError (503)."""
    pauses = _Pauses()
    while await _run(context, "wait", version):
        await pauses.next()


async def renew_lease(context: StorageContext, version: str, writer: UUID) -> bool:
    """Renew the lease; return False if another request has it, or waits for it."""
    rows = await _run(context, "renew", version, str(writer), repr(LEASE_S))
    return bool(rows) and rows[0][0] == b"f"


async def release_lease(context: StorageContext, version: str, writer: UUID) -> None:
    """Release the lease."""
    await _run(context, "let_go", version, str(writer))


async def declare(context: StorageContext, version: str, writer: UUID, length: int) -> None:
    """Store the length of an upload whose length was deferred."""
    await _run(context, "declare", version, str(writer), length)


async def advance(context: StorageContext, version: str, writer: UUID, offset: int) -> bool:
    """Store the offset and release the lease; return False if another writer has it."""
    return bool(await _run(context, "advance", version, str(writer), offset))


async def delete(context: StorageContext, version: str, writer: UUID) -> None:
    """Delete the row, as its writer."""
    await _run(context, "delete", version, str(writer))


async def _run(context: StorageContext, name: str, *values: Value) -> Rows:
    results: Sequence[Rows] = await context.run(list(LOGIN_ROLE_SETTINGS), statement(SQL[name], *values))
    return results[0]


class _Pauses:
    """Growing pauses between two polls, up to WAIT_S in total."""

    def __init__(self) -> None:
        self._next_s = _FIRST_PAUSE_S
        self._ends_at = asyncio.get_running_loop().time() + WAIT_S

    async def next(self) -> None:
        """Sleep. Raises: TusError (503) after WAIT_S."""
        if asyncio.get_running_loop().time() >= self._ends_at:
            raise lease_timeout()
        await asyncio.sleep(self._next_s)
        self._next_s = min(self._next_s * 1.5, _LONGEST_PAUSE_S)


def lease_ticket(version: str, writer: UUID) -> bytes:
    """Return the ticket of a writer. The writer's random id is secret, so the ticket needs no MAC."""
    return UUID(version).bytes + writer.bytes


def read_lease_ticket(ticket: bytes) -> tuple[str, UUID]:
    """Return the upload's version and the writer's id. Raises: TusError (423) for a malformed ticket."""
    if len(ticket) != 2 * _UUID_BYTES:
        raise lease_lost()
    return str(UUID(bytes=ticket[:_UUID_BYTES])), UUID(bytes=ticket[_UUID_BYTES:])
