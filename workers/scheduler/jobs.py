"""SQL jobs: read them, start each once for each moment, run it as its owner, record the result.

One statement in the session that holds the leader's lock starts a run: it claims the moment, which can be claimed only
once, and inserts the row of the run. A process that has lost the lead has lost that session and cannot start anything.
"""

import asyncio
import time
from contextlib import suppress
from typing import NamedTuple

from broker.observability.observe import observe
from schemas.schedules import InvalidSchedule, Schedule, parse_schedule
from schemas.settings.scheduler import Scheduler
from workers.database.errors import DatabaseError, Disconnected
from workers.database.sessions.leadership import Leadership, LeadershipLost
from workers.database.sessions.script import run_script
from workers.scheduler.logins import Logins
from workers.scheduler.observations import JobFailed, JobRan, ScheduleUnreadable
from workers.scheduler.statements import JOBS
from workers.scheduler.timetable import DueRun

PREFIX = "job "
_LOGIN_REFUSED = ("28P01", "28000")
_RECORD_S = 5.0


class JobRun(NamedTuple):
    """A run that has started."""

    job: int
    id: int
    database: str
    owner: str
    command: str


class Jobs:
    """The jobs of one term of leadership."""

    def __init__(self, leadership: Leadership, url: str, settings: Scheduler) -> None:
        self._leadership, self._settings = leadership, settings
        self._logins = Logins(leadership, url)
        self._complaints: dict[str, str] = {}

    async def take_over(self) -> int:
        """End the sessions of the previous scheduler; return their number. Raises: DatabaseError, LeadershipLost."""
        ended = int((await self._leadership.ask(JOBS["take_over"]))[0][0])
        await self._leadership.ask(JOBS["abandon"])
        await self._leadership.ask(JOBS["forget"])
        return ended

    async def read(self) -> dict[str, Schedule]:
        """Return the schedules of active jobs by key. Raises: DatabaseError, LeadershipLost."""
        schedules: dict[str, Schedule] = {}
        complaints: dict[str, str] = {}
        for number, text in await self._leadership.ask(JOBS["jobs"]):
            key = f"{PREFIX}{number}"
            try:
                schedules[key] = parse_schedule(text, self._settings.timezone)
            except InvalidSchedule as error:
                complaints[key] = str(error)
                if self._complaints.get(key) != str(error):
                    observe(ScheduleUnreadable(key, str(error)))
        self._complaints = complaints
        return schedules

    async def run(self, due: DueRun) -> None:
        """Run a job for a moment unless it has run. Raises: DatabaseError if that is unknown, LeadershipLost."""
        number = int(due.key.removeprefix(PREFIX))
        rows = await self._leadership.ask(JOBS["begin"], number, due.moment, due.wrong_after)
        if not rows:
            return
        run, began = JobRun(number, *rows[0]), time.monotonic()
        try:
            tag = await self._execute(run)
        except (DatabaseError, Disconnected) as error:
            observe(JobFailed(run.job, run.id, error.code or ""))
            await self._end(run, "failed", error_text(error))
        except TimeoutError:
            observe(JobFailed(run.job, run.id, "timeout"))
            await self._end(run, "failed", f"job timed out after {float(self._settings.job_timeout):g} s")
        except asyncio.CancelledError:
            with suppress(DatabaseError, LeadershipLost, TimeoutError):
                async with asyncio.timeout(_RECORD_S):
                    await self._end(run, "failed", "the scheduler was stopped")
            raise
        else:
            observe(JobRan(run.job, run.id, round(time.monotonic() - began, 3)))
            await self._end(run, "succeeded", outcome(tag))

    async def sweep(self) -> None:
        """Drop rows of old runs and webhooks. Raises: DatabaseError, LeadershipLost."""
        if keep_s := float(self._settings.keep_runs):
            await self._leadership.ask(JOBS["sweep"], keep_s)
            await self._leadership.ask(JOBS["sweep_hooks"], keep_s)

    async def _execute(self, run: JobRun) -> str:
        settings = await self._leadership.ask(JOBS["settings_of"], run.owner, run.database)
        try:
            return await self._try(run, settings)
        except Disconnected as error:
            if error.code not in _LOGIN_REFUSED:
                raise
            self._logins.forget(run.owner)
            return await self._try(run, settings)

    async def _try(self, run: JobRun, settings: list[tuple[str, str]]) -> str:
        async def note_start(pid: int) -> None:
            await self._leadership.ask(JOBS["started"], run.id, pid)

        return await run_script(
            await self._logins.url_for(run.owner, run.database),
            run.command,
            role=run.owner,
            name=f"headwater job {run.job}",
            settings=[
                (name, value) for name, value in settings if name not in ("role", "session_authorization")
            ],
            timeout_s=float(self._settings.job_timeout) or None,
            on_start=note_start,
        )

    async def _end(self, run: JobRun, status: str, message: str) -> None:
        await self._leadership.ask(JOBS["ended"], run.id, status, message)


def outcome(tag: str) -> str:
    """Return the message of a successful run: the number of rows of a query, or the tag of its last command."""
    word, _, count = tag.partition(" ")
    if word == "SELECT" and count.isdecimal():
        return f"{count} row" if count == "1" else f"{count} rows"
    return tag


def error_text(error: DatabaseError | Disconnected) -> str:
    """Return the message of a failed run, as psql prints it."""
    if isinstance(error, Disconnected):
        return f"connection failed: {error}"
    lines = [f"{error.severity}:  {error.message}"]
    lines += [
        f"{label}:  {text}"
        for label, text in (("DETAIL", error.details), ("HINT", error.hint), ("CONTEXT", error.context))
        if text
    ]
    return "\n".join(lines)
