"""One transaction as data: settings (role, claims), statements and how it ends; and the interface of what runs it.

Every data pool calls `TransactionRunner.run(TransactionSpec(...))` and gets the rows; `run_long` also returns a long value
while it arrives. Settings are always transaction-local (architecture, decision 9) and travel in the same round trip as the
statements (decision 7).
"""

from collections.abc import Sequence
from enum import StrEnum
from typing import Protocol

from msgspec import Struct

from workers.database.protocol.long_value import LongValue
from workers.database.protocol.rows import Rows


class TransactionEnd(StrEnum):
    """How the transaction ends when its statements succeed."""

    COMMIT = "commit"
    ROLLBACK = "rollback"
    """Deferred constraints are checked first (`set constraints all immediate`)."""
    DECIDE = "decide"
    """The transaction stays open for a `CommitDecision`: the caller looks at the rows, then commits or rolls back."""


class Statement(Struct, frozen=True):
    """A statement of the extended protocol: text with `$1`..., parameters in text format (None is NULL).

    `binary` are the result columns to return in binary format (the bytes of a json, text or bytea value).
    With a `separator`, the first values of the rows are joined by it as the body of a response, and the result is
    `GatheredRows`. Only the last statement of a transaction without a decision may have a separator.
    """

    text: str
    params: Sequence[bytes | None] = ()
    binary: frozenset[int] = frozenset()
    separator: bytes | None = None


class TransactionSpec(Struct, frozen=True):
    """What one transaction does.

    `settings` are (name, value) pairs that are applied in order with `set_config(name, value, true)` before anything else;
    `statements` run in order. An `isolation` other than None, or an `end` that is not COMMIT, makes the transaction explicit
    (`begin` ... `commit`).
    """

    settings: Sequence[tuple[str, str]]
    statements: Sequence[Statement]
    read_only: bool = False
    isolation: str | None = None
    end: TransactionEnd = TransactionEnd.COMMIT
    may_share: bool = False
    """It only reads, and calls nothing with effects outside the database. So it may be pipelined behind others on one
    connection, and run a second time if that takes too long (connection_pool/shared_reads.py)."""
    writes: bool = False
    """It writes rows, so its commit waits for the disk: together with others that write at the same time
    (connection_pool/shared_commits.py). Where it is not known to write, it waits for itself, if at all."""
    may_run_on_replica: bool = False
    """It only reads, and calls no volatile function by name: it may run on a replica, and again on the primary if it fails there
    (replicas/read_routing.py)."""


RowsAndLongValue = tuple[list[Rows], LongValue | None]
"""Rows of each statement, and the long value that is missing as the last value of the last row."""


class CommitDecision(Protocol):
    """Looks at the results of the statements; returns whether to commit, or more statements to run in the transaction.

    It is called again with the results of those. If it raises, the transaction is rolled back.
    """

    def __call__(self, results: list[Rows]) -> bool | Sequence[Statement]: ...


class TransactionRunner(Protocol):
    """Runs transactions: the connection pool, or a substitute in tests."""

    async def run(self, spec: TransactionSpec, decide: CommitDecision | None = None) -> list[Rows]:
        """Run one transaction and return the rows of each statement.

        Cancelling the awaiting task cancels the statement and rolls back.
        Raises: DatabaseError (an error of the server, with its fields), PoolTimeout, Disconnected.
        """
        ...

    async def run_long(self, spec: TransactionSpec) -> RowsAndLongValue:
        """Run one transaction that only reads and commits; its last statement returns one row.

        If the last value of that row is long (`backend_reader.LONG_VALUE`), the row has None in its place and the value is
        returned beside it. Read it to its end or abandon it, because it occupies a connection. Raises: as `run`, and
        ValueError for a transaction that may write.
        """
        ...
