"""Changes in the form of Debezium's connector for Postgres, as JSON without schemas. Pure.

The envelope is Debezium's (`before`, `after`, `source`, `op`, `ts_ms`), and so are deletes: a message and a tombstone. A changed key is a delete and a create. Of Debezium's choices for values
these are taken: `numeric` as text, `json` and `jsonb` as text, `bytea` as hexadecimal digits, times in ISO 8601. Source: debezium.io, "Debezium connector for PostgreSQL", "Data change events".
"""

from collections.abc import Iterator, Sequence

import msgspec

from schemas.changes import Values
from workers.streams.model import (
    DELETE,
    INSERT,
    READ,
    TRUNCATE,
    UPDATE,
    SourceColumn,
    SourceTable,
    StreamChange,
)

Message = tuple[bytes | None, bytes | None]
"""Key and value; a tombstone has no value."""
_OPS = {INSERT: "c", UPDATE: "u", DELETE: "d", TRUNCATE: "t", READ: "r"}
_AS_TEXT = ("json", "jsonb", "numeric")
_text = msgspec.json.Encoder().encode


class DebeziumForm:
    """Messages of one table. `name`: that of the stream, Debezium's `topic.prefix`."""

    def __init__(self, name: str, source: SourceTable) -> None:
        self._columns = source.columns
        self._names = [_text(column) for column in source.names]
        self._key_places = source.key_places
        self._source = b'"connector":"postgresql","name":%b,"schema":%b,"table":%b' % (
            _text(name),
            _text(source.schema),
            _text(source.name),
        )

    def messages(self, change: StreamChange, now_ms: int) -> Iterator[Message]:
        """Yield the messages of a change."""
        if change.kind == TRUNCATE:
            yield None, self._value(change, "t", None, None, now_ms)
            return
        key = self._key(change.values)
        if change.kind == DELETE:
            yield from self._removed(change, change.values, now_ms)
        elif change.old is not None:
            yield from self._removed(change, change.old, now_ms)
            yield key, self._value(change, "c", None, change.values, now_ms)
        else:
            yield key, self._value(change, _OPS[change.kind], None, change.values, now_ms)

    def _removed(self, change: StreamChange, values: Values, now_ms: int) -> Iterator[Message]:
        key = self._key(values)
        yield key, self._value(change, "d", values, None, now_ms)
        if key is not None:
            yield key, None

    def _key(self, values: Values) -> bytes | None:
        return self._row(values, self._key_places) if self._key_places else None

    def _value(
        self, change: StreamChange, op: str, before: Values | None, after: Values | None, now_ms: int
    ) -> bytes:
        places = range(len(self._columns))
        return (
            b'{"before":%b,"after":%b,"source":{%b,"ts_ms":%d,"snapshot":"%b","lsn":%d,"sequence":"%b"},"op":"%b","ts_ms":%d}'
            % (
                b"null" if before is None else self._row(before, places),
                b"null" if after is None else self._row(after, places),
                self._source,
                change.committed_at_us // 1000,
                b"true" if change.kind == READ else b"false",
                change.lsn,
                change.id.encode(),
                op.encode(),
                now_ms,
            )
        )

    def _row(self, values: Values, places: Sequence[int]) -> bytes:
        members = (
            b"%b:%b" % (self._names[place], _spelled(self._columns[place], values[place])) for place in places
        )
        return b"{%b}" % b",".join(members)


def _spelled(column: SourceColumn, value: bytes | None) -> bytes:
    if value is None or value == b"null":
        return b"null"
    if column.type in _AS_TEXT and (column.type != "numeric" or value[:1] != b'"'):
        return _text(value.decode())
    return value
