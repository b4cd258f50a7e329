"""Operations on webhooks of tables: triggers that send a request for each row.

A webhook of a table is made by SQL that can be kept as a migration; `is_preview` returns the SQL alone. What it sends is not stored
after the request went out, so a failed delivery cannot be sent again from here: its row tells which request failed, and why.
"""

import base64
import re
from typing import Annotated, Any, Literal
from urllib.parse import urlsplit

import msgspec
from msgspec import Struct, field

from workers.management.interface import argument_limits as limits
from workers.management.interface.argument_limits import PageLimit
from workers.management.interface.backends.typed_rows import composed, needs_extension, read_rows, run_all
from workers.management.interface.errors import invalid_arguments, not_found
from workers.management.interface.operation import Operation, OperationContext
from workers.management.interface.page_cursor import check_limit, check_text
from workers.management.interface.rights import Right
from workers.management.operations.account import NoArguments
from workers.management.operations.jobs import SQL, check_id
from workers.management.operations.sql_requests import without_credentials
from workers.sql import compose

WebhookEvent = Literal["insert", "update", "delete"]
_EVENT_BITS: dict[WebhookEvent, int] = {"insert": 4, "delete": 8, "update": 16}
"""Bits of `pg_trigger.tgtype` (PostgreSQL, catalog/pg_trigger.h)."""
_BEFORE_BIT = 2
_ARGUMENTS = 5
_MOST_WEBHOOKS = 1000
_URL = re.compile(r"[\x21-\x7e]{1,4096}")
_HEADER_NAME = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]{1,256}")
_HEADER_VALUE = re.compile(r"[\t\x20-\x7e]{0,4096}")


class TableWebhook(Struct, frozen=True):
    """A webhook of a table. Credentials in its headers are replaced."""

    schema: str
    table: str
    name: str
    events: list[WebhookEvent]
    is_enabled: bool
    url: str
    method: str
    headers: dict[str, Any]
    params: dict[str, Any]
    timeout_ms: int | None


class WebhookCreation(Struct, frozen=True, forbid_unknown_fields=True):
    """A webhook to create. `is_preview`: only the SQL is returned."""

    schema: Annotated[str, limits.text(63)]
    table: Annotated[str, limits.text(63)]
    name: Annotated[str, limits.text(63)]
    events: list[WebhookEvent]
    url: str
    method: Literal["POST", "GET"] = "POST"
    headers: dict[str, str] = field(default_factory=lambda: {"Content-Type": "application/json"})
    params: dict[str, str] = {}
    timeout_ms: Annotated[int, limits.number(1, 600_000)] = 1000
    is_preview: bool = False


class WebhookReference(Struct, frozen=True, forbid_unknown_fields=True):
    """A webhook of a table by its name. `is_preview`: only the SQL is returned."""

    schema: str
    table: str
    name: str
    is_preview: bool = False


class WebhookSwitch(Struct, frozen=True, forbid_unknown_fields=True):
    """A webhook of a table, and whether it sends. `is_preview`: only the SQL is returned."""

    schema: str
    table: str
    name: str
    is_enabled: bool
    is_preview: bool = False


class SqlOfChange(Struct, frozen=True):
    """The SQL of a change, for a migration, and whether it was carried out."""

    sql: str
    is_done: bool


class DeliveriesQuery(Struct, frozen=True, forbid_unknown_fields=True):
    """Requests of webhooks before a number, of one webhook or of all."""

    webhook: str | None = None
    before: int | None = None
    limit: PageLimit = 100


class WebhookDelivery(Struct, frozen=True):
    """A request of a webhook. `state`: waiting, delivered, failed, or unknown after its response was deleted, or while it is sent."""

    id: int
    webhook: str
    state: str
    at: str
    schema: str | None = None
    table: str | None = None
    request_id: int | None = None
    status: int | None = None
    is_timeout: bool = False
    error: str | None = None
    body: str | None = None


