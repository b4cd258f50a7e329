"""The member `data` of a `postgres_changes` message: JSON text of a row of the log, with the columns that may be shown. Pure.

Shown are the columns that the role may select and the subscription selected, as far as the log has them; the key is always
among the selected ones. Under row security an old row is complete only if the rule shows it; else it has its key alone.
Source: docs/reference/realtime.md, section 9 ("Delivered message", "Errors inside the message").
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

import msgspec

from schemas.changes import ChangeBatch, ChangeColumn, ChangeKind, Position, RowChange, Values
from schemas.realtime import TableGrant

LONGEST = 1_048_576
"""Bytes in the log of the longest complete change; replication has removed the long values of longer ones."""
NO_KEY = b'["Error 400: Bad Request, no primary key"]'
UNAUTHORIZED = b'["Error 401: Unauthorized"]'
TOO_LARGE = b'["Error 413: Payload Too Large"]'
_NULL = b"null"


@dataclass(frozen=True, slots=True)
class RecordShape:
    """The parts of `data` that are the same for all changes of a table, for one role and selection of columns."""

    head: bytes
    """`"schema":...,"table":...`."""
    columns: bytes
    """The JSON list of columns."""
    visible: tuple[tuple[int, bytes], ...]
    """Index in the row of the log and `"name":` of each visible column."""
    key: tuple[tuple[int, bytes], ...]
    """The same for the columns of the key."""
    error: bytes
    """Why rows of this table cannot be delivered; empty if they can."""


def shape_of(
    schema: str,
    table: str,
    columns: Sequence[ChangeColumn],
    grant: TableGrant,
    select: Iterable[str] | None,
    *,
    is_bare: bool = False,
) -> RecordShape:
    """Combine the columns of the log, the rights of a role and the selection of a subscription.

    `is_bare`: only the key is visible.
    """
    names = {name for name, _ in grant.columns}
    key = {column.name for column in columns if column.is_key} or set(grant.key)
    if is_bare:
        names &= key
    elif select is not None:
        names &= {*select, *key}
    visible = [(place, column) for place, column in enumerate(columns) if column.name in names]
    error = b"" if grant.can_see_key and key else UNAUTHORIZED if key else NO_KEY
    return RecordShape(
        b'"schema":%b,"table":%b' % (msgspec.json.encode(schema), msgspec.json.encode(table)),
        msgspec.json.encode([{"name": column.name, "type": column.type} for _, column in visible]),
        tuple((place, _named(column)) for place, column in visible),
        tuple((place, _named(column)) for place, column in visible if column.name in key),
        error,
    )


def data_of(
    shape: RecordShape, batch: ChangeBatch, change: RowChange, position: Position, *, is_old_row_seen: bool
) -> bytes:
    """Return the JSON text. `is_old_row_seen`: the complete old row is visible, as far as the log has it."""
    kind = change.kind.value.encode()
    if shape.error and change.kind is not ChangeKind.DELETE:
        return b'{%b,"type":"%b","errors":%b,"position":"%b"}' % (
            shape.head,
            kind,
            shape.error,
            str(position).encode(),
        )
    parts = [
        b'{%b,"commit_timestamp":"%b","type":"%b","columns":%b'
        % (shape.head, _timestamp(batch.committed_at), kind, shape.columns)
    ]
    if change.new is not None and change.kind is not ChangeKind.DELETE:
        parts.append(b'"record":' + _object(shape.visible, change.new))
    if change.kind is not ChangeKind.INSERT:
        visible = shape.visible if is_old_row_seen else shape.key
        parts.append(b'"old_record":' + _object(visible, change.old or ()))
    parts.append(
        b'"errors":%b,"position":"%b"}'
        % (TOO_LARGE if change.size > LONGEST else _NULL, str(position).encode())
    )
    return b",".join(parts)


def _object(visible: Sequence[tuple[int, bytes]], values: Values | tuple[()]) -> bytes:
    if not values:
        return b"{}"
    members = [name + value for place, name in visible if (value := values[place]) is not None]
    return b"{%b}" % b",".join(members)


def _named(column: ChangeColumn) -> bytes:
    return msgspec.json.encode(column.name) + b":"


def _timestamp(microseconds: int) -> bytes:
    """Write `YYYY-MM-DDTHH:MM:SS.mmmZ`."""
    seconds, rest = divmod(microseconds, 1_000_000)
    moment = datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%S")
    return b"%b.%03dZ" % (moment.encode(), rest // 1000)
