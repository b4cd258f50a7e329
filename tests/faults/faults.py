"""What is done to the platform: one function for each action that `plan.py` names.

Each returns when the harm is over (a stopped process goes on, the disk has room again), with a remark for the log or none.
"""

import asyncio
import contextlib
import os
import shutil
import signal
import time
from collections.abc import Awaitable, Callable

import asyncpg
import psutil

from tests.faults.campaign_platform import DISK_BYTES, CampaignPlatform, resize
from tests.faults.plan import PlannedFault

_PATIENCE_S = 60.0
_DATABASE_FAULTS = (asyncpg.PostgresError, asyncpg.InterfaceError, OSError, TimeoutError)
_BACKEND = "select pid from pg_stat_activity where usename = 'authenticator' order by backend_start limit 1"
_SLOT = "headwater_changes"
_REFILL_S = 0.1


async def carry_out(place: CampaignPlatform, fault: PlannedFault) -> str:
    """Do what a fault says; return a remark."""
    return await _ACTIONS[fault.kind.action](place, fault)


async def _kill(place: CampaignPlatform, fault: PlannedFault) -> str:
    if fault.kind.target == "everything":
        return await _kill_everything(place)
    os.kill(await _pid(place, fault.kind.target), signal.SIGKILL)
    return ""


async def _kill_everything(place: CampaignPlatform) -> str:
    """Kill the supervisor and all below it, as a lost machine would, and start again."""
    supervisor = psutil.Process(int(str(place.state()["pid"])))
    processes = [supervisor, *supervisor.children(recursive=True)]
    for process in processes:
        with contextlib.suppress(psutil.NoSuchProcess):
            process.kill()
    attempts = await place.start()
    return "" if attempts == 1 else f"it started at attempt {attempts}"


async def _stop(place: CampaignPlatform, fault: PlannedFault) -> str:
    """Stop a process for a while. One that was replaced meanwhile is gone, and needs no word to go on."""
    pid = await _pid(place, fault.kind.target)
    process = psutil.Process(pid)
    process.suspend()
    try:
        await asyncio.sleep(fault.lasts_s)
    finally:
        was_replaced = not process.is_running() or process.status() == psutil.STATUS_ZOMBIE
        with contextlib.suppress(psutil.NoSuchProcess):
            process.resume()
    return "it was replaced meanwhile" if was_replaced else ""


async def _restart(place: CampaignPlatform, fault: PlannedFault) -> str:
    """End a server in order; the supervisor starts it again."""
    ends = {"nats": signal.SIGTERM, "postgres": signal.SIGINT}
    os.kill(await _pid(place, fault.kind.target), ends[fault.kind.target])
    return ""


async def _full_disk(place: CampaignPlatform, fault: PlannedFault) -> str:
    if place.disk is None:
        await asyncio.sleep(fault.lasts_s)
        return "left out: no disk can be mounted here"
    until = time.monotonic() + fault.lasts_s
    try:
        while time.monotonic() < until:
            resize(
                place.disk, shutil.disk_usage(place.disk).used
            )  # what is given up meanwhile is taken as well
            await asyncio.sleep(_REFILL_S)
    finally:
        resize(place.disk, DISK_BYTES)
    return ""


async def _wipe_store(place: CampaignPlatform, fault: PlannedFault) -> str:
    """Lose all that the broker keeps: while it is stopped, so that it writes nothing of it back."""
    pid = await _pid(place, "nats")
    os.kill(pid, signal.SIGSTOP)
    shutil.rmtree(place.data / "nats" / "store", ignore_errors=True)
    os.kill(pid, signal.SIGKILL)
    return ""


async def _lose_slot(place: CampaignPlatform, fault: PlannedFault) -> str:
    """Drop the replication slot, as a failover without synchronized slots would."""
    async with asyncio.timeout(_PATIENCE_S):
        while True:
            with contextlib.suppress(*_DATABASE_FAULTS):
                connection = await asyncpg.connect(place.superuser_url, timeout=60)
                try:
                    await connection.execute(
                        "select pg_terminate_backend(active_pid) from pg_replication_slots where slot_name = $1",
                        _SLOT,
                    )
                    await connection.execute("select pg_drop_replication_slot($1)", _SLOT)
                finally:
                    await connection.close()
                return ""
            await asyncio.sleep(0.01)


async def _pid(place: CampaignPlatform, name: str) -> int:
    """Return the process id of a part; one that is being started is waited for."""
    async with asyncio.timeout(_PATIENCE_S):
        while True:
            if name == "backend":
                with contextlib.suppress(*_DATABASE_FAULTS):
                    connection = await asyncpg.connect(place.superuser_url, timeout=60)
                    try:
                        if pid := await connection.fetchval(_BACKEND):
                            return int(pid)
                    finally:
                        await connection.close()
            elif pid := place.pids().get(name):
                return pid
            await asyncio.sleep(0.02)


_ACTIONS: dict[str, Callable[[CampaignPlatform, PlannedFault], Awaitable[str]]] = {
    "kill": _kill,
    "stop": _stop,
    "hang": _stop,
    "restart": _restart,
    "full disk": _full_disk,
    "wiped broker store": _wipe_store,
    "lost slot": _lose_slot,
}
