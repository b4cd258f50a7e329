"""A pool in service: its subject and its health check, answered until the process drains."""

from collections.abc import Callable

from broker import subjects
from broker.nats.connection import NatsConnection
from broker.processes.lifecycle import ManagedProcess
from broker.requests.answer import Outage
from broker.requests.handler import Handler, RequestBody
from broker.requests.serve import serve
from broker.subjects import Subject
from schemas.http import Request, Response
from schemas.settings.tree import Pools

_HEALTH_CONCURRENCY, _HEALTH_QUEUE = 8, 64
ALIVE = b'{"message":"ok"}'


async def health_alone(request: Request, body: RequestBody) -> Response:
    """Answer that the process is alive: for pools that start on demand what else they need."""
    del request, body
    return Response(200, body=ALIVE)


async def serve_subject(
    process: ManagedProcess,
    connection: NatsConnection,
    pools: Pools,
    subject: Subject,
    handler: Handler,
    *,
    concurrency: int | None = None,
    health: Handler = health_alone,
    drain_s: Callable[[], float] | None = None,
    outage: Outage | None = None,
) -> None:
    """Serve a subject and the health check of its pool, by the limits of `pools`, until the process drains.

    `concurrency`: instead of that of `pools`; `drain_s`: for how many seconds the drain waits for requests, instead of
    `requests_may_take_s`. Raises: Unavailable if the broker is away.
    """
    health_member = await serve(
        connection,
        subjects.health(subject.pool),
        health,
        concurrency=_HEALTH_CONCURRENCY,
        queue=_HEALTH_QUEUE,
    )
    serving = await serve(
        connection,
        subject,
        handler,
        concurrency=concurrency or pools.concurrency,
        queue=pools.queue,
        longest_wait=pools.longest_wait,
        outage=outage,
    )

    async def drain() -> None:
        await serving.drain((drain_s or process.requests_may_take_s)())
        await health_member.stop()

    process.on_drain(drain)
