"""Operations on webhooks of the platform: add, list, change, remove, test, look at deliveries, send them again (docs/webhooks.md).

The rows are those of the pool `webhooks` (management/0010_event_webhooks.sql), written by this pool's login; the leader is notified. Everything
that can be wrong with a webhook is refused when it is made: address, secret, table, filter, columns.
"""

import asyncio
import time
import uuid
from typing import Annotated, Any

import msgspec
from msgspec import Struct

from schemas.keys.text_sealer import TextSealer
from schemas.webhooks import (
    InvalidWebhook,
    WebhookFilterColumn,
    WebhookSource,
    WebhookTarget,
    check_events,
    check_headers,
    check_secret,
    check_url,
    new_secret,
    open_target,
    read_filters,
    seal_target,
    target_sealer,
)
from workers.database.errors import DatabaseError
from workers.database.transactions.interactive import Value, statement
from workers.database.transactions.model import TransactionSpec
from workers.http_client.project_guard import guard_of, rejection_of
from workers.management.interface import argument_limits as limits
from workers.management.interface.argument_limits import PageLimit
from workers.management.interface.errors import ManagementError, invalid_arguments, not_found
from workers.management.interface.identity.store import decode_rows
from workers.management.interface.operation import Operation, OperationContext
from workers.management.interface.page_cursor import check_limit, check_text
from workers.management.interface.rights import Right
from workers.management.operations.account import Done, NoArguments
from workers.sql.files import read_statements

SQL = read_statements("workers.management.operations", "event_webhooks.sql")
_MOST_WEBHOOKS, _MOST_COLUMNS, _MOST_IDS = 1000, 1600, 1000
_OVERLAP_S = 86_400.0
"""How long the former secret signs beside a new one."""
_TEST_S, _LOOK_S, _WRITERS_S = 20.0, 0.1, 10.0
_UNIQUE = "23505"
_STATES = ("waiting", "delivered", "failed")
_PUBLISH_REASONS = {
    "identity": "The table has no primary key: updates and deletes of its rows would fail once they are written to the log",
    "columns": "A publication of realtime lists columns of this table; the log cannot be read with and without them",
    "kind": "Only tables of a project whose changes are written to the log can have webhooks",
}
_PUBLISH_HINTS = {
    "identity": "alter table ... add primary key (...); or alter table ... replica identity full;",
    "columns": "Publish the whole table: alter publication supabase_realtime set table ...",
}


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


class NewEventWebhook(Struct, frozen=True, forbid_unknown_fields=True):
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


class AddedWebhook(Struct, frozen=True):
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


class WebhookSecret(Struct, frozen=True):
    """The secret that signs now. The former one signs beside it until `former_until` (seconds since 1970, 0: no longer)."""

    secret: str
    former_until: float = 0.0


class EventDeliveriesQuery(Struct, frozen=True, forbid_unknown_fields=True):
    """Deliveries before a number, of one webhook or all, in one state or all."""

    webhook: str = ""
    state: Annotated[str, limits.choice(*_STATES)] | None = None
    before: int | None = None
    limit: PageLimit = 100


class DeliveredEvent(Struct, frozen=True):
    """A delivery: what was sent, how often, and what came back last. Times in seconds since 1970."""

    id: int
    webhook: str
    event: str
    type: str
    state: str
    attempts: int
    body: str
    occurred_at: float
    status: int | None = None
    error: str | None = None
    answer: str | None = None
    took_ms: int | None = None
    next_at: float | None = None
    ended_at: float | None = None


class DeliveredEventPage(Struct, frozen=True):
    """Deliveries, the newest first; `next` is `before` of the next page, null at the end."""

    rows: list[DeliveredEvent]
    next: int | None


class DeliveriesToResend(Struct, frozen=True, forbid_unknown_fields=True):
    """Deliveries that have ended: those with these numbers, or all of events since a moment (seconds since 1970); only failed ones."""

    webhook: str
    ids: Annotated[list[int], limits.entries(_MOST_IDS)] | None = None
    since: float | None = None
    only_failed: bool = False


class ResentDeliveries(Struct, frozen=True):
    """How many deliveries are sent again."""

    count: int


class WebhookTestResult(Struct, frozen=True):
    """What the receiver made of a test event."""

    is_delivered: bool
    status: int | None = None
    error: str | None = None
    answer: str | None = None
    took_ms: int | None = None


