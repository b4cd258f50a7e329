"""`python -m workers images`: a process without a database that answers orders over the broker."""

import asyncio
import contextlib
import os
import signal
import subprocess
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from uuid import uuid4

import msgspec
import psutil
import pytest

from broker import subjects
from broker.blobs import blob_names
from broker.blobs.store import BlobStore
from broker.codec import encode
from broker.nats.connection import NatsConnection
from broker.requests.call import Calls
from schemas.blobs import BlobReference
from schemas.http import Request, Response
from schemas.images.transform import Rendered, RenderOrder, Transform
from schemas.settings.storage import Storage
from tests.broker.server import NatsServer, running_server
from tests.workers.images.samples import opened, quarters, slow_svg, written

ROOT = Path(__file__).resolve().parents[3]
COMMAND = [sys.executable, "-P", "-m", "workers", "images"]


def environment(**names: str) -> dict[str, str]:
    """Give the environment of this process without settings of ours, and with these names."""
    own = {name: value for name, value in os.environ.items() if not name.startswith("HEADWATER_")}
    return {**own, "PYTHONPATH": str(ROOT), **names}


class Running:
    """A running pool, with a store and a caller of its own."""

    def __init__(self, process: asyncio.subprocess.Process, store: BlobStore, calls: Calls) -> None:
        self.process, self.store, self._calls = process, store, calls

    async def put(self, data: bytes) -> BlobReference:
        source = BlobReference("b", str(uuid4()))
        await self.store.put_small(blob_names.blob(source.bucket, source.version), data)
        return source

    async def ask(self, order: RenderOrder) -> Response:
        request = Request(str(uuid4()), "POST", "/", body=encode(order))
        return (await self._calls.call(subjects.IMAGES, request)).response

    async def health(self) -> Response:
        request = Request(str(uuid4()), "GET", "/", budget_ms=5000)
        return (await self._calls.call(subjects.health("images"), request)).response


@pytest.fixture(scope="module")
async def nats() -> AsyncIterator[NatsServer]:
    async with running_server() as one:
        yield one


@pytest.fixture
async def pool(nats: NatsServer, tmp_path: Path) -> AsyncIterator[Running]:
    """A pool that is ready."""
    async with contextlib.AsyncExitStack() as stack:
        connection = await NatsConnection.open(nats.url, name="test")
        stack.push_async_callback(connection.close)
        ready, its = os.pipe()
        process = await asyncio.create_subprocess_exec(
            *COMMAND,
            env=environment(
                HEADWATER_BROKER_URL=nats.url, HEADWATER_DATA=str(tmp_path), HEADWATER_READY_FD=str(its),
                HEADWATER_STORAGE_IMAGE_TRANSFORMATION_TIMEOUT="5",
            ),
            cwd=tmp_path, pass_fds=(its,),
        )  # fmt: skip
        os.close(its)

        async def end() -> None:
            if process.returncode is None:
                process.kill()
                await process.wait()

        stack.push_async_callback(end)
        with os.fdopen(ready) as told:
            assert await asyncio.wait_for(asyncio.to_thread(told.readline), 60) == "ready\n"
        store = BlobStore.open(Storage(), tmp_path)
        stack.push_async_callback(store.close)
        yield Running(process, store, Calls(connection))


async def test_an_order_is_answered_with_what_lies_in_the_store(pool: Running) -> None:
    order = RenderOrder(await pool.put(written(quarters(), "png")), Transform(20, 10), "webp")

    response = await pool.ask(order)

    rendered = msgspec.json.decode(response.body, type=Rendered)
    place = blob_names.transform(order.source.version, order.key)
    data = await pool.store.get_small(place, limit=10**6)
    assert (response.status, rendered) == (200, Rendered("image/webp", len(data), 20, 10))
    assert opened(data).width == 20


async def test_a_refusal_has_the_shape_of_the_storage_area(pool: Running) -> None:
    response = await pool.ask(RenderOrder(await pool.put(b"text"), Transform(20, 10), "webp"))

    assert response.status == 400
    assert msgspec.json.decode(response.body) == {
        "statusCode": "400",
        "error": "InvalidRequest",
        "message": "The source image is invalid or unsupported for rendering",
        "code": "InvalidRequest",
    }


async def test_a_render_over_its_time_is_told(pool: Running) -> None:
    response = await pool.ask(RenderOrder(await pool.put(slow_svg()), Transform(2000, 2000), "png"))

    told = msgspec.json.decode(response.body)
    assert (response.status, told["statusCode"], told["message"]) == (400, "408", "Image request timed out")


async def test_it_is_healthy_without_a_database_and_ends_in_order_with_its_decoders(pool: Running) -> None:
    assert (await pool.health()).status == 200
    await pool.ask(RenderOrder(await pool.put(written(quarters(), "png")), Transform(20, 10), "webp"))
    decoders = psutil.Process(pool.process.pid).children()
    assert len(decoders) == 1

    pool.process.send_signal(signal.SIGTERM)

    assert await asyncio.wait_for(pool.process.wait(), 30) == 0
    assert not any(psutil.pid_exists(each.pid) for each in decoders)


async def test_its_decoders_end_with_it_however_it_ends(pool: Running) -> None:
    await pool.ask(RenderOrder(await pool.put(written(quarters(), "png")), Transform(20, 10), "webp"))
    (decoder,) = psutil.Process(pool.process.pid).children()

    pool.process.kill()
    await pool.process.wait()

    async with asyncio.timeout(60):
        while decoder.is_running() and decoder.status() != psutil.STATUS_ZOMBIE:
            await asyncio.sleep(0.01)


async def test_it_does_not_know_the_image_library(pool: Running) -> None:
    maps = Path(f"/proc/{pool.process.pid}/maps")
    if not maps.exists():
        pytest.skip("there is no /proc")

    assert "vips" not in maps.read_text()


def test_without_a_place_for_blobs_it_does_not_start(nats: NatsServer) -> None:
    done = subprocess.run(
        COMMAND,
        env=environment(HEADWATER_BROKER_URL=nats.url),
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )

    assert done.returncode == 2
    assert "the images worker needs storage.path" in done.stdout + done.stderr


def test_it_stands_alone() -> None:
    done = subprocess.run(
        [*COMMAND, "rest"],
        env=environment(),
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )

    assert done.returncode == 2
    assert "images runs in a process of its own" in done.stderr