class DeliveryPage(Struct, frozen=True):
    """Deliveries, the newest first; `next` is `before` of the next page, null at the end."""

    rows: list[WebhookDelivery]
    next: int | None


class _WebhookRow(Struct, frozen=True):
    schema: str
    table: str
    name: str
    kind: int
    is_enabled: bool
    arguments: str


class _TableName(Struct, frozen=True):
    schema: str
    name: str


async def list_webhooks(context: OperationContext, arguments: NoArguments) -> list[TableWebhook]:
    """Return the webhooks of all tables."""
    del arguments
    rows = await read_rows(context, _WebhookRow, SQL["webhooks"], _MOST_WEBHOOKS)
    return [_webhook(row) for row in rows]


async def create(context: OperationContext, arguments: WebhookCreation) -> SqlOfChange:
    """Create a webhook: a trigger that sends a request for each row that changes."""
    _check_creation(arguments)
    check_text("name", arguments.name, longest=63)
    table = await _table(context, arguments.schema, arguments.table)
    events = compose.join(" or ", [_EVENT_SQL[event] for event in dict.fromkeys(arguments.events)])
    texts = (
        arguments.url,
        arguments.method,
        msgspec.json.encode(arguments.headers).decode(),
        msgspec.json.encode(arguments.params).decode(),
        str(arguments.timeout_ms),
    )
    sql = compose.concat(
        compose.raw("create trigger "),
        compose.ident(arguments.name),
        compose.raw(" after "),
        events,
        compose.raw(" on "),
        table,
        compose.raw(" for each row execute function supabase_functions.http_request("),
        compose.join(", ", [compose.literal(text) for text in texts]),
        compose.raw(")"),
    )
    return await _carry_out(context, sql, is_preview=arguments.is_preview)


async def remove(context: OperationContext, arguments: WebhookReference) -> SqlOfChange:
    """Remove a webhook."""
    await _existing(context, arguments)
    sql = compose.concat(
        compose.raw("drop trigger "),
        compose.ident(arguments.name),
        compose.raw(" on "),
        compose.qualified(arguments.schema, arguments.table),
    )
    return await _carry_out(context, sql, is_preview=arguments.is_preview)


async def switch(context: OperationContext, arguments: WebhookSwitch) -> SqlOfChange:
    """Switch a webhook on or off."""
    await _existing(context, arguments)
    sql = compose.concat(
        compose.raw("alter table "),
        compose.qualified(arguments.schema, arguments.table),
        compose.raw(" enable trigger " if arguments.is_enabled else " disable trigger "),
        compose.ident(arguments.name),
    )
    return await _carry_out(context, sql, is_preview=arguments.is_preview)


async def list_deliveries(context: OperationContext, arguments: DeliveriesQuery) -> DeliveryPage:
    """Return a page of the requests that webhooks of tables sent, with their answers."""
    limit = check_limit(arguments.limit, context.settings.max_rows)
    webhook = check_text("webhook", arguments.webhook) if arguments.webhook is not None else None
    with needs_extension("pg_net", "Webhooks"):
        rows = await read_rows(
            context, WebhookDelivery, SQL["deliveries"], check_id(arguments.before), webhook, limit
        )
    return DeliveryPage(rows, rows[-1].id if len(rows) == limit else None)


def _webhook(row: _WebhookRow) -> TableWebhook:
    parts = base64.b64decode(row.arguments).split(b"\0")[:-1]
    url, method, headers, params, timeout = (
        [part.decode(errors="replace") for part in parts] + [""] * _ARGUMENTS
    )[:_ARGUMENTS]
    return TableWebhook(
        row.schema,
        row.table,
        row.name,
        [event for event, bit in _EVENT_BITS.items() if row.kind & bit],
        row.is_enabled and not row.kind & _BEFORE_BIT,
        url,
        method,
        without_credentials(_object(headers)) or {},
        _object(params),
        _number(timeout),
    )


