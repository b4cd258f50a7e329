"""The effective schedules, queues and durable jobs of functions: from the settings, and from deployed functions.

    start of a term, an event of functions, once a minute --> query the functions pool --> schedules by key, queues --> on_change

- `schedule`, `queue` and `job` in `config.toml` apply to the function of that name, unless its deployment sets others.
  Those of a deployed function that is switched off are removed.
- Workers apply a deployment one after another and any of them may answer: so an event is followed by several queries.
- While no functions worker answers, the last known schedules stay.
"""

import asyncio
from collections.abc import Callable, Iterable, Mapping

import msgspec

from broker.nats.connection import NatsConnection
from broker.observability.observe import observe
from broker.requests.call import Calls
from broker.subjects import FUNCTIONS, FUNCTIONS_CHANGED
from schemas.caller import ServiceCaller
from schemas.errors import ApiError
from schemas.functions.deployments import ListedFunction
from schemas.http import Request
from schemas.schedules import InvalidSchedule, Schedule, parse_schedule
from schemas.settings.functions import FunctionJob, FunctionQueue, FunctionSettings
from schemas.settings.tree import Settings
from workers.scheduler.functions import PREFIX
from workers.scheduler.observations import ScheduleUnreadable

_LISTING = "/_internal/functions"
_AFTER_AN_EVENT_S = (0.2, 0.5, 1.0, 2.0, 5.0)
"""Pauses between the queries after an event."""
_EVERY_S = 60.0
_BUDGET_MS = 5_000

ScheduleText = tuple[str, str]
"""A schedule and its time zone, unparsed."""


class FunctionSchedules:
    """The schedules of functions by key. `on_change` is called when they change."""

    def __init__(
        self, connection: NatsConnection, calls: Calls, settings: Settings, on_change: Callable[[], None]
    ) -> None:
        self._connection, self._calls, self._on_change = connection, calls, on_change
        self._is_on = settings.edge_runtime.enabled
        self._configured = configured_schedules(settings.functions) if self._is_on else {}
        self._texts: Mapping[str, ScheduleText] = self._configured
        self._changed = asyncio.Event()
        self.schedules: Mapping[str, Schedule] = _read(self._configured)
        self._own_queues = configured_queues(settings.functions) if self._is_on else {}
        self.queues: Mapping[str, FunctionQueue] = self._own_queues
        self._own_jobs = configured_jobs(settings.functions) if self._is_on else {}
        self.durable_jobs: Mapping[str, FunctionJob] = self._own_jobs

    async def follow(self) -> None:
        """Keep the schedules up to date until cancelled."""
        if not self._is_on:
            await asyncio.Event().wait()
        subscription = self._connection.subscribe(FUNCTIONS_CHANGED.name, lambda _: self._changed.set())
        self._connection.on_back.append(self._changed.set)
        try:
            pauses = iter(_AFTER_AN_EVENT_S)
            while True:
                await self._look()
                if await self._wait_for_event(next(pauses, _EVERY_S)):
                    pauses = iter(_AFTER_AN_EVENT_S)
        finally:
            subscription.unsubscribe()
            self._connection.on_back.remove(self._changed.set)

    async def _wait_for_event(self, seconds: float) -> bool:
        try:
            async with asyncio.timeout(seconds):
                await self._changed.wait()
        except TimeoutError:
            return False
        self._changed.clear()
        return True

    async def _look(self) -> None:
        try:
            listed = await self._listed()
        except (ApiError, msgspec.MsgspecError):
            return
        texts, queues, durable_jobs = (
            effective_schedules(self._configured, listed),
            effective_queues(self._own_queues, listed),
            effective_jobs(self._own_jobs, listed),
        )
        if texts != self._texts:
            self._texts, self.schedules = texts, _read(texts)
        elif queues == self.queues and durable_jobs == self.durable_jobs:
            return
        self.queues, self.durable_jobs = queues, durable_jobs
        self._on_change()

    async def _listed(self) -> list[ListedFunction]:
        """Query the deployed functions. Raises: ApiError, MsgspecError."""
        request = Request(
            id="schedules", method="GET", path=_LISTING, caller=ServiceCaller(), budget_ms=_BUDGET_MS
        )
        answer = await self._calls.call(FUNCTIONS, request)
        body = answer.response.body
        if answer.chunks is not None:
            body = b"".join([chunk async for chunk in answer.chunks])
        return msgspec.json.decode(body, type=list[ListedFunction])


def configured_schedules(functions: Mapping[str, FunctionSettings]) -> dict[str, ScheduleText]:
    """Return the schedules of the settings by function name (pure)."""
    return {
        name: (function.schedule, function.timezone)
        for name, function in functions.items()
        if function.enabled and function.schedule
    }


def effective_schedules(
    configured: Mapping[str, ScheduleText], listed: Iterable[ListedFunction]
) -> dict[str, ScheduleText]:
    """Return the effective schedules by name: those of deployments replace those of the settings (pure)."""
    texts = dict(configured)
    for function in listed:
        if function.status == "deployed" and function.schedule:
            texts[function.name] = (function.schedule, function.timezone)
        elif function.status == "off":
            texts.pop(function.name, None)
    return texts


def configured_queues(functions: Mapping[str, FunctionSettings]) -> dict[str, FunctionQueue]:
    """Return the queues that functions consume by the settings (pure)."""
    return {
        name: function.queue
        for name, function in functions.items()
        if function.enabled and function.queue.queue
    }


def effective_queues(
    configured: Mapping[str, FunctionQueue], listed: Iterable[ListedFunction]
) -> dict[str, FunctionQueue]:
    """Return the queues that functions consume: those of deployments replace those of the settings (pure)."""
    queues = dict(configured)
    for function in listed:
        if function.status == "deployed" and function.queue is not None:
            queues[function.name] = function.queue
        elif function.status == "off":
            queues.pop(function.name, None)
    return queues


def configured_jobs(functions: Mapping[str, FunctionSettings]) -> dict[str, FunctionJob]:
    """Return the functions that are durable jobs by the settings (pure)."""
    return {
        name: function.job
        for name, function in functions.items()
        if function.enabled and function.job.enabled
    }


def effective_jobs(
    configured: Mapping[str, FunctionJob], listed: Iterable[ListedFunction]
) -> dict[str, FunctionJob]:
    """Return the functions that are durable jobs: those of deployments replace those of the settings (pure)."""
    jobs = dict(configured)
    for function in listed:
        if function.status == "deployed" and function.job is not None:
            jobs[function.name] = function.job
        elif function.status == "off":
            jobs.pop(function.name, None)
    return jobs


def _read(written: Mapping[str, ScheduleText]) -> dict[str, Schedule]:
    """Parse schedules. An invalid one is reported and left out."""
    schedules: dict[str, Schedule] = {}
    for name, (schedule, timezone) in written.items():
        try:
            schedules[f"{PREFIX}{name}"] = parse_schedule(schedule, timezone)
        except InvalidSchedule as error:
            observe(ScheduleUnreadable(f"{PREFIX}{name}", str(error)))
    return schedules
