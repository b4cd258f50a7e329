"""Makes the backups that administrators request, and those of the schedule, while the platform runs (broker/processes/backup_requests.py).

Each is what `headwater backup` makes, in a process of its own, one at a time. After one of the schedule the oldest whole backups
beyond `management.backups_kept` are deleted.
"""

import asyncio
import contextlib
import os
import shutil
import signal
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from secrets import token_hex

from broker.processes.backup_requests import (
    BACKUP_NAME,
    MOST_LINES,
    BackupStatus,
    read_schedule,
    read_status,
    take_request,
    write_status,
)
from schemas.schedules import InvalidSchedule, parse_schedule
from services.supervisor.errors import SupervisorError
from services.supervisor.process_lines import lines_of
from services.supervisor.processes.spawn import signal_at_parent_death
from services.supervisor.report import Reporter

_LOOK_S = 1.0
_SET_BACK_S = 60.0
"""Less is no clock that was wrong; after a smaller step the backup of a moment ago is not made a second time."""
_MANIFEST = "manifest.json"
_STOPPED = "the platform was stopped"


def new_backup_name(now: float) -> str:
    """Return the name of a backup: its moment, and four digits that no other of this moment has."""
    return f"{datetime.fromtimestamp(now, UTC):%Y%m%dT%H%M%SZ}-{token_hex(2)}"


@dataclass(slots=True)
class BackupRunner:
    """Looks for requests until it is cancelled. `environment` returns what the process needs, with the superuser's URL."""

    folder: Path
    environment: Callable[[], Mapping[str, str]]
    report: Reporter
    schedule: str = ""
    kept: int = 0
    clock: Callable[[], float] = time.time
    follows_changes: bool = True
    """The pool management runs here: it writes the schedule when an administrator changes it."""
    _due: float | None = field(default=None, init=False)
    _looked_at: float = field(default=0.0, init=False)

    async def run(self) -> None:
        """Make what is requested or due."""
        if (status := self._interrupted()) is not None:
            self._write(status)
            await asyncio.to_thread(self._remove_unfinished, status.name)
        self._due = self._next_due()
        while True:
            await asyncio.sleep(_LOOK_S)
            self.apply_changes()
            self._follow_clock()
            if request := take_request(self.folder):
                await self._make(request.name)
            elif self._due is not None and self.clock() >= self._due:
                self._due = self._next_due()
                if await self._make(new_backup_name(self.clock())):
                    await asyncio.to_thread(self._remove_oldest)

    def apply_changes(self) -> None:
        """Take over the schedule that an administrator changed while the platform runs."""
        changed = read_schedule(self.folder) if self.follows_changes else None
        if changed is None:
            return
        self.kept = max(0, changed.kept)
        if changed.schedule != self.schedule:
            self.schedule = changed.schedule
            self._due = self._next_due()

    def _follow_clock(self) -> None:
        """Compute again when the next backup is due, if the clock was set back: it would be awaited until the clock has caught up."""
        now = self.clock()
        if now < self._looked_at - _SET_BACK_S:
            self._due = self._next_due()
        self._looked_at = now

    def _interrupted(self) -> BackupStatus | None:
        """Return the status of a backup that was under way when the platform was killed."""
        status = read_status(self.folder)
        if status is None or status.state != "running":
            return None
        return BackupStatus(status.name, "failed", status.started_at, self.clock(), [*status.lines, _STOPPED])

    def _next_due(self) -> float | None:
        if not self.schedule:
            return None
        try:
            return parse_schedule(self.schedule, "GMT").next_due(self.clock())
        except InvalidSchedule as error:
            self.report.warn(f"management.backup_schedule: {error}. No backups are made by schedule.")
            return None

    async def _make(self, name: str) -> bool:
        """Make one backup and write its status as it goes on. Return whether it is whole."""
        started, lines = self.clock(), [f"Saving into {name}"]
        try:
            self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            (self.folder / name).mkdir(mode=0o700)
            self._write(BackupStatus(name, "running", started, None, lines))
            code = await self._process(name, started, lines)
        except (OSError, SupervisorError) as error:
            lines.append(f"It failed: {error.strerror if isinstance(error, OSError) else error}")
            code = 1
        except asyncio.CancelledError:
            self._write(BackupStatus(name, "failed", started, self.clock(), [*lines, _STOPPED]))
            self._remove_unfinished(name)
            raise
        state = "done" if code == 0 else "failed"
        self._write(BackupStatus(name, state, started, self.clock(), lines))
        if code == 0:
            self.report.info(f"Saved a backup: {self.folder / name}")
        else:
            self.report.warn(f"A backup failed: {lines[-1]}")
            await asyncio.to_thread(self._remove_unfinished, name)
        return code == 0

    def _remove_unfinished(self, name: str) -> None:
        """Delete what a backup that was not completed has written."""
        if BACKUP_NAME.fullmatch(name) and not (self.folder / name / _MANIFEST).exists():
            shutil.rmtree(self.folder / name, ignore_errors=True)

    async def _process(self, name: str, started: float, lines: list[str]) -> int:
        words = ("-P", "-m", "workers", "backup", str(self.folder / name))
        process = await asyncio.create_subprocess_exec(
            sys.executable,
            *words,
            env=dict(self.environment()),
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.DEVNULL,
            stderr=asyncio.subprocess.PIPE,
            start_new_session=True,  # Ctrl-C reaches the supervisor alone, which cancels this task
            # A killed supervisor cancels nothing: the next one removes what this backup wrote, so it must not go on.
            preexec_fn=signal_at_parent_death(os.getpid(), signal.SIGKILL),
        )
        assert process.stderr is not None
        try:
            async for line in lines_of(process.stderr):
                lines.append(line)
                del lines[:-MOST_LINES]
                self._write(BackupStatus(name, "running", started, None, lines))
            return await process.wait()
        finally:
            with contextlib.suppress(ProcessLookupError):
                if process.returncode is None:
                    process.kill()
                    await process.wait()  # before its files are removed

    def _write(self, status: BackupStatus) -> None:
        with contextlib.suppress(OSError):  # on a full disk the backup itself fails and says so
            write_status(self.folder, status)

    def _remove_oldest(self) -> None:
        """Delete the oldest whole backups beyond the number that is kept. Names sort by time."""
        if not self.kept:
            return
        whole = sorted(
            path
            for path in self.folder.iterdir()
            if BACKUP_NAME.fullmatch(path.name) and (path / _MANIFEST).is_file()
        )
        for path in whole[: -self.kept]:
            shutil.rmtree(path, ignore_errors=True)
