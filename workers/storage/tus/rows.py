"""Resumable uploads as rows: begun, held by one writer at a time, finished, forgotten.

How many bytes there are, the blob store knows; the row tells it only of those that were reported. A writer holds an upload
for `LEASE_S` and renews that while bytes come; whoever else wants it says so in the row and waits. An edge that dies holds
nothing longer than that.

Raises, all of them: DatabaseError, Disconnected, PoolTimeout.
"""

import asyncio
from collections.abc import Sequence
from uuid import UUID, uuid4

import msgspec
from msgspec import Struct

from schemas.blobs import Blob
from workers.database.interactive import Value, first, statement
from workers.database.session import Rows
from workers.sql.files import read_statements
from workers.storage.context import Store
from workers.storage.tus.headers import Name
from workers.storage.tus.refusals import expired, no_such_upload, not_let_go

SQL = read_statements("workers.storage.tus", "rows.sql")

LEASE_S = 10.0
"""Seconds for which a writer holds an upload. Edges renew far more often (services/gateway/resuming_lease.py)."""
WAIT_S = 12.0
"""Seconds that a request waits for another writer: longer than the lease of one that died."""
_FIRST_PAUSE_S, _LONGEST_PAUSE_S = 0.02, 0.25

OWN = (("search_path", "storage"), ("statement_timeout", "30s"), ("lock_timeout", "5s"))
"""Settings of a transaction of the login role."""


class Row(Struct, frozen=True):
    """An upload that was begun."""

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
    def blob(self) -> Blob:
        """Give where its object's bytes shall lie."""
        return Blob(self.bucket_id, self.version)

    @property
    def name(self) -> Name:
        """Give what its URL spells."""
        return Name(self.bucket_id, self.key, self.version)

    @property
    def own_metadata(self) -> bytes | None:
        """Give the client's own metadata as JSON."""
        text = bytes(self.user_metadata)
        return None if text == b"null" else text


async def begin(store: Store, writer: UUID | None, *values: Value) -> Row:
    """Write a new row; `values` are those of the statement, up to the upsert."""
    held = (None, LEASE_S) if writer is None else (str(writer), LEASE_S)
    lasts = repr(float(store.settings.tus_expiry))
    rows = await _run(store, "begin", *values, lasts, held[0], repr(held[1]))
    row = first(rows, Row)
    assert row is not None  # an insert without a conflict clause gives its row or raises
    return row


async def find(store: Store, name: Name) -> Row:
    """Give an upload. Raises: Refused: 404, or 410 if its time is over."""
    row = await look_up(store, name.version)
    if row is None or (row.bucket_id, row.key) != (name.bucket, name.key):
        raise no_such_upload()
    if row.is_expired:
        raise expired()
    return row


async def look_up(store: Store, version: str) -> Row | None:
    """Give an upload by its version, whether its time is over or not; None if there is none."""
    return first(await _run(store, "find", version), Row)


async def hold(store: Store, version: str, lease_s: float = LEASE_S) -> tuple[Row, UUID | None]:
    """Become the writer of an upload, once the one who is has let go. Gives the upload as it is then, and the writer's name.

    There is no writer of what is complete. Raises: Refused (404, 503).
    """
    writer = uuid4()
    pauses = _Pauses()
    while True:
        is_held = await _run(store, "hold", version, str(writer), repr(lease_s))
        row = None
        if is_held or not await _run(store, "wait", version):
            row = await look_up(store, version)
            if row is None:
                raise no_such_upload()
        if row is not None and (is_held or row.is_complete):
            return row, None if row.is_complete else writer
        await pauses.next()


async def wait_until_free(store: Store, version: str) -> None:
    """Wait until nobody writes to an upload. Raises: Refused (503)."""
    pauses = _Pauses()
    while await _run(store, "wait", version):
        await pauses.next()


async def renew(store: Store, version: str, writer: UUID) -> bool:
    """Stay the writer; False if somebody else is, or waits."""
    rows = await _run(store, "renew", version, str(writer), repr(LEASE_S))
    return bool(rows) and rows[0][0] == b"f"


async def let_go(store: Store, version: str, writer: UUID) -> None:
    """Be the writer no longer."""
    await _run(store, "let_go", version, str(writer))


async def declare(store: Store, version: str, writer: UUID, length: int) -> None:
    """Write down the length of an upload that was not known."""
    await _run(store, "declare", version, str(writer), length)


async def advance(store: Store, version: str, writer: UUID, offset: int) -> bool:
    """Write down how far the upload came, and let go; False if another writer has it."""
    return bool(await _run(store, "advance", version, str(writer), offset))


async def delete(store: Store, version: str, writer: UUID) -> None:
    """Delete the row, as its writer."""
    await _run(store, "delete", version, str(writer))


async def _run(store: Store, name: str, *values: Value) -> Rows:
    found: Sequence[Rows] = await store.run(list(OWN), statement(SQL[name], *values))
    return found[0]


class _Pauses:
    """Ever longer pauses, until the wait is over."""

    def __init__(self) -> None:
        self._next_s = _FIRST_PAUSE_S
        self._ends_at = asyncio.get_running_loop().time() + WAIT_S

    async def next(self) -> None:
        """Pause. Raises: Refused (503) when the time is over."""
        if asyncio.get_running_loop().time() >= self._ends_at:
            raise not_let_go()
        await asyncio.sleep(self._next_s)
        self._next_s = min(self._next_s * 1.5, _LONGEST_PAUSE_S)