class _StoredRow(Struct, frozen=True):
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


class _Table(Struct, frozen=True):
    relation: int
    identity: str
    columns: list[WebhookFilterColumn]


class _Publishing(Struct, frozen=True):
    reason: str


class _TestRow(Struct, frozen=True):
    attempts: int
    state: str
    status: int | None = None
    error: str | None = None
    answer: str | None = None
    took_ms: int | None = None


async def list_webhooks(context: OperationContext, arguments: NoArguments) -> list[EventWebhook]:
    """Return all webhooks with what waits, what was set aside and what is wrong with them."""
    sealer = target_sealer(context.configuration.auth)
    return [_shown(row, sealer) for row in await _stored(context, "")]


async def add(context: OperationContext, arguments: NewEventWebhook) -> AddedWebhook:
    """Add a webhook. Events that are committed from now on are sent. Raises: ManagementError."""
    settings = context.configuration
    if not settings.webhooks.enabled:
        raise ManagementError(409, "webhooks_off", "Webhooks are switched off (webhooks.enabled)")
    if len(await _stored(context, "")) >= _MOST_WEBHOOKS:
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
        await _check_address(context, target.url)
        table = await _table_of(context, arguments) if arguments.source == "rows" else None
    except InvalidWebhook as error:
        raise invalid_arguments(str(error)) from None
    if table is None and (
        arguments.table or arguments.filters or arguments.columns is not None or arguments.with_old
    ):
        raise invalid_arguments("`table`, `filters`, `columns` and `with_old` are for the source rows alone")
    if arguments.bucket is not None and arguments.source != "storage":
        raise invalid_arguments("`bucket` is for the source storage alone")
    if table is not None:
        await _publish(context, table.relation)
    id = str(uuid.uuid4())
    values: list[Value] = [
        id, name, arguments.source, _json(events),
        arguments.schema if table else None, arguments.table if table else None, _json(arguments.filters),
        None if arguments.columns is None else _json(arguments.columns),
        arguments.with_old, arguments.is_ordered, arguments.bucket,
        seal_target(target_sealer(settings.auth), id, target),
    ]  # fmt: skip
    try:
        await _run(context, ("add", *values), ("switch_triggers",), ("notify",))
    except DatabaseError as error:
        if error.code != _UNIQUE:
            raise
        raise ManagementError(409, "webhook_exists", f"There is a webhook {name!r} already") from None
    context.after = {"id": id, "name": name, "source": arguments.source, "events": events}
    return AddedWebhook(id, secret)


