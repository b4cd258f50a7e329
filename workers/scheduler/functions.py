"""Scheduled functions: call each through the subject of its pool, with the service key."""

import secrets
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import NamedTuple

import msgspec

from broker.observability.observe import observe
from broker.requests.call import Calls, PoolReply
from broker.subjects import FUNCTIONS
from schemas.caller import ServiceCaller
from schemas.errors import ApiError, Unavailable
from schemas.functions.errors import PROCESS_ENDED, TooBusy
from schemas.http import Request, header
from schemas.settings.tree import Settings
from workers.database.sessions.leadership import Leadership
from workers.scheduler.observations import FunctionCalled, FunctionCallFailed
from workers.scheduler.statements import JOBS
from workers.scheduler.timetable import DueRun

PREFIX = "function "
JOB_KEY = "x-headwater-job"
"""Header of the calls of a durable job: a secret key, by which `headwater:jobs` knows the platform."""
_LONGEST_ANSWER = 1024 * 1024
_AGENT = "headwater-scheduler"


class FunctionAnswer(NamedTuple):
    """What a function answered to a call of ours; `retry_after` is the header of that name."""

    status: int
    body: bytes
    retry_after: str = ""
    has_ended: bool = False
    """The function's process ended, and other calls that it worked on failed as well."""


class FunctionCalls:
    """Calls functions for the moments of their schedules, each once."""

    def __init__(
        self,
        leadership: Leadership,
        calls: Calls,
        settings: Settings,
        new_id: Callable[[], str] = secrets.token_hex,
    ) -> None:
        self._leadership, self._calls, self._settings, self._new_id = leadership, calls, settings, new_id

    async def run(self, due: DueRun) -> None:
        """Call a function for a moment unless it was called. Raises: DatabaseError, LeadershipLost."""
        if not await self._leadership.ask(JOBS["begin_function"], due.key, due.moment, due.wrong_after):
            return
        name = due.key.removeprefix(PREFIX)
        request = scheduled_call(name, due.moment, self._settings, self._new_id())
        try:
            answer = await self._calls.call(FUNCTIONS, request)
        except ApiError as error:
            observe(FunctionCallFailed(name, str(error)))
            return
        await answer.close()
        status = answer.response.status
        if 200 <= status < 300:
            observe(FunctionCalled(name, status))
        else:
            observe(FunctionCallFailed(name, f"it answered with status {status}"))

    async def open(self, name: str, body: bytes, **headers: str) -> PoolReply:
        """Call a function with a JSON body and return its answer, to be closed. Raises: ApiError; Unavailable if no worker took it."""
        request = service_call(name, body, self._settings, self._new_id(), **headers)
        answer = await self._calls.call(FUNCTIONS, request)
        response = answer.response
        if response.rejected_by or (
            response.status == TooBusy.status and TooBusy.code.encode() in response.body
        ):
            await answer.close()
            raise Unavailable("the workers of functions are overloaded")
        return answer

    async def send(self, name: str, body: bytes) -> FunctionAnswer:
        """Call a function with a JSON body and return its answer, of whose body a mebibyte is read. Raises: ApiError."""
        answer = await self.open(name, body)
        response = answer.response
        received = bytearray(response.body)
        try:
            if answer.chunks is not None:
                async for chunk in answer.chunks:
                    received += chunk
                    if len(received) > _LONGEST_ANSWER:
                        break
        finally:
            await answer.close()
        return FunctionAnswer(
            response.status,
            bytes(received),
            header(response.headers, "retry-after") or "",
            PROCESS_ENDED in response.headers,
        )


def scheduled_call(name: str, moment: float, settings: Settings, id: str) -> Request:
    """Return the request of a scheduled call: POST with the service key (pure)."""
    at = datetime.fromtimestamp(moment, UTC).isoformat().replace("+00:00", "Z")
    return service_call(name, msgspec.json.encode({"scheduled_at": at}), settings, id)


def service_call(name: str, body: bytes, settings: Settings, id: str, **more: str) -> Request:
    """Return a call of a function by the platform: POST of JSON with the service key (pure)."""
    headers = {"content-type": "application/json", "user-agent": _AGENT, "x-request-id": id, **more}
    return Request(
        id=id,
        method="POST",
        path=f"/{name}",
        headers=[*{**headers, **_key(settings)}.items()],
        caller=ServiceCaller(),
        budget_ms=int(settings.edge_runtime.wall_s * 1000),
        body=body,
    )


def _key(settings: Settings) -> Mapping[str, str]:
    key = settings.auth.service_role_key
    if key is None:
        return {}
    return {"authorization": f"Bearer {key.reveal()}", "apikey": key.reveal()}
