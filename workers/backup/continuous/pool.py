"""Start the process `archive`, `python -P -m workers archive`: it alone has the operator's key and a superuser's URL.

It answers what a restore to a moment would give (plan_service.py), and no other requests. `HEADWATER_MIGRATE_URL` is the URL of a superuser; the broker carries its metrics and faults, if a URL names one.
"""

import asyncio
import contextlib
import os
from pathlib import Path

from broker.archive.store import open_archive_store
from broker.blobs.store import BlobStore
from broker.nats.connection import NatsConnection
from broker.processes.connect import connect_broker, report_faults
from broker.processes.data_folder import data_folder
from broker.processes.lifecycle import ManagedProcess
from broker.processes.secret_files import with_file_values
from schemas.settings.backup_checks import backup_keys, missing_secret
from schemas.settings.tree import Settings, SettingsError
from workers.backup.commands import VERSION
from workers.backup.continuous.archiver import Archiver
from workers.backup.continuous.plan_service import PlanService
from workers.backup.continuous.progress import ArchiveProgress

_STOP_S = 10.0
_VAULT_KEY = "HEADWATER_VAULT_KEY"
_SEALING_KEY = "HEADWATER_SEALING_KEY_PATH"


async def run_pool(process: ManagedProcess, settings: Settings) -> None:
    """Archive until the process drains. Raises: SettingsError, Unavailable."""
    environment = with_file_values(os.environ)
    url = environment.get("HEADWATER_MIGRATE_URL", "")
    if not url:
        raise SettingsError("continuous backup needs HEADWATER_MIGRATE_URL, the URL of a superuser")
    if sentence := missing_secret(settings.backup):
        raise SettingsError(sentence)
    store = open_archive_store(settings.backup)
    keys = backup_keys(settings.backup)
    if settings.broker.url is not None:
        connection = await _report_to_broker(process, settings)
        process.on_drain(PlanService(connection, store, keys).close)
    folder = data_folder()
    await asyncio.to_thread(folder.mkdir, mode=0o700, parents=True, exist_ok=True)
    progress = ArchiveProgress(folder)
    gauges = progress.add_gauges()
    blobs = BlobStore.open(settings.storage, data_folder()) if _copies_objects(settings) else None
    vault_key, sealing_key = environment.get(_VAULT_KEY, ""), environment.get(_SEALING_KEY, "")
    archiver = Archiver(
        settings.backup,
        store,
        keys,
        url,
        blobs,
        progress,
        environment.get(VERSION, ""),
        Path(vault_key) if vault_key else None,
        Path(sealing_key) if sealing_key else None,
    )
    running = asyncio.ensure_future(archiver.run())

    async def drain() -> None:
        await archiver.stop()
        await asyncio.wait({running}, timeout=_STOP_S)
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)
        for remove in gauges:
            remove()
        if blobs is not None:
            await blobs.close()

    process.on_drain(drain)
    process.ready()
    stopped = asyncio.ensure_future(process.stopped())
    with contextlib.suppress(asyncio.CancelledError):
        await asyncio.wait({running, stopped}, return_when=asyncio.FIRST_COMPLETED)
    if running.done() and not stopped.done() and not running.cancelled() and running.exception() is not None:
        stopped.cancel()
        running.result()
    await stopped


def _copies_objects(settings: Settings) -> bool:
    return settings.backup.objects and settings.storage.enabled


async def _report_to_broker(process: ManagedProcess, settings: Settings) -> NatsConnection:
    """Send metrics, faults and log lines of this process by the broker; return the connection."""
    connection = await connect_broker(process, settings, "archive")
    report_faults(process, connection)
    return connection
