"""Runs of durable jobs against a real database and broker; the function is an answer of the test's own."""

import asyncio
import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import asyncpg
import msgspec
import pytest

from schemas.http import Response
from schemas.settings.tree import Settings
from tests.workers.scheduler.durable_jobs.conftest import JobFunction, reports, settings
from tests.workers.scheduler.scheduler_pool import SchedulerPool
from workers.scheduler.durable_jobs import durable_jobs
from workers.scheduler.pool import SchedulerCandidate
from workers.scheduler.statements import DURABLE_JOBS

Begin = Callable[[Settings], SchedulerCandidate]


async def started(scheduler_pool: SchedulerPool, *arguments: object, job: str = "work") -> str:
    """Start a run as role postgres, when the job is known; return its id."""
    await scheduler_pool.until("select from headwater_jobs.jobs where is_defined and name = $1", job)
    places = ", ".join(f"${number + 2}" for number in range(len(arguments)))
    statement = f"select headwater_jobs.start($1{', ' if places else ''}{places})::text"
    run: str = await scheduler_pool.project.fetchval(statement, job, *arguments)
    return run


async def ended(scheduler_pool: SchedulerPool, run: str, status: str = "done") -> asyncpg.Record:
    [row] = await scheduler_pool.until(
        "select * from headwater_jobs.runs where id = $1::text::uuid and status = $2", run, status
    )
    return row


async def test_each_step_is_stored_before_the_next_and_a_key_starts_one_run(
    scheduler_pool: SchedulerPool, function: JobFunction, begin: Begin
):
    begin(settings())
    run = await started(scheduler_pool, '{"n": 7}', "order-7")
    again = await started(scheduler_pool, '{"n": 8}', "order-7")
    row = await ended(scheduler_pool, run)

    assert again == run
    assert json.loads(row["output"]) == ["s1", "s2", "s3"]
    assert [sorted(call["steps"]) for call in function.calls] == [
        [],
        ["s1"],
        ["s1", "s2"],
        ["s1", "s2", "s3"],
    ]
    assert function.calls[0]["run"] == {
        "id": run, "job": "work", "attempt": 1, "key": "order-7", "created_at": function.calls[0]["run"]["created_at"], "input": {"n": 7}
    }  # fmt: skip
    assert function.calls[3]["steps"]["s2"] == {"kind": "step", "status": "done", "result": 1}
    assert function.keys == {Settings().auth.secret_key.reveal()}


async def test_a_step_that_fails_is_tried_again_and_then_fails_and_an_attempt_that_ends_is_repeated(
    scheduler_pool: SchedulerPool, function: JobFunction, begin: Begin
):
    async def fail(call: dict[str, Any]) -> Response:
        step = call["steps"].get("charge", {})
        if call["run"]["input"] == "ends":
            return Response(200, body=b"")
        if step.get("status") == "failed":
            return reports({"op": "fail", "error": step["error"], "is_final": True})
        return reports({"op": "retry", "name": "charge", "error": "no money"}, {"op": "suspend"})

    function.answer = fail
    begin(settings(retries=2))
    tried = await started(scheduler_pool, '{"n": 1}', "tried")
    crashed = await started(scheduler_pool, '"ends"')
    step = dict((await scheduler_pool.until("select * from headwater_jobs.steps where status = 'failed'"))[0])

    assert (await ended(scheduler_pool, tried, "failed"))["error"] == "no money"
    assert (step["failures"], step["error"]) == (3, "no money")
    row = await ended(scheduler_pool, crashed, "failed")
    assert (row["error"], row["failures"], row["attempt"]) == ("its answer was cut off", 3, 3)


async def test_a_sleep_is_a_row_and_wakes_a_platform_that_sleeps(
    scheduler_pool: SchedulerPool,
    function: JobFunction,
    begin: Begin,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
):
    note = tmp_path / "next_due.json"
    monkeypatch.setenv("HEADWATER_NEXT_DUE_FILE", str(note))

    async def sleep(call: dict[str, Any]) -> Response:
        state = call["steps"].get("nap", {}).get("status")
        if state == "done":
            return reports({"op": "finish"})
        return reports({"op": "sleep", "name": "nap", "after_s": 30 * 86400}, {"op": "suspend"})

    function.answer = sleep
    begin(settings())
    run = await started(scheduler_pool)
    row = await ended(scheduler_pool, run, "sleeping")
    async with asyncio.timeout(30):
        while not note.exists() or not (json.loads(note.read_bytes())["moment"] or 0) > time.time() + 86400:
            await asyncio.sleep(0.02)  # between two looks: nothing announces the file
    assert json.loads(note.read_bytes())["moment"] == pytest.approx(row["due_at"].timestamp(), abs=1)

    await scheduler_pool.admin.execute(
        "update headwater_jobs.steps set due_at = now(); update headwater_jobs.runs set due_at = now(); notify headwater_durable_jobs"
    )

    assert (await ended(scheduler_pool, run))["attempt"] == 2
    assert len(function.calls) == 2


