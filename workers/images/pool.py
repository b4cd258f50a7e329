"""Start the images pool: a broker connection, the blob store, the decoder processes; no database.

It runs in a process of its own, `python -P -m workers images`, with the same memory limit as its decoders.
"""

import os
from pathlib import Path

from broker import subjects
from broker.blobs.store import BlobStore
from broker.processes.connect import connect_broker
from broker.processes.lifecycle import ManagedProcess
from schemas.settings.tree import Settings, SettingsError
from workers.images.decoder_processes import DecoderProcesses
from workers.images.limits import bound_memory, limits_of
from workers.images.worker import ImageWorker
from workers.served_pool import serve_subject


async def run_pool(process: ManagedProcess, settings: Settings) -> None:
    """Serve orders until the process drains. Raises: SettingsError, Unavailable."""
    image_settings = settings.storage.image_transformation
    limits = limits_of(image_settings)
    bound_memory(limits.memory)
    connection = await connect_broker(process, settings, "images")
    store = BlobStore.open(settings.storage, _data_folder(settings))
    process.on_drain(store.close)
    decoders = DecoderProcesses(
        limits,
        processes=image_settings.processes or _cores(),
        idle_timeout=float(image_settings.process_idle_timeout),
    )
    process.on_drain(decoders.close)
    worker = ImageWorker(store, decoders, limits)
    await serve_subject(process, connection, settings.pools, subjects.IMAGES, worker.answer)
    process.ready()
    await process.stopped()


def _data_folder(settings: Settings) -> Path:
    """Return the platform's data folder, which holds the blob store unless the settings name another place."""
    folder = os.environ.get("HEADWATER_DATA", "")
    if not folder and settings.storage.backend == "file" and not settings.storage.path:
        raise SettingsError("the images worker needs storage.path, or the data folder in HEADWATER_DATA")
    return Path(folder)


def _cores() -> int:
    """Return the number of cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
