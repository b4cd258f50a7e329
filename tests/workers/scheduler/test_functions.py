import json
from collections.abc import Callable
from datetime import UTC, datetime

import pytest
from msgspec import Struct

from broker.connection import Connection
from broker.serve import Body, serve
from broker.subjects import FUNCTIONS
from schemas.caller import Service
from schemas.functions_settings import EdgeRuntime, FunctionSettings
from schemas.http import Request, Response, header
from schemas.settings import Settings
from tests.workers.scheduler.house import House
from workers.scheduler.functions import read_function_schedules, scheduled_call
from workers.scheduler.observations import FunctionCalled, FunctionCallFailed, ScheduleUnreadable
from workers.scheduler.pool import Standing


def with_functions(**functions: FunctionSettings) -> Settings:
    return Settings(functions=functions)


async def test_a_function_is_called_with_its_moment_and_the_service_key(
    house: House, connection: Connection, begin: Callable[[Settings], Standing], seen: list[Struct]
):
    heard: list[Request] = []

    async def answer(request: Request, body: Body) -> Response:
        heard.append(request)
        return Response(200 if len(heard) > 1 else 500)

    serving = await serve(connection, FUNCTIONS, answer, concurrency=4, queue=4)
    begin(with_functions(tidy=FunctionSettings(schedule="1 seconds")))
    (row,) = await house.until("select due from headwater.last_runs where schedule = 'function tidy'")
    await house.until("select from headwater.last_runs where due > $1", row["due"])
    await house.schedulers[0].close()
    await serving.stop()

    request = heard[0]
    assert (request.method, request.path, request.caller) == ("POST", "/tidy", Service())
    at = datetime.fromisoformat(json.loads(request.body)["scheduled_at"])
    assert abs((at - row["due"]).total_seconds()) < 2
    assert any(isinstance(each, FunctionCallFailed) and "500" in each.reason for each in seen)
    assert any(isinstance(each, FunctionCalled) for each in seen)


async def test_where_nobody_serves_functions_the_failure_is_told(
    house: House, begin: Callable[[Settings], Standing], seen: list[Struct]
):
    begin(with_functions(tidy=FunctionSettings(schedule="1 seconds")))
    (row,) = await house.until("select due from headwater.last_runs where schedule = 'function tidy'")
    await house.until("select from headwater.last_runs where due > $1", row["due"])

    assert any(isinstance(each, FunctionCallFailed) for each in seen)


def test_schedules_of_functions_are_read(seen: list[Struct]):
    on, off = FunctionSettings(schedule="*/5 * * * *", timezone="Europe/Berlin"), FunctionSettings()
    broken = FunctionSettings(schedule="nonsense")
    disabled = FunctionSettings(schedule="* * * * *", enabled=False)
    settings = with_functions(on=on, off=off, broken=broken, disabled=disabled)

    assert list(read_function_schedules(settings)) == ["function on"]
    assert [each.schedule for each in seen if isinstance(each, ScheduleUnreadable)] == ["function broken"]
    assert (
        read_function_schedules(Settings(functions={"on": on}, edge_runtime=EdgeRuntime(enabled=False))) == {}
    )


@pytest.mark.parametrize(
    ("moment", "text"), [(0.0, "1970-01-01T00:00:00Z"), (1.5, "1970-01-01T00:00:01.500000Z")]
)
def test_a_moment_is_told_in_utc(moment: float, text: str):
    request = scheduled_call("f", moment, Settings(), "id")

    assert json.loads(request.body) == {"scheduled_at": text}
    assert header(request.headers, "content-type") == "application/json"
    assert datetime.fromisoformat(text.replace("Z", "+00:00")) == datetime.fromtimestamp(moment, UTC)
