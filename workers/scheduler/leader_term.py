"""One term of leadership: the clock, the queues of runs and the senders of requests, until the lead is lost or given
up.
"""

import asyncio
import time
from collections.abc import Callable, Mapping

from broker.nats.connection import NatsConnection
from broker.observability.observe import observe
from broker.requests.call import Calls
from schemas.schedules import Schedule
from schemas.settings.tree import Settings
from workers.database.errors import DatabaseError
from workers.database.passing_errors import is_passing
from workers.database.sessions.leadership import Leadership, LeadershipLost
from workers.http_client.client import HttpClient
from workers.scheduler.durable_jobs.durable_jobs import CHANNEL as DURABLE_JOBS_CHANNEL
from workers.scheduler.durable_jobs.durable_jobs import DurableJobs
from workers.scheduler.function_schedules import FunctionSchedules
from workers.scheduler.functions import JOB_KEY, FunctionCalls
from workers.scheduler.functions import PREFIX as FUNCTION
from workers.scheduler.http_requests import CHANNEL as WAITING_CHANNEL
from workers.scheduler.http_requests import HttpExchange
from workers.scheduler.jobs import Jobs
from workers.scheduler.net_requests import NetSender
from workers.scheduler.next_due_note import NextDueNote
from workers.scheduler.observations import (
    ClockSetBack,
    RunDropped,
    RunMissed,
    SchedulerLeads,
    SchedulesNotRead,
)
from workers.scheduler.queues.consumers import CHANNEL as QUEUES_CHANNEL
from workers.scheduler.queues.consumers import QueueConsumers
from workers.scheduler.run_queues import RunQueues
from workers.scheduler.statements import JOBS
from workers.scheduler.timetable import LATE_S, DueRun, Timetable

JOBS_CHANNEL, NET_CHANNEL = "headwater_cron", "headwater_net"
_LOOK_S = 60.0
"""Maximum sleep while any schedule exists, because the clock of the machine may jump."""
_SWEEP_S = 3600.0
_SHARE_OF_DRAIN = 0.5
_AGAIN_S = 1.0
"""Pause before the database is tried again, which could not start a run or return the schedules."""


