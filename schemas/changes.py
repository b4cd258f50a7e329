"""Row changes as the replication worker publishes them and the edges read them: decoded once, in commit order.

The stream CHANGES stores these messages (broker/subjects.py):

    changes.<schema>.<table>    ChangeBatch: what one transaction did to one table, split after a number of changes
    messages.<pub|prv>.<topic>  StoredBroadcast: a row of realtime.messages, to be broadcast
    gaps.changes                Gap: changes were lost between two positions (the slot had to be recreated)
                                Tick: only a position, every minute, so that subscribers of a quiet table have a recent one

Theory. Every message has a place in one total order, `(lsn, number)`: the position of the commit in the log, then the number
of the message within its transaction. The place is also the message id, so JetStream stores a message that is published
twice once. A position adds the index of the change in its message; a client resumes with it.
Source: docs/reference/realtime.md, section 9.
"""

import re
from enum import StrEnum

from msgspec import Struct

_POSITION = re.compile(r"([0-9a-f]{1,16})-([0-9a-f]{1,8})-([0-9a-f]{1,8})")


class Position(Struct, frozen=True, array_like=True, order=True):
    """Place of a change among all changes. A client sends it to resume after that change."""

    lsn: int
    """Position of the commit in the write-ahead log, in bytes."""
    number: int = 0
    """Of the message within the transaction."""
    index: int = 0
    """Of the change within the message."""

    def __str__(self) -> str:
        return f"{self.lsn:x}-{self.number:x}-{self.index:x}"

    @classmethod
    def parse(cls, text: str) -> "Position":
        """Parse the form that `str` writes. Raises: ValueError for any other text."""
        match = _POSITION.fullmatch(text)
        if match is None:
            raise ValueError("a position has the form lsn-number-index, in hexadecimal digits")
        return cls(*(int(part, 16) for part in match.groups()))


def lsn_of_id(id: str) -> int:
    """Return the position of the commit in the id of a message of the stream; 0 for an id that is not ours."""
    try:
        return int(id.partition("-")[0], 16)
    except ValueError:
        return 0


class ChangeKind(StrEnum):
    """What happened to a row."""

    INSERT = "INSERT"
    UPDATE = "UPDATE"
    DELETE = "DELETE"
    TRUNCATE = "TRUNCATE"
    """Of the whole table, without rows."""


class ChangeColumn(Struct, frozen=True, array_like=True):
    """A column of the table at the time of the change."""

    name: str
    type: str
    """`pg_type.typname`: `int8`, `_int4`, `timestamptz`."""
    is_key: bool = False
    """Part of the primary key (not: of the replica identity)."""


Values = list[bytes | None]
"""For each column the JSON text of its value as `to_jsonb` writes it (`null` for NULL; bytea as hex without `\\x`);
None: not in the log (an unchanged TOAST value; a column that the replica identity leaves out)."""


class RowChange(Struct, frozen=True, array_like=True):
    """One change of one row."""

    kind: ChangeKind
    new: Values | None = None
    """INSERT and UPDATE: the new row."""
    old: Values | None = None
    """UPDATE and DELETE: the old row: all columns under replica identity full, else its key. Under another identity the log has
    no old row for an UPDATE that does not change the key; then the key is copied from the new row."""
    size: int = 0
    """Bytes of the change in the log."""


class CausingRequest(Struct, frozen=True, array_like=True):
    """The request that a change belongs to: its id, the role of the database, and `sub` of the caller ("" without)."""

    id: str
    role: str
    sub: str


class ChangeBatch(Struct, frozen=True, array_like=True, tag="batch"):
    """What one transaction did to one table, in order. A long transaction makes several batches."""

    schema: str
    table: str
    lsn: int
    number: int
    committed_at: int
    """Microseconds since 1970, UTC."""
    schema_lsn: int
    """Position of the last change of the database's schema or rights before this commit. A row may only be delivered by
    rights and policies that were read at this position or later."""
    columns: list[ChangeColumn]
    identity: str
    """`pg_class.relreplident`: d default, f full, i an index, n nothing."""
    changes: list[RowChange]
    xid: int = 0
    """Number of the transaction, 32 bits as in the log; 0 in messages of versions before 2026-12."""
    ends: bool = False
    """No further message of this transaction about a table follows later than those that have the same end."""
    relation: int = 0
    """Oid of the table; 0 in messages of versions before 2026-12."""
    causes: list[tuple[int, bytes]] = []
    """Messages `headwater.cause` of the transaction (schemas/causes.py): each holds from the change with its index on. Anyone who
    writes SQL may have written one: only a signature says whose it is."""
    requests: list[tuple[int, CausingRequest | None]] = []
    """What of `causes` the leader of replication believed (workers/replication/causing_requests.py), each from its index on; empty if it
    believed none."""

    def request_of(self, index: int) -> CausingRequest | None:
        """Return the request that made the change with this index; None if none is known."""
        request = None
        for start, causing in self.requests:
            if start > index:
                break
            request = causing
        return request


class StoredBroadcast(Struct, frozen=True, array_like=True, tag="sent"):
    """A row inserted into realtime.messages with the extension broadcast."""

    lsn: int
    number: int
    id: str
    topic: str
    """Without `realtime:`."""
    is_private: bool
    event: str
    payload: bytes
    """JSON text, or bytes when `is_binary`."""
    is_binary: bool = False


class Tick(Struct, frozen=True, array_like=True, tag="tick"):
    """Everything that was committed before this place is in the stream. A tick is published at regular intervals, even if
    nothing happened, so that a position by which a client resumes is never older than the stream's retention."""

    lsn: int
    number: int


class Gap(Struct, frozen=True, array_like=True, tag="gap"):
    """Changes after `since` and before this message are lost: subscribers must read the tables again."""

    lsn: int
    number: int
    since: int
    """Position that was confirmed last; 0 if it is unknown."""
    reason: str
