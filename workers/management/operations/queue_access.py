"""The operation that opens queues to clients: schema `pgmq_public`, as the reference has it, and row policies on the queues' tables."""

from msgspec import Struct

from workers.database.transactions.interactive import statement
from workers.management.interface.backends.typed_rows import composed, needs_extension, read_rows, run_all
from workers.management.interface.operation import Operation, OperationContext
from workers.management.interface.rights import Right
from workers.management.operations.account import NoArguments
from workers.management.operations.queues import PGMQ, queue_table
from workers.sql import compose
from workers.sql.files import read_statements

SQL = read_statements("workers.management.operations", "queue_access.sql")
_SCHEMA = "pgmq_public"
_BEFORE = (
    "schema",
    "send",
    "send_batch",
    "read",
    "pop",
    "archive",
    "delete",
    "grant_schemas",
    "grant_functions",
)


class ExposedQueues(Struct, frozen=True):
    """The queues whose tables have row security and grants now. `is_served`: `api.schemas` names pgmq_public, so clients reach it."""

    queues: list[str]
    is_served: bool


class _QueueName(Struct, frozen=True):
    name: str


async def expose(context: OperationContext, arguments: NoArguments) -> ExposedQueues:
    """Create the functions of `pgmq_public`, and put all queues under row security: clients do what policies on their tables allow.

    `service_role` may do everything; `authenticated` may what policies say, which are none at first; `anon` nothing. Again after new queues.
    """
    with needs_extension(*PGMQ):
        names = [row.name for row in await read_rows(context, _QueueName, SQL["queues"])]
        await run_all(
            context,
            [statement(SQL[name]) for name in _BEFORE]
            + [
                composed(compose.concat(*parts))
                for name in names
                for prefix in ("q", "a")
                for parts in _opening(queue_table(name, prefix))
            ],
        )
    context.after = {"queues": names}
    return ExposedQueues(names, _SCHEMA in context.configuration.api.schemas)


def _opening(table: compose.Sql) -> list[tuple[compose.Sql, ...]]:
    return [
        (compose.raw("alter table "), table, compose.raw(" enable row level security")),
        (
            compose.raw("grant select, insert, update, delete on "),
            table,
            compose.raw(" to authenticated, service_role"),
        ),
    ]


def operations() -> list[Operation]:
    """Return the operations of this module."""
    return [
        Operation("queues.expose", "Open queues to clients under row policies", NoArguments, ExposedQueues, Right.DEVELOPER, expose, changes=True),
    ]  # fmt: skip
