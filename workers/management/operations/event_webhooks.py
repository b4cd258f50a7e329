"""Operations on webhooks of the platform: add, list, change, remove, new secrets (docs/webhooks.md).

The rows are those of the pool `webhooks` (management/0010_event_webhooks.sql), written by this pool's login; the leader is notified. Everything
that can be wrong with a webhook is refused when it is made: address, secret, table, filter, columns.
"""

import time
import uuid
from typing import Annotated

import msgspec
from msgspec import Struct

from schemas.keys.secret_record import SecretRecord
from schemas.keys.text_sealer import TextSealer
from schemas.webhooks import (
    InvalidWebhook,
    WebhookSource,
    WebhookTarget,
    check_events,
    check_headers,
    check_secret,
    check_url,
    new_secret,
    open_target,
    seal_target,
    target_sealer,
)
from workers.database.errors import DatabaseError
from workers.database.transactions.interactive import Value
from workers.management.areas.event_webhooks.stored_webhooks import (
    StoredWebhookRow,
    as_json,
    find_webhook,
    opened_target,
    run_statements,
    store_target,
    stored_webhooks,
)
from workers.management.areas.event_webhooks.webhook_checks import (
    check_address,
    publish_table,
    table_of_webhook,
)
from workers.management.interface import argument_limits as limits
from workers.management.interface.errors import ManagementError, invalid_arguments
from workers.management.interface.operation import Operation, OperationContext
from workers.management.interface.page_cursor import check_text
from workers.management.interface.rights import Right
from workers.management.operations.account import Done, NoArguments

_MOST_WEBHOOKS = 1000
_OVERLAP_S = 86_400.0
"""How long the former secret signs beside a new one."""
_UNIQUE = "23505"


class EventWebhook(Struct, frozen=True):
    """A webhook. Times in seconds since 1970. `problem` says in words what is wrong with it, empty if nothing is."""

    id: str
    name: str
    source: WebhookSource
    events: list[str]
    url: str
    headers: list[str]
    """Names of further headers."""
    schema: str | None
    table: str | None
    filters: list[str]
    columns: list[str] | None
    with_old: bool
    is_ordered: bool
    bucket: str | None
    is_paused: bool
    waiting: int
    """Deliveries that are not done yet, 100,001 for more."""
    failed: int
    """Deliveries that were set aside."""
    created_at: float
    problem: str = ""


class NewEventWebhook(SecretRecord, Struct, frozen=True, forbid_unknown_fields=True):
    """A webhook to add. Without `events` all of the source but truncate; without `columns` all; without `secret` one is made."""

    name: Annotated[str, limits.text(100)]
    url: Annotated[str, limits.text(4000)]
    source: WebhookSource = "rows"
    events: list[str] = []
    schema: Annotated[str, limits.text(63)] = "public"
    table: Annotated[str, limits.text(63, least=0)] = ""
    filters: list[str] = []
    columns: list[str] | None = None
    with_old: bool = False
    is_ordered: bool = False
    bucket: Annotated[str, limits.text(100)] | None = None
    headers: dict[str, str] = {}
    secret: str | None = None


class AddedWebhook(SecretRecord, Struct, frozen=True):
    """A new webhook and the secret by which its receiver checks signatures."""

    id: str
    secret: str


class EventWebhookName(Struct, frozen=True, forbid_unknown_fields=True):
    """A webhook by its name."""

    name: str


class EventWebhookChange(Struct, frozen=True, forbid_unknown_fields=True):
    """Changes of a webhook; null leaves a value. `is_paused` false resumes it, and sends what waits."""

    name: str
    url: str | None = None
    headers: dict[str, str] | None = None
    is_paused: bool | None = None


class WebhookSecret(SecretRecord, Struct, frozen=True):
    """The secret that signs now. The former one signs beside it until `former_until` (seconds since 1970, 0: no longer)."""

    secret: str
    former_until: float = 0.0


async def list_webhooks(context: OperationContext, arguments: NoArguments) -> list[EventWebhook]:
    """Return all webhooks with what waits, what was set aside and what is wrong with them."""
    sealer = target_sealer(context.configuration.auth)
    return [_shown(row, sealer) for row in await stored_webhooks(context, "")]


async def add(context: OperationContext, arguments: NewEventWebhook) -> AddedWebhook:
    """Add a webhook. Events that are committed from now on are sent. Raises: ManagementError."""
    settings = context.configuration
    if not settings.webhooks.enabled:
        raise ManagementError(409, "webhooks_off", "Webhooks are switched off (webhooks.enabled)")
    if len(await stored_webhooks(context, "")) >= _MOST_WEBHOOKS:
        raise ManagementError(409, "too_many_webhooks", f"A platform has at most {_MOST_WEBHOOKS} webhooks")
    name = check_text("name", arguments.name, longest=100)
    check_text("url", arguments.url, longest=4000)
    if arguments.bucket is not None:
        check_text("bucket", arguments.bucket, longest=100)
    check_text("schema", arguments.schema, longest=63)
    check_text("table", arguments.table, longest=63, least=1 if arguments.source == "rows" else 0)
    try:
        events = check_events(arguments.source, arguments.events)
        secret = check_secret(arguments.secret) if arguments.secret is not None else new_secret()
        target = WebhookTarget(check_url(arguments.url), [secret], check_headers(arguments.headers))
        await check_address(context, target.url)
        table = (
            await table_of_webhook(
                context,
                arguments.schema,
                arguments.table,
                arguments.filters,
                arguments.columns,
                with_old=arguments.with_old,
            )
            if arguments.source == "rows"
            else None
        )
    except InvalidWebhook as error:
        raise invalid_arguments(str(error)) from None
    if table is None and (
        arguments.table or arguments.filters or arguments.columns is not None or arguments.with_old
    ):
        raise invalid_arguments("`table`, `filters`, `columns` and `with_old` are for the source rows alone")
    if arguments.bucket is not None and arguments.source != "storage":
        raise invalid_arguments("`bucket` is for the source storage alone")
    if table is not None:
        await publish_table(context, table.relation)
    id = str(uuid.uuid4())
    values: list[Value] = [
        id, name, arguments.source, as_json(events),
        arguments.schema if table else None, arguments.table if table else None, as_json(arguments.filters),
        None if arguments.columns is None else as_json(arguments.columns),
        arguments.with_old, arguments.is_ordered, arguments.bucket,
        seal_target(target_sealer(settings.auth), id, target),
    ]  # fmt: skip
    try:
        await run_statements(context, ("add", *values), ("switch_triggers",), ("notify",))
    except DatabaseError as error:
        if error.code != _UNIQUE:
            raise
        raise ManagementError(409, "webhook_exists", f"There is a webhook {name!r} already") from None
    context.after = {"id": id, "name": name, "source": arguments.source, "events": events}
    return AddedWebhook(id, secret)


