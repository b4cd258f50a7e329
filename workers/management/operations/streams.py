"""Operation on streams to other systems: how they do. What is copied where is said by the operator's settings alone (`[streams]`)."""

from typing import Literal

from msgspec import Struct

from workers.database.transactions.interactive import statement
from workers.database.transactions.model import TransactionSpec
from workers.management.interface.identity.store import decode_rows
from workers.management.interface.operation import Operation, OperationContext
from workers.management.interface.rights import Right
from workers.management.operations.account import NoArguments
from workers.sql.files import read_statements

SQL = read_statements("workers.management.operations", "streams.sql")


class StreamedTable(Struct, frozen=True):
    """A table that a stream copies. `kind`: scheme of its target. `rows`: taken by the target since the stream began, snapshots included.

    `problem`: why nothing is copied (state away or rejected), and since when. `lag_s`: from the last written commit to its arrival.
    Times in seconds since 1970.
    """

    stream: str
    schema: str
    table: str
    kind: str
    state: Literal["waiting", "snapshot", "following", "away", "rejected"]
    problem: str
    rows: int
    snapshots: int
    snapshot_reason: str
    lag_s: float
    problem_since: float | None = None
    written_at: float | None = None


async def list_streams(context: OperationContext, arguments: NoArguments) -> list[StreamedTable]:
    """Return the tables of all streams, and how each does."""
    database = await context.database.own()
    [rows] = await database.run(TransactionSpec((), [statement(SQL["streams"])]))
    return decode_rows(rows, StreamedTable)


def operations() -> list[Operation]:
    """Return the operations of this module."""
    return [
        Operation("streams.list", "List tables that are copied to other systems", NoArguments, list[StreamedTable], Right.READER, list_streams),
    ]  # fmt: skip
