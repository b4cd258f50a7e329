"""Rows of webhooks, read and written by the pool's login."""

from typing import Any

import msgspec
from msgspec import Struct

from schemas.webhooks import WebhookSource, WebhookTarget, open_target, seal_target, target_sealer
from workers.database.transactions.interactive import statement
from workers.database.transactions.model import TransactionSpec
from workers.management.interface.errors import ManagementError, not_found
from workers.management.interface.identity.store import decode_rows
from workers.management.interface.operation import OperationContext
from workers.management.interface.page_cursor import check_text
from workers.sql.files import read_statements

SQL = read_statements("workers.management.areas.event_webhooks", "stored_webhooks.sql")


class StoredWebhookRow(Struct, frozen=True):
    """A row with what waits and what was set aside, each 100,001 for more. Times in seconds since 1970."""

    id: str
    name: str
    source: WebhookSource
    events: list[str]
    filters: list[str]
    sealed: str
    with_old: bool
    is_ordered: bool
    is_full: bool
    has_table: bool
    waiting: int
    failed: int
    created_at: float
    schema: str | None = None
    table: str | None = None
    columns: list[str] | None = None
    bucket: str | None = None
    pause_reason: str | None = None
    failing_since: float | None = None
    gap_at: float | None = None
    gap_reason: str | None = None


async def find_webhook(context: OperationContext, name: str) -> StoredWebhookRow:
    rows = await stored_webhooks(context, check_text("name", name, longest=100))
    if not rows:
        raise not_found(f"webhook {name!r}")
    return rows[0]


async def stored_webhooks(context: OperationContext, name: str) -> list[StoredWebhookRow]:
    [rows] = await run_statements(context, ("list", name))
    return decode_rows(rows, StoredWebhookRow)


async def store_target(context: OperationContext, row: StoredWebhookRow, target: WebhookTarget) -> None:
    sealed = seal_target(target_sealer(context.configuration.auth), row.id, target)
    stored, _ = await run_statements(context, ("store_target", row.id, row.sealed, sealed), ("notify",))
    if not stored:
        raise ManagementError(409, "changed_meanwhile", "Somebody changed this webhook meanwhile; try again")


def opened_target(context: OperationContext, row: StoredWebhookRow) -> WebhookTarget:
    target = open_target(target_sealer(context.configuration.auth), row.id, row.sealed)
    if target is None:
        raise ManagementError(
            409,
            "sealed",
            "The address cannot be decrypted: its sealing key is not configured",
            hint="Remove the webhook and add it again, or bring back the key.",
        )
    return target


def as_json(value: object) -> str:
    return msgspec.json.encode(value).decode()


async def run_statements(context: OperationContext, *statements: tuple[Any, ...]) -> Any:
    """Run statements by name, with their values, in one transaction as the pool's login. Raises: DatabaseError, Disconnected, PoolTimeout."""
    database = await context.database.own()
    return await database.run(
        TransactionSpec((), [statement(SQL[name], *values) for name, *values in statements])
    )
