import asyncio
import os
import signal
import sys

import pytest

from services.supervisor.errors import StartFailed
from services.supervisor.processes.identity import is_alive
from services.supervisor.processes.plan import ChildPlan, ReadySignal
from services.supervisor.processes.start_limit import StartLimit, grown_limit
from services.supervisor.processes.supervise import Supervisor

READY = "import os, signal, sys, time; os.write(int(os.environ['HEADWATER_READY_FD']), b'ready\\n')"
SERVE = f"{READY}; signal.pause()"
STUBBORN = f"import signal; signal.signal(signal.SIGTERM, signal.SIG_IGN); {READY}; time.sleep(60)"
DEADLINE_S = 60


def python(name, code, **rest):
    environment = {"PATH": os.environ["PATH"]}
    return ChildPlan(
        name, (sys.executable, "-c", code), environment, rest.pop("ready", ReadySignal.PIPE), **rest
    )


class Run:
    """A supervisor at work, and what it told."""

    def __init__(self, plan, logs, notes, **rest):
        self.logs = logs
        self.changes = []
        self.changed = asyncio.Event()
        self.ready = asyncio.Event()
        self.supervisor = Supervisor(plan, logs, {}, notes, self._change, **rest)
        self.task = asyncio.ensure_future(self.supervisor.run(self.ready.set))

    def _change(self, status, children):
        self.changes.append((status, {child.name: child for child in children}))
        self.changed.set()

    async def until(self, condition):
        async with asyncio.timeout(DEADLINE_S):
            while not (self.changes and condition(*self.changes[-1])):
                self.changed.clear()
                waiting = asyncio.ensure_future(self.changed.wait())
                await asyncio.wait({waiting, self.task}, return_when=asyncio.FIRST_COMPLETED)
                waiting.cancel()
                if self.task.done():
                    self.task.result()
        return self.changes[-1][1]

    async def running(self):
        return await self.until(lambda status, _: status == "running")

    async def stop(self):
        os.kill(os.getpid(), signal.SIGTERM)
        async with asyncio.timeout(DEADLINE_S):
            await self.task

    def history(self, name):
        return list(dict.fromkeys(children[name].status for _, children in self.changes))


@pytest.fixture
async def supervised(folder, notes):
    runs = []

    def begin(*plan, **rest):
        runs.append(Run(list(plan), folder.logs, notes, **rest))
        return runs[-1]

    yield begin
    for run in runs:
        run.task.cancel()
        await asyncio.gather(run.task, return_exceptions=True)


async def test_an_early_child_is_loaded_before_what_it_waits_for_is_ready(supervised, tmp_path):
    loaded = tmp_path / "loaded"
    early = f"open({str(loaded)!r}, 'w'); import os; os.read(int(os.environ['HEADWATER_GO_FD']), 8); {SERVE}"
    server = f"import time, os\nwhile not os.path.exists({str(loaded)!r}): time.sleep(0.01)\n{SERVE}"

    run = supervised(python("server", server), python("worker", early, after=("server",), is_early=True))

    assert {child.status for child in (await run.running()).values()} == {"running"}
    order = [
        name for _, children in run.changes for name, child in children.items() if child.status == "running"
    ]
    assert order[0] == "server"
    await run.stop()


async def test_an_early_child_that_ends_is_told_with_its_reason(supervised):
    run = supervised(
        python("server", SERVE),
        python("worker", "raise SystemExit('no such pool')", after=("server",), is_early=True),
    )

    with pytest.raises(StartFailed, match="no such pool"):
        await asyncio.wait_for(run.task, DEADLINE_S)


async def test_children_start_in_order_and_stop_in_reverse(supervised):
    run = supervised(
        python("first", SERVE),
        python("once", "print('done')", ready=ReadySignal.EXIT, after=("first",), stage=1),
        python("last", SERVE, after=("once",), stage=2),
    )
    children = await run.running()
    await run.stop()

    assert children["once"].status == "done"
    assert run.history("last") == ["waiting", "starting", "running", "stopped"]
    ends = [name for status, children in run.changes if status == "stopping" for name in ("first", "last")
            if children[name].status == "stopped"]  # fmt: skip
    assert ends[0] == "last"
    assert not is_alive(children["first"].pid, children["first"].born)


async def test_a_child_that_was_killed_is_started_again(supervised, notes):
    run = supervised(python("one", SERVE))
    before = (await run.running())["one"]
    os.kill(before.pid, signal.SIGKILL)
    after = (
        await run.until(
            lambda _, children: children["one"].restarts == 1 and children["one"].status == "running"
        )
    )["one"]
    await run.stop()

    assert after.pid != before.pid
    assert notes.warnings == ["one ended with signal SIGKILL and is started again"]


async def test_a_child_that_hangs_is_killed_and_started_again(supervised, notes):
    beats = (
        f"{READY}\nwhile True: os.write(int(os.environ['HEADWATER_READY_FD']), b'alive\\n'); time.sleep(0.05)"
    )
    run = supervised(python("beating", beats), python("quiet", SERVE), silence_s=1.0)
    before = await run.running()

    os.kill(before["beating"].pid, signal.SIGSTOP)
    after = await run.until(
        lambda _, children: children["beating"].restarts == 1 and children["beating"].status == "running"
    )
    await run.stop()

    assert after["beating"].pid != before["beating"].pid
    assert after["quiet"].pid == before["quiet"].pid
    assert notes.warnings[0].startswith("beating gave no sign of life for ")


