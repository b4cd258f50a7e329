"""Changes as JSON messages, version 1 (docs/streams.md, "Messages"). Pure.

{"version": 1, "id": "5f1-0-1a2b-0-3", "schema": "public", "table": "orders", "op": "update", "committed_at": "2026-01-31T12:00:00.000000Z",
 "key": {"id": 3}, "former_key": null, "row": {"id": 3, "status": "paid"}, "omitted": []}
"""

from collections.abc import Sequence
from datetime import UTC, datetime

import msgspec

from schemas.changes import Values
from workers.streams.model import DELETE, READ, TRUNCATE, SourceTable, StreamChange

VERSION = 1
SNAPSHOT, SNAPSHOT_END = "snapshot", "snapshot_end"
"""Messages before the first and behind the last row of a snapshot."""
_text = msgspec.json.Encoder().encode


class MessageForm:
    """Messages of one table."""

    def __init__(self, source: SourceTable) -> None:
        self._names = [_text(name) for name in source.names]
        self._key_places = source.key_places
        self._head = b'"schema":%b,"table":%b' % (_text(source.schema), _text(source.name))

    def message(self, change: StreamChange, id: str, longest: int) -> bytes:
        """Return the message of a change. A row that is longer than `longest` bytes is left out, and its columns are named."""
        key = b"null" if change.kind == TRUNCATE else self._object(change.values, self._key_places)
        former = b"null" if change.old is None else self._object(change.old, self._key_places)
        has_row = change.kind not in (TRUNCATE, DELETE)
        places = [place for place, value in enumerate(change.values) if value is not None] if has_row else []
        if sum(len(change.values[place] or b"") + len(self._names[place]) + 2 for place in places) > longest:
            places = []
        omitted = [name for place, name in enumerate(self._names) if place not in places] if has_row else []
        row = self._object(change.values, places) if has_row else b"null"
        return self._whole(id, change.kind, change.committed_at_us, key, former, row, omitted)

    def mark(self, op: str, id: str, at_us: int) -> bytes:
        """Return a message about the whole table."""
        return self._whole(id, op, at_us, b"null", b"null", b"null", ())

    def read(self, values: Values, id: str, at_us: int, longest: int) -> bytes:
        """Return the message of a row of a snapshot."""
        return self.message(StreamChange(READ, values, None, 0, 0, 0, at_us), id, longest)

    def _whole(
        self, id: str, op: str, at_us: int, key: bytes, former: bytes, row: bytes, omitted: Sequence[bytes]
    ) -> bytes:
        at = datetime.fromtimestamp(at_us / 1_000_000, UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
        return (
            b'{"version":%d,"id":"%b",%b,"op":"%b","committed_at":"%b","key":%b,"former_key":%b,"row":%b,"omitted":[%b]}'
            % (
                VERSION,
                id.encode(),
                self._head,
                op.encode(),
                at.encode(),
                key,
                former,
                row,
                b",".join(omitted),
            )
        )

    def _object(self, values: Values, places: Sequence[int]) -> bytes:
        if not places:
            return b"null"
        return b"{%b}" % b",".join(
            [b"%b:%b" % (self._names[place], values[place] or b"null") for place in places]
        )
