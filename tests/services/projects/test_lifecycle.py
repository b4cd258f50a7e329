"""One project between asleep and awake: its races, with a platform and a clock of the test's own."""

import asyncio

import pytest

from services.projects.errors import ProjectHeld, ProjectOverloaded, WakeFailed, WakeTimeout
from services.projects.idleness import IdleReport
from services.projects.lifecycle import ProjectLifecycle, SleepState
from services.projects.model import ProjectLimits
from services.supervisor.errors import StartFailed


class SteppedPlatform:
    """A platform whose starts and stops end when the test lets them."""

    def __init__(self) -> None:
        self.starts = self.stops = 0
        self.fails = False
        self.runs = False
        self.go = asyncio.Event()
        self.go.set()

    async def start(self) -> int:
        self.starts += 1
        await self.go.wait()
        if self.fails:
            raise StartFailed("no room on /secret/path")
        self.runs = True
        return 5000 + self.starts

    async def stop(self) -> None:
        self.stops += 1
        await self.go.wait()
        self.runs = False

    def is_running(self) -> bool:
        return self.runs


class Bench:
    """A lifecycle, its platform, its clock, and what its database says when it is asked."""

    def __init__(self, *, timeout_s: float = 30.0, **limits: float) -> None:
        self.platform, self.now, self.report = SteppedPlatform(), 1000.0, IdleReport()
        self.during_question = lambda: None
        self.events: list[str] = []
        self.life = ProjectLifecycle(
            "shop",
            self.platform,
            ProjectLimits(**limits),  # type: ignore[arg-type]  # numbers by their names
            ask_idle=self.ask,
            starts=asyncio.Semaphore(2),
            wake_timeout_s=timeout_s,
            on_event=lambda name, text: self.events.append(text),
            clock=lambda: self.now,
        )

    async def ask(self) -> IdleReport:
        await asyncio.sleep(0)
        self.during_question()
        return self.report

    async def tend(self) -> None:
        """Tend once, and wait for what that begins."""
        if (task := self.life.tend()) is not None:
            await task
        while self.life._change is not None:
            await asyncio.wait((self.life._change,))


async def test_many_first_requests_start_the_project_once() -> None:
    bench = Bench()
    bench.platform.go.clear()
    waiting = [asyncio.create_task(bench.life.reach()) for _ in range(50)]
    await asyncio.sleep(0)
    waiting[0].cancel()  # a client that leaves stops nothing
    bench.platform.go.set()

    ports = await asyncio.gather(*waiting[1:])

    assert (set(ports), bench.platform.starts, bench.life.state) == ({5001}, 1, SleepState.AWAKE)


async def test_an_idle_project_sleeps_and_wakes() -> None:
    bench = Bench(sleep_after_s=300)
    await bench.life.reach()
    await bench.tend()
    assert bench.life.state is SleepState.AWAKE
    bench.now += 301

    await bench.tend()

    assert (bench.life.state, bench.platform.stops) == (SleepState.ASLEEP, 1)
    assert await bench.life.reach() == 5002


async def test_a_request_that_comes_while_the_database_is_asked_keeps_the_project_awake() -> None:
    bench = Bench(sleep_after_s=300)
    await bench.life.reach()
    bench.now += 301
    bench.during_question = lambda: bench.life.enter(is_socket=False)

    await bench.tend()

    assert (bench.life.state, bench.platform.stops) == (SleepState.AWAKE, 0)


async def test_a_request_that_came_and_went_meanwhile_keeps_it_awake_too() -> None:
    bench = Bench(sleep_after_s=300)
    await bench.life.reach()
    bench.now += 301

    def passes() -> None:
        bench.life.enter(is_socket=False)
        bench.now += 1
        bench.life.leave(is_socket=False)

    bench.during_question = passes
    await bench.tend()

    assert bench.platform.stops == 0


async def test_a_request_during_the_stop_waits_for_it_and_starts_the_project_again() -> None:
    bench = Bench(sleep_after_s=300)
    await bench.life.reach()
    bench.platform.go.clear()
    stopping = bench.life.sleep()
    request = asyncio.create_task(bench.life.reach())
    await asyncio.sleep(0)
    assert (bench.life.state, bench.platform.starts) == (SleepState.STOPPING, 1)
    bench.platform.go.set()

    assert await request == 5002
    assert stopping is not None
    assert stopping.done()


