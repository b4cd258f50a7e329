import asyncio

from workers.scheduler.run_queues import RunQueues
from workers.scheduler.timetable import DueRun


class Runs:
    """Runs that wait until they are let go."""

    def __init__(self) -> None:
        self.begun: list[DueRun] = []
        self.dropped: list[DueRun] = []
        self.go = asyncio.Semaphore(0)
        self.running = self.most = 0

    async def run(self, due: DueRun) -> None:
        self.begun.append(due)
        self.running += 1
        self.most = max(self.most, self.running)
        try:
            await self.go.acquire()
        finally:
            self.running -= 1


async def settle() -> None:
    for _ in range(10):
        await asyncio.sleep(0)


async def test_runs_of_one_schedule_follow_one_another_and_too_many_are_dropped():
    runs = Runs()
    lines = RunQueues(runs.run, at_a_time=5, on_drop=runs.dropped.append)
    lines.put(DueRun("a", 0, 2))
    await settle()
    for moment in range(1, 4):
        lines.put(DueRun("a", moment, 2))

    assert [due.moment for due in runs.begun] == [0]
    assert [due.moment for due in runs.dropped] == [3]

    for _ in range(3):
        runs.go.release()
    await lines.finish(5)

    assert runs.most == 1


async def test_different_schedules_run_side_by_side_up_to_a_number():
    runs = Runs()
    lines = RunQueues(runs.run, at_a_time=2, on_drop=runs.dropped.append)
    for key in "abc":
        lines.put(DueRun(key, 1.0))
    await settle()

    assert (len(runs.begun), lines.count) == (2, 3)

    for _ in range(3):
        runs.go.release()
    await settle()

    assert (len(runs.begun), runs.most, lines.count) == (3, 2, 0)


async def test_at_the_end_what_runs_is_stopped_and_what_waits_is_not_begun():
    runs = Runs()
    lines = RunQueues(runs.run, at_a_time=1, on_drop=runs.dropped.append)
    for moment in range(3):
        lines.put(DueRun("a", moment))
    await settle()

    await lines.finish(0)

    assert (len(runs.begun), runs.running, lines.count) == (1, 0, 0)
