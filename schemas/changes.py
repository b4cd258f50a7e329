"""Row changes as they travel from the replication worker to the edges: decoded once, in the order of their commits.

The stream CHANGES keeps three kinds of messages (broker/subjects.py):

    changes.<schema>.<table>    Batch: what one transaction did to one table, cut every so many changes
    messages.<pub|prv>.<room>   Sent: a row of realtime.messages, to be broadcast
    gaps.changes                Gap: changes were lost between two positions (the slot had to be made anew)
                                Tick: nothing but a place, every minute, so that who follows a quiet table has a fresh one

Every message has a place in one total order, `(lsn, number)`: the position of the commit in the log, then the number of the
message within its transaction. The place is the message id too, so a message that is published twice is kept once.
Source: spike "realtime", section 6; reference page "realtime", section 9.
"""

import re
from enum import StrEnum

from msgspec import Struct

_POSITION = re.compile(r"([0-9a-f]{1,16})-([0-9a-f]{1,8})-([0-9a-f]{1,8})")


class Position(Struct, frozen=True, array_like=True, order=True):
    """Where a change stands among all changes: what a client names to go on after it."""

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
        """Read what `str` gives. Raises: ValueError for anything else."""
        found = _POSITION.fullmatch(text)
        if found is None:
            raise ValueError("a position has the form lsn-number-index, in hexadecimal digits")
        return cls(*(int(part, 16) for part in found.groups()))


class Kind(StrEnum):
    """What happened to a row."""

    INSERT = "INSERT"
    UPDATE = "UPDATE"
    DELETE = "DELETE"
    TRUNCATE = "TRUNCATE"
    """Of the whole table; no row comes with it."""


class Column(Struct, frozen=True, array_like=True):
    """A column of the table when the change was made."""

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

    kind: Kind
    new: Values | None = None
    """INSERT and UPDATE: the row as it became."""
    old: Values | None = None
    """UPDATE and DELETE: what is known of the row as it was: the whole under replica identity full, else its key. An UPDATE
    under another identity that leaves the key alone carries none in the log; the key is taken from the new row here."""
    size: int = 0
    """Bytes of the change in the log."""


class Batch(Struct, frozen=True, array_like=True, tag="batch"):
    """What one transaction did to one table, in order; a long one comes in several batches."""

    schema: str
    table: str
    lsn: int
    number: int
    committed_at: int
    """Microseconds since 1970, UTC."""
    schema_lsn: int
    """Position of the last change of the database's schema or rights before this commit: what is known of the table and
    of its policies must be at least that new before a row may be shown to anybody."""
    columns: list[Column]
    identity: str
    """`pg_class.relreplident`: d default, f full, i an index, n nothing."""
    changes: list[RowChange]


class Sent(Struct, frozen=True, array_like=True, tag="sent"):
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
    """Everything that was committed before this place is in the stream. One comes every so often, whether or not anything
    happened, so that a position by which a client resumes is never older than what the stream keeps."""

    lsn: int
    number: int


class Gap(Struct, frozen=True, array_like=True, tag="gap"):
    """Changes after `since` and before this message are lost: whoever follows must read the tables anew."""

    lsn: int
    number: int
    since: int
    """Position that was confirmed last; 0 where none is known."""
    reason: str