async def test_events_start_runs_once_and_end_one_wait_each_whichever_came_first(
    scheduler_pool: SchedulerPool, function: JobFunction, begin: Begin
):
    async def wait(call: dict[str, Any]) -> Response:
        names = ["first", "second", "never"]
        for name in names:
            if name not in call["steps"]:
                event = {
                    "event": "paid" if name != "never" else "refunded",
                    "match": {"n": call["run"]["input"]["data"]["n"]},
                }
                after_s = 0 if name == "never" else 3600
                return reports({"op": "wait", "name": name, **event, "after_s": after_s}, {"op": "suspend"})
        if any(call["steps"][name]["status"] == "open" for name in names):
            return reports({"op": "suspend"})
        results = [call["steps"][name]["result"] for name in names]
        return reports({"op": "finish", "result": [each and each["data"] for each in results]})

    function.answer = wait
    begin(settings(events=["ordered"]))
    await scheduler_pool.until("select from headwater_jobs.jobs where events = '{ordered}'")
    send = "select headwater_jobs.send_event($1, $2, $3)"
    for key in ("order-1", "order-1", None):
        await scheduler_pool.project.fetchval(send, "ordered", '{"n": 1}' if key else '{"n": 2}', key)
    await scheduler_pool.until("select from headwater_jobs.runs having count(*) = 2")
    for data in ('{"n": 1, "part": "a"}', '{"n": 1, "part": "b"}', '{"n": 2, "part": "c"}'):
        await scheduler_pool.project.fetchval(send, "paid", data, None)
    [first] = await scheduler_pool.until("select * from headwater_jobs.runs where status = 'done'")
    await scheduler_pool.project.fetchval(send, "paid", '{"n": 2, "part": "d"}', None)
    await scheduler_pool.until("select from headwater_jobs.runs where status = 'done' having count(*) = 2")
    second = await scheduler_pool.admin.fetchval(
        "select output from headwater_jobs.runs where id <> $1", first["id"]
    )

    assert json.loads(first["output"]) == [{"n": 1, "part": "a"}, {"n": 1, "part": "b"}, None]
    assert json.loads(second) == [{"n": 2, "part": "c"}, {"n": 2, "part": "d"}, None]
    assert len(function.calls) < 20  # a run that waits is not called


async def test_a_runner_that_was_passed_by_or_cancelled_writes_nothing_and_a_stopped_leader_gives_its_runs_back(
    scheduler_pool: SchedulerPool, function: JobFunction, begin: Begin
):
    let_go = asyncio.Event()

    async def hang(call: dict[str, Any]) -> Response:
        await let_go.wait()
        return reports({"op": "step", "name": "late", "result": call["run"]["attempt"]}, {"op": "continue"})

    function.answer = hang
    begin(
        msgspec.structs.replace(
            settings(), pools=msgspec.structs.replace(Settings().pools, drain_timeout=1.0)
        )
    )
    cancelled, passed = await started(scheduler_pool), await started(scheduler_pool)
    await scheduler_pool.until("select from headwater_jobs.runs where status = 'running' having count(*) = 2")
    assert await scheduler_pool.project.fetchval("select headwater_jobs.cancel($1::text::uuid)", cancelled)
    await scheduler_pool.admin.execute(
        "update headwater_jobs.runs set attempt = 5 where id = $1::text::uuid", passed
    )
    let_go.set()
    await scheduler_pool.until("select from headwater_jobs.runs where status = 'cancelled'")
    let_go.clear()
    returned = await started(scheduler_pool)
    await ended(scheduler_pool, returned, "running")
    await scheduler_pool.schedulers.pop().close()

    assert await scheduler_pool.admin.fetch("select from headwater_jobs.steps") == []
    assert (await ended(scheduler_pool, returned, "queued"))["failures"] == 0
    begin(settings())
    await scheduler_pool.until(
        "select from headwater_jobs.runs where id = $1::text::uuid and attempt = 2", returned
    )
    await scheduler_pool.admin.execute(
        "select pg_terminate_backend(pid) from pg_stat_activity where usename = 'headwater_scheduler' and datname = current_database()"
    )
    function.answer = function.three_steps
    let_go.set()
    assert (await ended(scheduler_pool, returned))["attempt"] == 3  # before the lease of the second was over


