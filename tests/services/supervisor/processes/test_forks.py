import asyncio
import ctypes
import json
import os
import signal
import sys

import pytest

from services.supervisor.processes.child import Child
from services.supervisor.processes.fork_plan import FORK_SERVER, bare, with_fork_server
from services.supervisor.processes.forks import ForkServer, become_subreaper, is_supported
from services.supervisor.processes.identity import command_of
from services.supervisor.processes.log_files import LogFile
from services.supervisor.processes.plan import ChildPlan, ReadySignal
from tests.services.supervisor.processes.test_supervise import DEADLINE_S, Run, python

pytestmark = pytest.mark.skipif(not is_supported(), reason="there is a fork server on Linux alone")

PROGRAM = """
import json, os, signal, sys

def preload(arguments):
    global LOADED
    LOADED = os.getpid()

def main():
    report, *rest = sys.argv[1:]
    with open(report, "w") as file:
        json.dump({
            "arguments": rest, "environment": dict(os.environ), "folder": os.getcwd(), "loaded": LOADED,
            "parent": os.getppid(), "session": os.getsid(0), "pid": os.getpid(),
            "open": sorted(map(int, os.listdir("/proc/self/fd"))),
        }, file)
    print("a line of output")
    if rest == ["exits"]:
        return 3
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    os.write(int(os.environ["HEADWATER_READY_FD"]), b"ready\\n")
    signal.pause()
"""
SECRET = "the-only-secret-of-this-program"


@pytest.fixture
def program(tmp_path, monkeypatch):
    """A child that is a program of its own, and where it reports what it sees."""
    (tmp_path / "reporting.py").write_text(PROGRAM)
    report = tmp_path / "report.json"

    def make(*arguments, name="one"):
        return ChildPlan(
            name,
            (sys.executable, "-P", "-m", "reporting", str(report), *arguments),
            {"PATH": os.environ["PATH"], "PYTHONPATH": str(tmp_path), "HEADWATER_SECRET": SECRET},
            ReadySignal.PIPE,
        )

    environment = {"PATH": os.environ["PATH"], "PYTHONPATH": os.pathsep.join([str(tmp_path), os.getcwd()])}
    make.report = report
    make.plan = lambda *children: with_fork_server(list(children), (sys.executable,), environment)
    return make


@pytest.fixture
async def forking(folder, notes):
    """Supervisors with a fork server, which adopt orphans as long as the test runs."""
    become_subreaper()
    runs = []

    def begin(plan, **rest):
        runs.append(Run(plan, folder.logs, notes, forks=ForkServer(), **rest))
        return runs[-1]

    yield begin
    for run in runs:
        run.task.cancel()
        await asyncio.gather(run.task, return_exceptions=True)
    ctypes.CDLL(None).prctl(36, 0, 0, 0, 0)


def is_back(name):
    return lambda _, children: children[name].restarts > 0 and children[name].status == "running"


async def test_a_forked_program_is_as_if_it_had_been_started(forking, program, folder):
    run = forking(program.plan(program("hello")))
    children = await run.running()
    seen = json.loads(program.report.read_text())
    command = command_of(seen["pid"])
    await run.stop()

    assert (seen["pid"], seen["parent"], seen["session"]) == (children["one"].pid, os.getpid(), seen["pid"])
    assert seen["arguments"] == ["hello"]
    assert seen["folder"] == os.path.realpath(folder.path)
    assert seen["loaded"] == children[FORK_SERVER].pid
    assert seen["environment"].pop("HEADWATER_READY_FD")
    assert seen["environment"] == program("hello").environment
    assert command.startswith(f"{sys.executable} -P -m reporting /")  # as far as there is room
    assert b"a line of output" in (folder.logs / "one.log").read_bytes()


async def test_a_forked_program_has_no_descriptor_but_its_own(forking, program):
    passed = os.open(os.devnull, os.O_RDONLY)
    run = forking(program.plan(program()), inherited={"one": {"HEADWATER_LISTEN_FDS": [passed]}})
    await run.running()
    seen = json.loads(program.report.read_text())
    await run.stop()
    os.close(passed)

    named = [int(seen["environment"][name]) for name in ("HEADWATER_READY_FD", "HEADWATER_LISTEN_FDS")]
    files = [number for number in seen["open"] if number > 2]
    # The report itself and the folder that is listed are open while the program writes.
    assert set(named) <= set(files)
    assert len(files) == len(named) + 2


async def test_the_fork_server_holds_no_secret_of_what_it_forks(forking, program):
    run = forking(program.plan(program()))
    children = await run.running()

    assert memory_has(children["one"].pid, SECRET)
    assert not memory_has(children[FORK_SERVER].pid, SECRET)
    await run.stop()


