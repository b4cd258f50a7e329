"""Control groups of functions' processes on the real kernel, with and without controllers."""

import asyncio
import contextlib
import os
import subprocess
import sys
import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest

from broker.processes.control_groups import Delegation, find_delegation, read_mounts
from schemas.settings.functions import EdgeRuntime, FunctionSettings
from tests.broker.server import NatsServer
from tests.workers.functions.site import site
from workers.functions.sandbox.control_groups import (
    PLATFORM,
    ControlGroups,
    limits_of_group,
    parse_events,
    prepare_groups,
)

DELEGATION = find_delegation()
needs_controllers = pytest.mark.skipif(
    isinstance(DELEGATION, str), reason=f"no control group with controllers is delegated here: {DELEGATION}"
)
MEMORY = """const kept: unknown[] = []; Deno.serve(async () => {
  const part = new Uint8Array(1024 * 1024); for (;;) { for (let n = 0; n < 512; n++) kept.push(part.slice().fill(1)); }
});"""


@pytest.fixture
def parent() -> Iterator[Path]:
    """A control group for one test, in whatever hierarchy of version 2 this machine has."""
    mounts = read_mounts(Path("/proc/self/mountinfo").read_text())
    if os.geteuid() != 0 or not mounts:
        pytest.skip("cgroup v2 is not mounted, or this is not root")
    folder = Path(mounts[0].point) / f"headwater-test-{uuid.uuid4().hex[:8]}"
    try:
        folder.mkdir()
    except OSError as error:
        pytest.skip(f"cgroup v2 cannot be written: {error.strerror}")
    yield folder
    for inner in [*sorted(folder.rglob("*/"), reverse=True), folder]:
        with contextlib.suppress(OSError):
            inner.rmdir()


def sleeping(groups: ControlGroups, name: str) -> tuple["subprocess.Popen[bytes]", Path]:
    """Start a program in its own group, by the same steps as a function's process."""
    group = groups.create(name, memory_mb=64, threads=16)
    process = subprocess.Popen(["sleep", "60"], preexec_fn=group.enter)
    group.close()
    return process, group.folder


def test_a_process_is_in_its_group_before_it_runs_and_the_group_is_removed_with_it(parent: Path) -> None:
    groups = ControlGroups(parent, ())
    group = groups.create("a", memory_mb=64, threads=16)

    done = subprocess.run(
        ["cat", "/proc/self/cgroup"], capture_output=True, text=True, check=True, preexec_fn=group.enter
    )

    assert f"0::/{group.folder.relative_to(parent.parent)}\n" in done.stdout
    assert group.remove()
    assert not group.folder.exists()


def test_processes_left_in_a_group_are_killed(parent: Path) -> None:
    process, folder = sleeping(ControlGroups(parent, ()), "a")

    assert process.poll() is None
    (folder / "cgroup.kill").write_text("1")

    assert process.wait(10) == -9


async def test_a_group_is_removed_when_its_processes_have_ended(parent: Path) -> None:
    groups = ControlGroups(parent, ())
    group = groups.create("a", memory_mb=64, threads=16)
    process = await asyncio.create_subprocess_exec("sleep", "60", preexec_fn=group.enter)

    await group.remove_when_empty()

    assert await process.wait() == -9
    assert not group.folder.exists()


def test_groups_of_exited_workers_are_removed(parent: Path) -> None:
    gone = subprocess.Popen(["true"])
    gone.wait()
    (parent / f"headwater.function-{gone.pid}-x").mkdir()
    (parent / f"headwater.function-{os.getppid()}-x").mkdir()

    ControlGroups(parent, ()).sweep()

    assert [each.name for each in parent.glob("headwater.function-*")] == [
        f"headwater.function-{os.getppid()}-x"
    ]


def test_a_group_without_controllers_is_an_error_and_its_processes_live_on(parent: Path) -> None:
    with subprocess.Popen(["sleep", "60"]) as process:
        (parent / "cgroup.procs").write_text(str(process.pid))

        with pytest.raises(OSError, match="memory controller"):
            prepare_groups(Delegation(parent, frozenset(), holds_processes=False))

        assert (parent / PLATFORM / "cgroup.procs").read_text().split() == [str(process.pid)]
        assert (parent / "cgroup.procs").read_text() == ""
        process.kill()


def test_the_limits_of_a_group_are_those_of_the_function() -> None:
    limits = limits_of_group(256, 1024, ["memory", "pids", "cpu"])

    assert limits == {
        "memory.max": str(384 * 1024 * 1024), "memory.oom.group": "1", "memory.swap.max": "0",
        "pids.max": "1024", "cpu.weight": "50",
    }  # fmt: skip
    assert limits_of_group(256, 1024, ()) == {}


def test_counters_of_the_kernel_are_parsed() -> None:
    text = "low 0\nhigh 0\nmax 41\noom 2\noom_kill 1\noom_group_kill 1\n"

    assert parse_events(text)["oom_kill"] == 1
    assert parse_events("oom_kill x\n\nodd") == {}


@needs_controllers
def test_the_kernel_kills_a_process_over_its_memory() -> None:
    assert isinstance(DELEGATION, Delegation)
    groups = prepare_groups(DELEGATION)
    group = groups.create("memory", memory_mb=1, threads=16)
    try:
        done = subprocess.run(
            [sys.executable, "-c", "a = bytearray(512 << 20)"], check=False, preexec_fn=group.enter
        )

        assert done.returncode == -9
        assert group.kills()
    finally:
        assert group.remove()


@needs_controllers
def test_a_process_has_no_more_threads_than_its_group() -> None:
    assert isinstance(DELEGATION, Delegation)
    group = prepare_groups(DELEGATION).create("threads", memory_mb=64, threads=8)
    program = (
        "import threading, time\nfor n in range(20): threading.Thread(target=time.sleep, args=(1,)).start()"
    )
    try:
        done = subprocess.run(
            [sys.executable, "-c", program],
            capture_output=True,
            text=True,
            check=False,
            preexec_fn=group.enter,
        )

        assert "can't start new thread" in done.stderr
    finally:
        assert group.remove()


@needs_controllers
async def test_a_function_over_its_memory_is_answered_and_logged_as_such(
    own_nats: NatsServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("workers.functions.worker.sample", lambda _: None)  # the kernel alone
    own = {"a": FunctionSettings(memory_mb=64, cpu_ms=60_000, max_instances=1)}
    async with site(own_nats.url, runtime=EdgeRuntime(watch=0, boot_s=90), functions=own) as one:
        await one.add("a", MEMORY)
        await one.add(
            "b", "Deno.serve(async () => new Response(await Deno.readTextFile('/proc/self/cgroup')));"
        )

        assert (await one.ask("/a", budget_ms=120_000)).status == 546
        assert "ended: out of memory (limit: 64 MB)" in one.said("a", "limit")
        groups = one.worker.instances
    assert groups is not None
    assert isinstance(DELEGATION, Delegation)
    assert list(DELEGATION.folder.glob(f"headwater.function-{os.getpid()}-*")) == []
