"""Runs the restore drill by its schedule (`backup.drill`) in a process of its own, while the platform runs."""

import asyncio
import contextlib
import os
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass

from broker.processes.drill_status import read_drill_status
from schemas.schedules import parse_schedule
from services.supervisor.data_folder.folder import DataFolder
from services.supervisor.project.settings import Project
from services.supervisor.report import Reporter

_NAMED = {"daily": "0 4 * * *", "weekly": "0 4 * * 0", "monthly": "0 4 1 * *"}
_LOOK_S = 30.0
_PERIODS_S = {"daily": 86_400.0, "weekly": 7 * 86_400.0, "monthly": 31 * 86_400.0}


def cron_of(drill: str) -> str:
    """Return the cron schedule of a setting, in GMT (pure)."""
    return _NAMED.get(drill, drill)


@dataclass(slots=True)
class DrillSchedule:
    """Runs until it is cancelled. A drill that fell into a time when the platform was stopped is made up for at the next start."""

    folder: DataFolder
    project: Project
    report: Reporter
    clock: Callable[[], float] = time.time

    async def run(self) -> None:
        """Run the drills that are due."""
        schedule = parse_schedule(cron_of(self.project.settings.backup.drill), "GMT")
        last = read_drill_status(self.folder.path)
        due = schedule.next_due(last.began_at if last else self.clock())
        while due is not None:
            await asyncio.sleep(_LOOK_S)
            if self.clock() >= due:
                await self._drill()
                due = schedule.next_due(self.clock())

    async def _drill(self) -> None:
        command = ["-P", "-m", "services.cli.main", "backup", "--drill", "--data", str(self.folder.path), "--project", str(self.project.root)]  # fmt: skip
        process = await asyncio.create_subprocess_exec(
            sys.executable,
            *command,
            env={**os.environ, **self.project.environment},
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.DEVNULL,
            stderr=asyncio.subprocess.PIPE,
            start_new_session=True,
        )
        try:
            _, said = await process.communicate()
        finally:
            with contextlib.suppress(ProcessLookupError):
                if process.returncode is None:
                    process.terminate()
        if process.returncode == 0:
            self.report.info("The restore drill found everything as it should be")
        else:
            lines = said.decode(errors="replace").strip().splitlines() or ["it wrote nothing"]
            self.report.warn(f"The restore drill failed: {lines[-1]}")


def longest_age_s(drill: str) -> float:
    """Return after how many seconds a drill of this schedule is late (pure): two periods; of a cron schedule, two months."""
    return 2 * _PERIODS_S.get(drill, 31 * 86_400.0)
