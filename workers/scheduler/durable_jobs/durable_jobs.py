"""The durable jobs of functions during one term of leadership: which there are, which runs are due, what wakes the others.

One session does everything: it takes runs under leases, extends them, writes what is reported (report_writer.py), and compares events with
waits. When it is lost, the next leader takes the runs that this one worked on; what a function reports to this one is then not written.
A run that sleeps or waits is a row, and nothing here remembers it but the moment of the first.
"""

import asyncio
import time
from collections import Counter
from collections.abc import Callable, Mapping
from contextlib import suppress

import msgspec

from broker.observability.observe import gauge, observe, traceback_of
from schemas.settings.functions import FunctionJob
from schemas.settings.types import Duration
from workers.database.errors import DatabaseError
from workers.database.sessions.leadership import Leadership
from workers.scheduler.durable_jobs.report_writer import ReportWriter
from workers.scheduler.durable_jobs.reports import TakenRun
from workers.scheduler.durable_jobs.run_calls import OpenCall, RunCalls, RunEnding
from workers.scheduler.observations import DurableJobsCrashed, DurableJobsStopped, DurableRunFailed
from workers.scheduler.statements import DURABLE_JOBS
from workers.scheduler.timetable import DueRun

CHANNEL = "headwater_durable_jobs"
_LEASE_S = 30.0
_MOST_RUNNING = 1000
"""Runs of all jobs that are worked on at a time."""
_MOST_BYTES = 256 * 1024 * 1024
"""Inputs and results of all runs that are worked on, beyond which no more are taken."""
_AT_ONCE = 500
"""Events, and waits, that one statement compares."""
_AWAY_S = 2.0
_COUNT_S, _SWEEP_S, _AFTER_FAILURE_S = 30.0, 3600.0, 1.0
_SOON_S = 0.1
"""Pause before what is left over is looked at again."""
_LONGEST_PAUSE_S = 3600.0


