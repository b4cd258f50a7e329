"""The audit log: one row for each change that an administrator or a token made, or tried to make, and each sign-in.

The row is written after the operation, in a transaction of its own: an operation that changed something and whose row cannot be
written is answered with an error that says so, and the row is in the log of the process (`AuditLost`).

Who acted, and from where, is stored sealed (identity/personal_data.py), and so are all documents of operations on accounts.
"""

from typing import Any, ClassVar

import msgspec
from msgspec import Struct

from broker.observability.observations import Observation
from broker.observability.observe import observe
from workers.database.errors import DatabaseError, Disconnected, PoolTimeout
from workers.management.interface.errors import ManagementError
from workers.management.interface.identity.own_pool import OwnPool
from workers.management.interface.identity.personal_data import Personal, PersonalDocument
from workers.management.interface.identity.store import execute, fetch
from workers.management.interface.operation import Operation, OperationContext

_MOST_BYTES = 64 * 1024
_MOST_ACTOR = 320
PERSONAL_OPERATIONS = ("administrators.", "account.", "factors.", "tokens.", "sign_in", "confirm", "sign_out")
"""First characters of the operations and events whose rows hold addresses of administrators beside `actor` and `address`."""


class AuditLost(Observation, frozen=True):
    """An operation was carried out, and its audit row could not be stored."""

    level: ClassVar[str] = "error"
    actor: str
    operation: str
    outcome: str
    reason: str


class _PlainRow(Struct):
    id: int
    operation: str
    actor: str
    address: str
    arguments: Any
    before: Any
    after: Any


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
        Personal(actor.name),
        actor.administrator_id,
        actor.token_id,
        name,
        outcome,
        context.request_id,
        Personal(context.address),
        _document(name, arguments),
        _document(name, context.before) if context.before is not None else None,
        _document(name, context.after) if context.after is not None else None,
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
    pool: OwnPool,
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
    origin = (Personal(address), _document(event, details))
    values = (Personal(name), administrator_id, None, event, outcome, request_id, *origin, None, None)
    try:
        await execute(pool, "add_audit", *values)
    except (DatabaseError, Disconnected, PoolTimeout) as error:
        observe(AuditLost(name, event, outcome, type(error).__name__))
        raise ManagementError(
            503, "audit_unavailable", "The audit row of this sign-in could not be stored; try again"
        ) from None


async def seal_audit_rows(pool: OwnPool) -> None:
    """Seal the rows of a version that stored them as they are. Raises: DatabaseError, Disconnected, PoolTimeout."""
    while rows := await fetch(pool, "plain_audit", _PlainRow):
        for row in rows:
            documents = [
                None if value is None else _document(row.operation, value)
                for value in (row.arguments, row.before, row.after)
            ]
            origin = (Personal(row.actor), Personal(row.address))
            await execute(pool, "seal_audit", row.id, *origin, *documents)


def _document(name: str, value: object) -> bytes | PersonalDocument:
    """Return arguments or a state as they are stored: sealed if the operation is about accounts of administrators."""
    document = _json(value)
    return PersonalDocument(document) if name.startswith(PERSONAL_OPERATIONS) else document


def _json(value: object) -> bytes:
    """Return a value as JSON that Postgres stores: without NUL, and without its longest members if it is very long."""
    text = _encoded(value)
    if len(text) <= _MOST_BYTES:
        return text
    members = msgspec.to_builtins(value, str_keys=True)
    if not isinstance(members, dict):
        return _omitted(text)
    # One long argument must not hide the others, such as the table that was changed.
    sizes = {name: len(_encoded(member)) for name, member in members.items()}
    for name in sorted(sizes, key=sizes.__getitem__, reverse=True):
        members[name] = {"omitted": sizes[name]}
        if len(shortened := _encoded(members)) <= _MOST_BYTES:
            return shortened
    return _omitted(text)


def _encoded(value: object) -> bytes:
    return msgspec.json.encode(value).replace(b"\\u0000", b"\\ufffd")


def _omitted(text: bytes) -> bytes:
    return msgspec.json.encode({"omitted": len(text)})