@pytest.mark.parametrize(
    "limits_and_use", [({"sleep_after_s": 0}, False), ({"sleep_after_s": 300}, True)], ids=["never", "socket"]
)
async def test_sockets_and_the_setting_keep_it_awake(limits_and_use: tuple[dict[str, float], bool]) -> None:
    limits, is_socket = limits_and_use
    bench = Bench(**limits)
    await bench.life.reach()
    if is_socket:
        bench.life.enter(is_socket=True)
    bench.now += 100_000

    await bench.tend()

    assert bench.platform.stops == 0


@pytest.mark.parametrize(
    "report", [IdleReport("2 sessions"), IdleReport("", 1000.0 + 301 + 59)], ids=["sessions", "a job soon"]
)
async def test_what_the_database_says_keeps_it_awake_until_the_next_question(report: IdleReport) -> None:
    bench = Bench(sleep_after_s=10)
    await bench.life.reach()
    bench.now += 301
    bench.report = report
    await bench.tend()
    assert (bench.life.state, bool(bench.life.reason)) == (SleepState.AWAKE, True)
    bench.report = IdleReport()

    await bench.tend()  # no question before its time
    assert bench.platform.stops == 0
    bench.now += 11
    await bench.tend()

    assert bench.platform.stops == 1


async def test_a_sleeping_project_wakes_before_its_next_job() -> None:
    bench = Bench(sleep_after_s=300)
    await bench.life.reach()
    bench.now += 301
    bench.report = IdleReport("", bench.now + 1000)
    await bench.tend()
    assert bench.life.state is SleepState.ASLEEP
    bench.now += 900
    await bench.tend()
    assert bench.life.state is SleepState.ASLEEP
    bench.now += 90

    await bench.tend()

    assert (bench.life.state, bench.platform.starts) == (SleepState.AWAKE, 2)


async def test_a_failed_start_is_answered_without_its_reason_and_tried_again_later() -> None:
    bench = Bench()
    bench.platform.fails = True
    with pytest.raises(WakeFailed) as first:
        await bench.life.reach()
    with pytest.raises(WakeFailed):
        await bench.life.reach()
    assert (bench.platform.starts, bench.life.state) == (1, SleepState.FAILED)
    assert "secret" not in first.value.message
    assert "/secret/path" in bench.life.reason
    bench.now += 2
    with pytest.raises(WakeFailed) as second:
        await bench.life.reach()
    assert second.value.retry_after_s > first.value.retry_after_s
    bench.now += 100
    bench.platform.fails = False

    assert await bench.life.reach() == 5003


async def test_a_clock_that_is_set_back_does_not_keep_a_failed_start_waiting() -> None:
    bench = Bench()
    bench.platform.fails = True
    with pytest.raises(WakeFailed):
        await bench.life.reach()
    bench.now -= 3600
    bench.platform.fails = False

    assert await bench.life.reach() == 5002


async def test_a_request_waits_for_a_bounded_time_and_the_start_goes_on() -> None:
    bench = Bench(timeout_s=0)
    bench.platform.go.clear()
    with pytest.raises(WakeTimeout):
        await bench.life.reach()
    change = bench.life._change
    assert change is not None
    bench.platform.go.set()

    await change

    assert bench.life.state is SleepState.AWAKE


async def test_a_platform_that_ended_by_itself_is_started_by_the_next_request() -> None:
    bench = Bench()
    await bench.life.reach()
    bench.platform.runs = False

    await bench.tend()

    assert bench.life.state is SleepState.ASLEEP
    assert await bench.life.reach() == 5002


async def test_limits_count_requests_and_sockets_apart() -> None:
    bench = Bench(requests=2, sockets=1)
    for is_socket in (False, False, True):
        bench.life.enter(is_socket=is_socket)
    for is_socket in (False, True):
        with pytest.raises(ProjectOverloaded):
            bench.life.enter(is_socket=is_socket)
    bench.life.leave(is_socket=False)

    bench.life.enter(is_socket=False)

    assert bench.life.refused == 2


async def test_a_held_project_lets_nothing_in() -> None:
    bench = Bench()
    await bench.life.reach()

    await bench.life.hold()

    assert not bench.platform.runs
    with pytest.raises(ProjectHeld):
        bench.life.enter(is_socket=False)
    with pytest.raises(ProjectHeld):
        await bench.life.reach()
