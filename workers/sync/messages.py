"""Messages of a shape's log: rows before and after -> the bytes that clients receive. Pure.

A row is the JSON object that Postgres wrote: every value a text or null. It is read and written again here only where columns are
left out or compared; the texts stay as they are. Source: docs/sync.md.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import msgspec

Row = dict[str, str | None]
_decode_row = msgspec.json.Decoder(Row).decode
encode = msgspec.json.encode


@dataclass(frozen=True, slots=True)
class RowState:
    """A row of a shape now. `key`: JSON text of its key; `value`: JSON object, None if the caller does not see it."""

    key: bytes
    value: bytes | None
    tag: str = ""
    """By which `If-Match` of REST knows it; empty where it has none."""


@dataclass(frozen=True, slots=True)
class Batch:
    """Where the messages of one or more transactions stand in the log."""

    lsn: int
    txids: tuple[int, ...] = ()
    is_move: bool = False
    """Rows came into sight, or went out of it, without a change of themselves."""


@dataclass(frozen=True, slots=True)
class MessageFormat:
    """What the messages of one shape have in common."""

    relation: tuple[str, str]
    key_columns: frozenset[str]
    is_full: bool


@dataclass(frozen=True, slots=True)
class Draft:
    """A message before its place in the log is known."""

    head: bytes
    """`"key":...,"value":...` and `old_value`."""
    headers: Mapping[str, object]


def change_of(
    form: MessageFormat,
    key: bytes,
    before: bytes | None,
    after: bytes | None,
    *,
    is_noted: bool = False,
    renamed: tuple[str, bytes] | None = None,
    tag: str = "",
) -> Draft | None:
    """Return the message that leads from one version of a row to another; None if there is none.

    `is_noted`: a message without changed columns is returned instead of none. `renamed`: the header that names the other key.
    """
    more = {} if renamed is None else {renamed[0]: msgspec.json.decode(renamed[1])}
    if after is None:
        if before is None:
            return None
        old = _decode_row(before)
        value = old if form.is_full else _key_of(form, old)
        return Draft(_head(key, encode(value)), {"operation": "delete", **more})
    tags = {"etag": f'"{tag}"'} if tag else {}
    if before is None:
        return Draft(_head(key, after), {"operation": "insert", **tags, **more})
    if before == after and not is_noted:
        return None
    old, new = _decode_row(before), _decode_row(after)
    changed = {name: value for name, value in new.items() if old.get(name) != value}
    if not changed and not is_noted:
        return None
    if not form.is_full:
        return Draft(_head(key, encode({**_key_of(form, new), **changed})), {"operation": "update", **tags})
    previous = {name: old.get(name) for name in changed}
    return Draft(_head(key, after, encode(previous)), {"operation": "update", **tags})


def rendered(form: MessageFormat, drafts: Sequence[Draft], batch: Batch) -> list[tuple[int, bytes]]:
    """Return the messages with their numbers in the batch. One update may become two messages, so numbers are even."""
    messages = []
    for place, draft in enumerate(drafts):
        number = 2 * place
        headers: dict[str, object] = {
            **draft.headers,
            "relation": form.relation,
            "lsn": str(batch.lsn),
            "op_position": number,
        }
        if batch.txids:
            headers["txids"] = batch.txids
        if batch.is_move and draft.headers["operation"] == "insert":
            headers["is_move_in"] = True
        if place == len(drafts) - 1:
            headers["last"] = True
        messages.append((number, b'{%b,"headers":%b}' % (draft.head, encode(headers))))
    return messages


def up_to_date(lsn: int) -> bytes:
    """Return the message that a client has everything up to a position."""
    return b'{"headers":{"control":"up-to-date","global_last_seen_lsn":"%d"}}' % lsn


def snapshot_end(snapshot: str) -> bytes:
    """Return the message that ends a snapshot, from Postgres' text `xmin:xmax:xip,...`."""
    return encode({"headers": {"control": "snapshot-end", **snapshot_parts(snapshot)}})


def snapshot_parts(snapshot: str) -> dict[str, object]:
    """Return the three parts of a snapshot as texts."""
    xmin, xmax, running = snapshot.split(":")
    return {"xmin": xmin, "xmax": xmax, "xip_list": running.split(",") if running else []}


def tagged(message: bytes, tag: str) -> bytes:
    """Return a message with the tag of its row as its last header."""
    return b'%b,"etag":"\\"%b\\""}}' % (message[:-2], tag.encode())


def log_body(messages: Sequence[bytes]) -> bytes:
    """Return the body of an answer. Messages contain no line break, so that the edge can split there (schemas/sync.py)."""
    return b"[" + b",\n".join(messages) + b"]"


def _key_of(form: MessageFormat, row: Row) -> Row:
    return {name: value for name, value in row.items() if name in form.key_columns}


def _head(key: bytes, value: bytes, old: bytes | None = None) -> bytes:
    rest = b"" if old is None else b',"old_value":' + old
    return b'"key":%b,"value":%b%b' % (key, value, rest)
