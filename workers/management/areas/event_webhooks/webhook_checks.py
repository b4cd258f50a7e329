"""What is checked when a webhook is made: its address, its table, and that changes of the table are written to the log."""

import asyncio
import time
from collections.abc import Sequence

from msgspec import Struct

from schemas.webhooks import InvalidWebhook, WebhookFilterColumn, read_filters
from workers.http_client.project_guard import guard_of, rejection_of
from workers.management.areas.event_webhooks.stored_webhooks import run_statements
from workers.management.interface.errors import ManagementError, not_found
from workers.management.interface.identity.store import decode_rows
from workers.management.interface.operation import OperationContext

_MOST_COLUMNS = 1600
_LOOK_S, _WRITERS_S = 0.1, 10.0
_PUBLISH_REASONS = {
    "identity": "The table has no primary key: updates and deletes of its rows would fail once they are written to the log",
    "columns": "A publication of realtime lists columns of this table; the log cannot be read with and without them",
    "kind": "Only tables of a project whose changes are written to the log can have webhooks",
}
_PUBLISH_HINTS = {
    "identity": "alter table ... add primary key (...); or alter table ... replica identity full;",
    "columns": "Publish the whole table: alter publication supabase_realtime set table ...",
}


class WebhookTable(Struct, frozen=True):
    """A table: its oid (0 where there is none), its replica identity, and the columns by which filters can be decided."""

    relation: int
    identity: str
    columns: list[WebhookFilterColumn]


class _Publishing(Struct, frozen=True):
    reason: str


async def check_address(context: OperationContext, url: str) -> None:
    """Check that the platform sends to an address. Raises: ManagementError (400)."""
    if reason := await rejection_of(guard_of(context.configuration), url):
        raise ManagementError(
            400,
            "address_closed",
            f"The platform does not send to this address: {reason}",
            hint="An operator allows networks and hosts in net.allow.",
        )


async def table_of_webhook(
    context: OperationContext,
    schema: str,
    name: str,
    filters: Sequence[str],
    columns: Sequence[str] | None,
    *,
    with_old: bool,
) -> WebhookTable:
    """Return the table of a webhook, which its filters and columns fit. Raises: ManagementError, InvalidWebhook."""
    if not context.configuration.realtime.enabled:
        raise ManagementError(
            409,
            "realtime_off",
            "Changes of rows are read by realtime, which is switched off (realtime.enabled)",
        )
    [rows] = await run_statements(context, ("table", schema, name))
    [table] = decode_rows(rows, WebhookTable)
    if not table.relation:
        raise not_found(f"table {schema}.{name}")
    read_filters(filters, table.columns)
    names = {column.name for column in table.columns}
    if columns is not None and (not columns or len(columns) > _MOST_COLUMNS):
        raise InvalidWebhook("`columns` must name at least one column, or be left out")
    for column in columns or ():
        if column not in names:
            raise InvalidWebhook(f"The table has no column {column[:60]!r}")
    if with_old and table.identity != "f":
        raise ManagementError(
            409,
            "old_rows_missing",
            "The log of this table has no whole old rows",
            hint=f'alter table "{schema}"."{name}" replica identity full;',
        )
    return table


async def publish_table(context: OperationContext, relation: int) -> None:
    """Have the changes of a table written to the stream, and wait for transactions that wrote to it before. Raises: ManagementError."""
    [rows] = await run_statements(context, ("publish", relation))
    [answer] = decode_rows(rows, _Publishing)
    if answer.reason:
        raise ManagementError(
            409,
            "not_published",
            _PUBLISH_REASONS.get(answer.reason, answer.reason),
            hint=_PUBLISH_HINTS.get(answer.reason, ""),
        )
    earlier: set[str] | None = None
    deadline = time.monotonic() + _WRITERS_S
    while earlier is None or earlier:
        [rows] = await run_statements(context, ("writers", relation))
        writers = set(decode_rows(rows, str))
        earlier = writers if earlier is None else earlier & writers
        if earlier and time.monotonic() > deadline:
            raise ManagementError(
                503, "table_busy", "A long transaction writes to the table; try again when it has ended"
            )
        if earlier:
            await asyncio.sleep(_LOOK_S)
