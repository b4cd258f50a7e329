"""Operations on deliveries of webhooks of the platform: look at them, send them again, send a test (docs/webhooks.md)."""

import asyncio
import time
import uuid
from typing import Annotated

from msgspec import Struct

from workers.management.areas.event_webhooks.stored_webhooks import as_json, find_webhook, run_statements
from workers.management.interface import argument_limits as limits
from workers.management.interface.argument_limits import PageLimit
from workers.management.interface.errors import ManagementError, invalid_arguments
from workers.management.interface.identity.store import decode_rows
from workers.management.interface.operation import Operation, OperationContext
from workers.management.interface.page_cursor import check_limit
from workers.management.interface.rights import Right
from workers.management.operations.event_webhooks import EventWebhookName

_MOST_IDS = 1000
_TEST_S, _LOOK_S = 20.0, 0.1
_STATES = ("waiting", "delivered", "failed")


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


class _TestRow(Struct, frozen=True):
    attempts: int
    state: str
    status: int | None = None
    error: str | None = None
    answer: str | None = None
    took_ms: int | None = None


async def list_deliveries(context: OperationContext, arguments: EventDeliveriesQuery) -> DeliveredEventPage:
    """Return a page of deliveries."""
    limit = check_limit(arguments.limit, context.settings.max_rows)
    if arguments.state and arguments.state not in _STATES:
        raise invalid_arguments(f"`state` must be one of {', '.join(_STATES)}")
    if arguments.webhook:
        await find_webhook(context, arguments.webhook)
    [rows] = await run_statements(
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
    row = await find_webhook(context, arguments.webhook)
    ids = None if arguments.ids is None else as_json(arguments.ids)
    since = None if arguments.since is None else repr(arguments.since)
    chosen, _ = await run_statements(
        context, ("resend", row.id, ids, since, arguments.only_failed), ("notify",)
    )
    [result] = decode_rows(chosen, ResentDeliveries)
    context.after = {"webhook": row.name, "count": result.count}
    return result


async def test(context: OperationContext, arguments: EventWebhookName) -> WebhookTestResult:
    """Send a test event and wait for the answer of the receiver. Raises: ManagementError."""
    row = await find_webhook(context, arguments.name)
    if row.pause_reason is not None:
        raise ManagementError(409, "webhook_paused", "The webhook is paused: resume it first")
    event = f"test-{uuid.uuid4()}"
    body = as_json({"id": event, "type": "test", "timestamp": _now(), "data": {"webhook": row.name}})
    inserted, _ = await run_statements(context, ("test", row.id, event, body), ("notify",))
    [id] = decode_rows(inserted, int)
    try:
        async with asyncio.timeout(_TEST_S):
            while True:
                [rows] = await run_statements(context, ("outcome", id))
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
        await run_statements(context, ("drop_test", id))


def _now() -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())


def operations() -> list[Operation]:
    """Return the operations of this module."""
    reader, developer = Right.READER, Right.DEVELOPER
    return [
        Operation("event_webhooks.test", "Send a test event to a receiver", EventWebhookName, WebhookTestResult, developer, test, changes=True),
        Operation("event_webhooks.deliveries", "List deliveries of webhooks of events", EventDeliveriesQuery, DeliveredEventPage, reader, list_deliveries),
        Operation("event_webhooks.resend", "Send deliveries again", DeliveriesToResend, ResentDeliveries, developer, resend, changes=True),
    ]  # fmt: skip
