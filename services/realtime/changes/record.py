"""The member `data` of a `postgres_changes` message: a row of the log and what may be shown of it become JSON text. Pure.

Shown are the columns that the role may select (and the subscription selected; the key is always among them), as far as the
log has them. Under row security an old row is shown whole only where the rule lets it be seen; else its key alone.
Source: reference page "realtime", section 9 ("Delivered message", "Errors inside the message").
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

import msgspec

from schemas.changes import Batch, Column, Kind, Position, RowChange, Values
from schemas.realtime import Table

LONGEST = 1_048_576
"""Bytes in the log of the longest change that is told whole; from a longer one the long values were taken already."""
NO_KEY = b'["Error 400: Bad Request, no primary key"]'
UNAUTHORIZED = b'["Error 401: Unauthorized"]'
TOO_LARGE = b'["Error 413: Payload Too Large"]'
_NULL = b"null"


@dataclass(frozen=True, slots=True)
class Shape:
    """What of a table's changes is shown to a role: made once for many changes."""

    head: bytes
    """`"schema":...,"table":...`."""
    columns: bytes
    """The JSON list of columns."""
    shown: tuple[tuple[int, bytes], ...]
    """Place in the log's row and `"name":` of each column that is shown."""
    key: tuple[tuple[int, bytes], ...]
    """The same of those that are part of the key."""
    error: bytes
    """Why the rows of this table cannot be told at all; empty if they can."""


def shape_of(
    schema: str,
    table: str,
    columns: Sequence[Column],
    grant: Table,
    select: Iterable[str] | None,
    *,
    is_bare: bool = False,
) -> Shape:
    """Bring together the columns of the log, the rights of a role and the choice of a subscription.

    `is_bare`: the key alone is shown.
    """
    names = {name for name, _ in grant.columns}
    key = {column.name for column in columns if column.is_key} or set(grant.key)
    if is_bare:
        names &= key
    elif select is not None:
        names &= {*select, *key}
    shown = [(place, column) for place, column in enumerate(columns) if column.name in names]
    error = b"" if grant.can_see_key and key else UNAUTHORIZED if key else NO_KEY
    return Shape(
        b'"schema":%b,"table":%b' % (msgspec.json.encode(schema), msgspec.json.encode(table)),
        msgspec.json.encode([{"name": column.name, "type": column.type} for _, column in shown]),
        tuple((place, _named(column)) for place, column in shown),
        tuple((place, _named(column)) for place, column in shown if column.name in key),
        error,
    )


def data_of(
    shape: Shape, batch: Batch, change: RowChange, position: Position, *, is_old_row_seen: bool
) -> bytes:
    """Give the JSON text. `is_old_row_seen`: all that is known of the old row may be shown, not its key alone."""
    kind = change.kind.value.encode()
    if shape.error and change.kind is not Kind.DELETE:
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
    if change.new is not None and change.kind is not Kind.DELETE:
        parts.append(b'"record":' + _object(shape.shown, change.new))
    if change.kind is not Kind.INSERT:
        shown = shape.shown if is_old_row_seen else shape.key
        parts.append(b'"old_record":' + _object(shown, change.old or ()))
    parts.append(
        b'"errors":%b,"position":"%b"}'
        % (TOO_LARGE if change.size > LONGEST else _NULL, str(position).encode())
    )
    return b",".join(parts)


def _object(shown: Sequence[tuple[int, bytes]], values: Values | tuple[()]) -> bytes:
    if not values:
        return b"{}"
    members = [name + value for place, name in shown if (value := values[place]) is not None]
    return b"{%b}" % b",".join(members)


def _named(column: Column) -> bytes:
    return msgspec.json.encode(column.name) + b":"


def _timestamp(microseconds: int) -> bytes:
    """Write `YYYY-MM-DDTHH:MM:SS.mmmZ`."""
    seconds, rest = divmod(microseconds, 1_000_000)
    moment = datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%S")
    return b"%b.%03dZ" % (moment.encode(), rest // 1000)
