"""Requests of operations to the other pools: what another pool does already (accounts, objects, functions) is done by it, not twice.

operation --Request of the service role--> pool auth, storage or functions --> Response, its body read up to a limit
"""

import asyncio
import time

import msgspec

from broker import subjects
from broker.nats.connection import NatsConnection
from broker.observability.metrics import collect
from broker.requests.call import Calls, PoolReply
from schemas.caller import Caller, ServiceCaller
from schemas.errors import Unavailable
from schemas.http import Headers, Request, Response
from schemas.settings.tree import Settings
from workers.management.interface.backends.metrics_text import read_metrics
from workers.management.interface.backends.request_history import (
    DURATIONS,
    LEAST_S,
    REQUESTS,
    RequestHistory,
    sample_of,
)
from workers.management.interface.errors import ManagementError

MAX_ANSWER_BYTES = 16 * 1024 * 1024
_BUDGET_MS = 30_000
_SAMPLE_S = 60.0
_SWITCHES = {
    "rest": ("api.enabled",),
    "graphql": ("api.enabled", "graphql.enabled"),
    "auth": ("auth.enabled",),
    "storage": ("storage.enabled",),
    "images": ("storage.enabled", "storage.image_transformation.enabled"),
    "functions": ("edge_runtime.enabled",),
    "replication": ("realtime.enabled",),
    "realtime": ("realtime.enabled",),
    "sync": ("realtime.enabled", "sync.enabled"),
    "scheduler": ("scheduler.enabled",),
    "webhooks": ("webhooks.enabled",),
    "history": ("realtime.enabled", "history.enabled"),
    "streams": ("realtime.enabled", "streams"),
}
"""The settings that must be true for a pool to run; the supervisor decides by the same ones (processes/plan.py)."""


class PlatformPools:
    """Sends requests to pools. Without `calls` (the command line of the machine lacks a broker) each request is refused."""

    def __init__(self, calls: Calls | None, connection: NatsConnection | None = None) -> None:
        self._calls, self._connection = calls, connection
        self.history = RequestHistory()

    @property
    def has_broker(self) -> bool:
        """Whether this process reaches the others: the command line of the machine does not."""
        return self._connection is not None

    @property
    def connection(self) -> NatsConnection:
        """The connection to the broker. Raises: ManagementError (503) without one."""
        if self._connection is None:
            raise _without_broker()
        return self._connection

    async def waits_for_functions(self) -> bool:
        """Return whether no functions worker runs because the project lacks functions so far: one is started when it is needed."""
        return self._calls is not None and await self._calls.is_heard(subjects.FUNCTIONS_WAKE)

    def wake_functions(self) -> None:
        """Start the functions worker that waits for the first function."""
        if self._calls is not None:
            self._calls.wake(subjects.FUNCTIONS_WAKE)

    async def metrics(self) -> str:
        """Return the metrics of all processes as one Prometheus text. Raises: ManagementError (503) without a broker."""
        return await collect(self.connection, [subject.pool for subject in subjects.REQUESTS])

    async def ask(self, subject: subjects.Subject, content: bytes, timeout_s: float) -> bytes:
        """Send a message that is no `Request` and return the answer. Raises: ManagementError (503) without a broker, Unavailable."""
        return (await self.connection.request(subject.name, content, timeout_s)).payload

    async def request(
        self,
        subject: subjects.Subject,
        method: str,
        path: str,
        *,
        request_id: str,
        query: str = "",
        headers: Headers | None = None,
        body: bytes = b"",
        budget_ms: int = _BUDGET_MS,
        caller: Caller | None = None,
    ) -> Response:
        """Send a request as the service role, or another caller, and return the whole response, whatever its status.

        `path` is the one below the interface's prefix. Raises: ManagementError (503 without a broker, 502 for an answer over
        `MAX_ANSWER_BYTES`); Unavailable, DeadlineExceeded, OutcomeUnknown.
        """
        if self._calls is None:
            raise _without_broker()
        request = Request(
            request_id,
            method,
            path,
            query=query,
            headers=headers or [],
            body=body,
            caller=caller or ServiceCaller(),
            budget_ms=budget_ms,
        )
        reply = await self._calls.call(subject, request)
        return msgspec.structs.replace(reply.response, body=await _whole_body(reply), stream=None)


def _without_broker() -> ManagementError:
    return ManagementError(503, "unavailable", "This needs the running platform, not the command line alone")


def pools_off(settings: Settings) -> dict[str, str]:
    """Return the pools that the settings switch off, each with the key that does it (pure)."""
    storage = settings.storage
    is_on = {
        "api.enabled": settings.api.enabled,
        "graphql.enabled": settings.graphql.enabled,
        "auth.enabled": settings.auth.enabled,
        "storage.enabled": storage.enabled,
        "storage.image_transformation.enabled": storage.image_transformation.enabled,
        "edge_runtime.enabled": settings.edge_runtime.enabled,
        "realtime.enabled": settings.realtime.enabled,
        "sync.enabled": settings.sync.enabled,
        "scheduler.enabled": settings.scheduler.enabled,
        "webhooks.enabled": settings.webhooks.enabled,
        "history.enabled": settings.history.enabled,
        "streams": any(stream.enabled for stream in settings.streams.values()),
    }
    switches = {pool: next((key for key in keys if not is_on[key]), None) for pool, keys in _SWITCHES.items()}
    return {pool: key for pool, key in switches.items() if key is not None}


def check_is_on(pool: str, settings: Settings) -> None:
    """Raise ManagementError (409) for a pool that the settings switch off: a request to it would wait for nothing."""
    if key := pools_off(settings).get(pool):
        raise ManagementError(409, "switched_off", f"The pool {pool} is switched off", hint=f"Set {key}.")


async def follow_requests(pools: PlatformPools) -> None:
    """Sample the counters of requests once a minute, forever; while the broker does not answer, a sample is missing."""
    while True:
        try:
            metrics = read_metrics(await pools.metrics(), (REQUESTS, DURATIONS))
            pools.history.add(time.monotonic(), sample_of(metrics), least_s=LEAST_S)
        except Unavailable:
            pass
        await asyncio.sleep(_SAMPLE_S)


async def _whole_body(reply: PoolReply) -> bytes:
    if reply.chunks is None:
        return reply.response.body
    parts, size = [], 0
    try:
        async for chunk in reply.chunks:
            parts.append(chunk)
            size += len(chunk)
            if size > MAX_ANSWER_BYTES:
                raise ManagementError(502, "too_large", f"The answer is larger than {MAX_ANSWER_BYTES} bytes")
    finally:
        await reply.close()
    return b"".join(parts)
