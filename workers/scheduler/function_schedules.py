"""The schedules of functions as they are run: those of the settings, and those that deployed functions bring along.

    start of a term, an event of functions, once a minute --> ask the functions pool --> schedules by key --> on_change

- `schedule` in the platform's `config.toml` holds for the function of that name, unless a deployed one brings its own.
  A deployed function that is switched off has none.
- Workers switch one after another, and any of them may answer: behind an event there are several looks.
- While no functions worker answers, what was known of it holds.
"""

import asyncio
from collections.abc import Callable, Iterable, Mapping

import msgspec

from broker.nats.connection import Connection
from broker.observability.observe import observe
from broker.requests.call import Calls
from broker.subjects import FUNCTIONS, FUNCTIONS_CHANGED
from schemas.caller import Service
from schemas.errors import ApiError
from schemas.functions.deployments import Listed
from schemas.http import Request
from schemas.schedules import BadSchedule, Schedule, parse_schedule
from schemas.settings.functions import FunctionSettings
from schemas.settings.tree import Settings
from workers.scheduler.functions import PREFIX
from workers.scheduler.observations import ScheduleUnreadable

_LISTING = "/_internal/functions"
_AFTER_AN_EVENT_S = (0.2, 0.5, 1.0, 2.0, 5.0)
"""Pauses between the looks behind an event."""
_EVERY_S = 60.0
_BUDGET_MS = 5_000

Timed = tuple[str, str]
"""A schedule and its time zone, as they are written."""


class FunctionSchedules:
    """The schedules of functions by key. `on_change` is called when there are others."""

    def __init__(
        self, connection: Connection, calls: Calls, settings: Settings, on_change: Callable[[], None]
    ) -> None:
        self._connection, self._calls, self._on_change = connection, calls, on_change
        self._is_on = settings.edge_runtime.enabled
        self._own = written_in(settings.functions) if self._is_on else {}
        self._wanted: Mapping[str, Timed] = self._own
        self._heard = asyncio.Event()
        self.schedules: Mapping[str, Schedule] = _read(self._own)

    async def follow(self) -> None:
        """Keep them as they are, until cancelled."""
        if not self._is_on:
            await asyncio.Event().wait()
        subscription = self._connection.subscribe(FUNCTIONS_CHANGED.name, lambda _: self._heard.set())
        self._connection.on_back.append(self._heard.set)
        try:
            pauses = iter(_AFTER_AN_EVENT_S)
            while True:
                await self._look()
                if await self._is_told_within(next(pauses, _EVERY_S)):
                    pauses = iter(_AFTER_AN_EVENT_S)
        finally:
            subscription.unsubscribe()
            self._connection.on_back.remove(self._heard.set)

    async def _is_told_within(self, seconds: float) -> bool:
        try:
            async with asyncio.timeout(seconds):
                await self._heard.wait()
        except TimeoutError:
            return False
        self._heard.clear()
        return True

    async def _look(self) -> None:
        try:
            listed = await self._listed()
        except (ApiError, msgspec.MsgspecError):
            return
        wanted = as_run(self._own, listed)
        if wanted != self._wanted:
            self._wanted, self.schedules = wanted, _read(wanted)
            self._on_change()

    async def _listed(self) -> list[Listed]:
        """Ask what is run. Raises: ApiError, MsgspecError."""
        request = Request(id="schedules", method="GET", path=_LISTING, caller=Service(), budget_ms=_BUDGET_MS)
        answer = await self._calls.call(FUNCTIONS, request)
        body = answer.response.body
        if answer.chunks is not None:
            body = b"".join([chunk async for chunk in answer.chunks])
        return msgspec.json.decode(body, type=list[Listed])


def written_in(functions: Mapping[str, FunctionSettings]) -> dict[str, Timed]:
    """Give what the settings say of functions by name (pure)."""
    return {
        name: (each.schedule, each.timezone)
        for name, each in functions.items()
        if each.enabled and each.schedule
    }


def as_run(own: Mapping[str, Timed], listed: Iterable[Listed]) -> dict[str, Timed]:
    """Give what holds by name: the settings' own, and over them what deployed functions bring along (pure)."""
    found = dict(own)
    for each in listed:
        if each.status == "deployed" and each.schedule:
            found[each.name] = (each.schedule, each.timezone)
        elif each.status == "off":
            found.pop(each.name, None)
    return found


def _read(written: Mapping[str, Timed]) -> dict[str, Schedule]:
    """Read schedules. One that cannot be read is told and left out."""
    found: dict[str, Schedule] = {}
    for name, (schedule, timezone) in written.items():
        try:
            found[f"{PREFIX}{name}"] = parse_schedule(schedule, timezone)
        except BadSchedule as error:
            observe(ScheduleUnreadable(f"{PREFIX}{name}", str(error)))
    return found