async def test_a_killed_program_is_forked_again(forking, program, notes):
    run = forking(program.plan(program()))
    before = await run.running()
    os.kill(before["one"].pid, signal.SIGKILL)
    after = await run.until(is_back("one"))
    seen = json.loads(program.report.read_text())
    await run.stop()

    assert after["one"].pid != before["one"].pid
    assert seen["loaded"] == before[FORK_SERVER].pid
    assert notes.warnings == ["one ended with signal SIGKILL and is started again"]


async def test_programs_outlive_the_fork_server_and_the_next_one_forks(forking, program):
    run = forking(program.plan(program()))
    before = await run.running()
    os.kill(before[FORK_SERVER].pid, signal.SIGKILL)
    between = await run.until(is_back(FORK_SERVER))
    os.kill(before["one"].pid, signal.SIGKILL)
    after = await run.until(is_back("one"))
    seen = json.loads(program.report.read_text())
    await run.stop()

    assert between["one"].pid == before["one"].pid
    assert seen["loaded"] == after[FORK_SERVER].pid != before[FORK_SERVER].pid


async def test_without_a_fork_server_a_program_is_started_by_its_command_line(notes, program, folder):
    entry = program.report.parent / "reporting.py"
    entry.write_text(
        entry.read_text() + "\nif __name__ == '__main__':\n    preload([])\n    sys.exit(main())\n"
    )
    _, process = program.plan(program())
    child = Child(
        process, LogFile(folder.logs / "one.log"), None, lambda _: None, lambda _: None, ForkServer()
    )
    async with asyncio.timeout(DEADLINE_S):
        await child.start()
    seen = json.loads(program.report.read_text())
    await child.stop()
    child.log.close()

    assert seen["loaded"] == seen["pid"] == child.pid


async def test_the_exit_code_of_a_forked_program_is_known(forking, program):
    run = forking(program.plan(program("exits")))

    with pytest.raises(Exception, match="ended with code 3"):
        await asyncio.wait_for(run.task, DEADLINE_S)


async def test_an_import_that_starts_a_thread_keeps_the_fork_server_from_forking(forking, program):
    (program.report.parent / "reporting.py").write_text(
        "import threading\nthreading.Thread(target=threading.Event().wait, daemon=True).start()\n"
    )

    with pytest.raises(Exception, match="an import started a thread"):
        await asyncio.wait_for(forking(program.plan(program())).task, DEADLINE_S)


async def test_a_process_that_lost_its_parent_leaves_no_remains(forking):
    # The child's child prints its id, loses its parent and exits: it becomes a child of this process.
    orphaning = (
        "import os, subprocess, sys, time\n"
        "orphan = subprocess.Popen([sys.executable, '-c', 'import os; print(os.getpid(), flush=True); input()'],"
        " stdin=subprocess.PIPE)\n"
        "os.write(int(os.environ['HEADWATER_READY_FD']), b'ready\\n')\ntime.sleep(600)"
    )
    run = forking([python("one", orphaning)], silence_s=1.0)
    children = await run.running()
    log = run.logs / "one.log"
    async with asyncio.timeout(DEADLINE_S):
        while not log.read_bytes().strip():
            await asyncio.sleep(0.02)
        orphan = int(log.read_bytes().split()[-1])
        os.kill(children["one"].pid, signal.SIGKILL)
        while os.path.exists(f"/proc/{orphan}"):
            await asyncio.sleep(0.02)
    await run.stop()


def test_only_what_the_interpreter_reads_goes_to_the_fork_server():
    environment = {
        "PATH": "/bin",
        "LC_ALL": "C",
        "PYTHONPATH": "/x",
        "HEADWATER_DB_URL": "x",
        "JWT_SECRET": "x",
    }

    assert bare(environment) == {"PATH": "/bin", "LC_ALL": "C", "PYTHONPATH": "/x"}


def test_a_plan_without_programs_of_ours_needs_no_fork_server():
    server = ChildPlan("nats", ("nats-server",), {}, ReadySignal.NATS)

    assert with_fork_server([server], ("python",), {}) == [server]


def test_programs_wait_for_the_fork_server_and_what_runs_once_does_not(program):
    migrate = ChildPlan(
        "migrate", ("python", "-P", "-m", "workers", "migrate"), {}, ReadySignal.EXIT, is_early=True
    )
    server, plain, forked = program.plan(migrate, program())

    assert (server.name, plain) == (FORK_SERVER, migrate)
    assert forked.is_forked
    assert FORK_SERVER in forked.after
    assert server.argv[-1] == "reporting"


def memory_has(pid, text):
    """Look for a text in all writable memory of a process."""
    with open(f"/proc/{pid}/maps") as maps, open(f"/proc/{pid}/mem", "rb", 0) as memory:
        for line in maps:
            where, rights = line.split()[:2]
            if rights.startswith("rw"):
                first, last = (int(each, 16) for each in where.split("-"))
                memory.seek(first)
                if text.encode() in memory.read(last - first):
                    return True
    return False
