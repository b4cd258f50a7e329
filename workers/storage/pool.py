"""The storage pool of a process: its own login to the database, the blob store, calls to the images pool, the
sweep, the events."""

import asyncio
import contextlib
import os
from pathlib import Path

from broker.blobs.store import BlobStore
from broker.blobs.watch import BlobsWatch
from broker.requests.call import Calls
from broker.subjects import STORAGE
from broker.token_buckets import Buckets
from schemas.settings.tree import Settings, SettingsError
from workers.resources import Resources
from workers.storage.build import build_store
from workers.storage.events.telling import Telling
from workers.storage.rendering import AskedImages, Remembered
from workers.storage.s3.keyring import read_keyring
from workers.storage.sweep import sweep_forever
from workers.storage.worker import StorageWorker

LOGIN = "supabase_storage_admin"


async def serve_pool(resources: Resources) -> None:
    """Answer requests of storage until the process drains. Raises: SettingsError, Unavailable."""
    settings = resources.settings
    blobs = BlobStore.open(settings.storage, _data_folder(settings))
    resources.process.on_drain(blobs.close)
    watch = BlobsWatch(blobs)
    resources.process.on_drain(watch.close)
    watch.start()
    database = await resources.login_as(LOGIN)
    calls = Calls(resources.connection, max_in_flight=settings.gateway.max_in_flight)
    own = settings.storage.image_transformation
    clients = Buckets(own.renditions_per_client, own.renditions_per_client_burst)
    render = Remembered(AskedImages(calls), blobs, clients=clients)
    store = build_store(
        settings.storage,
        settings.auth.jwt_secret,
        database,
        blobs,
        render,
        keyring=read_keyring(settings),
    )
    resources.process.on_drain(store.errands.close)
    sweeping = asyncio.get_running_loop().create_task(
        sweep_forever(database, blobs, settings.storage, render)
    )

    async def stop_sweeping() -> None:
        sweeping.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await sweeping

    resources.process.on_drain(stop_sweeping)
    telling = Telling(resources.connection, database, settings)
    resources.process.on_drain(telling.close)
    telling.begin()
    await resources.serve(
        STORAGE,
        telling.waking(StorageWorker(store).answer),
        lambda: f"the object store does not work: {watch.reason}" if watch.reason else "",
    )


def _data_folder(settings: Settings) -> Path:
    """Give the folder of the platform's data, where the blobs lie unless the settings name another place."""
    folder = os.environ.get("HEADWATER_DATA", "")
    if not folder and settings.storage.backend == "file" and not settings.storage.path:
        raise SettingsError("the storage worker needs storage.path, or the data folder in HEADWATER_DATA")
    return Path(folder)