class SchedulerTerm:
    """The work of a leader; `stop` ends it gracefully."""

    def __init__(
        self,
        leadership: Leadership,
        url: str,
        connection: NatsConnection,
        calls: Calls,
        outgoing: HttpClient,
        settings: Settings,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._leadership, self._settings, self._clock = leadership, settings, clock
        self._jobs = Jobs(leadership, url, settings.scheduler)
        self._functions = FunctionCalls(leadership, calls, settings)
        self._of_functions = FunctionSchedules(connection, calls, settings, self._change_functions)
        self._queues = QueueConsumers(leadership, url, self._functions.send, self._wake_clock)
        job_key = {JOB_KEY: settings.auth.secret_key.reveal()}
        self._durable_jobs = DurableJobs(
            leadership,
            lambda name, body: self._functions.open(name, body, **job_key),
            float(settings.scheduler.keep_runs),
            self._wake_clock,
        )
        self._sender = NetSender(leadership, outgoing, settings.net)
        self._waiting = HttpExchange(leadership, outgoing, settings.net)
        self._lines = RunQueues(
            self._run,
            at_a_time=settings.scheduler.max_running_jobs,
            on_drop=lambda due: observe(RunDropped(due.key)),
        )
        self._timetable = Timetable()
        self._next_due = NextDueNote.of_environment()
        self._wake = asyncio.Event()
        self._is_changed, self._is_stopping = True, False
        self._serves_jobs = False
        self._job_schedules: Mapping[str, Schedule] = {}
        self._problem = ""
        self._swept_at = float("-inf")

    def stop(self) -> None:
        """Start nothing more; `run` returns when the running jobs have finished, or the drain time is over."""
        self._is_stopping = True
        self._wake.set()

    async def run(self) -> None:
        """Work until stopped. Raises: LeadershipLost; DatabaseError at its start, before anything is underway."""
        await self._leadership.listen(JOBS_CHANNEL, self._change)
        await self._leadership.listen(NET_CHANNEL, self._sender.wake)
        await self._leadership.listen(WAITING_CHANNEL, self._waiting.wake)
        await self._leadership.listen(QUEUES_CHANNEL, self._queues.wake)
        await self._leadership.listen(DURABLE_JOBS_CHANNEL, self._durable_jobs.wake)
        self._queues.update(self._of_functions.queues)
        self._durable_jobs.update(self._of_functions.durable_jobs)
        try:
            await self._leadership.work(
                self._tick,
                self._of_functions.follow,
                self._sender.take_all,
                self._sender.write_answers,
                self._sender.sweep,
                self._waiting.take_all,
                self._waiting.write_replies,
                self._queues.run,
                self._durable_jobs.run,
                self._durable_jobs.write,
            )
        finally:
            await self._lines.stop()
            await self._sender.stop()
            await self._waiting.stop()
            await self._queues.stop()
            await self._durable_jobs.stop()

    def _change(self) -> None:
        self._is_changed = True
        self._wake.set()

    def _change_functions(self) -> None:
        self._queues.update(self._of_functions.queues)
        self._durable_jobs.update(self._of_functions.durable_jobs)
        self._change()

    def _wake_clock(self) -> None:
        self._wake.set()

    async def _tick(self) -> None:
        """Queue what is due and sleep until the next moment; after `stop`, wait for the running jobs."""
        while not self._is_stopping:
            self._wake.clear()
            if self._is_changed:
                await self._follow_changes()
            if back_s := self._timetable.set_back(self._clock()):
                observe(ClockSetBack(round(back_s)))
            due, missed = self._timetable.take(self._clock())
            for run in due:
                self._lines.put(run)
            for run in missed:
                observe(RunMissed(run.key, round(self._clock() - run.moment, 1)))
            await self._sleep()
        within_s = self._settings.pools.drain_timeout * _SHARE_OF_DRAIN
        await asyncio.gather(
            self._lines.finish(within_s),
            self._sender.finish(within_s),
            self._waiting.finish(within_s),
            self._queues.finish(within_s),
            self._durable_jobs.finish(within_s),
        )

    async def _follow_changes(self) -> None:
        """Read the schedules and requested runs. What the database refuses is read again soon: it ends no work of the term.

        Until then functions have the schedules of now, and jobs those that were read before. Raises: LeadershipLost.
        """
        self._is_changed, problem = False, ""
        try:
            self._job_schedules = await self._read_jobs()
        except DatabaseError as error:
            problem = f"SQLSTATE {error.code}"
        self._timetable.update({**self._of_functions.schedules, **self._job_schedules}, self._clock())
        try:
            await self._queue_requested()
        except DatabaseError as error:
            problem = problem or f"SQLSTATE {error.code}"
        if problem:
            self._is_changed = True
            if problem != self._problem:
                observe(SchedulesNotRead(problem))
        self._problem = problem

    async def _sleep(self) -> None:
        moment = self._timetable.next_moment()
        self._next_due.write(_earliest(moment, self._queues.due_at, self._durable_jobs.due_at))
        pause_s = None if moment is None else min(max(moment - self._clock(), 0.001), _LOOK_S)
        if self._is_changed:  # could not be read, or changed meanwhile, which wakes at once
            pause_s = _AGAIN_S if pause_s is None else min(pause_s, _AGAIN_S)
        try:
            async with asyncio.timeout(pause_s):
                await self._wake.wait()
        except TimeoutError:
            return

    async def _read_jobs(self) -> Mapping[str, Schedule]:
        """Return the schedules of jobs. The first read with jobs takes over from the previous leader. Raises: DatabaseError, LeadershipLost."""
        serves = bool((await self._leadership.ask(JOBS["serves"]))[0]["jobs"])
        if serves and not self._serves_jobs:
            observe(SchedulerLeads(await self._jobs.take_over()))
        self._serves_jobs = serves
        return await self._jobs.read() if serves else {}

    async def _queue_requested(self) -> None:
        """Queue the runs that administrators requested; the notification of a change announces them, too."""
        for (key,) in await self._leadership.ask(JOBS["requested"], LATE_S):
            if key.startswith(FUNCTION) or self._serves_jobs:
                self._lines.put(DueRun(key, self._clock()))

    async def _run(self, due: DueRun) -> None:
        """Run what is due. If the database cannot start it now it is tried again until its moment counts as missed.

        To try again is safe: a moment can be claimed only once.
        """
        try:
            while (error := await self._begun(due)) is not None:
                self._change()  # the table may be gone: read the schedules again
                late_s = self._clock() - due.moment
                if self._is_stopping or late_s > LATE_S or not is_passing(error):
                    observe(RunMissed(due.key, round(late_s, 1)))
                    return
                await asyncio.sleep(_AGAIN_S)
            await self._sweep_at_times()
        except DatabaseError:
            self._change()
        except LeadershipLost:
            return

    async def _begun(self, due: DueRun) -> DatabaseError | None:
        """Run what is due; return the error of the database that kept it from starting. Raises: LeadershipLost."""
        function = due.key.removeprefix(FUNCTION)
        try:
            if function == due.key:
                await self._jobs.run(due)
            elif self._durable_jobs.is_job(function):
                await self._durable_jobs.start_scheduled(due, function)
            else:
                await self._functions.run(due)
        except DatabaseError as error:
            return error
        return None

    async def _sweep_at_times(self) -> None:
        if self._serves_jobs and time.monotonic() >= self._swept_at + _SWEEP_S:
            self._swept_at = time.monotonic()
            await self._jobs.sweep()


def _earliest(*moments: float | None) -> float | None:
    return min((moment for moment in moments if moment is not None), default=None)