async def test_a_child_that_loads_a_program_may_be_silent_meanwhile(supervised, notes):
    loads = (
        f"{READY}; pipe = int(os.environ['HEADWATER_READY_FD']); os.write(pipe, b'alive\\n'); os.write(pipe, b'loading\\n'); "
        "time.sleep(1.5); print('loaded', flush=True); signal.pause()"
    )
    run = supervised(python("one", loads), silence_s=0.5)
    await run.running()
    log = run.logs / "one.log"
    async with asyncio.timeout(DEADLINE_S):
        while b"loaded" not in log.read_bytes():
            await asyncio.sleep(0.05)
    await run.stop()

    assert notes.warnings == []


async def test_a_child_that_loads_a_program_first_is_not_ready_before_that_serves(supervised, tmp_path):
    loaded = tmp_path / "loaded"
    loads = (
        f"import os, time; os.write(int(os.environ['HEADWATER_READY_FD']), b'loading\\n'); time.sleep(0.3); "
        f"open({str(loaded)!r}, 'w').close(); {SERVE}"
    )
    run = supervised(python("one", loads))

    await run.running()

    assert loaded.exists()
    await run.stop()


async def test_a_child_that_cannot_start_ends_the_start_with_its_reason(supervised):
    run = supervised(
        python("server", SERVE),
        python("broken", "raise SystemExit('no such thing')", after=("server",), label="The thing"),
    )

    with pytest.raises(
        StartFailed, match=r"The thing ended with code 1: no such thing\. Its log .*broken\.log"
    ):
        async with asyncio.timeout(DEADLINE_S):
            await run.task
    assert run.history("server")[-1] == "stopped"
    assert not run.ready.is_set()


async def test_a_program_that_is_missing_is_told(supervised):
    run = supervised(ChildPlan("gone", ("/no/such/program",), {}, ReadySignal.PIPE))

    with pytest.raises(StartFailed, match="gone cannot be run"):
        async with asyncio.timeout(DEADLINE_S):
            await run.task


async def test_a_child_that_is_never_ready_ends_the_start(supervised):
    run = supervised(python("slow", "import time; time.sleep(60)", start_timeout=0.1))

    with pytest.raises(StartFailed, match="slow was not ready"):
        async with asyncio.timeout(DEADLINE_S):
            await run.task


async def test_the_limit_of_a_start_grows_with_the_load_of_the_machine(supervised, monkeypatch):
    monkeypatch.setattr(os, "getloadavg", lambda: (4.0 * (os.cpu_count() or 1), 0.0, 0.0))
    run = supervised(python("slow", "import time; time.sleep(60)", start_timeout=0.1))

    with pytest.raises(
        StartFailed, match=r"slow was not ready after 0 s \(4.0 times the usual 0.1 s, because"
    ) as failed:
        async with asyncio.timeout(DEADLINE_S):
            await run.task

    assert f"a load of {4 * (os.cpu_count() or 1):.1f} on" in str(failed.value)
    assert grown_limit(60, 29, 2).seconds == 600
    assert grown_limit(60, 5, 2).seconds == 150
    assert grown_limit(60, 1.9, 2) == StartLimit(60)


async def test_a_child_that_does_not_end_is_killed(supervised, notes):
    run = supervised(python("stubborn", STUBBORN, stop_timeout=0.1))
    child = (await run.running())["stubborn"]
    await run.stop()

    assert not is_alive(child.pid, child.born)
    assert any("stubborn did not end" in line for line in notes.warnings)


async def test_asking_twice_ends_everything_at_once(supervised, notes):
    run = supervised(python("stubborn", STUBBORN, stop_timeout=DEADLINE_S * 2))
    await run.running()
    os.kill(os.getpid(), signal.SIGTERM)
    await run.until(lambda status, _: status == "stopping")
    await run.stop()

    assert any("at once" in line for line in notes.warnings)


async def test_output_goes_to_the_log_and_warnings_to_the_reporter(supervised, folder, notes):
    run = supervised(python("talker", f"print('plain'); print('x FATAL:  trouble', flush=True); {SERVE}"))
    await run.running()
    await run.stop()

    assert (folder.logs / "talker.log").read_text() == "plain\nx FATAL:  trouble\n"
    assert "talker: trouble" in notes.warnings


@pytest.mark.parametrize("is_upgrade", [True, False])
async def test_warnings_of_nats_stay_in_its_log_while_old_data_is_upgraded(
    supervised, folder, notes, is_upgrade
):
    lines = "print('[7] [WRN] old format'); print('[7] [ERR] trouble', flush=True)"
    run = supervised(python("nats", f"{lines}; {SERVE}"), is_upgrade=is_upgrade)
    await run.running()
    await run.stop()

    assert "old format" in (folder.logs / "nats.log").read_text()
    assert notes.warnings == (["nats: trouble"] if is_upgrade else ["nats: old format", "nats: trouble"])
