"""Row changes as events of webhooks. Pure.

The body of an event, by Standard Webhooks ("Payload structure"):

    {"id": "1a2b-0-3", "type": "row.updated", "timestamp": "2026-01-31T12:00:00.000000Z",
     "data": {"schema": "public", "table": "orders", "record": {...}, "old_record": {...}, "omitted": ["long_text"],
              "request": {"id": "...", "role": "authenticated", "sub": "..."}}}

Values are spelled as the log of changes has them, which is how `to_jsonb` spells them. `omitted` names columns whose value is not in
the log: an unchanged value that Postgres stores apart, or one of a row of more than 1 MiB. `request` is there if one made the change.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

import msgspec
from msgspec import Struct

from schemas.changes import CausingRequest, ChangeBatch, ChangeKind, Position, RowChange, Values
from schemas.realtime import FilterCondition
from schemas.row_filters import passes

_NAMES = {
    ChangeKind.INSERT: ("insert", "row.inserted"),
    ChangeKind.UPDATE: ("update", "row.updated"),
    ChangeKind.DELETE: ("delete", "row.deleted"),
    ChangeKind.TRUNCATE: ("truncate", "table.truncated"),
}
_text = msgspec.json.Encoder().encode


class NewDelivery(Struct, frozen=True):
    """An event for a webhook. `row_key`: deliveries with an equal one keep their order; None for webhooks without order."""

    webhook: str
    event: str
    type: str
    row_key: str | None
    body: str
    at: float
    """When the transaction was committed, in seconds since 1970."""
    request_id: str | None
    """The request that made the change, as far as one is known."""


@dataclass(frozen=True, slots=True)
class RowWebhook:
    """What a webhook wants of a table. `columns` None: all."""

    id: str
    schema: str
    table: str
    """Of a partitioned table its own names, whichever partition has the row."""
    events: frozenset[str]
    filters: tuple[FilterCondition, ...]
    columns: frozenset[str] | None
    with_old: bool
    is_ordered: bool
    created_lsn: int
    """Changes that were committed before this position are older than the webhook."""


def deliveries_of(batch: ChangeBatch, webhook: RowWebhook) -> Iterator[NewDelivery]:
    """Yield the deliveries of a batch's changes to a webhook of its table."""
    if batch.lsn < webhook.created_lsn:
        return
    for index, change in enumerate(batch.changes):
        name, type = _NAMES[change.kind]
        if name not in webhook.events or not _passes(webhook.filters, batch, change):
            continue
        event = str(Position(batch.lsn, batch.number, index))
        at = batch.committed_at / 1_000_000
        request = batch.request_of(index)
        body = _body(event, type, batch, change, webhook, request)
        request_id = None if request is None else request.id.replace("\0", "")  # Postgres has no text with it
        yield NewDelivery(webhook.id, event, type, _row_key(batch, change, webhook), body, at, request_id)


def _passes(filters: Sequence[FilterCondition], batch: ChangeBatch, change: RowChange) -> bool:
    """Return whether a change passes; a condition on a value that is not in the log passes, so that no event is lost."""
    if not filters or change.kind is ChangeKind.TRUNCATE:
        return True
    row = _row(batch, change.new if change.new is not None else change.old)
    return all(row.get(each.column) is None or passes((each,), row) is not False for each in filters)


def _row(batch: ChangeBatch, values: Values | None) -> Mapping[str, bytes | None]:
    return {column.name: value for column, value in zip(batch.columns, values or (), strict=False)}


def _row_key(batch: ChangeBatch, change: RowChange, webhook: RowWebhook) -> str | None:
    """Return a text for the row; of a table without a key, and of a truncated one, a text for the whole table."""
    if not webhook.is_ordered:
        return None
    # An update that changes the key belongs to the row as it was: its later changes have the new key.
    row = _row(batch, change.old if change.old is not None else change.new)
    parts = [row.get(column.name) or b"null" for column in batch.columns if column.is_key]
    return b",".join(parts).decode() if change.kind is not ChangeKind.TRUNCATE else ""


def _body(
    event: str,
    type: str,
    batch: ChangeBatch,
    change: RowChange,
    webhook: RowWebhook,
    request: CausingRequest | None,
) -> str:
    moment = datetime.fromtimestamp(batch.committed_at / 1_000_000, UTC)
    omitted: list[str] = []
    record = _object(batch, change.new, webhook, omitted)
    old = b"null"
    if change.kind is ChangeKind.DELETE or (webhook.with_old and change.old is not None):
        old = _object(batch, change.old, webhook, None)
    sender = b""
    if request is not None:
        named = {"id": request.id, "role": request.role, "sub": request.sub or None}
        sender = b',"request":%b' % _text(named)
    data = b'{"schema":%b,"table":%b,"record":%b,"old_record":%b%b%b}' % (
        _text(webhook.schema),
        _text(webhook.table),
        record,
        old,
        b',"omitted":%b' % _text(omitted) if omitted else b"",
        sender,
    )
    return (
        b'{"id":%b,"type":%b,"timestamp":"%b","data":%b}'
        % (_text(event), _text(type), moment.strftime("%Y-%m-%dT%H:%M:%S.%fZ").encode(), data)
    ).decode()


def _object(
    batch: ChangeBatch, values: Values | None, webhook: RowWebhook, omitted: list[str] | None
) -> bytes:
    if values is None:
        return b"null"
    members: list[bytes] = []
    for column, value in zip(batch.columns, values, strict=True):
        if webhook.columns is not None and column.name not in webhook.columns:
            continue
        if value is not None:
            members.append(b"%b:%b" % (_text(column.name), value))
        elif omitted is not None:
            omitted.append(column.name)
    return b"{%b}" % b",".join(members)
