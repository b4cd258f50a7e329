"""Jobs of SQL: read, begun once for each moment, run as their owners, recorded.

What begins a run is one statement in the session that holds the leader's lock: it takes the moment, which nobody takes
twice, and writes the row of the run. A process that is not the leader any more cannot begin anything.
"""

import asyncio
import time
from contextlib import suppress
from typing import NamedTuple

from broker.observability.observe import observe
from schemas.schedules import BadSchedule, Schedule, parse_schedule
from schemas.settings.scheduler import Scheduler
from workers.database.errors import DatabaseError, Disconnected
from workers.database.leader import Leadership, LeadershipLost
from workers.database.script import run_script
from workers.scheduler.logins import Logins
from workers.scheduler.observations import JobFailed, JobRan, ScheduleUnreadable
from workers.scheduler.statements import JOBS
from workers.scheduler.timetable import Due

PREFIX = "job "
_LOGIN_REFUSED = ("28P01", "28000")
_RECORD_S = 5.0


class Run(NamedTuple):
    """A run that was begun."""

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
        """End what a scheduler before this one left; give the number of its sessions. Raises: DatabaseError, LeadershipLost."""
        ended = int((await self._leadership.ask(JOBS["take_over"]))[0][0])
        await self._leadership.ask(JOBS["abandon"])
        await self._leadership.ask(JOBS["forget"])
        return ended

    async def read(self) -> dict[str, Schedule]:
        """Give the schedules of active jobs by key. Raises: DatabaseError, LeadershipLost."""
        found: dict[str, Schedule] = {}
        complaints: dict[str, str] = {}
        for number, text in await self._leadership.ask(JOBS["jobs"]):
            key = f"{PREFIX}{number}"
            try:
                found[key] = parse_schedule(text, self._settings.timezone)
            except BadSchedule as error:
                complaints[key] = str(error)
                if self._complaints.get(key) != str(error):
                    observe(ScheduleUnreadable(key, str(error)))
        self._complaints = complaints
        return found

    async def run(self, due: Due) -> None:
        """Run a job for a moment, if it is still to be run. Raises: DatabaseError if that cannot be known, LeadershipLost."""
        number = int(due.key.removeprefix(PREFIX))
        rows = await self._leadership.ask(JOBS["begin"], number, due.moment, due.wrong_after)
        if not rows:
            return
        run, began = Run(number, *rows[0]), time.monotonic()
        try:
            tag = await self._execute(run)
        except (DatabaseError, Disconnected) as error:
            observe(JobFailed(run.job, run.id, error.code or ""))
            await self._end(run, "failed", told(error))
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

    async def _execute(self, run: Run) -> str:
        settings = await self._leadership.ask(JOBS["settings_of"], run.owner, run.database)
        try:
            return await self._try(run, settings)
        except Disconnected as error:
            if error.code not in _LOGIN_REFUSED:
                raise
            self._logins.forget(run.owner)
            return await self._try(run, settings)

    async def _try(self, run: Run, settings: list[tuple[str, str]]) -> str:
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

    async def _end(self, run: Run, status: str, message: str) -> None:
        await self._leadership.ask(JOBS["ended"], run.id, status, message)


def outcome(tag: str) -> str:
    """Give the message of a run that succeeded: how many rows a query gave, or the tag of its last command."""
    word, _, count = tag.partition(" ")
    if word == "SELECT" and count.isdecimal():
        return f"{count} row" if count == "1" else f"{count} rows"
    return tag


def told(error: DatabaseError | Disconnected) -> str:
    """Give the message of a run that failed, as psql shows it."""
    if isinstance(error, Disconnected):
        return f"connection failed: {error}"
    lines = [f"{error.severity}:  {error.message}"]
    lines += [
        f"{label}:  {text}"
        for label, text in (("DETAIL", error.details), ("HINT", error.hint), ("CONTEXT", error.context))
        if text
    ]
    return "\n".join(lines)