async def change(context: OperationContext, arguments: EventWebhookChange) -> Done:
    """Change where a webhook sends, or pause or resume it. Raises: ManagementError."""
    row = await find_webhook(context, arguments.name)
    if arguments.url is not None or arguments.headers is not None:
        target = opened_target(context, row)
        try:
            url = check_url(arguments.url) if arguments.url is not None else target.url
            headers = check_headers(arguments.headers) if arguments.headers is not None else target.headers
            await check_address(context, url)
        except InvalidWebhook as error:
            raise invalid_arguments(str(error)) from None
        await store_target(context, row, msgspec.structs.replace(target, url=url, headers=headers))
    if arguments.is_paused is not None:
        reason = "by an administrator" if arguments.is_paused else None
        await run_statements(
            context, ("pause", row.id, reason), *(() if reason else (("hasten", row.id),)), ("notify",)
        )
    context.after = {
        "name": row.name,
        "is_paused": arguments.is_paused,
        "has_new_url": arguments.url is not None,
    }
    return Done()


async def remove(context: OperationContext, arguments: EventWebhookName) -> Done:
    """Remove a webhook with all its deliveries. Raises: ManagementError."""
    row = await find_webhook(context, arguments.name)
    await run_statements(context, ("remove", row.id), ("switch_triggers",), ("notify",))
    return Done()


async def rotate_secret(context: OperationContext, arguments: EventWebhookName) -> WebhookSecret:
    """Make a new secret; the former one signs beside it for a day. Raises: ManagementError."""
    row = await find_webhook(context, arguments.name)
    target = opened_target(context, row)
    until = time.time() + _OVERLAP_S
    secrets = [new_secret(), target.secrets[0]]
    await store_target(context, row, msgspec.structs.replace(target, secrets=secrets, former_until=until))
    return WebhookSecret(secrets[0], until)


async def reveal_secret(context: OperationContext, arguments: EventWebhookName) -> WebhookSecret:
    """Return the secret that signs now. Raises: ManagementError."""
    target = opened_target(context, await find_webhook(context, arguments.name))
    return WebhookSecret(target.secrets[0], target.former_until if len(target.secrets) > 1 else 0.0)


def _shown(row: StoredWebhookRow, sealer: TextSealer) -> EventWebhook:
    target = open_target(sealer, row.id, row.sealed)
    return EventWebhook(
        row.id, row.name, row.source, row.events, target.url if target else "", sorted(target.headers) if target else [],
        row.schema, row.table, row.filters, row.columns, row.with_old, row.is_ordered, row.bucket,
        row.pause_reason is not None, row.waiting, row.failed, row.created_at, _problem(row, target),
    )  # fmt: skip


def _problem(row: StoredWebhookRow, target: WebhookTarget | None) -> str:
    problems = [
        "its address cannot be decrypted: the sealing key is not configured" if target is None else "",
        f"paused: {row.pause_reason}" if row.pause_reason is not None else "",
        "" if row.has_table else f"the table {row.schema}.{row.table} does not exist",
        "too much waits: further events are not stored" if row.is_full else "",
        f"nothing was taken since {_moment(row.failing_since)}" if row.failing_since is not None else "",
        f"events may be missing at {_moment(row.gap_at)}: {row.gap_reason}" if row.gap_at is not None else "",
    ]
    return "; ".join(problem for problem in problems if problem)


def _moment(at: float | None) -> str:
    return time.strftime("%Y-%m-%d %H:%M:%S UTC", time.gmtime(at or 0))


def operations() -> list[Operation]:
    """Return the operations of this module."""
    developer = Right.DEVELOPER
    return [
        Operation("event_webhooks.list", "List webhooks of events", NoArguments, list[EventWebhook], developer, list_webhooks),
        Operation("event_webhooks.add", "Add a webhook of events", NewEventWebhook, AddedWebhook, developer, add, changes=True, secrets=frozenset({"url", "headers", "secret"})),
        Operation("event_webhooks.change", "Change, pause or resume a webhook of events", EventWebhookChange, Done, developer, change, changes=True, secrets=frozenset({"url", "headers"})),
        Operation("event_webhooks.remove", "Remove a webhook of events with its deliveries", EventWebhookName, Done, developer, remove, changes=True, is_confirmed=True),
        Operation("event_webhooks.rotate_secret", "Make a new secret of a webhook of events", EventWebhookName, WebhookSecret, developer, rotate_secret, changes=True),
        Operation("event_webhooks.reveal_secret", "Show the secret of a webhook of events", EventWebhookName, WebhookSecret, developer, reveal_secret, changes=True, is_confirmed=True),
    ]  # fmt: skip
