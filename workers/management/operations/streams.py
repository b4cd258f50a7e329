"""Operations on streams to other systems: how they do, pause, resume, all rows once more.

What is copied where is said by the operator's settings alone (`[streams]`). A pause can leave changes out of a target that has every one
(mode `append`), so all changes are for owners. Requests are columns that the leader of the pool `streams` reads.
"""

from typing import Any, Literal

from msgspec import Struct

from workers.database.transactions.interactive import statement
from workers.database.transactions.model import TransactionSpec
from workers.management.interface.errors import not_found
from workers.management.interface.identity.store import decode_rows
from workers.management.interface.operation import Operation, OperationContext
from workers.management.interface.rights import Right
from workers.management.operations.account import Done, NoArguments
from workers.sql.files import read_statements

SQL = read_statements("workers.management.operations", "streams.sql")


class StreamedTable(Struct, frozen=True):
    """A table that a stream copies. `kind`: scheme of its target. `rows`: taken by the target since the stream began, snapshots included.

    `problem`: why nothing is copied (state away or rejected), and since when. `lag_s`: from the last written commit to its arrival.
    `behind_bytes`: of the database's log, whatever tables it is about, since the position up to which the target has everything; 0 while it
    follows and nothing came. `behind_s`: how long ago the target had everything, while it follows `lag_s`. Both are null before the first rows. `snapshots`: how often all rows were copied.
    `is_paused`: an administrator paused it, which takes effect behind what is being written. `is_copied_again`: all rows are to be copied again.
    Times in seconds since 1970.
    """

    stream: str
    schema: str
    table: str
    kind: str
    state: Literal["waiting", "snapshot", "following", "away", "rejected", "paused"]
    problem: str
    rows: int
    snapshots: int
    snapshot_reason: str
    lag_s: float
    is_paused: bool
    is_copied_again: bool
    behind_s: float | None = None
    behind_bytes: int | None = None
    problem_since: float | None = None
    written_at: float | None = None


class StreamReference(Struct, frozen=True, forbid_unknown_fields=True):
    """A stream by its name in the settings: all its tables."""

    stream: str


class StreamedTableReference(Struct, frozen=True, forbid_unknown_fields=True):
    """A table of a stream."""

    stream: str
    table: str
    schema: str = "public"


async def list_streams(context: OperationContext, arguments: NoArguments) -> list[StreamedTable]:
    """Return the tables of all streams, and how each does."""
    database = await context.database.own()
    [rows] = await database.run(TransactionSpec((), [statement(SQL["streams"])]))
    return decode_rows(rows, StreamedTable)


async def pause(context: OperationContext, arguments: StreamReference) -> Done:
    """Write nothing more of a stream; what is being written ends. Raises: ManagementError."""
    return await _request(context, f"stream {arguments.stream[:80]!r}", "pause", arguments.stream, True)


async def resume(context: OperationContext, arguments: StreamReference) -> Done:
    """Go on with a stream. What left the stream of changes meanwhile is made up for by a snapshot. Raises: ManagementError."""
    return await _request(context, f"stream {arguments.stream[:80]!r}", "pause", arguments.stream, False)


async def copy_again(context: OperationContext, arguments: StreamedTableReference) -> Done:
    """Copy all rows of a table again. Raises: ManagementError."""
    name = f"{arguments.schema}.{arguments.table}"
    return await _request(
        context,
        f"table {name[:160]!r} in a stream {arguments.stream[:80]!r}",
        "copy_again",
        arguments.stream,
        arguments.schema,
        arguments.table,
    )


async def _request(context: OperationContext, what: str, name: str, *values: Any) -> Done:
    """Store what is requested, and notify the leader of streams. Raises: ManagementError (404) if there is no such thing; `what` names it."""
    database = await context.database.own()
    [changed, _] = await database.run(
        TransactionSpec((), [statement(SQL[name], *values), statement(SQL["notify"])])
    )
    if not changed:
        raise not_found(what)
    return Done()


def operations() -> list[Operation]:
    """Return the operations of this module."""
    reader, owner = Right.READER, Right.OWNER
    return [
        Operation("streams.list", "List tables that are copied to other systems", NoArguments, list[StreamedTable], reader, list_streams),
        Operation("streams.pause", "Pause a stream to another system", StreamReference, Done, owner, pause, changes=True),
        Operation("streams.resume", "Go on with a paused stream", StreamReference, Done, owner, resume, changes=True),
        Operation("streams.copy_again", "Copy all rows of a streamed table again", StreamedTableReference, Done, owner, copy_again, changes=True),
    ]  # fmt: skip
