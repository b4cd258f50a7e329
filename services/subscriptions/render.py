"""Renders a row change as the result of a GraphQL operation, from the log and from what the pool read of the row. Pure."""

from collections.abc import Mapping, Sequence

import msgspec
from msgspec import Raw, Struct

from schemas.subscriptions import ChangeField, OldColumn, RowChangesPlan

_NULL = b"null"


class DeliveredChange(Struct, frozen=True):
    """The members of `data` of a delivery (`services/realtime/changes/record.py`) that are used here."""

    type: str
    position: str
    commit_timestamp: str | None = None
    record: dict[str, Raw] = {}
    old_record: dict[str, Raw] = {}
    errors: list[str] | None = None


read_change = msgspec.json.Decoder(DeliveredChange).decode


def key_of(change: DeliveredChange, primary_key: Sequence[str]) -> list[str] | None:
    """Return the key of the changed row as texts; None if the log does not have it."""
    row = change.old_record if change.type == "DELETE" else change.record
    values = [_text(row.get(name)) for name in primary_key]
    return None if None in values else [value for value in values if value is not None]


def result_of(plan: RowChangesPlan, change: DeliveredChange, nodes: Sequence[bytes]) -> bytes:
    """Return the execution result. `nodes` are the JSON texts of the fields `node`, in their order."""
    left = iter(nodes)
    members = [
        msgspec.json.encode(field.key)
        + b":"
        + _field(field, change, next(left) if field.kind == "node" else b"")
        for field in plan.fields
    ]
    return b'{"data":{%b:{%b}}}' % (msgspec.json.encode(plan.name), b",".join(members))


def _field(field: ChangeField, change: DeliveredChange, node: bytes) -> bytes:
    match field.kind:
        case "event":
            return msgspec.json.encode(change.type)
        case "commitTimestamp":
            return msgspec.json.encode(change.commit_timestamp)
        case "position":
            return msgspec.json.encode(change.position)
        case "typename":
            return msgspec.json.encode(field.text)
        case "node":
            return node
        case "old":
            if change.type == "INSERT":
                return _NULL
            members = [
                msgspec.json.encode(column.key) + b":" + _old(column, change.old_record)
                for column in field.columns
            ]
            return b"{%b}" % b",".join(members)


def _old(column: OldColumn, row: Mapping[str, Raw]) -> bytes:
    if not column.column:
        return msgspec.json.encode(column.labels[""])
    raw = row.get(column.column)
    value = _NULL if raw is None else bytes(raw).strip()
    if value == _NULL:
        return value
    if column.labels:
        return msgspec.json.encode(_renamed(msgspec.json.decode(value), column.labels))
    match column.form:
        case "text" if not value.startswith(b'"'):
            return _as_texts(value)
        case "bytes" if value.startswith(b'"'):
            return b'"\\\\x' + value[1:]
    return value


def _as_texts(value: bytes) -> bytes:
    """Return a number or an object as a JSON string; of a list, each number."""
    if value.startswith(b"["):
        return b"[%b]" % b",".join(
            bytes(item) if bytes(item)[:1] in (b'"', b"n") else msgspec.json.encode(bytes(item).decode())
            for item in msgspec.json.decode(value, type=list[Raw])
        )
    return msgspec.json.encode(value.decode())


def _renamed(value: object, labels: Mapping[str, str]) -> object:
    if isinstance(value, list):
        return [_renamed(item, labels) for item in value]
    return labels.get(value, value) if isinstance(value, str) else value


def _text(raw: Raw | None) -> str | None:
    """Return a value as the text that Postgres reads: a string without quotes, any other value as it is written."""
    if raw is None:
        return None
    value = bytes(raw).strip()
    if value == _NULL:
        return None
    return str(msgspec.json.decode(value)) if value.startswith(b'"') else value.decode()