_EVENT_SQL: dict[WebhookEvent, compose.Sql] = {
    "insert": compose.raw("insert"),
    "update": compose.raw("update"),
    "delete": compose.raw("delete"),
}


def _object(text: str) -> dict[str, Any]:
    """Return a JSON object; empty for any other text, which a person may have written into the trigger."""
    try:
        return msgspec.json.decode(text, type=dict[str, Any])
    except (msgspec.MsgspecError, UnicodeError, RecursionError):
        return {}


def _number(text: str) -> int | None:
    try:
        return msgspec.json.decode(text, type=int)
    except (msgspec.MsgspecError, UnicodeError):
        return None


def _check_creation(arguments: WebhookCreation) -> None:
    """Raise ManagementError (400) for arguments that the request could not be made of."""
    try:
        parts = urlsplit(arguments.url if _URL.fullmatch(arguments.url) else "")
    except ValueError:  # brackets that hold no address
        parts = urlsplit("")
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise invalid_arguments("`url` must be an address that begins with http:// or https://")
    if not arguments.events:
        raise invalid_arguments("`events` must name at least one of insert, update, delete")
    if not 1 <= arguments.timeout_ms <= 600_000:
        raise invalid_arguments("`timeout_ms` must be 1 to 600000")
    for name, value in arguments.headers.items():
        if not _HEADER_NAME.fullmatch(name) or not _HEADER_VALUE.fullmatch(value):
            raise invalid_arguments(f"{name[:80]!r} is not a header: a name and a value of one line")
    for name, value in arguments.params.items():
        check_text("params", name)
        check_text("params", value, least=0)


async def _table(context: OperationContext, schema: str, table: str) -> compose.Sql:
    """Return the quoted name of an existing table. Raises: ManagementError (404)."""
    check_text("schema", schema, longest=63)
    check_text("table", table, longest=63)
    rows = await read_rows(context, _TableName, SQL["table"], schema, table)
    if not rows:
        raise not_found(f"table {schema}.{table}")
    return compose.qualified(rows[0].schema, rows[0].name)


async def _existing(context: OperationContext, arguments: WebhookReference | WebhookSwitch) -> None:
    """Remember a webhook for the audit row. Raises: ManagementError (404): no other trigger can be named here."""
    rows = await read_rows(context, _WebhookRow, SQL["webhooks"], _MOST_WEBHOOKS)
    for row in rows:
        if (row.schema, row.table, row.name) == (arguments.schema, arguments.table, arguments.name):
            context.before = _webhook(row)
            return
    raise not_found(f"webhook {arguments.name[:80]!r} on {arguments.schema[:80]}.{arguments.table[:80]}")


async def _carry_out(context: OperationContext, sql: compose.Sql, *, is_preview: bool) -> SqlOfChange:
    change = composed(sql)
    if not is_preview:
        await run_all(context, [change])
    text = f"{change.text};"
    context.after = {"is_done": not is_preview}
    return SqlOfChange(text, not is_preview)


def operations() -> list[Operation]:
    """Return the operations of this module."""
    reader, developer = Right.READER, Right.DEVELOPER
    return [
        Operation("webhooks.list", "List webhooks of tables", NoArguments, list[TableWebhook], reader, list_webhooks),
        Operation("webhooks.create", "Create a webhook of a table", WebhookCreation, SqlOfChange, developer, create, changes=True, secrets=frozenset({"headers"})),
        Operation("webhooks.switch", "Switch a webhook on or off", WebhookSwitch, SqlOfChange, developer, switch, changes=True),
        Operation("webhooks.remove", "Remove a webhook", WebhookReference, SqlOfChange, developer, remove, changes=True, is_confirmed=True),
        Operation("webhooks.deliveries", "List what webhooks of tables sent", DeliveriesQuery, DeliveryPage, reader, list_deliveries),
    ]  # fmt: skip
