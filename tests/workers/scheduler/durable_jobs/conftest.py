"""A function that is a job, answered by the test: what it was called with, and the reports it gives."""

import json
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

import msgspec
import pytest

from broker.nats.connection import NatsConnection
from broker.requests.handler import RequestBody
from broker.requests.serve import serve
from broker.subjects import FUNCTIONS
from schemas.http import Request, Response, header
from schemas.settings.functions import FunctionJob, FunctionSettings
from schemas.settings.tree import Settings

Reports = list[dict[str, Any]]


def reports(*lines: dict[str, Any]) -> Response:
    return Response(200, body=b"".join(msgspec.json.encode(line) + b"\n" for line in lines))


def settings(schedule: str = "", **options: Any) -> Settings:
    job = FunctionJob(**{"enabled": True, "backoff": "0s", **options})
    return Settings(functions={"work": FunctionSettings(job=job, schedule=schedule)})


class JobFunction:
    """The function `work`: `answer` gets the body of a call."""

    def __init__(self) -> None:
        self.calls: list[dict[str, Any]] = []
        self.keys: set[str | None] = set()
        self.answer: Callable[[dict[str, Any]], Awaitable[Response]] = self.three_steps

    async def three_steps(self, call: dict[str, Any]) -> Response:
        """Finish the steps s1, s2 and s3, one a call."""
        count = len(call["steps"])
        if count == 3:
            return reports({"op": "finish", "result": sorted(call["steps"])})
        return reports({"op": "step", "name": f"s{count + 1}", "result": count}, {"op": "continue"})


@pytest.fixture
async def function(connection: NatsConnection) -> AsyncIterator[JobFunction]:
    one = JobFunction()

    async def answer(request: Request, body: RequestBody) -> Response:
        if request.path == "/_internal/functions":
            return Response(200, body=b"[]")
        one.keys.add(header(request.headers, "x-headwater-job"))
        one.calls.append(json.loads(request.body))
        return await one.answer(one.calls[-1])

    serving = await serve(connection, FUNCTIONS, answer, concurrency=64, queue=64)
    yield one
    await serving.stop()
