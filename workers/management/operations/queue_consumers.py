"""Operations on functions that consume queues: how they do, pause, resume, drain, and sending again what was set aside.

What is wanted of a consumer is a row that the leader of the scheduler reads (workers/scheduler/queues). Messages are moved as role
`postgres`, as everything about queues is (queues.py).
"""

from typing import Annotated, Any, Literal

from msgspec import Struct

from workers.database.transactions.interactive import statement
from workers.database.transactions.model import TransactionSpec
from workers.management.interface import argument_limits as limits
from workers.management.interface.backends.typed_rows import composed, needs_extension, rows_of_form
from workers.management.interface.errors import ManagementError, not_found
from workers.management.interface.identity.store import decode_rows
from workers.management.interface.operation import Operation, OperationContext
from workers.management.interface.rights import Right
from workers.management.operations.account import Done, NoArguments
from workers.management.operations.queues import PGMQ, MessageReference, QueueReference, queue_table
from workers.sql import compose
from workers.sql.files import read_statements

SQL = read_statements("workers.management.operations", "queue_consumers.sql")
_MOST_SENT = 1000


class QueueConsumerState(Struct, frozen=True):
    """A function that consumes a queue. `messages`, `visible`: 100,001 for more; null before the first look. Counts since it is configured.

    `wanted`: run, drain (work until nothing can be taken, then pause) or pause. `problem`: why it does not consume, empty if it does.
    `dead_letter`: queue for messages that failed too often, empty for the archive. Times in seconds since 1970, spans in seconds.
    """

    function: str
    queue: str
    dead_letter: str
    wanted: Literal["run", "drain", "pause"]
    problem: str
    underway: int
    done: int
    failed: int
    set_aside: int
    done_per_s: float
    failed_per_s: float
    last_error: str
    messages: int | None = None
    visible: int | None = None
    oldest_s: float | None = None
    last_error_at: float | None = None
    measured_at: float | None = None


class MessagesToRedrive(Struct, frozen=True, forbid_unknown_fields=True):
    """What was set aside of a queue, the oldest first, at most a thousand at once."""

    queue: str
    limit: Annotated[int, limits.number(1, _MOST_SENT)] = _MOST_SENT


class RedrivenMessages(Struct, frozen=True):
    """How many messages were sent again."""

    count: int


async def consumers(context: OperationContext, arguments: NoArguments) -> list[QueueConsumerState]:
    """Return the functions that consume queues."""
    return await _consumers(context, "")


async def pause(context: OperationContext, arguments: QueueReference) -> Done:
    """Take no further messages of a queue; what is underway ends. Raises: ManagementError."""
    return await _want(context, arguments.queue, "pause")


async def resume(context: OperationContext, arguments: QueueReference) -> Done:
    """Consume a queue again. Raises: ManagementError."""
    return await _want(context, arguments.queue, "run")


async def drain(context: OperationContext, arguments: QueueReference) -> Done:
    """Work until no message of a queue can be taken, then pause. Raises: ManagementError."""
    return await _want(context, arguments.queue, "drain")


async def redrive(context: OperationContext, arguments: MessagesToRedrive) -> RedrivenMessages:
    """Send messages that were set aside to their queue again, as new ones. Raises: ManagementError."""
    if not 1 <= arguments.limit <= _MOST_SENT:
        raise ManagementError(400, "invalid_arguments", f"`limit` must be 1 to {_MOST_SENT}")
    consumer = await _consumer(context, arguments.queue)
    source = (
        queue_table(consumer.dead_letter, "q") if consumer.dead_letter else queue_table(consumer.queue, "a")
    )
    sql = compose.concat(
        compose.raw("with taken as (delete from "),
        source,
        compose.raw(" where msg_id in (select msg_id from "),
        source,
        compose.raw(
            " where pg_catalog.lower(headers -> 'dead_letter' ->> 'queue') = pg_catalog.lower($1::text)"
            " order by msg_id limit $2::bigint for update skip locked)"
            " returning msg_id, message, headers) insert into "
        ),
        queue_table(consumer.queue, "q"),
        compose.raw(
            " (vt, message, headers) select pg_catalog.clock_timestamp(), message, nullif(headers - 'dead_letter', '{}'::jsonb)"
            " from taken order by msg_id returning pg_catalog.json_build_object('id', msg_id)"
        ),
    )
    with needs_extension(*PGMQ), rows_of_form():
        [rows] = await context.database.write(
            composed(sql, consumer.queue, arguments.limit), timeout_s=context.settings.statement_timeout_s
        )
        sent = RedrivenMessages(len(decode_rows(rows, MessageReference)))
    context.after = sent
    return sent


async def _consumer(context: OperationContext, queue: str) -> QueueConsumerState:
    """Return the consumer of a queue. Raises: ManagementError (404)."""
    found = await _consumers(context, queue) if queue else []
    if not found:
        raise not_found(f"consumer of the queue {queue[:80]!r}")
    return found[0]


async def _consumers(context: OperationContext, queue: str) -> list[QueueConsumerState]:
    [rows] = await _run(context, ("consumers", queue))
    return decode_rows(rows, QueueConsumerState)


async def _want(context: OperationContext, queue: str, wish: str) -> Done:
    await _consumer(context, queue)
    await _run(context, ("want", queue, wish), ("notify",))
    return Done()


async def _run(context: OperationContext, *statements: tuple[Any, ...]) -> Any:
    """Run statements by name, with their values, in one transaction as the pool's login."""
    database = await context.database.own()
    return await database.run(
        TransactionSpec((), [statement(SQL[name], *values) for name, *values in statements])
    )


def operations() -> list[Operation]:
    """Return the operations of this module."""
    reader, developer = Right.READER, Right.DEVELOPER
    return [
        Operation("queues.consumers", "List functions that consume queues", NoArguments, list[QueueConsumerState], reader, consumers),
        Operation("queues.pause", "Pause the consumer of a queue", QueueReference, Done, developer, pause, changes=True),
        Operation("queues.resume", "Resume the consumer of a queue", QueueReference, Done, developer, resume, changes=True),
        Operation("queues.drain", "Empty a queue, then pause its consumer", QueueReference, Done, developer, drain, changes=True),
        Operation("queues.redrive", "Send messages again that were set aside", MessagesToRedrive, RedrivenMessages, developer, redrive, changes=True),
    ]  # fmt: skip