async def test_a_report_that_cannot_be_written_now_is_written_later_and_holds_up_no_other_run(
    scheduler_pool: SchedulerPool, function: JobFunction, begin: Begin
):
    await scheduler_pool.admin.execute("""
        create function public.fill() returns trigger language plpgsql as $$
        begin
          if new.name = 's2' and (select key from headwater_jobs.runs where id = new.run) = 'full' then
            raise exception 'No space left on device' using errcode = 'disk_full';
          end if;
          return new;
        end $$;
        create trigger fill before insert on headwater_jobs.steps for each row execute function public.fill();
    """)
    begin(settings(retries=0))
    full = await started(scheduler_pool, "{}", "full")
    await scheduler_pool.until("select from headwater_jobs.steps where run = $1::text::uuid", full)
    await ended(scheduler_pool, await started(scheduler_pool))
    assert (await ended(scheduler_pool, full, "running"))["failures"] == 0
    await scheduler_pool.admin.execute("drop trigger fill on headwater_jobs.steps")

    row = await ended(scheduler_pool, full)
    assert (row["attempt"], row["steps"]) == (1, 3)
    assert len(function.calls) == 8  # no step was done again


async def test_a_run_is_repeated_from_a_step_and_what_was_before_is_not_done_again(
    scheduler_pool: SchedulerPool, function: JobFunction, begin: Begin
):
    begin(settings())
    run = await started(scheduler_pool)
    await ended(scheduler_pool, run)
    again = await scheduler_pool.project.fetchval(
        "select headwater_jobs.rerun($1::text::uuid, 's2')::text", run
    )
    row = await ended(scheduler_pool, again)

    assert sorted(function.calls[4]["steps"]) == ["s1"]
    assert (str(row["rerun_of"]), row["steps"], len(function.calls)) == (run, 3, 7)


async def test_a_schedule_starts_a_run_instead_of_calling_the_function(
    scheduler_pool: SchedulerPool, function: JobFunction, begin: Begin
):
    begin(settings(schedule="1 second"))
    [row] = await scheduler_pool.until("select * from headwater_jobs.runs where status = 'done' limit 1")

    assert row["key"].startswith("schedule:")
    assert set(json.loads(row["input"])) == {"scheduled_at"}


async def test_what_cannot_be_stored_fails_the_run_at_once_and_holds_up_no_other(
    scheduler_pool: SchedulerPool, function: JobFunction, begin: Begin
):
    async def report(call: dict[str, Any]) -> Response:
        match call["run"]["input"]:
            case "zero":
                return reports({"op": "step", "name": "s", "result": "\0"}, {"op": "continue"})
            case "long":
                return reports({"op": "step", "name": "s", "result": "x" * 1_048_577}, {"op": "continue"})
            case "foreign":
                return Response(200, body=b"hello")
            case "own op":
                return reports({"op": "extend", "after_s": 1})
        return await function.three_steps(call)

    function.answer = report
    begin(settings(retries=0))
    inputs = ("zero", "long", "foreign", "own op", "fine")
    runs = {each: await started(scheduler_pool, json.dumps(each)) for each in inputs}
    errors = {
        each: (await ended(scheduler_pool, runs[each], "done" if each == "fine" else "failed"))["error"]
        for each in inputs
    }

    assert errors["fine"] is None
    assert "Unicode" in errors["zero"]
    assert "has 1048579 bytes; at most 1048576" in errors["long"]
    assert errors["foreign"] == errors["own op"]
    assert "Deno.serve(job(...))" in errors["foreign"]


