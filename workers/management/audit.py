"""The audit log: one row for each change that an administrator or a token made, or tried to make, and each sign-in.

The row is written after the operation, in a transaction of its own: an operation that changed something and whose row cannot be
written is answered with an error that says so, and the row is in the log of the process (`AuditLost`).
"""

from typing import ClassVar

import msgspec

from broker.observability.observations import Observation
from broker.observability.observe import observe
from workers.database.connection_pool.pool import ConnectionPool
from workers.database.errors import DatabaseError, Disconnected, PoolTimeout
from workers.management.errors import ManagementError
from workers.management.identity.store import execute
from workers.management.operation import Operation, OperationContext

_MOST_BYTES = 64 * 1024
_MOST_ACTOR = 320


class AuditLost(Observation, frozen=True):
    """An operation was carried out, and its audit row could not be stored."""

    level: ClassVar[str] = "error"
    actor: str
    operation: str
    outcome: str
    reason: str


async def write_audit(
    context: OperationContext, operation: Operation, arguments: dict[str, object], outcome: str
) -> None:
    """Store the row of a change. `outcome` is `done` or the code of the error. Raises: ManagementError (503)."""
    await write_call(context, operation.name, arguments, outcome)


async def write_call(
    context: OperationContext, name: str, arguments: dict[str, object], outcome: str
) -> None:
    """Store the row of an operation, or of a tool that an agent called. Raises: ManagementError (503)."""
    actor = context.actor
    values = (
        actor.name,
        actor.administrator_id,
        actor.token_id,
        name,
        outcome,
        context.request_id,
        context.address,
        _json(arguments),
        _json(context.before) if context.before is not None else None,
        _json(context.after) if context.after is not None else None,
    )
    try:
        await execute(await context.database.own(), "add_audit", *values)
    except (DatabaseError, Disconnected, PoolTimeout) as error:
        observe(AuditLost(actor.name, name, outcome, type(error).__name__))
        raise ManagementError(
            503,
            "audit_unavailable",
            f"The operation ended ({outcome}), but its audit row could not be stored",
            hint="Look at the state before you repeat it.",
        ) from None


async def write_event(
    pool: ConnectionPool,
    event: str,
    outcome: str,
    *,
    actor: str,
    administrator_id: str | None,
    request_id: str,
    address: str,
    details: dict[str, object],
) -> None:
    """Store the row of a sign-in, a confirmation or a sign-out. `actor` may be what a client typed. Raises: ManagementError (503)."""
    name = actor.encode(errors="replace").decode().replace("\0", "\ufffd")[:_MOST_ACTOR]
    values = (name, administrator_id, None, event, outcome, request_id, address, _json(details), None, None)
    try:
        await execute(pool, "add_audit", *values)
    except (DatabaseError, Disconnected, PoolTimeout) as error:
        observe(AuditLost(name, event, outcome, type(error).__name__))
        raise ManagementError(
            503, "audit_unavailable", "The audit row of this sign-in could not be stored; try again"
        ) from None


def _json(value: object) -> bytes:
    """Return a value as JSON that Postgres stores: without NUL, and cut to its size if it is very long."""
    text = msgspec.json.encode(value).replace(b"\\u0000", b"\\ufffd")
    return text if len(text) <= _MOST_BYTES else msgspec.json.encode({"omitted": len(text)})