class DurableJobs:
    """The runs of a term; `on_due` is called when `due_at` may have changed."""

    def __init__(
        self, leadership: Leadership, call: OpenCall, keep_s: float, on_due: Callable[[], None]
    ) -> None:
        self._leadership, self._call, self._keep_s, self._on_due = leadership, call, keep_s, on_due
        self._writer = ReportWriter(leadership)
        self._jobs: Mapping[str, FunctionJob] = {}
        self._running: dict[asyncio.Task[None], RunCalls] = {}
        self._held_until: dict[str, float] = {}
        self._woken = asyncio.Event()
        self._is_changed = self._is_notified = True
        self._is_stopping = self._has_taken_over = False
        self._problem = ""
        self._extend_at = self._count_at = self._sweep_at = 0.0
        self._due_at: float | None = None
        self._steps = 0
        self._gauges = [
            gauge("headwater_durable_runs", "Runs of durable jobs that functions work on.", lambda: len(self._running)),
            gauge("headwater_durable_steps", "Steps of durable jobs stored since this process leads.", lambda: self._steps),
        ]  # fmt: skip

    @property
    def due_at(self) -> float | None:
        """Return when the platform has to run for a run, in seconds since 1970; None if none waits."""
        return self._due_at

    def update(self, jobs: Mapping[str, FunctionJob]) -> None:
        """Replace which functions are jobs."""
        if jobs != self._jobs:
            self._jobs, self._is_changed = jobs, True
            self._woken.set()

    def is_job(self, function: str) -> bool:
        """Return whether a function is a durable job: its schedule starts runs."""
        return function in self._jobs

    async def start_scheduled(self, due: DueRun, function: str) -> None:
        """Start the run of a schedule for a moment, once. Raises: DatabaseError, LeadershipLost."""
        await self._leadership.ask(
            DURABLE_JOBS["start_scheduled"], due.key, due.moment, due.wrong_after, function
        )

    def wake(self) -> None:
        """Look soon at what was started or sent."""
        self._is_notified = True
        self._woken.set()

    async def write(self) -> None:
        """Write what functions report. Raises: LeadershipLost."""
        await self._writer.run()

    async def run(self) -> None:
        """Take what is due until cancelled; failures of the database are tried again. Raises: LeadershipLost."""
        while True:
            try:
                self._note_problem(await self._look())
            except DatabaseError as error:
                self._note_problem(f"SQLSTATE {error.code}")
                self._is_changed = self._is_notified = True
                await asyncio.sleep(_AFTER_FAILURE_S)  # nothing announces that the failure has passed

    async def finish(self, within_s: float) -> None:
        """Take nothing more, and wait `within_s` for calls; other runs are given back, and taken by the next leader."""
        self._is_stopping = True
        for calls in self._running.values():
            calls.is_stopping = True
        if self._running:
            await asyncio.wait(self._running, timeout=within_s)
        await self.stop()
        await self._writer.flush()

    async def stop(self) -> None:
        """Cancel all calls."""
        for task in self._running:
            task.cancel()
        await asyncio.gather(*self._running, return_exceptions=True)
        for hide in self._gauges:
            hide()

    async def _look(self) -> str:
        """Do what is due now, then sleep until something may be; return why events cannot be compared with waits, if so."""
        self._woken.clear()
        if not self._has_taken_over:
            await self._leadership.ask(DURABLE_JOBS["take_over"])
            self._has_taken_over = True
        if self._is_changed:
            self._is_changed = False
            await self._leadership.ask(DURABLE_JOBS["sync"], _definitions(self._jobs))
        problem = await self._compare_events() if self._is_notified else ""
        self._extend()
        if await self._take():
            return problem
        next_s = await self._next_s()
        await self._tidy()
        if self._is_notified:
            next_s = min(next_s, _AFTER_FAILURE_S if problem else _SOON_S)
        with suppress(TimeoutError):
            async with asyncio.timeout(next_s):
                await self._woken.wait()
        return problem

    async def _compare_events(self) -> str:
        """Compare events, and child runs that ended, with waits; return why that failed. What is left over, or failed, is compared by the next look.

        A failure holds up nothing else: without their leases, runs that are underway would be taken once more.
        """
        self._is_notified = False
        try:
            [(is_left,)] = await self._leadership.ask(DURABLE_JOBS["match"], _AT_ONCE)
            [(is_unsettled,)] = await self._leadership.ask(DURABLE_JOBS["settle"], _AT_ONCE)
            self._is_notified |= is_left or is_unsettled  # something may have been announced meanwhile
        except DatabaseError as error:
            self._is_notified = True
            return f"SQLSTATE {error.code}"
        return ""

    def _rooms(self) -> dict[str, int]:
        """Return for how many runs of each job there is room now."""
        now = asyncio.get_running_loop().time()
        left = _MOST_RUNNING - len(self._running)
        if (
            self._is_stopping
            or left <= 0
            or sum(calls.size for calls in self._running.values()) > _MOST_BYTES
        ):
            return {}
        running = Counter(calls.run.job for calls in self._running.values())
        rooms = {
            name: min(job.concurrency - running[name], left)
            for name, job in self._jobs.items()
            if self._held_until.get(name, 0.0) <= now
        }
        return {name: room for name, room in rooms.items() if room > 0}

    async def _take(self) -> bool:
        """Begin what is due and has room; return whether anything was."""
        rooms = self._rooms()
        if not rooms:
            return False
        rows = await self._leadership.ask(DURABLE_JOBS["take"], list(rooms), list(rooms.values()), _LEASE_S)
        for row in rows:
            calls = RunCalls(TakenRun(*row), self._call, self._writer)
            task = asyncio.get_running_loop().create_task(self._work(calls))
            self._running[task] = calls
            task.add_done_callback(self._end)
        return bool(rows)

    def _end(self, task: "asyncio.Task[None]") -> None:
        self._running.pop(task, None)
        self._woken.set()

    async def _work(self, calls: RunCalls) -> None:
        try:
            ending = await calls.work()
        except Exception as error:  # the lease ends, and the run is taken again
            observe(DurableJobsCrashed(traceback_of(error)))
            return
        finally:
            self._steps += calls.steps
        if ending is RunEnding.AWAY:
            self._held_until[calls.run.job] = asyncio.get_running_loop().time() + _AWAY_S
        elif ending is RunEnding.FAILED:
            observe(DurableRunFailed(calls.run.job, calls.run.id, calls.error))

    def _extend(self) -> None:
        """Extend the leases of what is underway when a third of them is over."""
        now = asyncio.get_running_loop().time()
        if now < self._extend_at:
            return
        self._extend_at = now + _LEASE_S / 3
        report = msgspec.json.encode({"op": "extend", "after_s": _LEASE_S})
        for calls in self._running.values():
            written = self._writer.put(calls.run.id, calls.run.attempt, report)
            written.add_done_callback(_take_outcome)

    async def _next_s(self) -> float:
        """Return in how many seconds something may be due."""
        now, rooms = asyncio.get_running_loop().time(), self._rooms()
        waits = [_LONGEST_PAUSE_S]
        due_s: float | None = None
        if self._jobs:
            [(due_s,)] = await self._leadership.ask(DURABLE_JOBS["next_due"], list(rooms or self._jobs))
        if due_s is not None and rooms:
            waits.append(due_s)
        if self._running:
            waits.append(self._extend_at - now)
        waits += [held - now for held in self._held_until.values() if held > now]
        self._note_due(time.time() if self._running else None if due_s is None else time.time() + due_s)
        return max(min(waits), 0.001)

    def _note_due(self, due_at: float | None) -> None:
        """Keep when something is due, unless it changes by less than a second: each change is written to a file."""
        before, now = self._due_at, time.time()
        if (
            before is not None
            and due_at is not None
            and (abs(before - due_at) < 1 or max(before, due_at) <= now)
        ):
            return
        if due_at != before:
            self._due_at = due_at
            self._on_due()

    async def _tidy(self) -> None:
        """Count what waits, and delete what ended long ago, at times."""
        now = asyncio.get_running_loop().time()
        if now >= self._count_at:
            self._count_at = now + _COUNT_S
            await self._leadership.ask(DURABLE_JOBS["count"])
        if now >= self._sweep_at and self._keep_s:
            [(is_left,)] = await self._leadership.ask(DURABLE_JOBS["sweep"], self._keep_s)
            self._sweep_at = now + (_SOON_S if is_left else _SWEEP_S)

    def _note_problem(self, problem: str) -> None:
        if problem and problem != self._problem:
            observe(DurableJobsStopped(problem))
        self._problem = problem


def _take_outcome(extended: "asyncio.Future[str]") -> None:
    """Take the error of a lease that could not be extended: it is extended again in time, or the run is taken again."""
    if not extended.cancelled():
        extended.exception()


def _definitions(jobs: Mapping[str, FunctionJob]) -> str:
    return msgspec.json.encode(
        [
            {
                "name": name,
                "events": job.events,
                "retries": job.retries,
                "backoff_s": float(Duration(job.backoff)),
            }
            for name, job in sorted(jobs.items())
        ]
    ).decode()
