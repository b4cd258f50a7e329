"""Start the storage pool in a process: its database login, the blob store, the images client, the sweep, the events."""

import asyncio
import contextlib
import dataclasses
import os
from pathlib import Path

from broker.blobs.store import BlobStore
from broker.blobs.watch import BlobStoreWatch
from broker.codec import encode
from broker.requests.call import Calls
from broker.subjects import OBJECTS_CHANGED, STORAGE
from broker.token_buckets import Buckets
from schemas.keys.former_keys import former_keys
from schemas.settings.tree import Settings, SettingsError
from workers.http_client.client import HttpClient
from workers.resources import Resources
from workers.storage.events.delivery import EventDelivery
from workers.storage.model.s3_keyring import read_keyring
from workers.storage.renditions.render_client import CachedRenderer, ImagesPoolClient
from workers.storage.requests.context import build_context
from workers.storage.requests.outside_cache import OutsideCache
from workers.storage.sweeps.sweep import sweep_forever
from workers.storage.worker import StorageWorker

LOGIN = "supabase_storage_admin"


async def serve_pool(resources: Resources) -> None:
    """Serve requests of storage until the process drains. Raises: SettingsError, Unavailable."""
    settings = resources.settings
    blobs = BlobStore.open(settings.storage, _data_folder(settings))
    resources.process.on_drain(blobs.close)
    watch = BlobStoreWatch(blobs)
    resources.process.on_drain(watch.close)
    watch.start()
    database = await resources.login_as(LOGIN)
    calls = Calls(resources.connection, max_in_flight=settings.gateway.max_in_flight)
    image_settings = settings.storage.image_transformation
    clients = Buckets(image_settings.renditions_per_client, image_settings.renditions_per_client_burst)
    outgoing = HttpClient()
    resources.process.on_drain(outgoing.close)
    render = CachedRenderer(ImagesPoolClient(calls), blobs, clients=clients)
    store = build_context(
        settings.storage,
        settings.auth.jwt_secret,
        database,
        blobs,
        render,
        keyring=read_keyring(settings),
        former=former_keys(settings.auth),
        outside_cache=OutsideCache(outgoing, settings.project_id),
        announce=lambda change: resources.connection.try_publish(OBJECTS_CHANGED.name, encode(change)),
    )
    resources.process.on_drain(store.tasks.close)
    sweeping = asyncio.get_running_loop().create_task(
        sweep_forever(database, blobs, settings.storage, render)
    )

    async def stop_sweeping() -> None:
        sweeping.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await sweeping

    resources.process.on_drain(stop_sweeping)
    worker = StorageWorker(store)

    async def renew(settings: Settings) -> None:
        nonlocal worker
        worker = StorageWorker(dataclasses.replace(store, settings=settings.storage))

    resources.live.on_change(renew)
    telling = EventDelivery(resources.connection, database, settings)
    resources.process.on_drain(telling.close)
    telling.begin()
    await resources.serve(
        STORAGE,
        telling.wake_after(lambda request, body: worker.answer(request, body)),
        lambda: f"the object store does not work: {watch.reason}" if watch.reason else "",
    )


def _data_folder(settings: Settings) -> Path:
    """Return the platform's data folder, which holds the blobs unless the settings name another place."""
    folder = os.environ.get("HEADWATER_DATA", "")
    if not folder and settings.storage.backend == "file" and not settings.storage.path:
        raise SettingsError("the storage worker needs storage.path, or the data folder in HEADWATER_DATA")
    return Path(folder)
