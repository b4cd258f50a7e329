import json
from collections.abc import Callable
from datetime import UTC, datetime

import pytest
from msgspec import Struct

from broker.nats.connection import NatsConnection
from broker.requests.handler import RequestBody
from broker.requests.serve import serve
from broker.subjects import FUNCTIONS
from schemas.caller import ServiceCaller
from schemas.http import Request, Response, header
from schemas.settings.functions import FunctionSettings
from schemas.settings.tree import Settings
from tests.workers.scheduler.scheduler_pool import SchedulerPool
from workers.scheduler.functions import scheduled_call
from workers.scheduler.observations import FunctionCalled, FunctionCallFailed
from workers.scheduler.pool import SchedulerCandidate


def with_functions(**functions: FunctionSettings) -> Settings:
    return Settings(functions=functions)


async def test_a_function_is_called_with_its_moment_and_the_service_key(
    scheduler_pool: SchedulerPool,
    connection: NatsConnection,
    begin: Callable[[Settings], SchedulerCandidate],
    seen: list[Struct],
):
    heard: list[Request] = []

    async def answer(request: Request, body: RequestBody) -> Response:
        if request.path == "/_internal/functions":
            return Response(200, body=b"[]")
        heard.append(request)
        return Response(200 if len(heard) > 1 else 500)

    serving = await serve(connection, FUNCTIONS, answer, concurrency=4, queue=4)
    begin(with_functions(tidy=FunctionSettings(schedule="1 seconds")))
    (row,) = await scheduler_pool.until(
        "select due from headwater.last_runs where schedule = 'function tidy'"
    )
    await scheduler_pool.until("select from headwater.last_runs where due > $1", row["due"])
    await scheduler_pool.schedulers[0].close()
    await serving.stop()

    request = heard[0]
    assert (request.method, request.path, request.caller) == ("POST", "/tidy", ServiceCaller())
    at = datetime.fromisoformat(json.loads(request.body)["scheduled_at"])
    assert abs((at - row["due"]).total_seconds()) < 2
    assert any(isinstance(each, FunctionCallFailed) and "500" in each.reason for each in seen)
    assert any(isinstance(each, FunctionCalled) for each in seen)


async def test_where_nobody_serves_functions_the_failure_is_told(
    scheduler_pool: SchedulerPool, begin: Callable[[Settings], SchedulerCandidate], seen: list[Struct]
):
    begin(with_functions(tidy=FunctionSettings(schedule="1 seconds")))
    (row,) = await scheduler_pool.until(
        "select due from headwater.last_runs where schedule = 'function tidy'"
    )
    await scheduler_pool.until("select from headwater.last_runs where due > $1", row["due"])

    assert any(isinstance(each, FunctionCallFailed) for each in seen)


@pytest.mark.parametrize(
    ("moment", "text"), [(0.0, "1970-01-01T00:00:00Z"), (1.5, "1970-01-01T00:00:01.500000Z")]
)
def test_a_moment_is_told_in_utc(moment: float, text: str):
    request = scheduled_call("f", moment, Settings(), "id")

    assert json.loads(request.body) == {"scheduled_at": text}
    assert header(request.headers, "content-type") == "application/json"
    assert datetime.fromisoformat(text.replace("Z", "+00:00")) == datetime.fromtimestamp(moment, UTC)
