"""Turns table drafts into the messages of the stream: batches of changes, and broadcasts of the database. Pure.

A change that is too long keeps its place and loses its long values: those of more than 64 bytes, if the change has more than
1 MiB in the log or would not fit into a message of the broker; all values, if the short ones of its message do not fit. Its
`size` is then above `LONGEST`, so that the edge that delivers it can add the error. Source: docs/reference/realtime.md, section 9 ("Errors inside the message"), section 7.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from broker import subjects
from broker.codec import encode
from broker.subjects import Subject
from schemas.changes import CausingRequest, ChangeBatch, Gap, RowChange, StoredBroadcast, Tick, Values
from workers.replication.pgoutput import Row
from workers.replication.tables import LoggedTable
from workers.replication.transactions import MESSAGES_TABLE, LoggedChange, TableDraft

LONGEST = 1_048_576
"""Bytes of the longest change that is published complete."""
_KEPT_BYTES = 64
_KEPT_JSON = 6 * _KEPT_BYTES + 2
"""Bytes of the longest JSON of a text of that length; only a cast of a project's own type makes more of it."""
_LONGEST_SENT = 3_000_500
"""Bytes of the longest payload of a broadcast."""
_TOPIC, _EXTENSION, _EVENT, _PAYLOAD, _BINARY, _PRIVATE, _ID = (
    "topic", "extension", "event", "payload", "binary_payload", "private", "id",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class StreamMessage:
    """A message of the stream."""

    subject: Subject
    lsn: int
    number: int
    payload: bytes

    @property
    def id(self) -> str:
        """Return its id, which is its place among all messages."""
        return message_id(self.lsn, self.number)


def message_id(lsn: int, number: int) -> str:
    """Return the id of a message."""
    return f"{lsn:x}-{number:x}"


def order(id: str) -> tuple[int, int]:
    """Return the place of a message by its id. An id that is not ours is before all others."""
    try:
        lsn, number = id.split("-")
        return int(lsn, 16), int(number, 16)
    except ValueError:
        return 0, 0


def is_broadcast_table(draft: TableDraft) -> bool:
    """Return whether the rows of a draft are broadcasts (rows of realtime.messages)."""
    return (draft.relation.schema, draft.relation.name) == MESSAGES_TABLE


def batch_of(
    draft: TableDraft,
    table: LoggedTable,
    news: Sequence[Values | None],
    olds: Sequence[Values | None],
    limit: int,
    requests: Sequence[tuple[int, CausingRequest | None]] = (),
) -> tuple[StreamMessage, bool]:
    """Return the message with the changes of a table, and whether values were left out. `limit` is its size in bytes."""
    changes = [
        RowChange(change.kind, new, old, change.size)
        for change, new, old in zip(draft.changes, news, olds, strict=True)
    ]
    is_cut = False
    for place, change in enumerate(changes):
        if change.size > LONGEST:
            changes[place], is_cut = _cut(change, draft.changes[place]), True
    payload = _encoded(draft, table, changes, requests)
    while len(payload) > limit:
        place, is_cut = max(range(len(changes)), key=lambda at: _weight(changes[at])), True
        if not _weight(changes[place]):  # too many short values
            payload = _encoded(draft, table, [_emptied(change) for change in changes], requests)
            break
        changes[place] = _cut(changes[place], draft.changes[place])
        payload = _encoded(draft, table, changes, requests)
    subject = subjects.changes(draft.relation.schema, draft.relation.name)
    return StreamMessage(subject, draft.lsn, draft.number, payload), is_cut


def broadcasts_of(draft: TableDraft, limit: int) -> tuple[list[StreamMessage], int]:
    """Return the broadcasts, and how many were too long to be sent."""
    names = [column.name for column in draft.relation.columns]
    messages, too_long = [], 0
    for place, change in enumerate(draft.changes):
        sent = _sent(
            draft, draft.number + place, dict(zip(names, change.new, strict=True)) if change.new else {}
        )
        if sent is None:
            continue
        payload = encode(sent)
        if len(payload) > limit or len(sent.payload) > _LONGEST_SENT:
            too_long += 1
            continue
        subject = subjects.messages(sent.topic, is_private=sent.is_private)
        messages.append(StreamMessage(subject, sent.lsn, sent.number, payload))
    return messages, too_long


def gap_of(lsn: int, since: int, reason: str) -> StreamMessage:
    """Return the message that changes are lost. Its place is before every commit at or after `lsn`, and after all earlier."""
    return StreamMessage(subjects.GAPS, lsn - 1, 0, encode(Gap(lsn - 1, 0, since, reason)))


def tick_of(lsn: int, number: int) -> StreamMessage:
    """Return the message that the log was read up to `lsn`. It takes the place of a gap; `number` distinguishes several."""
    return StreamMessage(subjects.GAPS, lsn - 1, number, encode(Tick(lsn - 1, number)))


def _encoded(
    draft: TableDraft,
    table: LoggedTable,
    changes: list[RowChange],
    requests: Sequence[tuple[int, CausingRequest | None]],
) -> bytes:
    return encode(
        ChangeBatch(
            draft.relation.schema,
            draft.relation.name,
            draft.lsn,
            draft.number,
            draft.committed_at,
            draft.schema_lsn,
            table.columns,
            draft.relation.identity,
            changes,
            draft.xid,
            draft.ends,
            draft.relation.oid,
            draft.causes,
            list(requests),
        )
    )


def _cut(change: RowChange, source: LoggedChange) -> RowChange:
    """Remove the long values, by the length of their text in the log and of their JSON; NULL and short values stay."""
    return RowChange(
        change.kind,
        _without_long(change.new, source.new),
        _without_long(change.old, source.old),
        max(change.size, LONGEST + 1),
    )


def _without_long(values: Values | None, texts: Row | None) -> Values | None:
    if values is None or texts is None:
        return values
    return [
        None
        if isinstance(text, bytes) and (len(text) > _KEPT_BYTES or len(value or b"") > _KEPT_JSON)
        else value
        for value, text in zip(values, texts, strict=True)
    ]


def _emptied(change: RowChange) -> RowChange:
    return RowChange(change.kind, _empty(change.new), _empty(change.old), change.size)


def _empty(values: Values | None) -> Values | None:
    return None if values is None else [None] * len(values)


def _weight(change: RowChange) -> int:
    if change.size > LONGEST:  # cut already
        return 0
    return sum(len(value) for row in (change.new, change.old) for value in row or () if value)


def _sent(draft: TableDraft, number: int, row: dict[str, object]) -> StoredBroadcast | None:
    """Return the broadcast of a row of realtime.messages; None if the row is not to be sent."""
    texts = {name: text for name, text in row.items() if isinstance(text, bytes)}
    payload, binary = texts.get(_PAYLOAD), texts.get(_BINARY)
    if texts.get(_EXTENSION) != b"broadcast" or payload is binary is None:
        return None
    if not {_TOPIC, _EVENT, _PRIVATE, _ID} <= texts.keys():
        return None
    return StoredBroadcast(
        draft.lsn,
        number,
        texts[_ID].decode(),
        texts[_TOPIC].decode(errors="replace"),
        texts[_PRIVATE] == b"t",
        texts[_EVENT].decode(errors="replace"),
        payload if payload is not None else bytes.fromhex((binary or b"")[2:].decode()),
        payload is None,
    )
