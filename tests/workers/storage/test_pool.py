"""The whole pool in a process of its own life: asked over a real broker, on a real database, as an edge asks."""

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from broker.blobs import blob_names
from broker.blobs.store import BlobStore
from broker.nats.connection import NatsConnection
from broker.processes.lifecycle import ManagedProcess
from broker.requests.call import Calls
from broker.requests.handler import RequestBody
from broker.requests.serve import serve
from broker.subjects import IMAGES, STORAGE, health
from schemas.blobs import BlobReference, StoredBody
from schemas.http import Request, Response
from schemas.images.transform import Rendered, RenderOrder, Transform
from schemas.keys.secret import Secret
from schemas.settings.storage import Storage
from schemas.settings.tree import Broker, Db, Settings, SettingsError
from tests.broker.server import NatsServer, running_server
from tests.workers.storage.storage_pool import request_of
from workers.resources import Resources, open_resources
from workers.storage.model.errors import StorageError
from workers.storage.pool import serve_pool
from workers.storage.renditions.render_client import ImagesPoolClient, RenditionRejected

ORDER = RenderOrder(BlobReference("b", "v"), Transform(width=5), "png")


@pytest.fixture(scope="module")
async def nats() -> AsyncIterator[NatsServer]:
    async with running_server() as one:
        yield one


@contextlib.asynccontextmanager
async def served(settings: Settings) -> AsyncIterator[None]:
    """Run a process that serves the pool; it ends in order after the block."""
    process = ManagedProcess("test", settings)

    async def main(process: ManagedProcess) -> None:
        resources: Resources = await open_resources(process, settings)
        await serve_pool(resources)
        process.ready()
        ready.set()
        await process.stopped()

    ready = asyncio.Event()
    life = asyncio.create_task(process.run(main))
    either: set[asyncio.Future[Any]] = {life, asyncio.ensure_future(ready.wait())}
    await asyncio.wait(either, return_when=asyncio.FIRST_COMPLETED)
    assert ready.is_set()
    try:
        yield
    finally:
        process.stop("the test is over")
        assert await life == 0


@contextlib.asynccontextmanager
async def asking(nats: NatsServer) -> AsyncIterator[tuple[NatsConnection, Calls]]:
    connection = await NatsConnection.open(nats.url, name="asking")
    try:
        yield connection, Calls(connection)
    finally:
        await connection.close()


async def test_pool_answers_and_sweeps_and_ends(nats: NatsServer, database: str, tmp_path: Path) -> None:
    storage = Storage(path=str(tmp_path / "own"))
    settings = Settings(
        db=Db(url=Secret(database), pool_size=3), broker=Broker(url=Secret(nats.url)), storage=storage
    )
    blobs = BlobStore.open(storage, tmp_path)

    async with served(settings), asking(nats) as (_, calls):
        well = await calls.call(health(STORAGE.pool), Request("1", "GET", "/", budget_ms=10_000))
        assert well.response.status == 200
        made = await calls.call(STORAGE, request_of("POST", "/bucket", {"name": "over-nats"}))
        assert json.loads(made.response.body) == {"name": "over-nats"}

        request = request_of("POST", "/object/over-nats/a", content_type="text/plain")
        wanted = (await calls.call(STORAGE, request)).response.grant
        assert wanted is not None
        staged = await blobs.put_small(blob_names.blob(wanted.blob.bucket, wanted.blob.version), b"data")
        stored = StoredBody(wanted.ticket, staged.size, staged.md5)
        done = await calls.call(STORAGE, msgspec.structs.replace(request, stored=stored))
        assert done.response.status == 200
        found = await calls.call(STORAGE, request_of("GET", "/object/authenticated/over-nats/a"))
        assert found.response.claim is not None
        assert found.response.claim.blob == wanted.blob
    await blobs.close()


async def test_pool_needs_to_know_where_blobs_lie(
    nats: NatsServer, database: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("HEADWATER_DATA", raising=False)
    settings = Settings(db=Db(url=Secret(database)), broker=Broker(url=Secret(nats.url)))
    process = ManagedProcess("test", settings)
    refused: list[str] = []

    async def main(process: ManagedProcess) -> None:
        resources = await open_resources(process, settings)
        try:
            await serve_pool(resources)
        except SettingsError as error:
            refused.append(str(error))

    await process.run(main)

    assert refused == ["the storage worker needs storage.path, or the data folder in HEADWATER_DATA"]


async def test_images_are_asked_over_the_broker(nats: NatsServer) -> None:
    answers = [
        Response(200, body=msgspec.json.encode(Rendered("image/png", 9, 5, 4))),
        Response(400, body=b'{"statusCode":"400"}'),
        Response(503, body=b'{"message":"too many"}'),
        Response(500, body=b'{"message":"an error"}'),
    ]
    orders: list[RenderOrder] = []

    async def answer(request: Request, body: RequestBody) -> Response:
        orders.append(msgspec.msgpack.decode(await body.read(10_000), type=RenderOrder))
        return answers.pop(0)

    async with asking(nats) as (_, calls), asking(nats) as (served_by, _):
        render = ImagesPoolClient(calls)
        with pytest.raises(StorageError) as away:
            await render(ORDER, "3", 10_000)
        serving = await serve(served_by, IMAGES, answer, concurrency=1, queue=1)

        assert await render(ORDER, "1", 10_000) == Rendered("image/png", 9, 5, 4)
        with pytest.raises(RenditionRejected) as refused:
            await render(ORDER, "2", 10_000)
        with pytest.raises(StorageError) as full:
            await render(ORDER, "4", 10_000)
        with pytest.raises(StorageError) as broken:
            await render(ORDER, "5", 10_000)
        await serving.stop()

    assert orders == [ORDER] * 4
    assert refused.value.response() == Response(400, body=b'{"statusCode":"400"}')
    for each in (away, full):
        assert each.value.status == 503
        assert each.value.body()["code"] == "SlowDown"
    assert broken.value.status == 500
    assert broken.value.body()["message"] == "Internal Server Error"
