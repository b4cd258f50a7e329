"""The images pool of a process: a broker connection, the blob store, the decoders; no database.

It stands in a process of its own, `python -P -m workers images`, and has the memory limit of its decoders.
"""

import os
from pathlib import Path

from broker import subjects
from broker.blobs.store import BlobStore
from broker.nats.connection import Connection
from broker.observability.metrics import answer_collect
from broker.processes.lifecycle import Process
from broker.requests.serve import RequestBody, serve
from schemas.http import Request, Response
from schemas.settings.tree import Settings, SettingsError
from workers.images.decoders import Decoders
from workers.images.limits import bound_memory, limits_of
from workers.images.worker import ImageWorker

_HEALTH_CONCURRENCY, _HEALTH_QUEUE = 8, 64


async def run_pool(process: Process, settings: Settings) -> None:
    """Answer orders until the process drains. Raises: SettingsError, Unavailable."""
    own = settings.storage.image_transformation
    limits = limits_of(own)
    bound_memory(limits.memory)
    connection = await _connect(process, settings)
    answer_collect(connection)
    store = BlobStore.open(settings.storage, _data_folder(settings))
    process.on_drain(store.close)
    decoders = Decoders(
        limits, processes=own.processes or _cores(), idle_timeout=float(own.process_idle_timeout)
    )
    process.on_drain(decoders.close)
    worker = ImageWorker(store, decoders, limits)
    pools = settings.pools
    health = await serve(
        connection,
        subjects.health(subjects.IMAGES.pool),
        _health,
        concurrency=_HEALTH_CONCURRENCY,
        queue=_HEALTH_QUEUE,
    )
    serving = await serve(
        connection, subjects.IMAGES, worker.answer, concurrency=pools.concurrency, queue=pools.queue
    )

    async def drain() -> None:
        await serving.drain(pools.drain_timeout)
        await health.stop()

    process.on_drain(drain)
    process.ready()
    await process.stopped()


async def _connect(process: Process, settings: Settings) -> Connection:
    if settings.broker.url is None:
        raise SettingsError("the images worker needs broker.url (NATS_URL)")
    try:
        connection = await Connection.open(
            settings.broker.url.reveal(),
            name="images",
            max_reconnect_wait=settings.broker.max_reconnect_wait,
            replicas=settings.broker.replicas,
        )
    except ValueError:  # its words may hold a part of the password
        raise SettingsError("broker.url must be nats://[user:password@]host[:port], or tls://...") from None
    process.on_drain(connection.drain)
    return connection


async def _health(request: Request, body: RequestBody) -> Response:
    """Say that this process answers: decoders are started when there is work for them."""
    del request, body
    return Response(200, body=b'{"message":"ok"}')


def _data_folder(settings: Settings) -> Path:
    """Give the folder of the platform's data, where the blob store lies unless the settings name another place."""
    folder = os.environ.get("HEADWATER_DATA", "")
    if not folder and settings.storage.backend == "file" and not settings.storage.path:
        raise SettingsError("the images worker needs storage.path, or the data folder in HEADWATER_DATA")
    return Path(folder)


def _cores() -> int:
    """Give the cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
