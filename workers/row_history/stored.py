"""Versions as they are stored: structs of the statements in stored.sql, and positions as texts."""

import msgspec
from msgspec import Struct

from schemas.changes import Position
from workers.sql.files import read_statements

SQL = read_statements("workers.row_history", "stored.sql")
Values = dict[str, msgspec.Raw]
"""Column -> the JSON text of its value."""


class StoredGap(Struct, frozen=True):
    """Versions may be missing behind `after_lsn`, a position of the log. `at`: when that was noticed."""

    after_lsn: int
    reason: str
    at: str


class StoredHistory(Struct, frozen=True):
    """A table with history. `key`: the columns of its primary key; `is_on`: changes of now have versions."""

    id: int
    key: list[str]
    days: int
    is_on: bool
    since: str
    gaps: list[StoredGap] = []


class StoredVersion(Struct, frozen=True):
    """A version. `before` of an update has the changed columns alone; of a delete the row; `after` is the row as it was then."""

    lsn: int
    number: int
    index: int
    at: str
    operation: str
    source: str
    key: str | None = None
    former_key: str | None = None
    before: Values | None = None
    after: Values | None = None
    omitted: list[str] | None = None
    request_id: str | None = None
    role: str | None = None
    sub: str | None = None
    area: str | None = None
    request: str | None = None
    login: str | None = None
    by_trigger: bool = False

    @property
    def position(self) -> str:
        """Return its place among all changes, which names it."""
        return str(Position(self.lsn, self.number, self.index))


decode_history = msgspec.json.Decoder(StoredHistory).decode
decode_version = msgspec.json.Decoder(StoredVersion).decode
