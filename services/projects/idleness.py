"""May an idle platform be stopped, and when has it to run again?

Requests and sockets are counted by the front gateway. What it does not see is asked here: sessions of other programs in the database,
running jobs, consumers of its log, subscriptions; and the next moment of `cron.schedule`, of a function's schedule or of a backup.
"""

import asyncio
import contextlib
import os
import sys
import time

import msgspec
from msgspec import Struct

from broker.processes.backup_requests import backup_folder, read_schedule
from schemas.projects import DatabaseUse, NextDue
from schemas.schedules import InvalidSchedule, parse_schedule
from services.projects.platform_process import PlatformProcess
from services.supervisor.data_folder.state import PlatformState
from services.supervisor.errors import StartFailed, SupervisorError
from services.supervisor.project.settings import Project
from services.supervisor.project.work import project_of_state, work_environment

_ASK_S = 60.0


class IdleReport(Struct, frozen=True):
    """`busy` says what keeps the platform awake; empty if it may sleep. `due_at` is when it has to run again, in seconds since 1970."""

    busy: str = ""
    due_at: float | None = None


async def look(platform: PlatformProcess) -> IdleReport:
    """Ask whether a running platform may be stopped. What cannot be found out keeps it awake."""
    state = platform.state()
    if state is None:
        return IdleReport("it starts or stops")
    try:
        project = await asyncio.to_thread(project_of_state, state)
        busy = _use_text(await _database_use(platform, project, state)) if state.ports.get("db") else ""
    except (SupervisorError, OSError, TimeoutError, msgspec.MsgspecError) as error:
        return IdleReport(f"what it does cannot be asked: {error}")
    due = [_next_backup(platform, project)]
    if project.settings.scheduler.enabled:
        try:
            due.append(msgspec.json.decode(platform.next_due_file.read_bytes(), type=NextDue).moment)
        except (OSError, msgspec.MsgspecError):
            return IdleReport("its scheduler has not read its jobs yet")
    return IdleReport(busy, min((moment for moment in due if moment is not None), default=None))


def _use_text(use: DatabaseUse) -> str:
    """Return what uses a database, in words; empty if nothing does (pure)."""
    texts = [
        (use.sessions, "sessions of other programs, jobs or functions in its database"),
        (use.working, "statements that run"),
        (use.readers, "consumers of its log"),
        (use.subscriptions, "enabled subscriptions"),
    ]
    return ", ".join(f"{count} {what}" for count, what in texts if count)


async def _database_use(platform: PlatformProcess, project: Project, state: PlatformState) -> DatabaseUse:
    """Run `workers use`, because the layer `services` contains no SQL. Raises: StartFailed, OSError, TimeoutError, MsgspecError."""
    environment = await asyncio.to_thread(work_environment, project, platform.data, state)
    inherited = {name: os.environ[name] for name in ("PATH", "PYTHONPATH") if name in os.environ}
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-P", "-m", "workers", "use",
        env={**inherited, **environment},
        cwd="/",
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        start_new_session=True,
    )  # fmt: skip
    try:
        async with asyncio.timeout(_ASK_S):
            answer, errors = await process.communicate()
    finally:
        with contextlib.suppress(ProcessLookupError):
            if process.returncode is None:
                process.kill()
    if process.returncode != 0:
        raise StartFailed(errors.decode(errors="replace").strip()[-500:])
    return msgspec.json.decode(answer, type=DatabaseUse)


def _next_backup(platform: PlatformProcess, project: Project) -> float | None:
    """Return when the next backup by schedule is due."""
    management = project.settings.management
    changed = read_schedule(backup_folder(management, platform.data.path)) if management.enabled else None
    schedule = changed.schedule if changed is not None else management.backup_schedule
    if not schedule:
        return None
    try:
        return parse_schedule(schedule, "GMT").next_due(time.time())
    except InvalidSchedule:
        return None
