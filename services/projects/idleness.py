"""May an idle platform be stopped, and when has it to run again?

Requests and sockets are counted by the front gateway. What it does not see is asked here: sessions of other programs in the database,
running jobs, consumers of its log, subscriptions; and the next moment of `cron.schedule`, of a function's schedule or of a backup.
"""

import asyncio
import time

import msgspec
from msgspec import Struct

from broker.processes.backup_requests import backup_folder, read_schedule
from schemas.projects import NextDue
from schemas.schedules import InvalidSchedule, parse_schedule
from services.projects.platform_process import PlatformProcess
from services.supervisor.errors import SupervisorError
from services.supervisor.project.database_use import database_use, use_text
from services.supervisor.project.settings import Project
from services.supervisor.project.work import project_of_state


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
        busy = use_text(await database_use(platform.data, project, state)) if state.ports.get("db") else ""
    except (SupervisorError, OSError, TimeoutError, msgspec.MsgspecError) as error:
        return IdleReport(f"what it does cannot be asked: {error}")
    due = [_next_backup(platform, project)]
    if project.settings.scheduler.enabled:
        try:
            due.append(msgspec.json.decode(platform.next_due_file.read_bytes(), type=NextDue).moment)
        except (OSError, msgspec.MsgspecError):
            return IdleReport("its scheduler has not read its jobs yet")
    return IdleReport(busy, min((moment for moment in due if moment is not None), default=None))


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
