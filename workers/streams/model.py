"""What streams are made of: the table that is copied, its changes, and the place of a copy. Pure."""

from collections.abc import Sequence
from dataclasses import dataclass

import msgspec
from msgspec import Struct

from schemas.changes import Values
from schemas.realtime import FilterCondition

READ, INSERT, UPDATE, DELETE, TRUNCATE = "read", "insert", "update", "delete", "truncate"
"""Kinds of changes; `read` is a row of a snapshot."""


class SourceColumn(Struct, frozen=True):
    """A column of the source: `number` stays when it is renamed, `type` is the base type of a domain, `sql_type` its own in SQL."""

    number: int
    name: str
    type: str
    sql_type: str
    type_modifier: int
    is_enum: bool = False
    is_text_plain: bool = True
    has_former: bool = False
    """Rows from before the column was added may have a value in it, which the log does not have."""
    key_place: int | None = None


@dataclass(frozen=True, slots=True)
class SourceTable:
    """A table as a stream copies it. `columns`: those that are copied, in order. `fingerprint`: a text for what the stream selects."""

    schema: str
    name: str
    relation: int
    parts: frozenset[tuple[str, str]]
    """Names under which its changes are published: its own, and of a partitioned table those of its partitions."""
    columns: tuple[SourceColumn, ...]
    key: tuple[str, ...]
    """Columns of its primary key; empty without one."""
    filters: tuple[FilterCondition, ...]
    filter_columns: tuple[SourceColumn, ...]
    """Columns that only filters need."""
    fingerprint: str

    @property
    def names(self) -> tuple[str, ...]:
        """Return the names of the copied columns."""
        return tuple(column.name for column in self.columns)

    @property
    def key_places(self) -> tuple[int, ...]:
        """Return the places of the key's columns among the copied ones."""
        return tuple(self.names.index(name) for name in self.key)


@dataclass(frozen=True, slots=True)
class StreamChange:
    """A change of a row. `values` and `old` have the JSON text of each copied column, or None where it is not known.

    Of a deleted row `values` is what the log has of it, at least its key; of an update `old` is there when the key changed.
    """

    kind: str
    values: Values
    old: Values | None
    lsn: int
    number: int
    index: int
    committed_at_us: int
    is_unsure: bool = False
    """Whether the row passes the filters is not in the log."""

    @property
    def id(self) -> str:
        """Return the position of the change, as everywhere: three hexadecimal numbers."""
        return f"{self.lsn:x}-{self.number:x}-{self.index:x}"


class CopyPlace(Struct, frozen=True, omit_defaults=True):
    """Up to where a target has a table: the message `seq` of the stream of changes that was made at `created`.

    After a snapshot the transactions that it saw and whose messages follow are left out: those up to `snapshot_lsn` that `snapshot` sees.
    """

    created: str
    seq: int
    lsn: int = 0
    snapshot: str = ""
    snapshot_lsn: int = 0
    fingerprint: str = ""
    epoch: int = 0
    """When the snapshot was made, in microseconds since 1970."""
    columns: dict[str, int] = {}
    """The copied columns by name, with their numbers: by these a renamed one is recognized. The number of one that is gone is 0."""

    def as_text(self) -> str:
        """Return it as JSON."""
        return msgspec.json.encode(self).decode()

    @classmethod
    def parse(cls, text: str) -> "CopyPlace | None":
        """Return the place of a text, None for one that is no place."""
        try:
            return msgspec.json.decode(text, type=cls)
        except msgspec.MsgspecError:
            return None


class TargetAway(Exception):
    """The target does not take anything now; it is tried again."""


class TargetRejects(Exception):
    """The target can never take this table as it is set."""


class SnapshotNeeded(Exception):
    """The target cannot follow the changes from where it is."""


def last_by_key(
    changes: Sequence[StreamChange], key_places: Sequence[int]
) -> tuple[bool, dict[tuple[bytes, ...], StreamChange | None]]:
    """Return what changes leave: whether the table was emptied, and by key the last change of the row, None for a deleted row."""
    is_emptied = False
    rows: dict[tuple[bytes, ...], StreamChange | None] = {}
    for change in changes:
        if change.kind == TRUNCATE:
            is_emptied, rows = True, {}
            continue
        if change.old is not None:
            rows[key_of(change.old, key_places)] = None
        key = key_of(change.values, key_places)
        rows.pop(key, None)
        rows[key] = None if change.kind == DELETE else change
    return is_emptied, rows


def key_of(values: Values, key_places: Sequence[int]) -> tuple[bytes, ...]:
    """Return the key of a row."""
    return tuple(values[place] or b"null" for place in key_places)