async def change(context: OperationContext, arguments: EventWebhookChange) -> Done:
    """Change where a webhook sends, or pause or resume it. Raises: ManagementError."""
    row = await _find(context, arguments.name)
    if arguments.url is not None or arguments.headers is not None:
        target = _opened(context, row)
        try:
            url = check_url(arguments.url) if arguments.url is not None else target.url
            headers = check_headers(arguments.headers) if arguments.headers is not None else target.headers
            await _check_address(context, url)
        except InvalidWebhook as error:
            raise invalid_arguments(str(error)) from None
        await _store_target(context, row, msgspec.structs.replace(target, url=url, headers=headers))
    if arguments.is_paused is not None:
        reason = "by an administrator" if arguments.is_paused else None
        await _run(
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
    row = await _find(context, arguments.name)
    await _run(context, ("remove", row.id), ("switch_triggers",), ("notify",))
    return Done()


async def rotate_secret(context: OperationContext, arguments: EventWebhookName) -> WebhookSecret:
    """Make a new secret; the former one signs beside it for a day. Raises: ManagementError."""
    row = await _find(context, arguments.name)
    target = _opened(context, row)
    until = time.time() + _OVERLAP_S
    secrets = [new_secret(), target.secrets[0]]
    await _store_target(context, row, msgspec.structs.replace(target, secrets=secrets, former_until=until))
    return WebhookSecret(secrets[0], until)


async def reveal_secret(context: OperationContext, arguments: EventWebhookName) -> WebhookSecret:
    """Return the secret that signs now. Raises: ManagementError."""
    target = _opened(context, await _find(context, arguments.name))
    return WebhookSecret(target.secrets[0], target.former_until if len(target.secrets) > 1 else 0.0)


async def list_deliveries(context: OperationContext, arguments: EventDeliveriesQuery) -> DeliveredEventPage:
    """Return a page of deliveries."""
    limit = check_limit(arguments.limit, context.settings.max_rows)
    if arguments.state and arguments.state not in _STATES:
        raise invalid_arguments(f"`state` must be one of {', '.join(_STATES)}")
    if arguments.webhook:
        await _find(context, arguments.webhook)
    [rows] = await _run(
        context, ("deliveries", arguments.webhook, arguments.state or "", arguments.before, limit)
    )
    found = decode_rows(rows, DeliveredEvent)
    return DeliveredEventPage(found, found[-1].id if len(found) == limit else None)


async def resend(context: OperationContext, arguments: DeliveriesToResend) -> ResentDeliveries:
    """Send deliveries again that were delivered or set aside, with the ids that they had. Raises: ManagementError."""
    if arguments.ids is not None and not 0 < len(arguments.ids) <= _MOST_IDS:
        raise invalid_arguments(f"`ids` must have 1 to {_MOST_IDS} numbers")
    if (arguments.ids is None) == (arguments.since is None):
        raise invalid_arguments("Give either `ids` or `since`")
    row = await _find(context, arguments.webhook)
    ids = None if arguments.ids is None else _json(arguments.ids)
    since = None if arguments.since is None else repr(arguments.since)
    chosen, _ = await _run(context, ("resend", row.id, ids, since, arguments.only_failed), ("notify",))
    [result] = decode_rows(chosen, ResentDeliveries)
    context.after = {"webhook": row.name, "count": result.count}
    return result


async def test(context: OperationContext, arguments: EventWebhookName) -> WebhookTestResult:
    """Send a test event and wait for the answer of the receiver. Raises: ManagementError."""
    row = await _find(context, arguments.name)
    if row.pause_reason is not None:
        raise ManagementError(409, "webhook_paused", "The webhook is paused: resume it first")
    event = f"test-{uuid.uuid4()}"
    body = _json({"id": event, "type": "test", "timestamp": _now(), "data": {"webhook": row.name}})
    inserted, _ = await _run(context, ("test", row.id, event, body), ("notify",))
    [id] = decode_rows(inserted, int)
    try:
        async with asyncio.timeout(_TEST_S):
            while True:
                [rows] = await _run(context, ("outcome", id))
                for found in decode_rows(rows, _TestRow):
                    if found.attempts:
                        return WebhookTestResult(
                            found.state == "delivered", found.status, found.error, found.answer, found.took_ms
                        )
                await asyncio.sleep(_LOOK_S)
    except TimeoutError:
        return WebhookTestResult(
            is_delivered=False, error="the platform has not sent it: is the pool webhooks running?"
        )
    finally:
        await _run(context, ("drop_test", id))


async def _check_address(context: OperationContext, url: str) -> None:
    if reason := await rejection_of(guard_of(context.configuration), url):
        raise ManagementError(
            400,
            "address_closed",
            f"The platform does not send to this address: {reason}",
            hint="An operator allows networks and hosts in net.allow.",
        )


async def _table_of(context: OperationContext, arguments: NewEventWebhook) -> _Table:
    """Return the table of a webhook, which its filters and columns fit. Raises: ManagementError, InvalidWebhook."""
    if not context.configuration.realtime.enabled:
        raise ManagementError(
            409,
            "realtime_off",
            "Changes of rows are read by realtime, which is switched off (realtime.enabled)",
        )
    schema, name = (
        check_text("schema", arguments.schema, longest=63),
        check_text("table", arguments.table, longest=63),
    )
    [rows] = await _run(context, ("table", schema, name))
    [table] = decode_rows(rows, _Table)
    if not table.relation:
        raise not_found(f"table {schema}.{name}")
    read_filters(arguments.filters, table.columns)
    names = {column.name for column in table.columns}
    if arguments.columns is not None and (not arguments.columns or len(arguments.columns) > _MOST_COLUMNS):
        raise InvalidWebhook("`columns` must name at least one column, or be left out")
    for column in arguments.columns or ():
        if column not in names:
            raise InvalidWebhook(f"The table has no column {column[:60]!r}")
    if arguments.with_old and table.identity != "f":
        raise ManagementError(
            409,
            "old_rows_missing",
            "The log of this table has no whole old rows",
            hint=f'alter table "{schema}"."{name}" replica identity full;',
        )
    return table


async def _publish(context: OperationContext, relation: int) -> None:
    """Have the changes of a table written to the stream, and wait for transactions that wrote to it before. Raises: ManagementError."""
    [rows] = await _run(context, ("publish", relation))
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
        [rows] = await _run(context, ("writers", relation))
        writers = set(decode_rows(rows, str))
        earlier = writers if earlier is None else earlier & writers
        if earlier and time.monotonic() > deadline:
            raise ManagementError(
                503, "table_busy", "A long transaction writes to the table; try again when it has ended"
            )
        if earlier:
            await asyncio.sleep(_LOOK_S)


async def _find(context: OperationContext, name: str) -> _StoredRow:
    rows = await _stored(context, check_text("name", name, longest=100))
    if not rows:
        raise not_found(f"webhook {name!r}")
    return rows[0]


async def _stored(context: OperationContext, name: str) -> list[_StoredRow]:
    [rows] = await _run(context, ("list", name))
    return decode_rows(rows, _StoredRow)


async def _store_target(context: OperationContext, row: _StoredRow, target: WebhookTarget) -> None:
    sealed = seal_target(target_sealer(context.configuration.auth), row.id, target)
    stored, _ = await _run(context, ("store_target", row.id, row.sealed, sealed), ("notify",))
    if not stored:
        raise ManagementError(409, "changed_meanwhile", "Somebody changed this webhook meanwhile; try again")


def _opened(context: OperationContext, row: _StoredRow) -> WebhookTarget:
    target = open_target(target_sealer(context.configuration.auth), row.id, row.sealed)
    if target is None:
        raise ManagementError(
            409,
            "sealed",
            "The address cannot be decrypted: its sealing key is not configured",
            hint="Remove the webhook and add it again, or bring back the key.",
        )
    return target


def _shown(row: _StoredRow, sealer: TextSealer) -> EventWebhook:
    target = open_target(sealer, row.id, row.sealed)
    return EventWebhook(
        row.id, row.name, row.source, row.events, target.url if target else "", sorted(target.headers) if target else [],
        row.schema, row.table, row.filters, row.columns, row.with_old, row.is_ordered, row.bucket,
        row.pause_reason is not None, row.waiting, row.failed, row.created_at, _problem(row, target),
    )  # fmt: skip


def _problem(row: _StoredRow, target: WebhookTarget | None) -> str:
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


def _now() -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())


