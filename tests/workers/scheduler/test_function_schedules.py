"""Schedules of deployed functions: a functions pool of the test's own is asked, and tells of changes."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable

import asyncpg
import msgspec
import pytest
from msgspec import Struct

from broker.events import publish_event
from broker.nats.connection import NatsConnection
from broker.requests.call import Calls
from broker.requests.handler import RequestBody
from broker.requests.serve import serve
from broker.subjects import FUNCTIONS, FUNCTIONS_CHANGED
from schemas.caller import ServiceCaller
from schemas.events import FunctionsChanged
from schemas.functions.deployments import ListedFunction
from schemas.http import Request, Response
from schemas.schedules import CalendarSchedule, IntervalSchedule
from schemas.settings.functions import EdgeRuntime, FunctionJob, FunctionQueue, FunctionSettings
from schemas.settings.tree import Settings
from tests.broker.server import running_server
from tests.workers.scheduler.scheduler_pool import SchedulerPool
from workers.scheduler.function_schedules import (
    FunctionSchedules,
    configured_jobs,
    configured_queues,
    configured_schedules,
    effective_jobs,
    effective_queues,
    effective_schedules,
)
from workers.scheduler.observations import ScheduleUnreadable
from workers.scheduler.pool import SchedulerCandidate


class Pool:
    """Answers as the functions pool: what is deployed, and calls of functions."""

    def __init__(self) -> None:
        self.listed: list[ListedFunction] = []
        self.called: list[Request] = []
        self.looks = 0

    async def answer(self, request: Request, body: RequestBody) -> Response:
        if request.path == "/_internal/functions":
            assert (request.method, request.caller) == ("GET", ServiceCaller())
            self.looks += 1
            return Response(200, body=msgspec.json.encode(self.listed))
        self.called.append(request)
        return Response(200)


def deployed(name: str, schedule: str = "", timezone: str = "UTC") -> ListedFunction:
    return ListedFunction(name, "deployed", 1, 1.0, True, schedule, "", timezone)


@contextlib.asynccontextmanager
async def served(connection: NatsConnection) -> AsyncIterator[Pool]:
    one = Pool()
    serving = await serve(connection, FUNCTIONS, one.answer, concurrency=4, queue=4)
    yield one
    await serving.stop()


@pytest.fixture
async def pool(connection: NatsConnection) -> AsyncIterator[Pool]:
    async with served(connection) as one:
        yield one


@contextlib.asynccontextmanager
async def followed(
    connection: NatsConnection, settings: Settings | None = None
) -> AsyncIterator[FunctionSchedules]:
    one = FunctionSchedules(connection, Calls(connection), settings or Settings(), lambda: None)
    task = asyncio.ensure_future(one.follow())
    yield one
    task.cancel()
    await asyncio.wait([task])


async def until(check: Callable[[], object]) -> None:
    async with asyncio.timeout(60):
        while not check():
            await asyncio.sleep(0.02)


def test_a_deployed_function_brings_its_schedule_and_the_settings_hold_for_others():
    own = configured_schedules({
        "kept": FunctionSettings(schedule="1 1 * * *"),
        "replaced": FunctionSettings(schedule="2 2 * * *"),
        "off": FunctionSettings(schedule="3 3 * * *"),
        "disabled": FunctionSettings(schedule="4 4 * * *", enabled=False),
        "without": FunctionSettings(),
    })  # fmt: skip
    listed = [
        deployed("kept"), deployed("replaced", "5 5 * * *", "Asia/Tokyo"), deployed("new", "6 6 * * *"),
        ListedFunction("off", "off", 1), ListedFunction("local", "local", schedule="7 7 * * *"),
    ]  # fmt: skip

    assert effective_schedules(own, listed) == {
        "kept": ("1 1 * * *", "UTC"), "replaced": ("5 5 * * *", "Asia/Tokyo"), "new": ("6 6 * * *", "UTC"),
    }  # fmt: skip


async def test_deployments_rollbacks_and_deletions_are_followed(connection: NatsConnection, pool: Pool):
    settings = Settings(functions={"own": FunctionSettings(schedule="0 1 * * *")})

    def change(*listed: ListedFunction) -> None:
        pool.listed = list(listed)
        publish_event(connection, FUNCTIONS_CHANGED, FunctionsChanged("tidy"))

    async with followed(connection, settings) as one:
        assert one.schedules == {"function own": CalendarSchedule("0 1 * * *", "UTC")}
        change(deployed("tidy", "0 2 * * *", "Europe/Berlin"))
        await until(
            lambda: one.schedules.get("function tidy") == CalendarSchedule("0 2 * * *", "Europe/Berlin")
        )
        change(deployed("tidy", "30 seconds"))
        await until(lambda: one.schedules.get("function tidy") == IntervalSchedule(30))
        change()
        await until(lambda: one.schedules == {"function own": CalendarSchedule("0 1 * * *", "UTC")})


async def test_a_worker_that_switches_behind_the_event_is_asked_again(connection: NatsConnection, pool: Pool):
    async with followed(connection) as one:
        await until(lambda: pool.looks)
        publish_event(connection, FUNCTIONS_CHANGED, FunctionsChanged("tidy"))
        looks = pool.looks
        await until(lambda: pool.looks > looks)
        pool.listed = [deployed("tidy", "30 seconds")]

        await until(lambda: one.schedules == {"function tidy": IntervalSchedule(30)})


async def test_what_was_known_holds_while_no_worker_answers(connection: NatsConnection):
    async with followed(connection) as one:
        async with served(connection) as pool:
            pool.listed = [deployed("tidy", "30 seconds")]
            await until(lambda: one.schedules)
        publish_event(connection, FUNCTIONS_CHANGED, FunctionsChanged("tidy"))
        async with served(connection) as back:
            back.listed = [deployed("tidy", "30 seconds"), deployed("more", "20 seconds")]
            await until(lambda: len(one.schedules) == 2)

            assert one.schedules["function tidy"] == IntervalSchedule(30)


async def test_a_broker_that_was_away_is_no_matter():
    async with running_server() as server, contextlib.AsyncExitStack() as stack:
        connection = await NatsConnection.open(server.url, name="test")
        stack.push_async_callback(connection.close)
        pool = await stack.enter_async_context(served(connection))
        one = await stack.enter_async_context(followed(connection))
        await until(lambda: pool.looks >= 2)
        pool.listed = [deployed("tidy", "30 seconds")]
        server.kill()
        await server.start()

        await until(lambda: one.schedules == {"function tidy": IntervalSchedule(30)})


async def test_schedules_that_cannot_be_read_are_told_once(
    connection: NatsConnection, pool: Pool, seen: list[Struct]
):
    pool.listed = [deployed("broken", "nonsense"), deployed("nowhere", "* * * * *", "Mars/Olympus")]
    async with followed(connection, Settings(functions={"own": FunctionSettings(schedule="never")})) as one:
        await until(lambda: pool.looks >= 3)

        assert one.schedules == {}
    told = [each.schedule for each in seen if isinstance(each, ScheduleUnreadable)]
    assert {name: told.count(name) for name in told} == {
        "function own": 2, "function broken": 1, "function nowhere": 1,
    }  # fmt: skip


async def test_without_functions_nobody_is_asked(connection: NatsConnection, pool: Pool):
    settings = Settings(
        functions={"own": FunctionSettings(schedule="* * * * *")}, edge_runtime=EdgeRuntime(enabled=False)
    )
    async with followed(connection, settings) as one:
        await connection.flush()

        assert (one.schedules, pool.looks) == ({}, 0)


async def test_a_deployed_function_is_called_once_for_each_moment_by_either_scheduler(
    scheduler_pool: SchedulerPool,
    project: asyncpg.Connection,
    connection: NatsConnection,
    pool: Pool,
    begin: Callable[[], SchedulerCandidate],
):
    pool.listed = [deployed("tidy", "1 seconds")]
    first = begin()
    begin()
    await until(lambda: pool.called)
    for _ in range(3):  # the same schedule again is no new one
        publish_event(connection, FUNCTIONS_CHANGED, FunctionsChanged("tidy"))
    await until(lambda: len(pool.called) >= 2)

    await first.close()
    seen_by_first = len(pool.called)
    await until(lambda: len(pool.called) >= seen_by_first + 2)

    moments = [msgspec.json.decode(each.body)["scheduled_at"] for each in pool.called]
    assert len(set(moments)) == len(moments)
    assert {each.path for each in pool.called} == {"/tidy"}


def test_queues_and_jobs_of_deployments_replace_those_of_the_settings():
    queue = FunctionQueue("mail")
    configured = configured_queues({
        "a": FunctionSettings(queue=queue), "b": FunctionSettings(queue=FunctionQueue("b")), "none": FunctionSettings(),
        "off": FunctionSettings(enabled=False, queue=queue),
    })  # fmt: skip
    listed = [
        msgspec.structs.replace(deployed("a"), queue=FunctionQueue("other", batch=2)),
        deployed("b"),
        msgspec.structs.replace(deployed("c"), queue=FunctionQueue("c")),
        msgspec.structs.replace(deployed("d"), status="off", queue=FunctionQueue("d")),
    ]

    assert configured == {"a": queue, "b": FunctionQueue("b")}
    assert effective_queues(configured, listed) == {
        "a": FunctionQueue("other", batch=2), "b": FunctionQueue("b"), "c": FunctionQueue("c")
    }  # fmt: skip
    job, other = FunctionJob(enabled=True), FunctionJob(enabled=True, events=["paid"])
    jobs = configured_jobs(
        {
            "a": FunctionSettings(job=job),
            "b": FunctionSettings(),
            "off": FunctionSettings(enabled=False, job=job),
        }
    )
    redeployed = [
        msgspec.structs.replace(deployed("a"), job=other),
        msgspec.structs.replace(deployed("b"), status="off", job=job),
    ]
    assert jobs == {"a": job}
    assert effective_jobs(jobs, redeployed) == {"a": other}
