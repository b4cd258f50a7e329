"""Starts the pool `management` of a process: its database login, opened when the first administrator comes, and the sweeps."""

import asyncio
import os
import random
from collections.abc import Awaitable
from contextlib import suppress

from broker.logs.store import FOLDER
from broker.observability.observe import observe
from broker.processes.backup_requests import BackupSchedule, backup_folder, write_schedule
from broker.processes.data_folder import data_folder
from broker.requests.call import Calls
from broker.subjects import MANAGEMENT
from schemas.database_logins import MANAGEMENT as MANAGEMENT_LOGIN
from schemas.settings.management import Management
from schemas.settings.tree import Settings
from workers.database.errors import DatabaseError, Disconnected, PoolTimeout
from workers.management.areas.logs.drains.drain_leader import DrainLeader
from workers.management.areas.logs.keeper import LogKeeper
from workers.management.interface.audit import seal_audit_rows
from workers.management.interface.backends.database import ManagementDatabase
from workers.management.interface.backends.platform_pools import PlatformPools, follow_requests
from workers.management.interface.identity.authenticate import FACTOR_S
from workers.management.interface.identity.seal_old_rows import seal_sessions
from workers.management.interface.identity.store import execute, fetch_one
from workers.management.interface.observations import AuditSwept, ManagementOperationFailed
from workers.management.operations import operation_table
from workers.management.worker import ManagementWorker
from workers.project.project_folder import project_folder
from workers.resources import Resources

_SWEEP_S = 3600.0
_MAX_CALLS = 64
"""Requests to other pools that may wait for their answers at a time."""


def warm_up() -> None:
    """Build the table of operations before processes are forked, which then share it."""
    operation_table()


async def serve_pool(resources: Resources) -> None:
    """Answer requests of administrators until the process drains."""
    settings = resources.settings.management
    database = ManagementDatabase(resources.login_as, resources.url_of)
    sweeper = asyncio.create_task(_sweep_forever(database, settings), name="sweep of administrators")

    calls = Calls(resources.connection, max_in_flight=_MAX_CALLS)
    pools = PlatformPools(calls, resources.connection)
    follower = asyncio.create_task(follow_requests(pools), name="figures of requests")

    async def stop() -> None:
        for task in (sweeper, follower):
            task.cancel()
            with suppress(asyncio.CancelledError):
                await task

    resources.process.on_drain(stop)
    folder = project_folder(os.environ)
    worker = ManagementWorker.create(database, resources.settings, pools, resources.live, folder)

    resources.process.on_drain(worker.assistant.close)

    async def renew(settings: Settings) -> None:
        worker.configuration = settings
        await asyncio.to_thread(
            _publish_schedule, settings.management, resources.live.base.settings.management
        )

    await renew(resources.live.settings)
    resources.live.on_change(renew)
    store = resources.settings.log.store
    if store.enabled:
        keeper = LogKeeper.of(resources.connection, store, data_folder() / FOLDER)
        resources.process.on_drain(keeper.close)
        keeper.start()
    drains = resources.settings.logs.drain
    if any(drain.enabled for drain in drains.values()):
        leader = DrainLeader(resources.url_of(MANAGEMENT_LOGIN), resources.connection, drains)
        resources.process.on_drain(leader.close)
        leader.begin()
    await resources.serve(MANAGEMENT, worker.answer)


def _publish_schedule(present: Management, of_start: Management) -> None:
    """Write the schedule of backups for the supervisor, if an administrator changed it."""
    schedules = [
        BackupSchedule(settings.backup_schedule, settings.backups_kept) for settings in (present, of_start)
    ]
    with suppress(OSError):  # on a full disk the old one stays; the next start writes it
        write_schedule(backup_folder(present), *schedules)


async def _sweep_forever(database: ManagementDatabase, settings: Management) -> None:
    """Delete what has expired about every hour; the first time after a random part of it, so that processes take turns.

    Before that, rows of older versions are sealed.
    """
    await _observed("seal", _seal_old_rows(database))
    while True:
        await asyncio.sleep(_SWEEP_S * random.uniform(0.5, 1.5))
        await _observed("sweep", _sweep(database, settings))


async def _observed(name: str, task: Awaitable[None]) -> None:
    """Await a task, and report an error of the database."""
    try:
        await task
    except (DatabaseError, Disconnected, PoolTimeout) as error:
        observe(ManagementOperationFailed(name, "", type(error).__name__))


async def _seal_old_rows(database: ManagementDatabase) -> None:
    pool = await database.own()
    await seal_sessions(pool)
    await seal_audit_rows(pool)


async def _sweep(database: ManagementDatabase, settings: Management) -> None:
    pool = await database.own()
    await execute(pool, "sweep", float(settings.session_idle_timeout))
    await execute(pool, "sweep_factors", FACTOR_S)
    if not settings.audit_retention:
        return
    swept = await fetch_one(pool, "sweep_audit", int, float(settings.audit_retention))
    if swept:
        observe(AuditSwept(swept))
