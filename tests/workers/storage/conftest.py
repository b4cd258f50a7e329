"""One bootstrapped database and one blob store for the tests of storage, a worker on them, and decoders for pictures."""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

import msgspec
import pytest

from broker.blobs.store import BlobStore
from schemas.errors import ApiError
from schemas.http import Request
from schemas.images.transform import Rendered, RenderOrder
from schemas.settings.tree import Settings
from tests.workers.auth.auth_pool import at_role
from tests.workers.database.server import connected, migrated_server
from tests.workers.rest.bodies import Inline
from tests.workers.storage.storage_pool import StoragePool
from workers.database.connection_pool.pool import ConnectionPool
from workers.images.decoder_processes import DecoderProcesses
from workers.images.limits import DecoderLimits
from workers.images.worker import ImageWorker
from workers.storage.pool import LOGIN
from workers.storage.renditions.render_client import RenditionRejected
from workers.storage.requests.context import build_context


class OwnImages:
    """An images worker in this process, asked as over the broker."""

    def __init__(self, worker: ImageWorker) -> None:
        self._worker = worker

    async def __call__(
        self, order: RenderOrder, request_id: str, budget_ms: int, client: str = ""
    ) -> Rendered:
        body = msgspec.msgpack.encode(order)
        request = Request(request_id, "POST", "/render", budget_ms=budget_ms, body=body)
        try:
            answer = await self._worker.answer(request, Inline(body))  # type: ignore[arg-type]  # as Body is read
        except ApiError as error:
            raise RenditionRejected(error.response()) from None
        return msgspec.json.decode(answer.body, type=Rendered)


@pytest.fixture(scope="session")
async def database() -> AsyncIterator[str]:
    """URL of a bootstrapped database, for the superuser."""
    with migrated_server() as server:
        yield server.url()


@pytest.fixture(scope="session")
async def whole_storage_pool(
    database: str, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[StoragePool]:
    """A worker with default settings; one server, one database, one pool, one store for the whole run."""
    settings = Settings()
    folder: Path = tmp_path_factory.mktemp("blobs")
    pool = await ConnectionPool.open(at_role(database, LOGIN, settings.db.password.reveal()), 8)
    blobs = BlobStore.open(settings.storage, folder)
    limits = DecoderLimits()
    decoders = DecoderProcesses(limits, processes=1, idle_timeout=30)
    images = OwnImages(ImageWorker(blobs, decoders, limits))
    store = build_context(settings.storage, settings.auth.jwt_secret, pool, blobs, images)
    async with connected(database) as admin:
        yield StoragePool(store, admin)
    await store.tasks.close()
    await decoders.close()
    await blobs.close()
    await asyncio.wait_for(pool.close(), 60)


@pytest.fixture(params=["two steps", "one message"])
def upload_pool(whole_storage_pool: StoragePool, request: pytest.FixtureRequest) -> StoragePool:
    """The worker, with uploads in two steps and in one message: what a client sees must be the same."""
    return replace(whole_storage_pool, sends_small=request.param == "one message")


@pytest.fixture
def storage_pool(whole_storage_pool: StoragePool) -> StoragePool:
    """The worker; tests make buckets of their own."""
    return whole_storage_pool
