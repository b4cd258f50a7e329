"""The operation that reads the audit log, by pages from the newest row back."""

from typing import Any

from msgspec import Struct

from workers.management.interface.argument_limits import PageLimit
from workers.management.interface.errors import invalid_arguments
from workers.management.interface.identity.store import fetch
from workers.management.interface.operation import Operation, OperationContext
from workers.management.interface.rights import Right

_MOST_ID = 2**63 - 1


class AuditQuery(Struct, frozen=True, forbid_unknown_fields=True):
    """Rows before an id (the last of the page before), of one operation or of all."""

    before: int | None = None
    operation: str | None = None
    limit: PageLimit = 100


class AuditRow(Struct, frozen=True):
    """One row: who did what, from where, with which result. `arguments` are without secrets."""

    id: int
    at: str
    actor: str
    operation: str
    outcome: str
    request_id: str
    address: str
    arguments: Any
    before: Any = None
    after: Any = None


class AuditPage(Struct, frozen=True):
    """Rows, the newest first; `next` is `before` of the next page, null at the end."""

    rows: list[AuditRow]
    next: int | None


async def list_audit(context: OperationContext, arguments: AuditQuery) -> AuditPage:
    """Return a page of the audit log."""
    most = context.settings.max_rows
    if not 1 <= arguments.limit <= most:
        raise invalid_arguments(f"`limit` must be 1 to {most}")
    if arguments.before is not None and not 0 <= arguments.before <= _MOST_ID:
        raise invalid_arguments("`before` must be the id of a row")
    if arguments.operation is not None and "\0" in arguments.operation:
        raise invalid_arguments("`operation` must be the name of an operation")
    rows = await fetch(
        await context.database.own(),
        "audit",
        AuditRow,
        arguments.before,
        arguments.operation,
        arguments.limit,
    )
    return AuditPage(rows, rows[-1].id if len(rows) == arguments.limit else None)


def operations() -> list[Operation]:
    """Return the operations of this module."""
    return [Operation("audit.list", "Read the audit log", AuditQuery, AuditPage, Right.OWNER, list_audit)]
