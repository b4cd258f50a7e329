"""One transaction as the caller: role, claims and settings first, then the statements.

The one call every data pool uses: `Sessions.run(Work)`, which gives the rows; `run_long` gives a long value while it
arrives. Settings are transaction-local, always
(architecture, decision 9), and ride in the same round trip as the statement (decision 7).
"""

from collections.abc import Sequence
from enum import StrEnum
from typing import Protocol

from msgspec import Struct

from workers.database.long_value import LongValue
from workers.database.row_body import RowBody


class End(StrEnum):
    """How the transaction ends when its statements succeed."""

    COMMIT = "commit"
    ROLLBACK = "rollback"
    """Deferred constraints are checked first (`set constraints all immediate`)."""
    DECIDE = "decide"
    """The transaction stays open for `Decision`: the caller looks at the rows, then commits or rolls back."""


class Statement(Struct, frozen=True):
    """A statement in the extended protocol: text with `$1`..., parameters in text format (None is NULL).

    `binary` are the result columns wanted in binary format (a json or text value: its bytes; bytea: raw).
    With a `separator` the first values of the rows are the body of an answer, joined by it: the result is `GatheredRows`
    then. Only the last statement of a work without a decision may have one.
    """

    text: str
    params: Sequence[bytes | None] = ()
    binary: frozenset[int] = frozenset()
    separator: bytes | None = None


class Work(Struct, frozen=True):
    """What one transaction does.

    `settings` are (name, value) pairs applied in order with `set_config(name, value, true)` before anything else;
    `statements` run in order. `isolation` other than None, or an `end` that is not COMMIT, makes the transaction explicit.
    """

    settings: Sequence[tuple[str, str]]
    statements: Sequence[Statement]
    read_only: bool = False
    isolation: str | None = None
    end: End = End.COMMIT
    may_share: bool = False
    """It only reads, and by nothing that reaches out of the database: it may run behind others on one connection, and
    once more if that takes too long (workers/database/groups.py)."""


Row = tuple[bytes | None, ...]
Rows = list[Row]


class GatheredRows(list[Row]):
    """The rows of a result whose first value is NULL, with the first values of all others as `body`."""

    def __init__(self, rows: Rows, body: RowBody) -> None:
        super().__init__(rows)
        self.body = body


Found = tuple[list[Rows], LongValue | None]
"""Rows of each statement, and the long value that belongs into the last place of the last row."""


class Decision(Protocol):
    """Looks at the results of the statements and says whether to keep the work, or what else to do in its transaction.

    It is asked again with the results of what it wanted. May raise: then all is rolled back.
    """

    def __call__(self, results: list[Rows]) -> bool | Sequence[Statement]: ...


class Sessions(Protocol):
    """A pool of connections that runs work."""

    async def run(self, work: Work, decide: Decision | None = None) -> list[Rows]:
        """Run one transaction; give the rows of each statement.

        Cancelling the awaiting task cancels the statement and rolls back.
        Raises: DatabaseError (an error of the server, with its fields), PoolTimeout, Disconnected.
        """
        ...

    async def run_long(self, work: Work) -> Found:
        """Run one transaction that only reads and commits; its last statement gives one row.

        If the last value of that row is long (`wire.LONG_VALUE`), the row holds None in its place and the value comes
        beside it: read it to its end, or abandon it, for it keeps a connection. Raises: as `run`, and ValueError for
        work that may write.
        """
        ...
