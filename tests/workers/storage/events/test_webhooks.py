"""The webhook: what is posted, that every event arrives whatever goes away, and how a post ends that nobody takes."""

import asyncio
import contextlib
from collections.abc import AsyncIterator
from dataclasses import replace

import pytest
from msgspec import Struct

from broker.jetstream import durable_consumer
from broker.nats.connection import NatsConnection
from schemas.keys.secret import Secret
from tests.broker.server import NatsServer
from tests.workers.storage.events.events import event_of
from tests.workers.storage.events.stream import until
from tests.workers.storage.events.webhook_server import WebhookServer
from tests.workers.storage.storage_pool import Clock
from workers.http_client.client import HttpClient
from workers.storage.events import webhooks as module
from workers.storage.events.observations import (
    WebhookBack,
    WebhookDropped,
    WebhookFailed,
    WebhookLost,
    WebhookSent,
)
from workers.storage.events.publish import EventStreamLimits, ensure_events, publish_events
from workers.storage.events.webhook_body import WebhookTenant
from workers.storage.events.webhooks import Webhook, WebhookPoster

KEY = "the-key-of-the-webhook"


@pytest.fixture
async def server() -> AsyncIterator[WebhookServer]:
    one = WebhookServer()
    await one.start()
    yield one
    await one.stop()


@pytest.fixture
def webhook(server: WebhookServer) -> Webhook:
    return Webhook(Secret(server.url), Secret(KEY), 3600, WebhookTenant("p", "h"), again_s=(0.01, 0.05))


@contextlib.asynccontextmanager
async def posting(
    connection: NatsConnection, webhook: Webhook, clock: Clock | None = None
) -> AsyncIterator[WebhookPoster]:
    """Post events during the block; the stream and the consumer are there when it begins."""
    outgoing = HttpClient()
    poster = WebhookPoster(connection, outgoing, webhook, clock or Clock())
    await ensure_events(connection, EventStreamLimits(86400, 16 * 1024 * 1024))
    await poster.prepare()
    task = asyncio.create_task(poster.run())
    try:
        yield poster
    finally:
        task.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await task
        await outgoing.close()


async def publish(connection: NatsConnection, *numbers: int) -> None:
    told = await publish_events(connection, [event_of(number) for number in numbers])
    assert not told.reason


async def sequences(server: WebhookServer, count: int) -> set[int]:
    """Wait for posts of so many events; give their numbers."""
    found: set[int] = set()
    while len(found) < count:
        found.add((await server.next()).event["sequence"])
    return found


def of(seen: list[Struct], kind: type[Struct]) -> int:
    return len([each for each in seen if isinstance(each, kind)])


async def test_events_are_posted_with_the_key(
    connection: NatsConnection, server: WebhookServer, webhook: Webhook, seen: list[Struct]
) -> None:
    async with posting(connection, webhook):
        await publish(connection, *range(1, 41))
        posts = [await server.next() for _ in range(40)]
        await until(lambda: of(seen, WebhookSent) == 40)

    assert {each.event["sequence"] for each in posts} == set(range(1, 41))
    assert {each.headers["Authorization"] for each in posts} == {f"Bearer {KEY}"}
    assert {each.headers["Content-Type"] for each in posts} == {"application/json"}
    assert server.posts.empty()
    assert KEY not in f"{webhook!r}{seen}"
    assert "hidden" not in f"{webhook!r}{seen}"


async def test_without_a_key_none_is_sent(
    connection: NatsConnection, server: WebhookServer, webhook: Webhook
) -> None:
    async with posting(connection, replace(webhook, key=None)):
        await publish(connection, 1)
        post = await server.next()

    assert "Authorization" not in post.headers


@pytest.mark.parametrize("status", [301, 400, 404, 500, 503])
async def test_refused_posts_come_again(
    connection: NatsConnection, server: WebhookServer, webhook: Webhook, seen: list[Struct], status: int
) -> None:
    server.status = status
    async with posting(connection, webhook):
        await publish(connection, 1)
        first, second = await server.next(), await server.next()
        server.status = 204
        await until(lambda: of(seen, WebhookBack))

    assert first.event == second.event
    assert of(seen, WebhookLost) == of(seen, WebhookSent) == 1
    assert of(seen, WebhookFailed) >= 2
    assert WebhookLost(f"it answered with status {status}") in seen


async def test_posts_wait_for_a_service_that_is_away(
    connection: NatsConnection, server: WebhookServer, webhook: Webhook, seen: list[Struct]
) -> None:
    await server.stop()
    async with posting(connection, webhook):
        await publish(connection, *range(1, 11))
        await until(lambda: of(seen, WebhookFailed) >= 10)
        await server.start()

        assert await sequences(server, 10) == set(range(1, 11))

    assert WebhookLost("no connection could be made") in seen


async def test_posts_outlive_the_worker_and_the_broker(
    nats: NatsServer,
    connection: NatsConnection,
    server: WebhookServer,
    webhook: Webhook,
    seen: list[Struct],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(module, "CONSUMER", replace(module.CONSUMER, ack_wait_s=1.0))
    server.status = 500
    async with posting(connection, webhook):
        await publish(connection, 1, 2, 3)
        await until(lambda: of(seen, WebhookFailed))
        nats.kill()
        await nats.start()
        await until(lambda: connection.is_connected)
    server.status = 200
    while not server.posts.empty():
        server.posts.get_nowait()

    async with posting(connection, webhook):
        assert await sequences(server, 3) == {1, 2, 3}


async def test_an_event_that_nobody_takes_in_its_time_is_dropped_and_told(
    connection: NatsConnection, server: WebhookServer, webhook: Webhook, seen: list[Struct]
) -> None:
    server.status = 500
    clock = Clock()
    async with posting(connection, webhook, clock):
        await publish(connection, 1)
        await until(lambda: of(seen, WebhookFailed) >= 2)
        clock.ahead_s = 3601
        await until(lambda: of(seen, WebhookDropped))
        server.status = 200
        clock.ahead_s = 0
        await publish(connection, 2)
        await until(lambda: of(seen, WebhookSent))

    (dropped,) = [each for each in seen if isinstance(each, WebhookDropped)]
    assert (dropped.id, dropped.type, dropped.reason) == (
        "1-0", "ObjectCreated:Put", "it answered with status 500",
    )  # fmt: skip
    assert dropped.tries >= 3


async def test_what_is_no_event_is_passed_over(
    connection: NatsConnection, server: WebhookServer, webhook: Webhook
) -> None:
    async with posting(connection, webhook):
        await durable_consumer.publish(connection, "events.storage.b.object_created", b"hello")
        await publish(connection, 1)

        assert await sequences(server, 1) == {1}


async def test_events_from_before_the_webhook_are_not_posted(
    connection: NatsConnection, server: WebhookServer, webhook: Webhook
) -> None:
    await ensure_events(connection, EventStreamLimits(86400, 16 * 1024 * 1024))
    await publish(connection, 1)

    async with posting(connection, webhook):
        await publish(connection, 2)
        post = await server.next()

    assert post.event["sequence"] == 2