async def test_runs_go_on_and_begin_while_the_database_cannot_compare_events(
    scheduler_pool: SchedulerPool, function: JobFunction, begin: Begin, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(durable_jobs, "_LEASE_S", 3.0)
    is_over = asyncio.Event()

    async def work(_: dict[str, Any]) -> Response:
        await is_over.wait()
        return reports({"op": "finish"})

    function.answer = work
    begin(settings())
    run = await started(scheduler_pool)
    [row] = await scheduler_pool.until(
        "select due_at from headwater_jobs.runs where id = $1::text::uuid and status = 'running'", run
    )
    await scheduler_pool.admin.execute(
        "create or replace function headwater_jobs.match_events(most int) returns boolean language plpgsql as"
        " $$ begin raise exception 'a lock' using errcode = 'lock_not_available'; end $$; notify headwater_durable_jobs"
    )
    begun = await started(scheduler_pool, "2")
    later = "select from headwater_jobs.runs where id = $1::text::uuid and due_at > $2::timestamptz + interval '2 seconds'"
    await scheduler_pool.until(later, run, row["due_at"])
    is_over.set()

    assert (await ended(scheduler_pool, run))["attempt"] == 1
    assert (await ended(scheduler_pool, begun))["attempt"] == 1


async def test_a_run_waits_for_other_runs_fails_with_them_and_takes_them_along_when_it_is_cancelled(
    scheduler_pool: SchedulerPool, function: JobFunction, begin: Begin
):
    """A child finishes, one fails, one hangs, and one asks for a child of its own until they are too deep."""

    async def answer(call: dict[str, Any]) -> Response:
        what = call["run"]["input"]["what"]
        step = call["steps"].get("child")
        if what == "double":
            return reports({"op": "finish", "result": call["run"]["input"]["n"] * 2})
        if what == "fail":
            return reports({"op": "fail", "error": "broken", "is_final": True})
        if what == "hang":
            return reports({"op": "sleep", "name": "long", "after_s": 3600}, {"op": "suspend"})
        if step is None:
            child = {"what": "deeper"} if what == "deeper" else call["run"]["input"]["child"]
            return reports({"op": "run", "name": "child", "job": "work", "data": child}, {"op": "suspend"})
        if step["status"] == "failed":
            return reports({"op": "fail", "error": step["error"], "is_final": True})
        return reports({"op": "finish", "result": step["result"]})

    function.answer = answer
    begin(settings())
    doubled = await started(scheduler_pool, '{"what": "wait", "child": {"what": "double", "n": 21}}')
    failing = await started(scheduler_pool, '{"what": "wait", "child": {"what": "fail"}}')
    deep = await started(scheduler_pool, '{"what": "deeper"}')
    nested = '{"what": "wait", "child": {"what": "wait", "child": {"what": "hang"}}}'
    cancelled = await started(scheduler_pool, nested)

    assert (await ended(scheduler_pool, doubled))["output"] == "42"
    assert (await ended(scheduler_pool, failing, "failed"))["error"] == "broken"
    assert (await ended(scheduler_pool, deep, "failed"))["error"] == "runs wait for runs at most 8 deep"
    family = "select from headwater_jobs.runs where status = $1 and input #>> '{what}' = any($2) having count(*) = $3"
    await scheduler_pool.until(family, "sleeping", ["wait", "hang"], 3)
    await scheduler_pool.project.fetchval("select headwater_jobs.cancel($1::text::uuid)", cancelled)
    await scheduler_pool.until(family, "cancelled", ["wait", "hang"], 3)
    assert (
        await scheduler_pool.admin.fetchval("select count(*) from headwater_jobs.runs where is_unsettled")
        == 0
    )


async def test_a_program_waits_for_a_run_by_sql(
    scheduler_pool: SchedulerPool, function: JobFunction, begin: Begin
):
    begin(settings())
    sql = scheduler_pool.project
    await sql.execute("select headwater_jobs.define('program')")
    await scheduler_pool.until("select from headwater_jobs.jobs where is_defined and name = 'work'")
    parent = await started(scheduler_pool, job="program")
    taken = "select id::text, attempt, steps from headwater_jobs.take('program')"
    first = await sql.fetchrow(taken)
    assert first is not None
    call = "$1::text::uuid, $2"
    wait = f"select headwater_jobs.wait_for_run({call}, 'child', 'work', '{{}}')"
    for _ in range(2):  # a report that is repeated starts nothing more
        await sql.execute(wait, parent, first["attempt"])
    await sql.fetchval(f"select headwater_jobs.suspend({call})", parent, first["attempt"])
    await ended(scheduler_pool, parent, "queued")
    again = await sql.fetchrow(taken)

    assert again is not None
    assert json.loads(again["steps"])["child"]["result"] == ["s1", "s2", "s3"]
    assert await sql.fetchval("select count(*) from headwater_jobs.runs") == 2
    with pytest.raises(asyncpg.ObjectNotInPrerequisiteStateError):
        await sql.execute(wait, parent, first["attempt"])


class NotifyingLeadership:
    """Answers as a database to which an event is sent while events are compared."""

    def __init__(self) -> None:
        self.jobs: durable_jobs.DurableJobs | None = None
        self.comparisons = 0
        self.has_compared_again = asyncio.Event()

    async def ask(self, statement: str, *_: object) -> list[tuple[bool]]:
        if statement == DURABLE_JOBS["settle"]:
            return [(False,)]
        if statement != DURABLE_JOBS["match"]:
            return []
        self.comparisons += 1
        if self.comparisons == 1:
            assert self.jobs is not None
            self.jobs.wake()
        else:
            self.has_compared_again.set()
        return [(False,)]


async def test_an_event_that_is_sent_while_events_are_compared_is_compared_too():
    async def no_call(*_: object) -> Any:
        raise AssertionError("nothing is called")

    leadership = NotifyingLeadership()
    jobs = leadership.jobs = durable_jobs.DurableJobs(leadership, no_call, 0.0, lambda: None)
    task = asyncio.ensure_future(jobs.run())
    try:
        async with asyncio.timeout(30):
            await leadership.has_compared_again.wait()
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        await jobs.stop()

    assert leadership.comparisons == 2
