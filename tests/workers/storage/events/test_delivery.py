"""The whole storage pool tells its events: over a real broker with the rights of its user, to a webhook, with its numbers."""

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator
from pathlib import Path
from urllib.parse import urlsplit

import nats
import pytest

from broker.nats.connection import NatsConnection
from broker.observability.metrics import collect
from broker.processes.lifecycle import ManagedProcess
from broker.requests.call import Calls
from broker.subject_rights import EDGE_USER, authorization
from broker.subjects import STORAGE
from schemas.keys.secret import Secret
from schemas.settings.storage import Storage
from schemas.settings.tree import Broker, Db, Settings
from tests.broker.server import NatsServer, running_server
from tests.workers.storage.events.webhook_server import WebhookServer
from tests.workers.storage.storage_pool import StoragePool, request_of
from workers.resources import open_resources
from workers.storage.pool import serve_pool

PASSWORDS = {EDGE_USER: "d", "pool": "p", "platform": "x"}


@pytest.fixture
async def guarded() -> AsyncIterator[NatsServer]:
    """A broker with the rights of the platform."""
    async with running_server(authorization(PASSWORDS)) as one:
        yield one


@contextlib.asynccontextmanager
async def served(settings: Settings) -> AsyncIterator[None]:
    """Run a process that serves the pool; it ends in order after the block."""
    process, ready = ManagedProcess("test", settings), asyncio.Event()

    async def main(process: ManagedProcess) -> None:
        await serve_pool(await open_resources(process, settings))
        process.ready()
        ready.set()
        await process.stopped()

    life = asyncio.create_task(process.run(main))
    try:
        await asyncio.wait_for(ready.wait(), 60)
        yield
    finally:
        process.stop("the test is over")
        assert await life == 0


async def test_a_request_is_told_on_nats_and_to_the_webhook(
    guarded: NatsServer, quiet: StoragePool, database: str, tmp_path: Path
) -> None:
    server = WebhookServer()
    await server.start()
    settings = Settings(
        db=Db(url=Secret(database), pool_size=3),
        broker=Broker(url=Secret(guarded.url_of("pool", "p"))),
        storage=Storage(path=str(tmp_path), webhook_url=Secret(server.url), webhook_api_key=Secret("k")),
    )
    asking = await NatsConnection.open(guarded.url_of("platform", "x"), name="test")
    heard: asyncio.Queue[str] = asyncio.Queue()
    asking.subscribe("events.storage.>", lambda message: heard.put_nowait(message.subject))
    async with served(settings):
        answer = await Calls(asking).call(STORAGE, request_of("POST", "/bucket", {"name": "told.over nats"}))
        assert answer.response.status == 200

        assert await asyncio.wait_for(heard.get(), 60) == "events.storage.told=2Eover=20nats.bucket_created"
        post = await server.next()
        text = await collect(asking)

    follower = await nats.connect(guarded.url, user="pool", password="p", inbox_prefix="_INBOX.pool.me")
    kept = await follower.jetstream().pull_subscribe(
        "events.storage.told=2Eover=20nats.>", durable="thumbnails", stream="STORAGE_EVENTS"
    )
    (message,) = await kept.fetch(1, timeout=60)
    await message.ack()
    assert json.loads(message.data)["type"] == "Bucket:Created"
    await follower.close()
    assert (post.event["type"], post.event["payload"]["bucketId"]) == ("Bucket:Created", "told.over nats")
    assert post.headers["Authorization"] == "Bearer k"
    assert post.body["tenant"] == {"ref": "headwater", "host": urlsplit(settings.api.external_url).netloc}
    assert "headwater_storage_events_waiting{" in text
    assert 'login="supabase_storage_admin"' in text
    assert 'kind="WebhookSent"' in text
    await asking.close()
    await server.stop()