def _json(value: object) -> str:
    return msgspec.json.encode(value).decode()


async def _run(context: OperationContext, *statements: tuple[Any, ...]) -> Any:
    """Run statements by name, with their values, in one transaction as the pool's login. Raises: DatabaseError, Disconnected, PoolTimeout."""
    database = await context.database.own()
    return await database.run(
        TransactionSpec((), [statement(SQL[name], *values) for name, *values in statements])
    )


def operations() -> list[Operation]:
    """Return the operations of this module."""
    reader, developer = Right.READER, Right.DEVELOPER
    return [
        Operation("event_webhooks.list", "List webhooks of events", NoArguments, list[EventWebhook], developer, list_webhooks),
        Operation("event_webhooks.add", "Add a webhook of events", NewEventWebhook, AddedWebhook, developer, add, changes=True, secrets=frozenset({"url", "headers", "secret"})),
        Operation("event_webhooks.change", "Change, pause or resume a webhook of events", EventWebhookChange, Done, developer, change, changes=True, secrets=frozenset({"url", "headers"})),
        Operation("event_webhooks.remove", "Remove a webhook of events with its deliveries", EventWebhookName, Done, developer, remove, changes=True, is_confirmed=True),
        Operation("event_webhooks.rotate_secret", "Make a new secret of a webhook of events", EventWebhookName, WebhookSecret, developer, rotate_secret, changes=True),
        Operation("event_webhooks.reveal_secret", "Show the secret of a webhook of events", EventWebhookName, WebhookSecret, developer, reveal_secret, changes=True, is_confirmed=True),
        Operation("event_webhooks.test", "Send a test event to a receiver", EventWebhookName, WebhookTestResult, developer, test, changes=True),
        Operation("event_webhooks.deliveries", "List deliveries of webhooks of events", EventDeliveriesQuery, DeliveredEventPage, reader, list_deliveries),
        Operation("event_webhooks.resend", "Send deliveries again", DeliveriesToResend, ResentDeliveries, developer, resend, changes=True),
    ]  # fmt: skip
